"""What actions can have reached, step by step."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm import ClassGraph
from oocdm.inference import reached
from oocdm.schema import ObjectClass, Real, Schema
from tests.inference.ragged import SCHEMA


class Cart(ObjectClass):
    x = Real()
    v = Real()
    load = Real()
    push = Real(action=True)


def test_actions_reach_a_field_further_in_every_step() -> None:
    edges = ["Cart.v <- self.push", "Cart.x <- self.v", "Cart.load <- self.load"]
    steps = reached(ClassGraph.parse(Schema(Cart), edges))
    assert steps == [set(), {"Cart.v"}, {"Cart.v", "Cart.x"}]


def test_actions_may_reach_nothing() -> None:
    assert reached(ClassGraph.parse(Schema(Cart), ["Cart.x <- self.v"])) == [set()]


@settings(max_examples=30)
@given(st.floats(0.02, 0.4), st.integers(0, 2**20))
def test_what_is_reached_is_what_a_matrix_of_paths_says(density: float, seed: int) -> None:
    graph = ClassGraph.random(SCHEMA, density, np.random.default_rng(seed))
    names = [f"{c}.{f}" for c in SCHEMA.classes for f in SCHEMA.fields(c)]
    edge = torch.zeros(len(names), len(names), dtype=torch.long)
    for each in graph.edges():
        edge[names.index(f"{each.source_class}.{each.source_field}"), names.index(each.target)] = 1
    action = names.index("Ant.push")
    edge[action, action] = 1  # somebody acts in every step
    paths, steps = torch.eye(len(names), dtype=torch.long), reached(graph)
    for t in range(len(names)):
        found = {names[i] for i in paths[action].nonzero().flatten().tolist()} - {"Ant.push"}
        assert found == steps[min(t, len(steps) - 1)]
        paths = (paths @ edge).clamp(max=1)
