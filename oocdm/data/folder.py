"""A dataset as a folder of Parquet files that pandas, DuckDB and people can open.

`schema.json`; `<Class>.parquet` with the columns episode, step, object and one per field (null =
missing); `steps.parquet` with episode, step, reward, terminated, truncated; `episodes.parquet`
with episode and anything about it. An object that is absent in a step has no row there.
`manifest.json` has a checksum for each of these files.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oocdm.data.column import Column, Keys
from oocdm.data.log import Log
from oocdm.data.matching import warn_of_mismatch
from oocdm.data.table import (
    KEY_COLUMNS,
    STEP_COLUMNS,
    Steps,
    align_episodes,
    build_log,
    check_columns,
    codes_of,
    whole_numbers,
)
from oocdm.errors import DataError, FileError, OocdmError, SchemaError
from oocdm.files import Contents, write_manifest
from oocdm.files.manifest import MANIFEST
from oocdm.files.os_errors import told_as
from oocdm.files.tables import table_from_bytes
from oocdm.files.temporaries import is_temporary
from oocdm.files.writing import whole_folder
from oocdm.schema import Boolean, Field, Schema

logger = logging.getLogger(__name__)

TRIES = 3  # to read a dataset that others replace meanwhile

_NAN_ADVICE = "NaN is not a value; write null where a value is missing."

# What every dataset folder has beside the tables of its classes; people forget to write them.
_HOLDS = {
    "steps.parquet": "one row per step, with the columns episode, step, reward, terminated and "
    "truncated",
    "episodes.parquet": "one row per episode, with the column episode and any others",
}


def write_log(log: Log, folder: str | os.PathLike[str], overwrite: bool = False) -> None:
    """Write the steps of a dataset to a folder: all of it, or nothing if anything fails.

    >>> import tempfile
    >>> import pandas as pd
    >>> from oocdm.data.frames import read_frames
    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> frame = pd.DataFrame({"episode": 0, "step": [0, 1], "object": 0, "x": [0.0, 0.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_log(read_frames({"Ball": frame}, Schema(Ball)), f"{folder}/balls")
    ...     print(sorted(os.listdir(f"{folder}/balls")))
    ['Ball.parquet', 'episodes.parquet', 'manifest.json', 'schema.json', 'steps.parquet']
    """
    path = Path(folder)
    with told_as(FileError, path, "written"):
        if path.exists() and not overwrite:
            raise DataError(
                f"`{path}` exists already. Choose another folder, or pass overwrite=True."
            )
        if path.exists() and (not (path / "schema.json").is_file() or _is_run(path)):
            raise DataError(f"`{path}` is not a dataset folder, so it is not overwritten.")
        if path.exists() and (others := _others(path)):
            raise DataError(
                f"`{path}` holds `{others[0]}`, which is no part of the dataset and would be lost. "
                "Put it elsewhere, or choose another folder."
            )
    with whole_folder(path, replaces=overwrite) as draft:
        _write(log, draft)
        write_manifest(draft)


def read_log(folder: str | os.PathLike[str]) -> Log:
    """Read a folder that `write_log` wrote, or that somebody made in the same format.

    >>> read_log("nowhere")
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: `nowhere`: expected a dataset folder, got none. \
Write one with `Dataset.save` or `oocdm collect`.
    """
    path = Path(folder)
    for _ in range(TRIES):
        contents = Contents.of(path, DataError)
        try:
            return _read(contents)
        except DataError:
            if not contents.is_replaced():
                raise
    raise DataError(
        f"`{path}` was replaced {TRIES} times while it was read. Read it when nobody writes to it."
    )


def _read(contents: Contents) -> Log:
    path = contents.folder
    schema = _read_schema(contents)
    tables = {}
    for name in schema.classes:
        tables[name] = _read_table(contents, f"{name}.parquet")
        what = f"`{path / f'{name}.parquet'}`"
        check_columns(what, tables[name].column_names, (*KEY_COLUMNS, *schema.fields(name)))
    keys = {n: _read_keys(t, f"`{path / f'{n}.parquet'}`") for n, t in tables.items()}
    steps = _read_steps(contents)
    episodes = _read_episodes(contents, steps)

    def read(column: Column) -> tuple[np.ndarray, np.ndarray]:
        return _read_column(tables[column.class_name][column.field_name], column)

    log = build_log(schema, keys, steps, episodes, read, _NAN_ADVICE)
    if contents.checksums is None:  # nobody vouches for it
        contents.warn_if_unlisted()
        _warn_of_empty(tables, path)
        warn_of_mismatch(log)
    return log


def _others(folder: Path) -> list[str]:
    """What a folder holds beside a dataset, whose files its schema and its manifest name."""
    known = {*_HOLDS, "schema.json", MANIFEST}
    with suppress(OocdmError):  # of what is damaged the other one may tell
        known |= set(Contents.of(folder, DataError).checksums or ())
    with suppress(OocdmError):
        plain = Contents(folder, DataError, None)
        known |= {f"{name}.parquet" for name in _read_schema(plain).classes}
    names = sorted(entry.name for entry in folder.iterdir())
    return [name for name in names if name not in known and not is_temporary(name)]


def _write(log: Log, folder: Path) -> None:
    (folder / "schema.json").write_text(json.dumps(log.schema.to_json(), indent=2) + "\n")
    for name in log.schema.classes:
        _write_table(_class_columns(log, name), folder / f"{name}.parquet")
    steps = {name: pa.array(getattr(log, name)) for name in STEP_COLUMNS}
    _write_table(steps, folder / "steps.parquet")
    episodes = {"episode": pa.array(log.episode_ids)}
    for name, column in log.episodes.items():
        try:
            episodes[name] = pa.array(column, from_pandas=column.dtype == object)
            # Some types, such as mappings without any key, are refused only here.
            pq.write_table(pa.table({name: episodes[name]}), pa.BufferOutputStream())
        except (pa.ArrowException, OverflowError, UnicodeError) as error:
            raise _not_writable(name, error) from None
    _write_table(episodes, folder / "episodes.parquet")


def _not_writable(name: str, error: Exception) -> DataError:
    reason, advice = str(error).rstrip("."), "Use one type of value in the whole column"
    if isinstance(error, UnicodeError):
        reason = "it has text with half of a character"
        advice = "It was read in the wrong encoding: read it again, with its encoding"
    elif "no child field" in reason:
        reason, advice = "it has a mapping without any key", "Write None instead"
    return DataError(f"Column `{name}` of `episodes` cannot be written: {reason}. {advice}.")


def _write_table(columns: dict[str, pa.Array], path: Path) -> None:
    pq.write_table(pa.table(columns), path, write_page_checksum=True)


def _class_columns(log: Log, name: str) -> dict[str, pa.Array]:
    cells = log.cells[name]
    row, ids = cells.places.row, log.names[name][1][log.objects_of(name)]
    columns = {
        "episode": pa.array(log.episode[row]),
        "step": pa.array(log.step[row]),
        # A type that does not depend on there being any object.
        "object": pa.array(ids, type=pa.string() if ids.dtype.kind == "O" else None),
    }
    for field_name, field in log.schema.fields(name).items():
        missing = ~cells.observed[field_name]
        if field.action:
            missing |= log.is_last[row]
        columns[field_name] = _to_arrow(field, cells.values[field_name], missing)
    return columns


def _to_arrow(field: Field, values: np.ndarray, missing: np.ndarray) -> pa.Array:
    if field.shape:
        return pa.FixedSizeListArray.from_arrays(
            pa.array(values.reshape(-1)), field.shape[0], mask=pa.array(missing)
        )
    if isinstance(field, Boolean):
        return pa.array(values.astype(bool), mask=missing)
    if field.names:
        codes = pa.array(values, type=pa.int32(), mask=missing)
        return pa.DictionaryArray.from_arrays(codes, pa.array(field.names))
    return pa.array(values, mask=missing)


def _read_schema(contents: Contents) -> Schema:
    folder = contents.folder
    if not folder.is_dir():
        raise DataError(
            f"`{folder}`: expected a dataset folder, got {'a file' if folder.exists() else 'none'}."
            " Write one with `Dataset.save` or `oocdm collect`."
        )
    if _is_run(folder):
        raise DataError(
            f"`{folder}`: expected a dataset folder, got a run, the result of `fit`. Load it with "
            "`oocdm.load`, and give the folder of its data here."
        )
    path = folder / "schema.json"
    if not contents.has(path.name):
        raise DataError(
            f"`{path}` is missing, so `{folder}` is not a dataset folder. "
            "Write one with `Dataset.save` or `oocdm collect`."
        )
    try:
        return Schema.from_json(contents.read_json(path.name))
    except SchemaError as error:
        raise DataError(f"`{path}` cannot be read as a schema: {error}") from None


def _is_run(folder: Path) -> bool:
    """Whether this is the folder of a run, which has a schema as well."""
    return (folder / "config.json").is_file() and not (folder / "steps.parquet").is_file()


def _read_table(contents: Contents, name: str) -> pa.Table:
    path = contents.folder / name
    if not contents.has(name):
        holds = f" It holds {_HOLDS[name]}." if name in _HOLDS else ""
        raise DataError(
            f"`{path}` is missing from the dataset folder.{holds}{_alike(path)} Write the dataset "
            "again; `Dataset.save` writes all files."
        )
    table = table_from_bytes(contents.read(name), path, DataError)
    # pandas writes its row labels, which mean nothing here, along with a frame.
    return table.drop([n for n in table.column_names if n.startswith("__index_level_")])


def _alike(path: Path) -> str:
    """In words, which file of the folder may have been meant."""
    others = sorted(each.name for each in path.parent.iterdir())
    near = [other for other in others if Path(other).stem.lower() == path.stem.lower()]
    if not near:
        return ""
    if Path(near[0]).suffix == path.suffix:
        return f" There is `{near[0]}`: capital letters count, so rename it to `{path.name}`."
    return f" There is `{near[0]}`, but only Parquet files are read."


def _warn_of_empty(tables: dict[str, pa.Table], folder: Path) -> None:
    """Say which classes have no rows at all: a table may have been emptied by mistake."""
    for name, table in tables.items():
        if table.num_rows == 0 and any(other.num_rows for other in tables.values()):
            logger.warning(
                "`%s`: the table has no rows, so the class `%s` has no objects.",
                *(folder / f"{name}.parquet", name),
            )


def _read_keys(table: pa.Table, what: str) -> Keys:
    episode, step = (_whole_numbers(table[name], name, what) for name in KEY_COLUMNS[:2])
    column = table["object"]
    if _is_number(column.type) or _is_empty(column):
        ids, code = np.unique(_whole_numbers(column, "object", what), return_inverse=True)
        return Keys(episode, step, code, ids)
    if not _is_text(column.type) or column.null_count:
        raise DataError(
            f"{what}: column `object`: expected whole numbers or strings without null, "
            f"got {column.type} with {column.null_count} null."
        )
    names, code = _factorize(column)
    order = np.argsort(names)
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    return Keys(episode, step, rank[code], names[order])


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _factorize(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """The different strings of a column, and for each row which of them it has."""
    encoded = pc.dictionary_encode(column.cast(pa.large_string()).combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    names = np.array(encoded.dictionary.to_pylist(), dtype=object)
    return names, encoded.indices.to_numpy().astype(np.int64)


def _whole_numbers(column: pa.ChunkedArray, name: str, what: str) -> np.ndarray:
    if _is_empty(column):
        return np.zeros(0, np.int64)
    if not _is_number(column.type):
        raise DataError(
            f"{what}: column `{name}`: expected whole numbers without null, got {column.type}."
        )
    return whole_numbers(np.asarray(column.to_numpy()), f"{what}: column `{name}`")


def _is_empty(column: pa.ChunkedArray) -> bool:
    """Whether a column has no cells, and so, as pandas writes it, no type either."""
    return len(column) == 0 and bool(pa.types.is_null(column.type))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _read_steps(contents: Contents) -> Steps:
    what = f"`{contents.folder / 'steps.parquet'}`"
    table = _read_table(contents, "steps.parquet")
    check_columns(what, table.column_names, STEP_COLUMNS)
    columns = {name: _whole_numbers(table[name], name, what) for name in STEP_COLUMNS[:2]}
    for name in STEP_COLUMNS[2:]:
        columns[name] = table[name].to_numpy()
    return Steps.of(columns, what)


def _read_episodes(contents: Contents, steps: Steps) -> dict[str, np.ndarray]:
    what = f"`{contents.folder / 'episodes.parquet'}`"
    table = _read_table(contents, "episodes.parquet")
    check_columns(what, table.column_names, ("episode",), table.column_names)
    columns = {name: _read_any(table[name]) for name in table.column_names}
    columns["episode"] = _whole_numbers(table["episode"], "episode", what)
    return align_episodes(columns, steps.episode, what)


def _read_any(column: pa.ChunkedArray) -> np.ndarray:
    if column.null_count == 0:
        return np.asarray(column.to_numpy())
    # With null among them, NumPy would turn whole numbers into floats.
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values


def _read_column(data: pa.ChunkedArray, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Which wanted cells of a column are known, and their values (a `Reader`)."""
    field = column.field
    known = column.wanted & data.is_valid().to_numpy()
    if not known.any():
        return known, np.zeros((0, *field.shape))
    # Reading everything is the fast path; a filter copies.
    cells = data if known.all() else data.filter(pa.array(known))
    if field.shape:
        return known, _flatten(cells, column, known)
    if field.names and _is_text(data.type):
        names, code = _factorize(cells)
        return known, codes_of(column, known, list(names), code)
    return known, np.asarray(cells.to_numpy())


def _flatten(cells: pa.ChunkedArray, column: Column, known: np.ndarray) -> np.ndarray:
    """The vectors of a list column as one array, without a Python object a cell."""
    size = column.field.shape[0]
    where = np.flatnonzero(known)
    kind = cells.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and (
        not pa.types.is_fixed_size_list(kind)
    ):
        raise DataError(
            f"Field `{column.class_name}.{column.field_name}`: expected lists of {size} numbers, "
            f"got a column of type {kind}."
        )
    lengths = pc.list_value_length(cells).to_numpy()
    if (lengths != size).any():
        cell = int(np.argmax(lengths != size))
        got = f"{lengths[cell]} of them"
        raise column.error(int(where[cell]), f"a list of {size} numbers", got)
    flat = pc.list_flatten(cells)
    if flat.null_count:
        cell = int(np.argmin(flat.is_valid().to_numpy())) // size
        advice = "A vector is missing as a whole or not at all."
        raise column.error(int(where[cell]), f"a list of {size} numbers", "null in it", advice)
    return np.asarray(flat.to_numpy()).reshape(-1, size)
