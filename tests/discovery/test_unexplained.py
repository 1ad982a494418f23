"""Whether anything is left to be found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from oocdm.data.dataset import Dataset
from oocdm.discovery.gains import Gains
from oocdm.discovery.unexplained import _Functions as unexplained_functions
from oocdm.discovery.unexplained import what_is_unexplained
from oocdm.models.memory import measure
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prepared import Budget, Prepared
from oocdm.models.scales import Scales
from oocdm.models.world_model import Structures
from oocdm.schema import Boolean, ObjectClass, Real, Schema


class Ball(ObjectClass):
    place = Real(static=True, shape=(2,))
    speed = Real()  # a sum of forces of others
    luck = Real()  # nothing but chance
    awake = Boolean()  # where it is crowded
    coin = Boolean()


SCHEMA = Schema(Ball)
TARGETS = [v for _, v in SCHEMA.all_targets]


def balls(seed: int, num: int = 700) -> Dataset:
    """Single steps of five balls each."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-2, 2, (num, 5, 2))
    apart = place[:, :, None] - place[:, None]
    square = (apart**2).sum(-1)
    force = (apart[..., 0] / (square + 0.3) ** 1.5).sum(2)
    crowd = (square < 1.5).sum(2) - 1
    after = {
        "speed": force + 0.1 * rng.standard_normal(force.shape),
        "luck": rng.standard_normal(force.shape),
        "awake": rng.random(force.shape) < np.where(crowd > 1, 0.9, 0.1),
        "coin": rng.random(force.shape) < 0.5,
    }
    columns = {name: np.stack([np.zeros_like(x), x], axis=1) for name, x in after.items()}
    episode, step, obj = np.indices(columns["luck"].shape)
    columns |= {"episode": episode, "step": step, "object": obj}
    frame = pd.DataFrame({name: column.ravel() for name, column in columns.items()})
    frame["place"] = list(np.stack([place, place], axis=1).reshape(-1, 2))
    return Dataset.from_frames({"Ball": frame}, SCHEMA)


def unexplained(options: ModelOptions, budget: Budget | None = None) -> Gains:
    """Of a model that knows the mean of each target, and no cause."""
    training, held_out = balls(0), balls(1)
    model = OocdmModel(SCHEMA, options, Scales.measure(training.transitions()))
    with torch.no_grad():
        for weight in (model.predictors["Ball"].network.bias3, model.heads["Ball"].is_mixture):
            weight.zero_()
    model.measure(training.transitions())
    nothing = model.layout.structure(False, False)
    data = (Prepared.of(model, each, budget=budget) for each in (training, held_out))
    return what_is_unexplained(model, nothing, *data)


def test_chance_cannot_be_explained_and_all_else_can() -> None:
    found = unexplained(ModelOptions())
    surely = found.mean > np.maximum(0.01, 4 * found.error)
    assert dict(zip(TARGETS, surely.tolist(), strict=True)) == {
        "speed": True,
        "luck": False,
        "awake": True,
        "coin": False,
    }
    assert (found.mean[[1, 3]] < 0.003).all()


def test_it_is_the_same_every_time() -> None:
    first, again = unexplained(ModelOptions()), unexplained(ModelOptions())
    assert np.array_equal(first.mean, again.mean) and np.array_equal(first.error, again.error)


def test_it_looks_at_no_more_at_once_than_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The units of features are those of the first ones: what is found differs, but not what of."""
    looked: list[tuple[int, int]] = []
    chunk = unexplained_functions.chunk

    def measured(self: Any, rows: Structures, some: Prepared) -> Any:
        found: list[Any] = []
        looked.append((len(some), measure(lambda: found.append(chunk(self, rows, some))).peak))
        return found[0]

    monkeypatch.setattr(unexplained_functions, "chunk", measured)
    limit = 2**23
    little = Budget(working=limit, largest=limit, kept=0)
    divided = unexplained(ModelOptions(), little)
    sizes = [size for size, taken in looked if taken <= limit]
    assert max(sizes) < 700 and sum(sizes) >= 2 * 700
    # Only what is tried, to see what it takes, may be too large.
    assert len(looked) - len(sizes) <= 2 and max(taken for _, taken in looked) <= 2.5 * limit
    surely = divided.mean > np.maximum(0.01, 4 * divided.error)
    assert [name for name, is_in in zip(TARGETS, surely, strict=True) if is_in] == [
        "speed",
        "awake",
    ]
