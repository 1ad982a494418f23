"""The strict reader: types, ranges, parts, and what it says of what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Protocol, TypedDict

import numpy as np
import pytest

from oocdm.errors import DataError, ModelError, OocdmError
from oocdm.reading import AnyNumber, Count, Range, Seed, Share, check_fields, read, read_parts

if TYPE_CHECKING:
    from nowhere import Unknown  # type: ignore[import-not-found]


@dataclass(frozen=True)
class Plan:
    steps: Count = 10
    rate: Annotated[float, Range(above=0)] = 0.1
    name: Literal["slow", "fast"] = "slow"

    def __post_init__(self) -> None:
        check_fields(self, "plan", ModelError)
        if self.name == "fast" and self.steps > 100:
            raise ModelError("a fast plan has at most 100 steps.")


@dataclass(frozen=True)
class Whole:
    size: int
    plan: Plan = field(default_factory=Plan)
    widths: tuple[int, ...] = ()


class Row(TypedDict):
    edge: str
    score: AnyNumber | None
    notes: NotRequired[Any]


class Speaks(Protocol):
    def speak(self) -> None: ...


GOOD: list[tuple[Any, Any, Any]] = [
    (int, np.int64(3), 3),
    (float, 3, 3.0),
    (float, np.float32(0.5), 0.5),
    (AnyNumber, -math.inf, -math.inf),
    (bool, np.bool_(True), True),
    (str, "x", "x"),
    (None, None, None),
    (int | None, None, None),
    (int | tuple[str, ...], ["a", "b"], ("a", "b")),
    (float | str, "x", "x"),
    (list[float], (1, 2), [1.0, 2.0]),
    (list, [1, "x"], [1, "x"]),
    (tuple[int, ...], np.array([1, 2]), (1, 2)),
    (tuple[int, str], [1, "x"], (1, "x")),
    (Sequence[int], [1], [1]),
    (dict[str, int], {"a": np.int8(1)}, {"a": 1}),
    (Mapping[str, list[int]], {"a": [1]}, {"a": [1]}),
    (Literal["a", 1], 1, 1),
    (Plan, {"steps": 3}, Plan(3)),
    (Plan, Plan(3), Plan(3)),
    (Whole, {"size": 1, "plan": {"rate": 2}, "widths": [3]}, Whole(1, Plan(rate=2.0), (3,))),
    (Row, {"edge": "e", "score": None}, {"edge": "e", "score": None}),
    (Seed, 2**63 - 1, 2**63 - 1),
    # What the reader does not know it lets pass.
    (Any, {1: object}, {1: object}),
    (Callable[[int], int], len, len),
    (set[int], {"x"}, {"x"}),
    (Speaks, 5, 5),
    ("Unknown", 5, 5),
    (Annotated[str, "a remark"], "x", "x"),
]


@pytest.mark.parametrize(("hint", "value", "expected"), GOOD)
def test_what_is_of_its_type_is_read(hint: Any, value: Any, expected: Any) -> None:
    found = read(hint, value, "here")
    assert found == expected
    assert type(found) is type(expected)


BAD: list[tuple[Any, Any, str]] = [
    (int, True, "here: expected a whole number, got True."),
    (int, 2.0, "here: expected a whole number, got 2.0."),
    (int, "3", "here: expected a whole number, got '3'."),
    (float, None, "here: expected a number, got None."),
    (float, math.nan, "here: expected a finite number, got nan."),
    (float, np.float64(math.inf), "here: expected a finite number, got inf."),
    (float, 10**400, "here: expected a finite number, got a whole number of about 401 digits."),
    (
        Seed,
        2**64,
        "here: expected a whole number of at least 0 that fits into 64 bits, "
        "got 18446744073709551616.",
    ),
    (Seed, -1, "here: expected a whole number of at least 0, got -1."),
    (Share, 1, "here: expected a number above 0 and below 1, got 1."),
    (Count | None, 0, "here: expected a whole number of at least 1, got 0."),
    (Count | None, "x", "here: expected a whole number of at least 1 or None, got 'x'."),
    (bool, 1, "here: expected true or false, got 1."),
    (str, b"x", "here: expected text, got b'x'."),
    (None, 0, "here: expected None, got 0."),
    (list[int], "12", "here: expected a list, got '12'."),
    (list[int], [1, None], "here: `[1]`: expected a whole number, got None."),
    (list[int] | None, [1, "x"], "here: `[1]`: expected a whole number, got 'x'."),
    (tuple[int, int], [1], "here: expected a list of 2, got [1]."),
    (Sequence[int], 3, "here: expected a list, got 3."),
    (dict[str, int], [], "here: expected a mapping, got []."),
    (dict[str, int], {1: 2}, "here: `1`: expected text, got 1."),
    (
        dict[str, dict[str, int]],
        {"a": {"b": "c"}},
        "here: `a.b`: expected a whole number, got 'c'.",
    ),
    (
        Literal["slow", "fast"],
        "fats",
        "here: unknown value 'fats'. Did you mean `fast`? Known: slow, fast.",
    ),
    (Literal["slow", "fast"], 3, "here: expected 'slow' or 'fast', got 3."),
    (Literal[1, 2], True, "here: expected 1 or 2, got True."),
    (Plan, 3, "here: expected a Plan or a mapping of its parts, got 3."),
    (
        Plan,
        {"stops": 3},
        "here: there is no `stops`. Did you mean `steps`? Known: steps, rate, name.",
    ),
    (Whole, {}, "here: `size` is missing."),
    (
        Whole,
        {"size": 1, "plan": {"rate": 0}},
        "here: `plan.rate`: expected a number above 0, got 0.",
    ),
    (
        Whole,
        {"size": 1, "plan": {"steps": 101, "name": "fast"}},
        "here: `plan`: a fast plan has at most 100 steps.",
    ),
    (Row, None, "here: expected a mapping, got None."),
    (Row, {"edge": "e"}, "here: `score` is missing."),
    (Row, {"edge": "e", "score": 1.0, "p": 1}, "here: there is no `p`. Known: edge, score, notes."),
    (Path, 3, "here: expected a path, got 3."),
]


@pytest.mark.parametrize(("hint", "value", "message"), BAD)
def test_what_is_not_is_told(hint: Any, value: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(hint, value, "here", DataError)
    assert str(caught.value) == message


def test_all_problems_are_told_at_once() -> None:
    wrong = {"size": "big", "plan": {"rate": -1, "stops": 2}, "widths": [1, 2.5]}
    with pytest.raises(ModelError) as caught:
        read(Whole, wrong, "config.json", ModelError, "Write it anew.")
    assert str(caught.value).splitlines() == [
        "config.json: 4 problems:",
        "- `size`: expected a whole number, got 'big'.",
        "- `plan`: there is no `stops`. Did you mean `steps`? Known: steps, rate, name.",
        "- `plan.rate`: expected a number above 0, got -1.",
        "- `widths[1]`: expected a whole number, got 2.5.",
        "Write it anew.",
    ]


def test_many_problems_and_long_values_are_shortened() -> None:
    with pytest.raises(OocdmError) as caught:
        read(list[int], ["x" * 10**6] * 1000, "numbers")
    lines = str(caught.value).splitlines()
    assert lines[0] == "numbers: 1000 problems:"
    assert lines[-1] == "- and 990 more."
    assert len(lines) == 12
    assert max(map(len, lines)) < 200


def test_what_must_be_complete_has_all_fields() -> None:
    assert read(Whole, {"size": 1}, "here") == Whole(1)
    message = re.escape("here: 2 problems:\n- `plan` is missing.\n- `widths` is missing.")
    with pytest.raises(OocdmError, match=f"^{message}$"):
        read(Whole, {"size": 1}, "here", complete=True)


def test_parts_change_those_of_an_instance() -> None:
    own = Whole(1, Plan(7, rate=0.5))
    found = read_parts(own, {"plan": {"steps": 8}}, "here")
    assert found == {"plan": Plan(8, rate=0.5)}
    with pytest.raises(OocdmError, match=r"^here: `plan`: a fast plan has at most 100 steps\.$"):
        read_parts(own, {"plan": {"steps": 101, "name": "fast"}}, "here")
    with pytest.raises(OocdmError, match=r"^here: expected a mapping, got 3\.$"):
        read_parts(own, 3, "here")


def test_fields_are_checked_in_place() -> None:
    plan = Plan(np.int64(5), 1)  # type: ignore[arg-type]
    assert (plan.steps, plan.rate) == (5, 1.0)
    assert (type(plan.steps), type(plan.rate)) == (int, float)
    with pytest.raises(ModelError, match=r"^plan: 2 problems:"):
        Plan(0, "quick")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Loose(Plan):
    """As people write dataclasses: a hint for type checkers alone, and a default it forbids."""

    other: Unknown = None
    width: int = None  # type: ignore[assignment]


def test_hints_without_a_meaning_at_run_time_allow_everything() -> None:
    assert Loose(other=3).other == 3
    with pytest.raises(ModelError, match=r"^plan: `steps`: expected a whole number"):
        Loose(steps="many")  # type: ignore[arg-type]


def test_a_default_is_never_wrong() -> None:
    @dataclass(frozen=True)
    class Sloppy:
        width: int = None  # type: ignore[assignment]

        def __post_init__(self) -> None:
            check_fields(self)

    assert Sloppy().width is None
    assert read(Sloppy, {"width": None}, "here") == Sloppy()
    with pytest.raises(OocdmError, match=r"^Sloppy: `width`: expected a whole number, got 'x'\.$"):
        Sloppy("x")  # type: ignore[arg-type]


def test_no_more_than_a_thousand_problems_are_looked_for() -> None:
    with pytest.raises(OocdmError) as error:
        read(list[int], ["one"] * 5000, "numbers")
    assert str(error.value).startswith("numbers: at least 1001 problems:\n- `[0]`: expected ")
    assert str(error.value).endswith("- and at least 991 more.")
    with pytest.raises(OocdmError, match="at least 1001 problems"):
        read_parts(Plan, {f"x{i}": 1 for i in range(5000)}, "plan")
