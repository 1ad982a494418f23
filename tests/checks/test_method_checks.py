"""What a method says, checked thing by thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pytest
import torch

from oocdm.checks.method_checks import (
    dataclass_problems,
    json_problems,
    known_problems,
    name_problems,
    penalty_problems,
    sentence,
    start_problems,
    term_problems,
)
from oocdm.graph import ClassEdges, Layout
from oocdm.methods import Oofull, Term
from tests.checks.toys import DATA, Toy, broken

LAYOUT = Layout(ClassEdges.of(DATA.schema), ("network",))
ALL, NONE = LAYOUT.structure(True), LAYOUT.structure(False, False)
FIRST = np.arange(LAYOUT.num_edges) == 0


@dataclass(frozen=True)
class Wide(Toy):
    name: ClassVar[str] = "wide"
    widths: Any = 3

    @classmethod
    def from_json(cls, options: dict[str, Any]) -> Self:
        if options["widths"] == "odd":
            raise ValueError("an odd width")
        return super().from_json(options)


# ---------------------------------------------------------------- what it says of itself


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mine", []),
        (
            "",
            [
                "Broken.name: expected a text that runs are known by, got ''. Write name: "
                'ClassVar[str] = "...".'
            ],
        ),
        (
            3,
            [
                "Broken.name: expected a text that runs are known by, got 3. Write name: "
                'ClassVar[str] = "...".'
            ],
        ),
        (
            "gnn",
            [
                "Broken.name: expected a name of its own, got `gnn`, that of Gnn, as which its "
                "runs would be read. Give it another."
            ],
        ),
    ],
)
def test_names(name: Any, expected: list[str]) -> None:
    assert list(name_problems(broken(name=name))) == expected


def test_methods_of_the_library_have_their_own_names() -> None:
    assert list(name_problems(Oofull())) == []
    nameless = type("Nameless", (Oofull,), {"name": None})()
    (told,) = name_problems(nameless)
    assert told.startswith("Nameless.name: expected a text that runs are known by, got None.")


def test_every_class_is_a_dataclass_itself() -> None:
    class Bare(Toy):
        name = "bare"

    assert list(dataclass_problems(Toy())) == []
    assert list(dataclass_problems(Bare())) == [
        "Bare: expected a frozen dataclass, got a class that is none itself. Write "
        "@dataclass(frozen=True) above it."
    ]


@pytest.mark.parametrize("widths", [3, "wide", None, [3, 4], {"a": 0.5}])
def test_options_that_json_keeps(widths: Any) -> None:
    assert list(json_problems(Wide(widths=widths))) == []


@pytest.mark.parametrize(
    ("widths", "expected"),
    [
        (
            np.int64(3),
            "Wide.to_json: expected options that JSON can hold, got TypeError: Object of",
        ),
        (
            np.nan,
            "Wide.to_json: expected options that JSON can hold, got ValueError: Out of range ",
        ),
        ((3, 4), "Wide.from_json: expected the method back that `to_json` wrote, got Wide(sched"),
        ({3: 4}, "Wide.from_json: expected the method back that `to_json` wrote, got Wide(sched"),
        (
            "odd",
            "Wide.from_json: expected the method back that `to_json` wrote, got ValueError: an odd "
            "width. Make dataclasses and tuples again.",
        ),
    ],
)
def test_options_that_json_loses(widths: Any, expected: str) -> None:
    (told,) = json_problems(Wide(widths=widths))
    assert told.startswith(expected)


def test_sentences_end_once() -> None:
    said = ["division by zero", "Give it another.", "Why?"]
    assert [sentence(ValueError(text)) for text in said] == [f"{said[0]}.", *said[1:]]


# ---------------------------------------------------------------- structures


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (None, "NoneType"),
        (ALL, "Structure"),
        ((ALL,), "a tuple of 1: Structure"),
        ([ALL, NONE], "a list of 2: Structure"),
        ((ALL, NONE.flags), "a tuple of 2: Structure, ndarray"),
        ((), "a tuple of 0: nothing"),
    ],
)
def test_starts_that_are_no_structures(given: Any, got: str) -> None:
    assert list(start_problems(given, LAYOUT)) == [
        f"expected two Structures, what is in and what is free, got {got}. Return "
        "layout.structure(...), layout.structure(...)."
    ]


def test_starts() -> None:
    assert list(start_problems((ALL, NONE), LAYOUT)) == []
    (told,) = start_problems((ALL, Layout(LAYOUT.edges).structure(True)), LAYOUT)
    assert told.startswith("expected Structures of the layout that it was given, got those of ano")


def test_known_graphs() -> None:
    start, name = LAYOUT.structure(FIRST), LAYOUT.names[0]
    assert list(known_problems(start, NONE, FIRST)) == []
    # Paths are no edges: they may be free.
    assert list(known_problems(start, LAYOUT.structure(False, True), FIRST)) == []
    (told,) = known_problems(start, NONE, ~FIRST & False)
    assert f"got `{name}`, which it does not have. Return layout.structure(known)" in told
    (told,) = known_problems(NONE, NONE, FIRST)
    assert f"expected the edges of a known graph and no others, got `{name}`, missing." in told
    (told,) = known_problems(start, start, FIRST)
    assert told.startswith(f"expected no edge of a known graph to be free, got `{name}`. Return")


# ---------------------------------------------------------------- learning


def test_terms() -> None:
    flags, free = ALL.flags[None], LAYOUT.structure(FIRST, False)
    turned = flags ^ free.flags
    half = torch.where(torch.tensor(free.flags), 0.5, torch.tensor(flags).float())
    for rows in (flags, np.concatenate([flags, turned]), half.requires_grad_()):
        assert list(term_problems([Term(1.0, flags), Term(0.5, rows)], ALL, free)) == []
    for rows in (turned, half):
        (told,) = term_problems([Term(1.0, flags), Term(0.5, rows)], ALL, NONE)
        assert told == (
            f"expected what is not free as the estimate has it, got `{LAYOUT.names[0]}` the other "
            "way round. Take np.where(now.free.flags, ..., now.estimate.flags)."
        )


@pytest.mark.parametrize("rows", [ALL.flags, ALL.edges[None], ALL.flags[None][:0]])
def test_terms_of_other_shapes(rows: np.ndarray) -> None:
    assert list(term_problems([Term(1.0, rows)], ALL, ALL)) == [
        f"expected structures as rows of {len(LAYOUT)} flags, the length of the layout, got shape "
        f"{rows.shape}. Take estimate.flags[None]."
    ]


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (None, "NoneType"),
        ([], "a list of 0: nothing"),
        (Term(1.0, ALL.flags), "Term"),
        ([ALL, Term(1.0, ALL.flags)], "a list of 2: Structure, Term"),
    ],
)
def test_what_is_no_list_of_terms(given: Any, got: str) -> None:
    told = f"expected a list of Terms, got {got}. Return [Term(...)]."
    assert list(term_problems(given, ALL, ALL)) == [told]


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [
        (None, []),
        (torch.tensor(0.3), []),
        (0.3, ["expected a tensor without axes or None, got float. Sum it up: penalty.sum()."]),
        (
            torch.ones(1),
            [
                "expected a tensor without axes or None, got a tensor of shape (1,). Sum it up: "
                "penalty.sum()."
            ],
        ),
        (torch.tensor(torch.inf), ["expected a finite number, got inf. Bound what is divided by."]),
    ],
)
def test_penalties(penalty: Any, expected: list[str]) -> None:
    assert list(penalty_problems(penalty)) == expected
