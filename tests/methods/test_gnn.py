"""GNN: messages between all pairs of objects."""

from __future__ import annotations

import json

import pytest
import torch

from oocdm.methods import make_method, method_from_json
from oocdm.methods.gnn import Gnn, GnnWidths
from oocdm.models.scales import Scales
from tests.methods.toys import COUNTS, FULL, SCHEMA, built, changed, outputs, predict, states


def test_widths_reach_the_network() -> None:
    def size(**widths: int) -> int:
        method = make_method("gnn", widths=widths)
        model = method.build(SCHEMA, Scales.unit(SCHEMA), COUNTS)
        return sum(p.numel() for p in model.parameters())

    for name in vars(GnnWidths()):
        assert size(**{name: 5}) < size(**{name: 50}), name


def test_json_gives_widths_back() -> None:
    method = Gnn(widths=GnnWidths(node=16))
    assert method_from_json(json.loads(json.dumps(method.to_json()))) == method


@pytest.mark.parametrize("source", FULL.inputs)
def test_every_object_hears_of_the_state_of_every_other(source: str) -> None:
    model, before = built("gnn", torch.float64), states(5)
    with torch.no_grad():
        now, then = (
            outputs(predict(model, each, FULL)) for each in (before, changed(before, source))
        )
    moved = [name for name, m in zip(FULL.outputs, (then != now).any(0).any(-1), strict=True) if m]
    # An action is no part of the messages: it moves its own object.
    own = source.replace("push", "x")
    assert moved == ([own] if "push" in source else list(FULL.outputs))
