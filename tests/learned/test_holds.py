"""What is set in worlds, and what stays as it was set."""

from __future__ import annotations

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.learned.holds import Holds, with_value
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    v = Real(shape=(2,))


STATE = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(2, 3), "v": torch.zeros(2, 3, 2)}})


def at(*places: tuple[int, int]) -> Tensor:
    """Booleans (world, object), true in these places."""
    found = torch.zeros(2, 3, dtype=torch.bool)
    for place in places:
        found[place] = True
    return found


def test_what_is_held_later_takes_the_place_of_the_earlier() -> None:
    holds = Holds()
    holds.hold("Ball", "x", at((0, 0), (0, 1)), torch.tensor(7.0))
    holds.hold("Ball", "x", at((0, 1), (1, 2)), torch.tensor(8.0))
    assert holds.apply(STATE)["Ball.x"].tolist() == [[7, 8, 0], [0, 0, 8]]
    assert holds.names() == ["Ball[0].x", "Ball[1].x", "Ball[2].x"]


def test_vectors_are_held_whole() -> None:
    holds = Holds()
    holds.hold("Ball", "v", at((0, 0)), torch.tensor([1.0, 2.0]))
    holds.hold("Ball", "v", at((1, 1)), torch.tensor([3.0, 4.0]))
    held = holds.apply(STATE)
    assert held["Ball.v"][0].tolist() == [[1, 2], [0, 0], [0, 0]]
    assert held["Ball.v"][1].tolist() == [[0, 0], [3, 4], [0, 0]]
    assert not STATE["Ball.v"].any()  # what was given is as it was


def test_letting_go() -> None:
    holds = Holds()
    assert not holds.release("Ball", "x", at((0, 0)))
    holds.hold("Ball", "x", at((0, 0), (1, 0)), torch.tensor(7.0))
    assert not holds.release("Ball", "x", at((0, 1)))
    assert holds.release("Ball", "x", at((0, 0), (0, 1)))
    assert holds.apply(STATE)["Ball.x"].tolist() == [[0, 0, 0], [7, 0, 0]]
    assert not holds.release("Ball", "x", at((0, 0)))  # it was let go before


def test_a_world_is_cleared_alone() -> None:
    holds = Holds()
    holds.hold("Ball", "x", at((0, 0), (1, 1)), torch.tensor(7.0))
    holds.clear(torch.tensor([True, False]))
    assert holds.apply(STATE)["Ball.x"].tolist() == [[0, 0, 0], [0, 7, 0]]
    assert holds.names() == ["Ball[1].x"]


def test_a_value_takes_the_dtype_of_its_field() -> None:
    after = with_value(STATE, "Ball", "x", at((0, 2)), torch.tensor(7, dtype=torch.float64))
    assert after["Ball.x"].dtype == torch.float32
    assert after["Ball.x"].tolist() == [[0, 0, 7], [0, 0, 0]]
