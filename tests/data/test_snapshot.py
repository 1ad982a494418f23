"""Variables that are hidden from a snapshot."""

from __future__ import annotations

import re

import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.errors import DataError, SchemaError
from oocdm.schema import Integer, ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real(shape=(2,))
    hue = Integer(1, 3)


class Wall(ObjectClass):
    x = Real()


SCHEMA = Schema(Ball, Wall)
WORLD = Snapshot.of(
    SCHEMA,
    {
        "Ball": {"x": torch.ones(2, 3, 2), "hue": torch.full((2, 3), 3)},
        "Wall": {"x": torch.ones(2, 0)},
    },
)


def test_hidden_variables_are_unobserved_and_hold_zero() -> None:
    first = torch.tensor([[True, False, False]])
    each = torch.tensor([[False, False, True], [False, True, False]])
    found = WORLD.hide({"Ball": {"x": first, "hue": each}, "Wall": {"x": torch.ones(1, 0).bool()}})
    assert found["Ball", "x"][..., 1].tolist() == [[0, 1, 1], [0, 1, 1]]
    assert found["Ball", "hue"].tolist() == [[3, 3, 0], [3, 0, 3]]
    assert found["Ball", "hue"].dtype == WORLD["Ball", "hue"].dtype
    assert torch.equal(found.observed["Ball"]["x"], ~first.expand(2, -1))
    assert torch.equal(found.observed["Ball"]["hue"], ~each)
    assert found.present["Ball"].all()
    # The world itself is as it was.
    assert WORLD["Ball", "x"].all() and WORLD.observed["Ball"]["x"].all()


def test_what_is_unknown_stays_so() -> None:
    mask = torch.tensor([[True, False, False]])
    twice = WORLD.hide({"Ball": {"x": mask}}).hide({"Ball": {"x": mask.flip(1)}})
    assert twice.observed["Ball"]["x"].tolist() == [[False, True, False]] * 2


def test_errors() -> None:
    message = "hide `Ball.x`: expected a mask of shape (2 or 1, 3), got (3,)."
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        WORLD.hide({"Ball": {"x": torch.ones(3, dtype=torch.bool)}})
    with pytest.raises(SchemaError, match=r"^Unknown field `Ball\.y`"):
        WORLD.hide({"Ball": {"y": torch.ones(1, 3, dtype=torch.bool)}})
