"""Tables that are no larger than they look."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oocdm.errors import DataError
from oocdm.files import limits
from oocdm.files.tables import table_from_bytes
from tests.files.killing import killed


def content_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, write_page_checksum=True)
    return bytes(sink.getvalue().to_pybytes())


def read(content: bytes) -> pa.Table:
    return table_from_bytes(content, Path("a.parquet"), DataError)


def test_round_trip_of_all_types() -> None:
    table = pa.table(
        {
            "text": pa.array(["a", None, "b"]),
            "large": pa.array(["a", "a", "b"], pa.large_string()),
            "coded": pa.array(["a", "b", None]).dictionary_encode(),
            "pair": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "texts": pa.array([["a"], [], None]),
            "nothing": pa.nulls(3),
            "flag": [True, None, False],
        }
    )
    assert read(content_of(table)).equals(table)
    assert read(content_of(table[:0])).schema == table.schema


ROWS = 200_000


@pytest.mark.parametrize(
    "column",
    [
        pa.array(np.zeros(ROWS)),
        pa.array(["x" * 1000] * (ROWS // 100)),
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), ["x" * 1000]),
        pa.array([b"x" * 1000] * (ROWS // 100)),
        pa.array([[0.0] * 10] * (ROWS // 10), pa.list_(pa.float64(), 10)),
        pa.array([[0.0] * ROWS]),
    ],
    ids=["numbers", "texts", "coded", "bytes", "lists", "one list"],
)
def test_small_files_do_not_become_large_tables(
    column: pa.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = content_of(pa.table({"x": column}))
    assert len(content) < 30_000
    assert read(content).num_rows == len(column)
    monkeypatch.setitem(limits.LIMITS, "bytes of a table", 10**6)
    with pytest.raises(
        DataError, match=r"^`a\.parquet`: expected at most 1,[01].* bytes of a table"
    ):
        read(content)


def test_what_is_as_large_on_disk_has_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limits.LIMITS, "bytes of a table", 1)
    table = pa.table({"x": np.random.default_rng(0).random(1000)})
    assert read(content_of(table)).equals(table)


def test_ten_million_rows_are_within_the_limits() -> None:
    """Three keys of 8 bytes and ten fields of 4, even if all of them hardly change."""
    rows, width = 10**7, 3 * 8 + 10 * 4
    assert rows * width <= limits.LIMITS["bytes of a table"]


def test_lists_that_are_longer_than_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a list is missing, Arrow makes place for it."""
    column = pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))
    content = content_of(pa.table({"x": column}).replace_schema_metadata())
    assert read(content)["x"].combine_chunks() == column
    monkeypatch.setitem(limits.LIMITS, "bytes of a table", 1)
    wide = pa.table({"x": pa.nulls(2, pa.list_(pa.float32(), 10**6))})
    with pytest.raises(DataError, match="bytes of a table, got 8,000,000"):
        read(content_of(wide))


def test_damaged_files_are_refused_and_end_no_process() -> None:
    rows = 60
    columns = {
        "number": np.arange(rows),
        "text": [f"object {i % 3}" for i in range(rows)],
        "pair": pa.array([[1.0, 2.0], None] * (rows // 2), pa.list_(pa.float32(), 2)),
        "list": [[0.5]] * rows,
    }
    content = content_of(pa.table(columns))

    def damage() -> None:
        rng = np.random.default_rng(0)
        for _ in range(1500):
            damaged = bytearray(content)
            for place in rng.integers(1, len(content), size=rng.integers(1, 4)).tolist():
                damaged[-place] ^= 1 << int(rng.integers(8))
            with suppress(DataError):
                read(bytes(damaged))

    assert not killed(damage, before=10**9)


def test_names_that_are_no_text() -> None:
    content = content_of(pa.table({"abcdefgh": [1, 2]}))
    with pytest.raises(DataError, match=r"^`a\.parquet` cannot be read as Parquet; it may be cut"):
        read(content.replace(b"abcdefgh", b"abc\xff\xfefgh"))
