"""From pandas frames in long format to a `Log`, the arrays of a `Dataset`.

There is one frame per class, with the columns episode, step, object and one per field; a vector is
a list or array in a cell. Objects are named by whole numbers or strings, may appear and
disappear, and need not be the same in every episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from oocdm.data.column import Column, Keys
from oocdm.data.log import Log
from oocdm.data.table import (
    KEY_COLUMNS,
    STEP_COLUMNS,
    Steps,
    align_episodes,
    build_log,
    check_columns,
    codes_of,
    no_whole_number,
    whole_numbers,
)
from oocdm.errors import DataError, short, suggest
from oocdm.schema import Schema

if TYPE_CHECKING:
    import pandas as pd

_NAN_ADVICE = (
    "NaN is not a value. If it stands for a missing one, say so: use a nullable column, as in "
    'df["{name}"] = df["{name}"].convert_dtypes(), or None or pd.NA in a column of dtype object.'
)

_NUMBERS = ("integer", "floating", "mixed-integer-float")  # as pandas calls what may be whole


def read_frames(
    frames: Mapping[str, pd.DataFrame],
    schema: Schema,
    steps: pd.DataFrame | None = None,
    episodes: pd.DataFrame | None = None,
) -> Log:
    """The steps in pandas frames of long format, one per class (see `Dataset.from_frames`).

    >>> import pandas as pd
    >>> from oocdm.schema import Categorical, ObjectClass, Real
    >>> class Ant(ObjectClass):
    ...     x = Real()
    ...     heading = Categorical(["north", "south"], action=True)
    >>> log = pd.DataFrame({
    ...     "episode": 0, "step": [0, 0, 1], "object": ["anna", "bert", "bert"],
    ...     "x": [0.0, 1.0, 1.5], "heading": ["north", "south", None],
    ... })
    >>> read_frames({"Ant": log}, Schema(Ant)).values["Ant"]["x"]
    array([[0. , 1. ],
           [0. , 1.5]], dtype=float32)
    """
    _check_frames(frames, schema)
    keys = {name: _read_keys(frames[name], f"Frame `{name}`") for name in schema.classes}
    rows = Steps.mentioned(keys.values()) if steps is None else _read_steps(steps)
    about: dict[str, np.ndarray] = {}
    if episodes is not None:
        what = "Frame episodes"
        _check_is_frame(episodes, what)
        check_columns(what, episodes.columns, ("episode",), episodes.columns)
        columns = {name: episodes[name].to_numpy() for name in episodes.columns}
        columns["episode"] = _whole_numbers(episodes, "episode", what)
        about = align_episodes(columns, rows.episode, what)
    return build_log(schema, keys, rows, about, lambda column: _read(frames, column), _NAN_ADVICE)


def _check_frames(frames: Mapping[str, pd.DataFrame], schema: Schema) -> None:
    if not isinstance(schema, Schema):
        raise DataError(
            f"Frames: expected the schema of their classes, got {short(schema)}. Write "
            "oocdm.Schema(...) with the classes of the objects."
        )
    if not isinstance(frames, Mapping):
        raise DataError(
            f"Frames: expected a mapping from each class to its frame, got {type(frames).__name__}."
            f" Write {{{', '.join(f'{name!r}: ...' for name in schema.classes)}}}."
        )
    for name, frame in frames.items():
        if name not in schema.classes:
            shown = short(name, quote=False)
            raise DataError(f"Frames: unknown class `{shown}`. {suggest(shown, schema.classes)}")
        _check_is_frame(frame, f"Frame `{name}`")
        check_columns(f"Frame `{name}`", frame.columns, (*KEY_COLUMNS, *schema.fields(name)))
    for name in schema.classes:
        if name not in frames:
            raise DataError(
                f"Frames: class `{name}` is missing. Expected one frame for each of: "
                f"{', '.join(schema.classes)}; got: {', '.join(frames)}."
            )


def _check_is_frame(frame: object, what: str) -> None:
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise DataError(f"{what}: expected a pandas DataFrame, got {type(frame).__name__}.")


def _read_keys(frame: pd.DataFrame, what: str) -> Keys:
    episode = _whole_numbers(frame, "episode", what)
    step = _whole_numbers(frame, "step", what)
    code, ids = _read_objects(frame, what)
    return Keys(episode, step, code, ids)


def _whole_numbers(frame: pd.DataFrame, name: str, what: str) -> np.ndarray:
    from pandas.api.types import infer_dtype

    column = frame[name]
    # An empty frame has columns of any dtype; nothing in it can be wrong.
    if len(column) == 0:
        return np.zeros(0, dtype=np.int64)
    kind = infer_dtype(column, skipna=True)
    if kind not in _NUMBERS:
        raise DataError(
            f"{what}: column `{name}`: expected whole numbers without missing values, "
            f"got {kind} (dtype {column.dtype})."
        )
    values = column.to_numpy()
    if values.dtype == object and kind == "integer" and not column.isna().any():
        values = np.array(values.tolist())  # not by way of floats, which hold fewer numbers
    if values.dtype.kind not in "iuf":
        try:
            values = column.to_numpy(np.float64, na_value=np.nan)
        except OverflowError:
            where = f"{what}: column `{name}`"
            row = next(i for i, v in enumerate(values) if isinstance(v, int) and abs(v) >= 2**63)
            raise no_whole_number(where, row, short(values[row]), "Number them anew.") from None
    return whole_numbers(values, f"{what}: column `{name}`")


def _read_objects(frame: pd.DataFrame, what: str) -> tuple[np.ndarray, np.ndarray]:
    import pandas as pd

    column = frame["object"]
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind == "string" and not column.isna().any():
        code, found = pd.factorize(column, sort=True)
        names = np.array(found, dtype=object)
        _check_text(names, code, what)
        return code.astype(np.int64), names
    if kind not in _NUMBERS and len(column):
        raise DataError(
            f"{what}: column `object`: expected whole numbers or strings without missing values, "
            f"got {kind} (dtype {column.dtype})."
        )
    ids, code = np.unique(_whole_numbers(frame, "object", what), return_inverse=True)
    return code, ids


def _check_text(names: np.ndarray, code: np.ndarray, what: str) -> None:
    """Raise a `DataError` for a name that no file could hold."""
    for i, name in enumerate(names):
        try:
            name.encode()
        except UnicodeEncodeError:
            row = int(np.argmax(code == i))
            raise DataError(
                f"{what}: column `object`, row {row}: expected a name that is valid text, got "
                f"{short(name)}, with half of a character. It comes from text that was read in "
                "the wrong encoding: read the file again, with its encoding."
            ) from None


def _read_steps(steps: pd.DataFrame) -> Steps:
    what = "Frame steps"
    _check_is_frame(steps, what)
    check_columns(what, steps.columns, STEP_COLUMNS[:2], STEP_COLUMNS[2:])
    columns = {name: _whole_numbers(steps, name, what) for name in STEP_COLUMNS[:2]}
    for name in steps.columns:
        if name not in columns:
            columns[name] = _none_for_missing(steps[name])
    return Steps.of(columns, what)


def _none_for_missing(column: pd.Series) -> np.ndarray:
    """A column of any dtype; what is missing in it is None, or NaN in one of plain floats."""
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return column.to_numpy()
    cells = column.to_numpy(dtype=object, copy=True)
    cells[column.isna().to_numpy(dtype=bool)] = None
    return cells


def _read(frames: Mapping[str, pd.DataFrame], column: Column) -> tuple[np.ndarray, np.ndarray]:
    """Which wanted cells of a column are known, and their values (a `Reader`)."""
    import pandas as pd

    series = frames[column.class_name][column.field_name]
    known = column.wanted & ~_is_missing(series, column)
    cells = series[known]
    field = column.field
    if not known.any():
        return known, np.zeros((0, *field.shape))
    is_numeric = pd.api.types.is_numeric_dtype(series.dtype)
    if field.shape:
        return known, _stack(cells, column, known)
    if field.names and not is_numeric:
        return known, codes_of(column, known, *_factorize(cells))
    return known, cells.to_numpy() if is_numeric else _numbers(cells)


def _factorize(cells: pd.Series) -> tuple[list[object], np.ndarray]:
    """The different values of some cells, and which of them each has."""
    import pandas as pd

    objects = cells.to_numpy(dtype=object)
    try:
        which, values = pd.factorize(objects)
    except TypeError:  # some, such as lists, cannot be compared by hash: they are no names
        return list(objects), np.arange(len(objects))
    return list(values), which


def _numbers(cells: pd.Series) -> np.ndarray:
    """The numbers in a column of dtype object, or its cells as they are; those are refused later.

    What is no number may be anything, such as lists of different lengths or within themselves.
    """
    objects = cells.to_numpy(dtype=object)
    found = _to_array(objects.tolist())
    if found is None or found.ndim != 1 or found.dtype.kind not in "biuf":
        return objects
    return found


def _is_missing(series: pd.Series, column: Column) -> np.ndarray:
    """Which cells are missing: null, but not the NaN that a plain float column may hold."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind not in "OmM":
        return np.zeros(len(series), dtype=bool)
    missing = series.isna().to_numpy(dtype=bool)
    if series.dtype == object:
        cells = series.to_numpy()
        for cell in np.flatnonzero(missing & column.wanted):
            if isinstance(cells[cell], float | np.floating):
                advice = _NAN_ADVICE.format(name=column.field_name)
                raise column.error(int(cell), "a value or None", "NaN", advice)
    return np.asarray(missing)


def _stack(cells: pd.Series, column: Column, known: np.ndarray) -> np.ndarray:
    """The vectors of a column, one a cell, as one array."""
    shape = column.field.shape
    rows = cells.tolist()
    stacked = _to_array(rows)
    if stacked is not None and stacked.shape == (len(rows), *shape):
        return stacked
    advice = f"Write a list of {shape[0]} numbers, or None where it is missing."
    for cell, value in zip(np.flatnonzero(known), rows, strict=True):
        found = _to_array(value)
        if found is None or found.shape != shape:
            raise column.error(int(cell), f"a vector of shape {shape}", short(value), advice)
    first = int(np.argmax(known))
    raise column.error(first, f"vectors of shape {shape}", short(rows[0]), advice)


def _to_array(value: object) -> np.ndarray | None:
    """Anything as an array; None if it cannot be, such as lists of different lengths."""
    try:
        return np.array(value)
    except (ValueError, TypeError, OverflowError):
        return None
