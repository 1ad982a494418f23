"""What must hold of a dataset's arrays, checked in whole columns when a `Dataset` is made."""

from __future__ import annotations

import numpy as np

from oocdm.data.log import Log
from oocdm.data.static import known_cells
from oocdm.data.values import TOO_LARGE, describe_size, is_too_large
from oocdm.errors import DataError, suggest
from oocdm.schema import Field


def check_log(data: Log) -> None:
    """Raise a `DataError` that names the first thing wrong with the arrays.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> schema, on = Schema(Ball), {"Ball": np.ones((2, 1), bool)}
    >>> x = np.array([[0.0], [np.inf]], np.float32)
    >>> no = np.zeros(2, bool)
    >>> log = Log(schema, {"Ball": {"x": x}}, on, {"Ball": {"x": on["Ball"]}}, np.zeros(2, int),
    ...         np.arange(2), np.zeros(2, np.float32), no, no, {}, {"Ball": np.zeros((1, 1), int)})
    >>> check_log(log)
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: Field `Ball.x`: expected a finite number (float32), got inf at \
episode 0, step 1, object 0.
    """
    _check_row_columns(data)
    _check_order(data)
    _check_last_rows(data)
    for name in data.present:
        if name not in data.schema.classes:
            raise DataError(f"Unknown class `{name}`. {suggest(name, data.schema.classes)}")
    padded = [name for name in data.schema.classes if data.held(name) is None]
    for name in padded:
        _check_shapes(data, name)
    _check_lengths(data)
    _check_episode_columns(data)
    for name in padded:
        for field_name in data.schema.fields(name):
            _check_padding(data, name, field_name)
    for name, cls in data.schema.classes.items():
        for field_name, field in cls.fields.items():
            _check_unknown(data, name, field_name)
            _check_values(data, name, field_name, field)
            if field.static:
                _check_static(data, name, field_name)


def describe_domain(field: Field) -> str:
    """In words, which values a bounded field allows.

    >>> from oocdm.schema import Integer
    >>> describe_domain(Integer(0, 3)), describe_domain(Integer(low=1))
    ('a value from 0 to 3', 'a value of at least 1')
    """
    names = f" ({', '.join(field.names)})" if field.names else ""
    if field.low is not None and field.high is not None:
        return f"a value from {field.low} to {field.high}{names}"
    if field.low is not None:
        return f"a value of at least {field.low}"
    return f"a value of at most {field.high}"


def _check_row_columns(data: Log) -> None:
    kinds = {
        "episode": np.int64,
        "step": np.int64,
        "reward": np.float32,
        "terminated": np.bool_,
        "truncated": np.bool_,
    }
    rows = data.episode.shape[0] if data.episode.ndim else 0
    if rows == 0:
        raise DataError("The dataset is empty: expected at least two steps of one episode, got 0.")
    for name, dtype in kinds.items():
        _check_array(f"Column `{name}`", getattr(data, name), (rows,), dtype)
    if not np.isfinite(data.reward).all():
        row = int(np.argmin(np.isfinite(data.reward)))
        raise DataError(
            f"Column `reward`: expected a finite number (float32), got {data.reward[row]} at "
            f"episode {data.episode[row]}, step {data.step[row]}."
        )


def _check_order(data: Log) -> None:
    same = data.episode[1:] == data.episode[:-1]
    wrong = (data.episode[1:] < data.episode[:-1]) | (same & (data.step[1:] <= data.step[:-1]))
    if wrong.any():
        row = int(np.argmax(wrong)) + 1
        raise DataError(
            "The dataset's rows: expected each step once, sorted by episode and step; got episode "
            f"{data.episode[row]}, step {data.step[row]} after episode {data.episode[row - 1]}, "
            f"step {data.step[row - 1]}."
        )
    if len(data.starts) == 0:
        raise DataError(
            "The dataset has no transition: expected an episode with two steps whose numbers "
            f"follow each other, got {len(data.episode)} single steps in {data.num_episodes} "
            "episodes."
        )


def _check_last_rows(data: Log) -> None:
    for name in ("reward", "terminated", "truncated"):
        wrong = data.is_last & (getattr(data, name) != 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"Column `{name}`: the last step of an episode has no outcome, but episode "
                f"{data.episode[row]}, step {data.step[row]} has {getattr(data, name)[row]}. A row "
                "holds a state, its action and the outcome of that action. If this outcome stands "
                "beside its action, whose next state is not logged, blank it in the last step of "
                "every episode; if it stands in the row after its action, move the column up by "
                "one step."
            )


def _check_shapes(data: Log, name: str) -> None:
    for what, table in {
        "values": data.values,
        "present": data.present,
        "observed": data.observed,
    }.items():
        if name not in table:
            raise DataError(f"Class `{name}` is missing from the dataset's `{what}`.")
    present = data.present[name]
    slots = present.shape[1] if present.ndim == 2 else 1
    shape = (len(data.episode), slots)
    _check_array(f"Class `{name}`: present", present, shape, np.bool_)
    for field_name, field in data.schema.fields(name).items():
        where = f"Field `{name}.{field_name}`"
        if field_name not in data.values[name] or field_name not in data.observed[name]:
            raise DataError(f"{where} is missing from the dataset's `values` or `observed`.")
        _check_array(where, data.values[name][field_name], (*shape, *field.shape), field.dtype)
        _check_array(f"{where}: observed", data.observed[name][field_name], shape, np.bool_)
    for field_name in data.values[name]:
        if field_name not in data.schema.fields(name):
            known = suggest(field_name, data.schema.fields(name))
            raise DataError(f"Unknown field `{name}.{field_name}`. {known}")


def _check_array(
    where: str, array: np.ndarray, shape: tuple[int, ...], dtype: type[np.generic]
) -> None:
    if array.shape != shape or array.dtype != dtype:
        raise DataError(
            f"{where}: expected shape {shape} and dtype {np.dtype(dtype)}, "
            f"got shape {array.shape} and dtype {array.dtype}."
        )


def _check_episode_columns(data: Log) -> None:
    for name, column in data.episodes.items():
        if name == "episode" or len(column) != data.num_episodes:
            raise DataError(
                f"Column `{name}` of `episodes`: expected one entry for each of the "
                f"{data.num_episodes} episodes (and no column `episode`), got {len(column)}."
            )
    for name in data.schema.classes:
        if not data.object_ids:
            break
        width, got = data.cells[name].places.width, None
        if name in data.object_ids:
            places = data.names[name][0]
            got = (len(places.counts), places.width)
        if got != (data.num_episodes, width):
            raise DataError(
                f"Class `{name}`: object_ids: expected shape {(data.num_episodes, width)}, got "
                f"{got}."
            )
        lacks = data.names[name][0].counts < data.num_places(name)
        if lacks.any():
            raise DataError(
                f"Class `{name}`: object_ids: expected a name for each object, got too few for "
                f"episode {data.episode_ids[np.argmax(lacks)]}. Give the names of these data."
            )


def _check_lengths(data: Log) -> None:
    """Of a log that was made from cells: that there are some for each row."""
    for name, cells in data.cells.items():
        if len(cells.places.counts) != len(data.episode):
            raise DataError(
                f"Class `{name}`: expected objects for each of the {len(data.episode)} rows, got "
                f"{len(cells.places.counts)}."
            )


def _check_padding(data: Log, name: str, field_name: str) -> None:
    """Of a log that was made from padded arrays: that nothing stands where no object is."""
    absent = ~data.present[name]
    if not absent.any():
        return
    observed, values = data.observed[name][field_name], data.values[name][field_name]
    wrong = observed & absent
    if wrong.any():
        row, slot = (int(i) for i in np.argwhere(wrong)[0])
        raise DataError(
            f"Field `{name}.{field_name}`: observed at {data.place(name, row, slot)}, where the "
            "object is not present. Clear `observed` where `present` is false."
        )
    filled = absent & (values != 0).any(axis=tuple(range(2, values.ndim)))
    if filled.any():
        row, slot = (int(i) for i in np.argwhere(filled)[0])
        raise _not_blank(data, name, field_name, values[row, slot], row, slot)


def _check_unknown(data: Log, name: str, field_name: str) -> None:
    observed = data.cells[name].observed[field_name]
    if observed.all():
        return
    values = data.cells[name].values[field_name]
    filled = ~observed & (values != 0).any(axis=tuple(range(1, values.ndim)))
    if filled.any():
        cell = int(np.argmax(filled))
        row, slot = data.cells[name].places.where(cell)
        raise _not_blank(data, name, field_name, values[cell], row, slot)


def _not_blank(
    data: Log, name: str, field_name: str, value: np.ndarray, row: int, slot: int
) -> DataError:
    return DataError(
        f"Field `{name}.{field_name}`: expected 0 where nothing is observed, got {value} at "
        f"{data.place(name, row, slot)}."
    )


def _check_values(data: Log, name: str, field_name: str, field: Field) -> None:
    values = data.cells[name].values[field_name]
    if values.dtype.kind == "f":
        finite = np.isfinite(values)
        if not finite.all():
            _fail(data, name, field_name, ~finite, "a finite number (float32)")
    too_large = is_too_large(field, values)
    if too_large.any():
        _fail(data, name, field_name, too_large, describe_size(field), f" {TOO_LARGE}")
    if field.low is None and field.high is None:
        return
    bad = field.out_of_domain(values)
    if bad.any():
        observed = data.cells[name].observed[field_name]
        bad &= observed.reshape(observed.shape + (1,) * len(field.shape))
        if bad.any():
            _fail(data, name, field_name, bad, describe_domain(field))


def _fail(
    data: Log, name: str, field_name: str, bad: np.ndarray, expected: str, advice: str = ""
) -> None:
    where = tuple(np.argwhere(bad)[0])
    cells = data.cells[name]
    raise DataError(
        f"Field `{name}.{field_name}`: expected {expected}, got "
        f"{cells.values[field_name][where]} at {data.place(name, *cells.places.where(where[0]))}."
        + advice
    )


def _check_static(data: Log, name: str, field_name: str) -> None:
    cells = data.cells[name]
    known, values = cells.observed[field_name], cells.values[field_name]
    source = known_cells(data, name, field_name)
    differs = (values != values[source]).any(axis=tuple(range(1, values.ndim)))
    wrong = known & differs
    if wrong.any():
        cell = int(np.argmax(wrong))
        first = cells.places.where(source[cell])[0]
        raise DataError(
            f"Static field `{name}.{field_name}`: expected one value within an episode, got "
            f"{values[source[cell]]} at step {data.step[first]} and {values[cell]} at "
            f"{data.place(name, *cells.places.where(cell))}. Declare it without static=True if it "
            "may change."
        )
