"""Learned worlds that were never trained: small random weights are good enough for these tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

import oocdm
from oocdm import ClassGraph, Dataset, Task
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from tests.inference.ragged import ragged, random_model


def calm(model: OocdmModel) -> OocdmModel:
    """A model with smaller weights: of large ones, values run to their bounds or beyond all sense.

    There differences between two worlds could no longer be seen.
    """
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.3)
    return model


# Ants with every kind of field, rocks that never change, nests; all always there and known.
DATA = ragged(is_whole=True, slots={"Ant": 3, "Rock": 2, "Nest": 1})
COUNTS = {"Ant": 3, "Rock": 2, "Nest": 1}
RESULT = SimpleNamespace(model=calm(random_model(DATA)), graph=ClassGraph.full(DATA.schema))
TASK = Task(
    reward=lambda before, after: after["Ant", "x"].sum(1) + before["Ant", "push"][:, 0],
    terminated=lambda after: after["Nest", "food"][:, 0] > 20,
    reads=["Ant.x", "Ant.push", "Nest.food"],
)


def untrained(data: Dataset, seed: int = 0) -> Any:
    """A fit without training, in units of the data."""
    torch.manual_seed(seed)
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(data.transitions()))
    return SimpleNamespace(model=calm(model), graph=ClassGraph.full(data.schema))


def mouse(seed: int = 0, **options: Any) -> tuple[Any, Dataset, Any]:
    """The true Mouse, a log of it, and a model of it that was not trained."""
    env = oocdm.make("mouse", **options)
    data = oocdm.collect(env, steps=200, seed=seed)
    return env, data, untrained(data, seed)


def pushes(rng: np.random.Generator, *shape: int) -> dict[str, dict[str, np.ndarray]]:
    return {"Ant": {"push": rng.normal(size=shape).astype(np.float32)}}
