"""The family of errors, and the suggestions in their messages."""

from __future__ import annotations

import pytest

import oocdm
from oocdm.errors import suggest

FAMILY = ("SchemaError", "DataError", "GraphError", "ModelError", "PlanError")


@pytest.mark.parametrize("name", FAMILY)
def test_one_except_clause_catches_the_whole_family(name: str) -> None:
    error = getattr(oocdm, name)
    assert issubclass(error, oocdm.OocdmError)
    with pytest.raises(oocdm.OocdmError, match=r"^what to do$"):
        raise error("what to do")


def test_members_of_the_family_do_not_catch_each_other() -> None:
    kinds = [getattr(oocdm, name) for name in FAMILY]
    assert not any(issubclass(a, b) for a in kinds for b in kinds if a is not b)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("Blok", ["Block", "Total"], "Did you mean `Block`? Known: Block, Total."),
        ("BLOCK", ["block", "mouse"], "Did you mean `block`? Known: block, mouse."),
        ("s4", ["s1", "hunger"], "Did you mean `s1`? Known: s1, hunger."),
        ("zzz", ["block", "mouse"], "Known: block, mouse."),
        ("", ["block"], "Known: block."),
        ("block", [], "Known: ."),
    ],
)
def test_suggest(name: str, known: list[str], expected: str) -> None:
    assert suggest(name, known) == expected


def test_suggest_reads_an_iterator_once() -> None:
    assert suggest("hungr", iter(["hunger", "health"])) == (
        "Did you mean `hunger`? Known: hunger, health."
    )
