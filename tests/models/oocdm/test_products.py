"""Products of two linear maps of all features."""

from __future__ import annotations

import torch

from oocdm.data.dataset import Dataset
from oocdm.methods import Schedule
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.products import LIMIT, Products
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.training import fit
from tests.models.oocdm.worlds import AtOnce, model_of


def test_they_are_products_of_two_maps() -> None:
    products = Products(num_targets=1, width=3, rank=2, outputs=1)
    with torch.no_grad():
        products.weight.zero_()
        products.weight[0, 0, 0] = products.weight[0, 1, 2] = 1.0  # the first of each factor
        products.second.fill_(2.0)
    features = torch.tensor([[[3.0, 5.0, 7.0]]])
    assert products.literal(0, features, torch.ones(1, 1, 1)).tolist() == [[[30.0]]]
    assert products.literal(0, features, torch.zeros(1, 1, 1)).tolist() == [[[0.0]]]
    weight, bias = products.first()
    assert not bias.any()
    factors = features[0] @ weight[0, 0]
    assert products.of_target(0, 1)(factors).tolist() == [[30.0]]
    assert products.of_target(0, 1)(1e6 * factors).tolist() == [[2 * LIMIT * 5e6]]


def test_options_leave_them_out() -> None:
    for options in (ModelOptions(product_rank=0), ModelOptions.preset("paper")):
        assert "products" not in model_of(options).layout.paths


class Valve(ObjectClass):
    level = Real()
    opening = Real(action=True)
    pressure = Real(action=True)


def valves(size: float, seed: int) -> Dataset:
    """Levels that are the product of opening and pressure, which are up to a size."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(seed)
    opening, pressure = size * rng.uniform(-1, 1, (2, 60, 20))
    level = np.concatenate([np.zeros((60, 1)), (opening * pressure)[:, :-1]], axis=1)
    episode, step = np.indices(level.shape)
    columns = {"episode": episode, "step": step, "object": np.zeros_like(step), "level": level}
    columns |= {"opening": opening, "pressure": pressure}
    frame = pd.DataFrame({name: column.ravel() for name, column in columns.items()})
    return Dataset.from_frames({"Valve": frame}, Schema(Valve))


def test_what_is_bilinear_goes_on_as_that_elsewhere() -> None:
    """Twice as far in both factors, so that four times as much comes of them."""
    graph = ["Valve.level <- self.opening, self.pressure"]
    schedule = Schedule(iterations=1, steps_per_iteration=150, polish_steps=450)
    far, errors = valves(2.0, seed=1).transitions(), []
    for rank in (0, 4):
        options = ModelOptions(pairs=False, product_rank=rank)
        method = AtOnce(schedule=schedule, model=options)
        result = fit(valves(1.0, seed=0), method, graph=graph)
        predicted = result.model.compile_for(result.graph)(far.before)["Valve.level"]
        missed = predicted.mode() - far.after.values["Valve"]["level"]
        errors.append(float(missed.square().mean().sqrt()))
    assert errors[1] < 0.7 * errors[0]
