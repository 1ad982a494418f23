"""A small world whose objects are not alike, and what tests of methods over variables share."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from oocdm import (
    Categorical,
    Dataset,
    ObjectClass,
    Real,
    Schedule,
    Schema,
    VariableGraph,
)
from oocdm.data.snapshot import Snapshot
from oocdm.graph import Graph, VariableEdges
from oocdm.methods import METHODS, AbstractVariableMethod, make_method
from oocdm.models.prediction import Predictions
from oocdm.models.scales import Scales
from oocdm.models.variable_model import AbstractVariableModel
from oocdm.models.world_model import AbstractWorldModel

BASELINES = [name for name, each in METHODS.items() if issubclass(each, AbstractVariableMethod)]
DENSE = ["gnn", "mlp"]
CAUSAL = [name for name in BASELINES if name not in DENSE]
COUNTS = {"Ball": 2, "Lamp": 1}
QUICK = Schedule(
    *(2, 3, 4, 9, 32), 32, optimiser="adam", learning_rate=1e-3, final_learning_rate=1e-3
)

FEW_TESTS: dict[str, dict[str, Any]] = {"grader": {"max_samples": 60, "workers": 1}}


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Lamp(ObjectClass):
    colour = Categorical(3)
    heat = Real()


SCHEMA = Schema(Ball, Lamp)
# Each ball moves as it is pushed, the second one is blown at by the first, the lamp does nothing.
ROWS = [
    "Ball[0].x <- Ball[0].x, Ball[0].push",
    "Ball[1].x <- Ball[0].x, Ball[1].push",
    "Lamp[0].colour <- (nothing)",
    "Lamp[0].heat <- Lamp[0].heat",
]
FULL = VariableEdges(SCHEMA, COUNTS).full
TRUE = VariableGraph.parse(FULL.inputs, FULL.outputs, ROWS)


def toy_world(episodes: int, length: int, seed: int) -> Dataset:
    """Objects of a class that are not alike, which only variables can tell."""
    rng = np.random.default_rng(seed)
    steps = episodes * length
    x, push = rng.normal(size=(2, steps, 2))
    colour, heat = rng.integers(3, size=(steps, 1)), rng.normal(size=(steps, 1))
    noise = rng.normal(scale=0.1, size=(steps, 3))
    for now in range(steps - 1):
        if (now + 1) % length:  # the next step is of the same episode
            x[now + 1, 0] = 0.8 * x[now, 0] + push[now, 0] + noise[now, 0]
            x[now + 1, 1] = push[now, 1] - np.tanh(2 * x[now, 0]) + noise[now, 1]
            heat[now + 1] = 0.9 * heat[now] + noise[now, 2]
    import pandas as pd

    def frame(fields: dict[str, np.ndarray]) -> Any:
        objects = next(iter(fields.values())).shape[1]
        rows = np.indices((steps, objects)).reshape(2, -1)
        table = {"episode": rows[0] // length, "step": rows[0] % length, "object": rows[1]}
        return pd.DataFrame({**table, **{f: v.ravel() for f, v in fields.items()}})

    last = np.arange(steps) % length == length - 1
    shown = np.where(last[:, None], np.nan, push)
    balls, lamps = frame({"x": x, "push": shown}), frame({"colour": colour, "heat": heat})
    balls["push"] = balls["push"].astype("Float64").where(~balls["push"].isna(), pd.NA)
    return Dataset.from_frames({"Ball": balls, "Lamp": lamps}, SCHEMA)


DATA = toy_world(episodes=150, length=20, seed=0)


def built(name: str, dtype: torch.dtype = torch.float32) -> AbstractVariableModel:
    torch.manual_seed(0)
    model = make_method(name).build(SCHEMA, Scales.unit(SCHEMA), COUNTS)
    assert isinstance(model, AbstractVariableModel)
    return model.to(dtype)


def states(batch: int, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)

    def normal(objects: int) -> torch.Tensor:
        return torch.as_tensor(rng.normal(size=(batch, objects)), dtype=torch.float32)

    return Snapshot.of(
        SCHEMA,
        {
            "Ball": {"x": normal(2), "push": normal(2)},
            "Lamp": {
                "colour": torch.as_tensor(rng.integers(3, size=(batch, 1))),
                "heat": normal(1),
            },
        },
    )


def outputs(predictions: Predictions) -> torch.Tensor:
    """All parameters of all distributions, (batch, output, number), as variable graphs order."""
    rows = []
    for i in range(2):
        one = predictions["Ball", "x"]
        rows.append(torch.stack([one.mean[:, i], one.sigma[:, i], one.sigma[:, i]], -1))
    rows.append(predictions["Lamp", "colour"].log_probabilities[:, 0])
    heat = predictions["Lamp", "heat"]
    rows.append(torch.stack([heat.mean[:, 0], heat.sigma[:, 0], heat.sigma[:, 0]], -1))
    return torch.stack(rows, 1)


def predict(model: AbstractWorldModel, before: Snapshot, graph: Graph) -> Predictions:
    """As training predicts, under one graph."""
    (found,) = model(model.inputs(before), model.structures(graph))
    return found


def changed(before: Snapshot, name: str) -> Snapshot:
    """The states with one variable changed."""
    found = re.fullmatch(r"(\w+)\[(\d)\]\.(\w+)", name)
    assert found is not None
    c, i, f = found[1], int(found[2]), found[3]
    values = {k: dict(fields) for k, fields in before.values.items()}
    column = values[c][f].clone()
    column[:, i] = (column[:, i] + 1) % 3 if f == "colour" else column[:, i] + 1.7
    values[c][f] = column
    return Snapshot.of(SCHEMA, values)


# Few steps of plain Adam, all of them full ones.
LEARNING = Schedule(3, 250, 300, 9, 128, 128, optimiser="adam", warm_up=0, learning_rate=3e-3)
LONGER = replace(LEARNING, steps_per_iteration=500)
SMALL: dict[str, dict[str, Any]] = {
    # Twice as long: before that, edges of nothing come near the threshold.
    "cdl": {"encoding": 24, "max_scored": 600, "schedule": LONGER},
    "cdl-a": {"encoding": 24, "keys": 16, "max_scored": 600, "schedule": LONGER},
    "grader": {"alpha": 0.01, "max_samples": 600, "workers": 1, "encoding": 16},
    "ticsa": {"schedule": replace(LEARNING, final_learning_rate=2e-3)},  # edges have a way to go
}


class Interrupt(Exception):
    """Stands for the end of the process."""


def renamed(data: Dataset, *balls: str) -> Dataset:
    ids = np.tile(np.array(balls, dtype=object), (data.num_episodes, 1))
    return replace(data, object_ids={**data.object_ids, "Ball": ids})


def with_unknown(data: Dataset, c: str, f: str, is_unknown: np.ndarray) -> Dataset:
    """The data with some values of a field missing."""
    observed, values = (
        {k: dict(fields) for k, fields in table.items()} for table in (data.observed, data.values)
    )
    observed[c][f] = observed[c][f] & ~is_unknown
    values[c][f] = np.where(is_unknown, 0, values[c][f]).astype(values[c][f].dtype)
    return replace(data, observed=observed, values=values)
