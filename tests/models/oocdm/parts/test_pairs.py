"""What happens between two objects."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from oocdm.data.dataset import Dataset
from oocdm.methods import Schedule
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts import entries
from oocdm.models.oocdm.parts.pairs import Pairs
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.training import fit
from tests.models.oocdm.worlds import AtOnce, ants, model_of


def part_of(model: OocdmModel, c: str) -> Pairs:
    part = model.predictors[c].parts["pairs"]
    assert isinstance(part, Pairs)
    return part


def test_without_its_path_nothing_is_composed() -> None:
    model = model_of(ModelOptions(pairs=True))
    cut = model.layout.structure(True, paths=False)
    assert part_of(model, "Ant").compose(Masks(model.layout, model.structures(cut))) is None


@torch.no_grad()
def test_in_portions_it_is_the_same() -> None:
    model = model_of(ModelOptions(pairs=True))
    part, seen = part_of(model, "Ant"), model.see(model.inputs(ants()))
    masks = Masks(model.layout, model.structures(model.layout.structure(True)))
    gather = part.compose(masks)
    assert gather is not None
    whole = gather(seen)
    largest, entries.LARGEST = entries.LARGEST, 1
    try:
        torch.testing.assert_close(gather(seen), whole)
    finally:
        entries.LARGEST = largest


class Ball(ObjectClass):
    place = Real()
    charge = Real(static=True)
    speed = Real()


SCHEMA = Schema(Ball)


def balls(seed: int) -> Dataset:
    """Speeds that are sums of charges over squared distances, in single steps."""
    rng = np.random.default_rng(seed)
    place, charge = rng.uniform(-2, 2, (2, 400, 5))
    apart = place[:, :, None] - place[:, None]
    force = (charge[:, None] * apart / (apart**2 + 0.3) ** 1.5).sum(2)
    speed = np.stack([np.zeros_like(force), force], axis=1)
    episode, step, obj = np.indices(speed.shape)
    columns = {
        **{"episode": episode, "step": step, "object": obj, "speed": speed},
        "place": np.stack([place, place], axis=1),
        "charge": np.stack([charge, charge], axis=1),
    }
    frame = pd.DataFrame({name: column.ravel() for name, column in columns.items()})
    return Dataset.from_frames({"Ball": frame}, SCHEMA)


def test_they_say_what_messages_cannot() -> None:
    """Forces by charges and distances, from the true causes."""
    graph = ["Ball.speed <- self.place, Ball[*].place, Ball[*].charge", "Ball.place <- self.place"]
    schedule = Schedule(iterations=1, steps_per_iteration=200, polish_steps=250)
    new, errors = balls(1).transitions(), []
    for has_pairs in (False, True):
        options = ModelOptions(pairs=has_pairs, product_rank=0)
        result = fit(balls(0), AtOnce(schedule=schedule, model=options), graph=graph)
        predicted = result.model.compile_for(result.graph)(new.before)["Ball.speed"].mode()
        missed = predicted - new.after.values["Ball"]["speed"]
        errors.append(float(missed.square().mean().sqrt()))
    assert errors[1] < 0.6 * errors[0]
