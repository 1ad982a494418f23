"""Arguments, read by the hints of their function."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from oocdm.errors import OocdmError, PlanError
from oocdm.reading import Count, Seed, checked


class Tool:
    """Something that only its maker can make."""


@checked(PlanError)
def act(
    data: Tool,
    steps: Annotated[Count, "It is how many steps there are."] = 3,
    *,
    seed: Seed | None = None,
    share: float = math.nan,
    mode: Literal["slow", "fast"] = "slow",
    folder: str | Path | None = None,
    told: Callable[[int], None] | None = None,
    tool: Annotated[Tool, "Make one: Tool()."] | None = None,
    **more: Any,
) -> dict[str, Any]:
    return {**locals(), "data": data}


def test_arguments_become_those_of_python() -> None:
    found = act(Tool(), np.int64(5), seed=np.uint8(7), share=1, other=None)  # type: ignore[arg-type]
    assert (found["steps"], found["seed"], found["share"]) == (5, 7, 1.0)
    assert [type(found[name]) for name in ("steps", "seed", "share")] == [int, int, float]
    assert found["more"] == {"other": None}


def test_a_default_is_never_wrong() -> None:
    assert math.isnan(act(Tool())["share"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"steps": 0},
            "act: `steps`: expected a whole number of at least 1, got 0. It is how many steps "
            "there are.",
        ),
        ({"seed": -1}, "act: `seed`: expected a whole number of at least 0, got -1."),
        ({"share": "x"}, "act: `share`: expected a number, got 'x'."),
        ({"mode": None}, "act: `mode`: expected 'slow' or 'fast', got None."),
        ({"folder": 3}, "act: `folder`: expected text or a path or None, got 3."),
        ({"told": 3}, "act: `told`: expected a function or None, got 3."),
        ({"tool": 3}, "act: `tool`: expected a Tool or None, got 3. Make one: Tool()."),
    ],
)
def test_what_is_wrong_is_told(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        act(Tool(), **given)
    assert str(caught.value) == message


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(PlanError, match=r"^act: 2 problems:\n- `steps`: .*\n- `seed`: "):
        act(Tool(), 0, seed="x")  # type: ignore[arg-type]


def test_other_classes_are_left_to_the_function() -> None:
    assert act(3)["data"] == 3  # type: ignore[arg-type]


def test_methods_are_named_with_their_class() -> None:
    class Box:
        @checked(OocdmError)
        def __init__(self, size: Count) -> None:
            self.size = size

        @checked(OocdmError)
        def cut(self, parts: Count) -> int:
            return self.size // parts

    assert Box(4).cut(2) == 2
    with pytest.raises(OocdmError, match=r"^Box: `size`: expected a whole number"):
        Box(None)  # type: ignore[arg-type]
    with pytest.raises(OocdmError, match=r"^Box\.cut: `parts`: expected a whole number"):
        Box(4).cut(0)


def test_that_there_is_not_enough_memory_is_said_in_words() -> None:
    @checked(OocdmError)
    def draw(samples: Count) -> object:
        return np.zeros((samples, samples))

    with pytest.raises(OocdmError, match=r"^draw: there is not enough memory for that \(Unable"):
        draw(2**24)

    @checked(OocdmError)
    def think(samples: Count) -> object:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        think(1)
