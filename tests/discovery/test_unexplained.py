"""Whether anything is left to be found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from oocdm.data.dataset import Dataset
from oocdm.discovery.gains import Gains
from oocdm.discovery.unexplained import what_is_unexplained
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prepared import Prepared
from oocdm.models.scales import Scales
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


def unexplained(options: ModelOptions) -> Gains:
    """Of a model that knows the mean of each target, and no cause."""
    training, held_out = balls(0), balls(1)
    model = OocdmModel(SCHEMA, options, Scales.measure(training.transitions()))
    with torch.no_grad():
        for weight in (model.predictors["Ball"].network.bias3, model.heads["Ball"].is_mixture):
            weight.zero_()
    model.measure(training.transitions())
    nothing = model.layout.structure(False, False)
    data = (Prepared.of(model, each) for each in (training, held_out))
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
