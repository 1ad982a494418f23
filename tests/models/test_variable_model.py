"""World models of fixed objects, with a network that can be followed by hand."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import Tensor

from oocdm.errors import ModelError
from oocdm.graph import Neighbours, VariableGraph
from oocdm.models.head import HeadOptions
from oocdm.models.scales import Scales
from oocdm.models.variable_model import (
    AbstractVariableModel,
    Encoded,
    Masks,
    Setting,
    Stack,
    TwoLayers,
    parents_of,
)
from oocdm.schema import ObjectClass, Real, Schema
from tests.models.strategies import map_class, random_snapshot


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


class Wall(ObjectClass):
    x = Real(static=True)


SCHEMA, COUNTS = Schema(Ball, Wall), {"Ball": 2, "Wall": 1}


class Sums(AbstractVariableModel):
    """Every output is the sum of its parents, times one weight."""

    def __init__(self) -> None:
        head = HeadOptions(predict_change=False)
        super().__init__(Setting(SCHEMA, COUNTS, Scales.unit(SCHEMA), head))
        self.weight = torch.nn.Parameter(torch.ones(()))

    def encode(self, variables: Tensor) -> Encoded:
        return (variables,)

    def predict(self, encoded: Encoded, masks: Masks) -> Tensor:
        rows = masks.expand(encoded[0].shape[1], -1, -1)
        total = torch.einsum("bio,ibn->obn", rows, encoded[0]) * self.weight
        return torch.nn.functional.pad(total, (0, self.output_width - total.shape[2]))


def test_variables_stand_in_the_order_of_the_graph() -> None:
    model = Sums().double()
    assert (model.num_inputs, model.num_outputs) == (5, 2)
    assert model.own.tolist() == [0, 2]
    before = random_snapshot(SCHEMA, COUNTS, 6, np.random.default_rng(0), {"Ball": 1, "Wall": 1})
    rows = ["Ball[0].x <- Ball[1].x, Wall[0].x", "Ball[1].x <- Ball[1].push"]
    full = model.variables
    graph = VariableGraph.parse(full.inputs, full.outputs, rows)
    mean = model.compile_for(graph)(before)["Ball.x"].mean
    x, push, wall = (before[key] for key in ("Ball.x", "Ball.push", "Wall.x"))
    torch.testing.assert_close(mean[:, 0], x[:, 1] + wall[:, 0])
    torch.testing.assert_close(mean[:, 1], push[:, 1])


def test_neighbours_turn_one_part_of_every_output() -> None:
    model = Sums().double()
    before = random_snapshot(SCHEMA, COUNTS, 4, np.random.default_rng(0), {"Ball": 1, "Wall": 1})
    rng = np.random.default_rng(1)
    structure = model.layout.structure(rng.random(10) < 0.5)
    neighbours = Neighbours(structure, {"Ball": np.array([0, 3, 4])})
    inputs = model.inputs(before)
    found = model.compile_neighbours(neighbours)(inputs)["Ball.x"].mean
    rows = model.rows(neighbours.of("Ball"))
    with torch.no_grad():
        (expected,) = model(inputs.repeat(len(rows)), rows)
    assert torch.equal(found, expected["Ball.x"].mean)


def test_padding_beyond_its_objects_is_allowed() -> None:
    model = Sums().double()
    shares = {"Ball": 1.0, "Wall": 1.0}
    before = random_snapshot(SCHEMA, COUNTS, 3, np.random.default_rng(0), shares)
    padded = map_class(before, "Ball", lambda t: torch.cat([t, torch.zeros_like(t[:, :1])], 1))
    predict = model.compile_for(model.variables)
    ours, theirs = (predict(state)["Ball.x"].mean for state in (before, padded))
    assert torch.equal(ours, theirs[:, :2])


@pytest.mark.parametrize(("balls", "got"), [(1, "1"), (3, "3")])
def test_other_numbers_of_objects_are_refused(balls: int, got: str) -> None:
    counts, shares = {"Ball": balls, "Wall": 1}, {"Ball": 1.0, "Wall": 1.0}
    before = random_snapshot(SCHEMA, counts, 3, np.random.default_rng(0), shares)
    message = (
        f"Class `Ball`: expected 2 objects, as in training, got {got}. This model knows its "
        "objects one by one; `oocdm methods` tells which take any numbers, such as `oocdm` and "
        "`oofull`."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        Sums().inputs(before)


def test_a_batch_that_cannot_be_shared_is_an_error() -> None:
    model = Sums().double()
    before = random_snapshot(SCHEMA, COUNTS, 4, np.random.default_rng(0), {"Ball": 1, "Wall": 1})
    with pytest.raises(ModelError, match="expected a batch size that is a multiple of 3, got 4"):
        model(model.inputs(before), model.structures(*[model.variables] * 3))


def test_layers_side_by_side_do_not_mix() -> None:
    torch.manual_seed(0)
    x = torch.randn(3, 7, 2)
    for layers in (Stack(3, 2, 5), TwoLayers(3, 2, 8, 5)):
        other = x.clone()
        other[1] += 1
        ours, theirs = layers(x), layers(other)
        assert torch.equal(ours[[0, 2]], theirs[[0, 2]]) and not torch.equal(ours[1], theirs[1])
    nothing = TwoLayers(3, 0, 8, 5)
    assert not list(nothing.parameters())
    assert torch.equal(nothing(torch.zeros(3, 7, 0)), torch.zeros(3, 7, 5))


def test_parents_are_those_of_each_output() -> None:
    encoded = torch.arange(3.0)[:, None, None].expand(3, 2, 1)
    mask = torch.tensor([[True, False, True], [False, False, True], [True, False, True]])
    first, second, third = parents_of(encoded, mask)
    assert first is not None and first[:, 0, 0].tolist() == [0, 2]
    assert second is None and third is encoded
