"""Balls that are pushed, as a simulator by hand."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.planning.actions import ActionVariables
from oocdm.planning.discounting import discounted_returns
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Pushing:
    """x moves by the push and is what is earned; over 3 the episode ends."""

    schema = Schema(Ball)
    vanish_above = 100.0

    def step(self, before: Snapshot, seed: int) -> Snapshot:
        x = before["Ball", "x"] + before["Ball", "push"]
        present = before.present["Ball"] & (x <= self.vanish_above)
        return Snapshot.of(self.schema, {"Ball": {"x": x}}, {"Ball": present})

    def reward(self, before: Snapshot, after: Snapshot) -> Any:
        return after["Ball", "x"].sum(1)

    def terminated(self, after: Snapshot) -> Any:
        return after["Ball", "x"].amax(1) > 3


def state(*x: list[float]) -> Snapshot:
    return Snapshot.of(Pushing.schema, {"Ball": {"x": torch.tensor(x)}})


def returns(simulator: Pushing, pushes: Tensor, discount: float = 1.0, **options: bool) -> Any:
    """Of pushes (sample, horizon, world) for one ball a world that starts at 0, 10, ..."""
    start = state(*([10.0 * i] for i in range(pushes.shape[2])))
    variables = ActionVariables.of(start)
    start = start.map(lambda t: t.repeat(len(pushes), 1))
    found = discounted_returns(simulator, start, variables, pushes, discount, **options)
    return found.view(len(pushes), -1)


def replaced(**methods: Any) -> Pushing:
    return type("Wrong", (Pushing,), methods)()
