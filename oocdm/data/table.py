"""From long tables, one row per object and step, to the cells of a `Log`.

Frames and files both come as such tables; only how a column is read differs, so a reader is
a function that is given a `Column` and returns its known values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oocdm.data.cells import Cells, RaggedColumn
from oocdm.data.column import Column, Keys, cast, not_whole
from oocdm.data.log import Log
from oocdm.data.places import Places
from oocdm.errors import DataError, short, suggest
from oocdm.schema import Schema

KEY_COLUMNS = ("episode", "step", "object")
STEP_COLUMNS = ("episode", "step", "reward", "terminated", "truncated")


@dataclass(frozen=True)
class Steps:
    """The steps of a dataset, sorted by (episode, step): they define its rows.

    >>> Steps.of({"episode": np.array([0, 0]), "step": np.array([1, 0])}, "steps").step
    array([0, 1])
    """

    episode: np.ndarray
    step: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    @staticmethod
    def of(columns: Mapping[str, np.ndarray], what: str) -> Steps:
        """Sort and check the columns; an outcome that is not among them is 0 or False.

        The last step of an episode may lack an outcome: NaN, or None in a column of dtype object.
        """
        episode, step = columns["episode"], columns["step"]
        order = np.lexsort((step, episode))
        episode, step = episode[order], step[order]
        twice = (episode[1:] == episode[:-1]) & (step[1:] == step[:-1])
        if twice.any():
            i = int(np.argmax(twice))
            raise DataError(
                f"{what}: expected each step once, got episode {episode[i]}, step {step[i]} twice."
            )
        is_last = np.ones(len(episode), dtype=bool)
        is_last[:-1] = episode[1:] != episode[:-1]
        outcomes = {}
        for name in STEP_COLUMNS[2:]:
            values = columns.get(name, np.zeros(len(episode), dtype=bool))[order]
            is_flag = name != "reward"
            missing, is_wrong, numbers = _read_outcome(values, is_flag)
            bad = is_wrong | (missing & ~is_last)
            if bad.any():
                i = int(np.argmax(bad))
                expected = "true or false" if is_flag else "a number"
                got = "a missing value" if missing[i] else short(values[i : i + 1].tolist()[0])
                raise DataError(
                    f"{what}: column `{name}`: expected {expected}, got {got} at episode "
                    f"{episode[i]}, step {step[i]}. Only the last step of an episode has no "
                    "outcome; fill in the others."
                )
            with np.errstate(over="ignore"):  # too large for float32 is reported as infinite
                outcomes[name] = numbers.astype(np.bool_ if is_flag else np.float32)
        return Steps(episode, step, **outcomes)

    @staticmethod
    def mentioned(keys: Iterable[Keys]) -> Steps:
        """Every (episode, step) that any class's table mentions."""
        tables = list(keys)
        episode = np.concatenate([k.episode for k in tables])
        step = np.concatenate([k.step for k in tables])
        order = np.lexsort((step, episode))
        episode, step = episode[order], step[order]
        is_new = np.ones(len(episode), dtype=bool)
        is_new[1:] = (episode[1:] != episode[:-1]) | (step[1:] != step[:-1])
        return Steps.of({"episode": episode[is_new], "step": step[is_new]}, "steps")


def _read_outcome(values: np.ndarray, is_flag: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which cells of an outcome's column are missing, which are wrong, and all as numbers."""
    kind = values.dtype.kind
    is_number = np.full(len(values), kind in "biuf")
    missing = np.isnan(values) if kind == "f" else np.zeros(len(values), dtype=bool)
    if kind == "O":  # such as the True, False and None of a nullable column
        is_number[:] = [_is_float(v) for v in values]
        missing[:] = [v is None or (isinstance(v, float) and v != v) for v in values]
    numbers = np.zeros(len(values))
    known = is_number & ~missing
    numbers[known] = values[known]
    is_wrong = ~is_number & ~missing
    if is_flag:
        is_wrong |= ~np.isin(numbers, (0, 1))
    return missing, is_wrong, numbers


def _is_float(value: object) -> bool:
    """Whether it is a number, and no larger than floats are."""
    if isinstance(value, int):
        return abs(value) < sys.float_info.max
    return isinstance(value, float | np.integer | np.floating | np.bool_)


# A reader returns which cells are known, (table row,), a subset of the wanted ones, and the
# values of just these cells, (known cell, *shape).
Reader = Callable[[Column], tuple[np.ndarray, np.ndarray]]


def build_log(
    schema: Schema,
    keys: Mapping[str, Keys],
    steps: Steps,
    episodes: Mapping[str, np.ndarray],
    read: Reader,
    nan_advice: str,
) -> Log:
    """Put the tables of all classes in the order of a log.

    Actions in the last step of an episode lead nowhere, so they are never read.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> keys = {"Ball": Keys(np.zeros(2, int), np.arange(2), np.zeros(2, int), np.array([9]))}
    >>> every = np.ones(2, bool)
    >>> build_log(
    ...     Schema(Ball), keys, Steps.mentioned(keys.values()), {},
    ...     lambda column: (every, np.zeros(2)), "",
    ... ).values["Ball"]["x"].shape
    (2, 1)
    """
    if len(steps.episode) == 0:
        raise DataError("The dataset is empty: expected at least two steps of one episode, got 0.")
    is_last = np.append(steps.episode[1:] != steps.episode[:-1], True)
    cells: dict[str, Cells] = {}
    names: dict[str, RaggedColumn] = {}
    for name, cls in schema.classes.items():
        row = _rows_of(steps, keys[name], name)
        slot, names[name] = _slots_of(steps, keys[name])
        order = _order_of(row, slot, keys[name], name)
        counts = np.bincount(row, minlength=len(steps.episode))
        places = Places(counts, slot[order].astype(np.int32), names[name][0].width)
        cells[name] = Cells(places, values := {}, observed := {})
        for field_name, field in cls.fields.items():
            wanted = ~is_last[row] if field.action else np.ones(len(row), dtype=bool)
            column = Column(name, field_name, field, keys[name], wanted)
            known, found = read(column)
            held = np.zeros((len(row), *field.shape), dtype=field.dtype)
            if known.any():
                held[known] = cast(column, known, found, nan_advice)
            values[field_name], observed[field_name] = held[order], known[order]
    return Log.of_cells(schema, cells, names, **vars(steps), episodes=episodes)


def _rows_of(steps: Steps, keys: Keys, name: str) -> np.ndarray:
    """The row of the dataset that each row of a table belongs to."""
    episodes, numbers = np.unique(steps.episode), np.unique(steps.step)

    def rank(episode: np.ndarray, step: np.ndarray) -> np.ndarray:
        high = np.searchsorted(episodes, episode)
        return np.asarray(high * (len(numbers) + 1) + np.searchsorted(numbers, step))

    row = np.searchsorted(rank(steps.episode, steps.step), rank(keys.episode, keys.step))
    row = np.minimum(row, len(steps.episode) - 1)
    # An unknown step ranks like its nearest neighbour, so look whether the row is really it.
    strange = (steps.episode[row] != keys.episode) | (steps.step[row] != keys.step)
    if strange.any():
        place = keys.place(int(np.argmax(strange)))
        raise DataError(
            f"Class `{name}`: got a row for {place}, but the table of steps has no such step. "
            "Add it there or leave the row out."
        )
    return row


def _slots_of(steps: Steps, keys: Keys) -> tuple[np.ndarray, RaggedColumn]:
    """The place of each row's object among its episode's objects, and the objects' names."""
    episodes = np.unique(steps.episode)
    width = max(1, len(keys.ids))
    pair, which = np.unique(
        np.searchsorted(episodes, keys.episode) * width + keys.code, return_inverse=True
    )
    counts = np.bincount(pair // width, minlength=len(episodes))
    # A class without any object still gets one empty place, so that no array has length 0.
    places = Places.first(counts, max(1, int(counts.max())))
    return places.place[which], (places, keys.ids[pair % width])


def _order_of(row: np.ndarray, slot: np.ndarray, keys: Keys, name: str) -> np.ndarray | slice:
    """What puts the rows of a table in the order of cells, by row and place."""
    flat = row * (int(slot.max(initial=0)) + 1) + slot
    if (flat[1:] > flat[:-1]).all():  # as we write tables ourselves
        return slice(None)
    order = np.argsort(flat, kind="stable")
    repeated = order[1:][flat[order][1:] == flat[order][:-1]]
    if len(repeated) == 0:
        return order
    raise DataError(
        f"Class `{name}`: expected one row for each object in a step, got two for "
        f"{keys.place(int(repeated.min()))}. Remove one, or give the objects different names."
    )


def whole_numbers(numbers: np.ndarray, what: str) -> np.ndarray:
    """Numbers of episodes, steps or objects as int64; whole floats, as merges make them, too.

    >>> whole_numbers(np.array([0.0, 1.0]), "Frame `Block`: column `episode`")
    array([0, 1])
    """
    bad = not_whole(numbers)
    if bad.any():
        row = int(np.argmax(bad))
        got, advice = str(numbers[row]), "Number them anew."
        if numbers[row] != numbers[row]:
            got = "a missing value"
            advice = "A merge leaves some where it finds no partner: leave these rows out."
        raise no_whole_number(what, row, got, advice)
    return np.asarray(numbers.astype(np.int64))


def no_whole_number(what: str, row: int, got: str, advice: str) -> DataError:
    """The error about a number of an episode, step or object, by its row in the table."""
    return DataError(
        f"{what}: expected whole numbers (int64) without missing values, got {got} in row {row}, "
        f"counted from 0. {advice}"
    )


def codes_of(
    column: Column, known: np.ndarray, values: Sequence[object], which: np.ndarray
) -> np.ndarray:
    """The whole numbers that stand for the cells of a field with names, or are given as such.

    `values` are the different ones, and `which` (known cell,) says which of them a cell holds.

    >>> from oocdm.schema import Categorical
    >>> keys = Keys(np.zeros(3, int), np.arange(3), np.zeros(3, int), np.array([7]))
    >>> every = np.ones(3, bool)
    >>> column = Column("Ant", "heading", Categorical(["north", "south"]), keys, every)
    >>> codes_of(column, every, ["south", 0], np.array([0, 1, 0]))
    array([1, 0, 1])
    """
    names = {name: code for code, name in enumerate(column.field.names)}
    codes = []
    for i, value in enumerate(values):
        if isinstance(value, str) and value in names:
            codes.append(names[value])
        elif (code := _whole_number(value)) is not None:
            codes.append(code)
        else:
            cell = int(np.flatnonzero(known)[np.argmax(which == i)])
            if isinstance(value, str):
                raise DataError(
                    f"{column.name}: unknown value {short(value)} at {column.keys.place(cell)}. "
                    f"{suggest(value, names)}"
                )
            advice = f"Known: {', '.join(names)}."
            raise column.error(cell, "a name or a whole number", short(value), advice)
    return np.array(codes, dtype=np.int64)[which]


def _whole_number(value: object) -> int | None:
    """A number of a category, also as a float; None if it is none, or larger than any is."""
    if isinstance(value, int | np.integer) or (isinstance(value, float) and value.is_integer()):
        number = int(value)
        return number if abs(number) < 2**63 else None
    return None


def check_columns(
    what: str, found: Iterable[str], required: Iterable[str], optional: Iterable[str] = ()
) -> None:
    """Raise a `DataError` for a column that is missing or that nobody knows.

    >>> check_columns("Frame `Block`", ["episode", "S1"], ["episode", "s1"])
    Traceback (most recent call last):
    ...
    oocdm.errors.DataError: Frame `Block`: unknown column `S1`. Did you mean `s1`? \
Known: episode, s1.
    """
    columns, needed = list(found), list(required)
    known = [*needed, *optional]
    for name in columns:
        if not isinstance(name, str):
            raise DataError(
                f"{what}: expected columns whose names are strings, got {short(name)}. Rename it, "
                f"or leave it out. Known: {', '.join(needed)}."
            )
        if name not in known:
            raise DataError(
                f"{what}: unknown column `{short(name, quote=False)}`. {suggest(name, known)}"
            )
        if columns.count(name) > 1:
            raise DataError(f"{what}: expected each column once, got `{name}` twice.")
    for name in needed:
        if name not in columns:
            raise DataError(
                f"{what}: column `{name}` is missing. Expected: {', '.join(needed)}; "
                f"got: {', '.join(columns)}."
            )


def align_episodes(
    columns: Mapping[str, np.ndarray], episode: np.ndarray, what: str
) -> dict[str, np.ndarray]:
    """The columns of an episodes table without `episode`, in the order of the dataset.

    >>> table = {"episode": np.array([4, 2]), "map": np.array(["big", "small"])}
    >>> align_episodes(table, np.array([2, 2, 4]), "episodes")
    {'map': array(['small', 'big'], dtype='<U5')}
    """
    ids = np.unique(episode)
    order = np.argsort(columns["episode"], kind="stable")
    found = columns["episode"][order]
    if not np.array_equal(found, ids):
        odd = np.setxor1d(found, ids)
        got = f"a difference in episode {odd[0]}" if len(odd) else "an episode twice"
        raise DataError(f"{what}: expected one row for each episode of the steps, got {got}.")
    return {name: column[order] for name, column in columns.items() if name != "episode"}
