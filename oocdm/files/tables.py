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
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT96": 12}  # bytes; all others have 8


def table_from_bytes(content: bytes, path: Path, error: type[OocdmError]) -> pa.Table:
    """The table that a Parquet file holds, if it is whole and not much larger than the file.

    >>> sink = pa.BufferOutputStream()
    >>> pq.write_table(pa.table({"x": [1, 2]}), sink)
    >>> table_from_bytes(sink.getvalue().to_pybytes(), Path("a.parquet"), OocdmError).num_rows
    2
    """
    usual = USUAL_GROWTH * len(content)
    try:
        with pq.ParquetFile(pa.py_buffer(content)) as file:
            check_limit(path, "bytes of a table", _least_size(file.metadata), error, usual)
            texts = [f.name for f in file.schema_arrow if _is_text(f.type)]
            kinds = {name: file.schema_arrow.field(name).type for name in texts}
        with pq.ParquetFile(
            pa.py_buffer(content), read_dictionary=texts, page_checksum_verification=True
        ) as file:
            table = file.read()
            table.validate(full=True)
        size = table.nbytes + sum(map(_size_of_texts, table.columns))
        check_limit(path, "bytes of a table", size, error, usual)
        for name, kind in kinds.items():
            place = table.column_names.index(name)
            table = table.set_column(place, name, table[name].cast(kind))
    except (OSError, pa.ArrowException, UnicodeDecodeError, KeyError) as reason:
        raise error(
            f"`{path}` cannot be read as Parquet; it may be cut off or damaged "
            f"({str(reason).splitlines()[0]}). Write the dataset again."
        ) from None
    return table


def _least_size(metadata: pq.FileMetaData) -> int:
    """Bytes that the cells take at least: each text counts as much as the place where it is."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    return sum(chunk.num_values * _WIDTHS.get(chunk.physical_type, 8) for chunk in chunks)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _size_of_texts(column: pa.ChunkedArray) -> int:
    """Bytes of all texts of a column in which each is there once; 0 of other columns."""
    if not (pa.types.is_dictionary(column.type) and _is_text(column.type.value_type)):
        return 0
    return sum(
        pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices)).as_py() or 0
        for chunk in column.chunks
    )
