"""Tables as the content of a file, of the format Parquet."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oocdm.errors import OocdmError
from oocdm.files.limits import check_limit

# A table that takes so many times its size on disk is not what anybody logs, unless it is small.
USUAL_GROWTH = 50
_BATCH = 65_536  # rows, after each of which the size is looked at


def table_from_bytes(content: bytes, path: Path, error: type[OocdmError]) -> pa.Table:
    """The table that a Parquet file holds, if it is whole and not much larger than the file.

    >>> sink = pa.BufferOutputStream()
    >>> pq.write_table(pa.table({"x": [1, 2]}), sink)
    >>> table_from_bytes(sink.getvalue().to_pybytes(), Path("a.parquet"), OocdmError).num_rows
    2
    """

    def check(size: int) -> None:
        check_limit(path, "bytes of a table", size, error, USUAL_GROWTH * len(content))

    # What a damaged file says of its columns must not be asked for: Arrow ends the whole process
    # if that contradicts itself. Reading the same is safe.
    try:
        with pq.ParquetFile(pa.py_buffer(content)) as file:
            kinds = {f.name: f.type for f in file.schema_arrow if _is_text(f.type)}
            for field in file.schema_arrow:
                # A batch may hold any number of these, even if they are missing.
                if pa.types.is_fixed_size_list(field.type):
                    check(4 * field.type.list_size * file.metadata.num_rows)
                elif pa.types.is_list(field.type) or pa.types.is_large_list(field.type):
                    check(4 * file.scan_contents([field.name]))
        with pq.ParquetFile(
            pa.py_buffer(content), read_dictionary=list(kinds), page_checksum_verification=True
        ) as file:
            batches, size = [], 0
            for batch in file.iter_batches(_BATCH):
                size += batch.nbytes + sum(map(_size_of_texts, batch.columns))
                check(size)
                batches.append(batch)
            table = pa.Table.from_batches(batches, file.schema_arrow)
        table.validate(full=True)
        for name, kind in kinds.items():
            place = table.column_names.index(name)
            table = table.set_column(place, name, table[name].cast(kind))
    except (OSError, pa.ArrowException, UnicodeDecodeError, KeyError) as reason:
        raise error(
            f"`{path}` cannot be read as Parquet; it may be cut off or damaged "
            f"({str(reason).splitlines()[0]}). Write the dataset again."
        ) from None
    return table


def _is_text(kind: pa.DataType) -> bool:
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary)
    return any(test(kind) for test in (*tests, pa.types.is_large_binary))


def _size_of_texts(column: pa.Array) -> int:
    """Bytes of all texts of a column in which each is there once; 0 of other columns."""
    if not (pa.types.is_dictionary(column.type) and _is_text(column.type.value_type)):
        return 0
    return pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0
