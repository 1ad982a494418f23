"""Prediction under graphs over single variables."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.data.snapshot import Snapshot
from oocdm.errors import GraphError, ModelError, OocdmError
from oocdm.graph import ClassGraph, VariableGraph
from oocdm.models.hiding import HidingPlan
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import Predictions
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.models.strategies import (
    Case,
    Change,
    assert_near,
    cases,
    parameters_of,
    random_snapshot,
    with_flipped_flag,
    with_new_value,
)

BOTH = pytest.mark.parametrize("literal", [False, True], ids=["batched", "literal"])
DENSITIES = st.sampled_from([0.0, 0.5, 0.9, 1.0])


def random_graph(case: Case, density: float) -> VariableGraph:
    """Some of the edges between the variables of a case, whatever their classes."""
    full = ClassGraph.full(case.schema).ground(case.before.counts)
    rng = np.random.default_rng(case.seed + 2)
    # Some rows and columns alike, so that hidden sets are shared and classes left out.
    matrix = rng.random(full.matrix.shape) < density
    matrix &= rng.random((len(full.inputs), 1)) < 0.9
    matrix[:, rng.random(len(full.outputs)) < 0.3] = True
    return VariableGraph(full.inputs, full.outputs, matrix)


def predict(model: OocdmModel, before: Snapshot, graph: ClassGraph | VariableGraph) -> Predictions:
    """By the model's own call, with gradients."""
    if isinstance(graph, ClassGraph):
        (found,) = model(model.inputs(before), model.structures(graph))
        return found
    plan = HidingPlan.of(model.schema, graph)
    return plan.predict(before, lambda seen: predict(model, seen, plan.graph))


@BOTH
@settings(max_examples=30)
@given(
    case=cases(min_count=1),
    density=DENSITIES,
    change=st.sampled_from([with_new_value, with_flipped_flag]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_variables_that_are_no_parents_change_no_bit(
    literal: bool,
    case: Case,
    density: float,
    change: Change,
    dtype: torch.dtype,
) -> None:
    model, graph, rng = case.model(literal, dtype), random_graph(case, density), case.rng()
    k = rng.choice(list(case.schema.classes))
    u = rng.choice(list(case.schema.fields(k)))
    i = int(rng.integers(case.before.counts[k]))
    with torch.no_grad():
        old = predict(model, case.before, graph)
        new = predict(model, change(case.before, k, i, u, rng), graph)
    for (c, v, before), (_, _, after) in zip(parameters_of(old), parameters_of(new), strict=True):
        for j in range(case.before.counts[c]):
            if f"{k}[{i}].{u}" not in graph.parents(f"{c}[{j}].{v}"):
                for a, b in zip(before, after, strict=True):
                    assert torch.equal(a[:, j], b[:, j]), f"{c}[{j}].{v} <- {k}[{i}].{u}"


@settings(max_examples=30)
@given(case=cases(min_count=1), density=DENSITIES)
def test_they_change_no_bit_of_compiled_predictions(case: Case, density: float) -> None:
    model, graph, rng = case.model(), random_graph(case, density), case.rng()
    predict_now = model.compile_for(graph)
    k = rng.choice(list(case.schema.classes))
    u = rng.choice(list(case.schema.fields(k)))
    i = int(rng.integers(case.before.counts[k]))
    for state in (case.before, case.known):
        old, new = predict_now(state), predict_now(with_new_value(state, k, i, u, rng))
        for (c, v, before), (_, _, after) in zip(
            parameters_of(old), parameters_of(new), strict=True
        ):
            for j in range(case.before.counts[c]):
                if f"{k}[{i}].{u}" not in graph.parents(f"{c}[{j}].{v}"):
                    for a, b in zip(before, after, strict=True):
                        assert torch.equal(a[:, j], b[:, j]), f"{c}[{j}].{v} <- {k}[{i}].{u}"


@BOTH
@settings(max_examples=20)
@given(case=cases(), seed=st.integers(0, 99))
def test_a_grounded_class_graph_predicts_as_the_class_graph(
    literal: bool, case: Case, seed: int
) -> None:
    """Bit for bit; edges that cannot occur among so many objects no variable tells of."""
    graph = ClassGraph.random(case.schema, 0.7, np.random.default_rng(seed))
    counts = case.before.counts
    graph = ClassGraph(case.schema, graph.mask & graph.space.testable(counts))
    grounded = graph.ground(counts)
    plan = HidingPlan.of(case.schema, grounded)
    assert plan.graph == graph
    assert len(plan.passes) == 1 and not plan.passes[0].hidden
    model = case.model(literal)
    with torch.no_grad():
        pairs = [
            (predict(model, case.before, grounded), predict(model, case.before, graph)),
            *(
                (model.compile_for(grounded)(before), model.compile_for(graph)(before))
                for before in (case.before, case.known)
            ),
        ]
    for found, expected in pairs:
        for (_, _, ours), (_, _, theirs) in zip(
            parameters_of(found), parameters_of(expected), strict=True
        ):
            assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@settings(max_examples=40)
@given(cases(), DENSITIES)
def test_all_evaluators_agree(case: Case, density: float) -> None:
    graph, fast, literal = random_graph(case, density), case.model(), case.model(literal=True)
    with torch.no_grad():
        for before in (case.before, case.known):
            expected = predict(literal, before, graph)
            assert_near(predict(fast, before, graph), expected)
            assert_near(literal.compile_for(graph)(before), expected)
            found = fast.compile_for(graph)(before)
            assert_near(found, expected, present=before.present)


class Ball(ObjectClass):
    x = Real()
    n = Integer(0, 3)


class Wall(ObjectClass):
    x = Real(static=True)


WORLD = Schema(Ball, Wall)
FULL = ClassGraph.full(WORLD).ground({"Ball": 2, "Wall": 1})


@BOTH
def test_every_parent_matters_and_only_to_its_target(literal: bool) -> None:
    torch.manual_seed(0)
    model = OocdmModel(WORLD, ModelOptions(), literal=literal).double()
    before = random_snapshot(WORLD, FULL.counts, 40, np.random.default_rng(0))
    old = predict(model, before, FULL)
    for row, column in np.ndindex(*FULL.matrix.shape):
        matrix = FULL.matrix.copy()
        matrix[row, column] = False
        new = predict(model, before, VariableGraph(FULL.inputs, FULL.outputs, matrix))
        for (c, v, ours), (_, _, theirs) in zip(
            parameters_of(old), parameters_of(new), strict=True
        ):
            for j in range(2):
                is_target = f"{c}[{j}].{v}" == FULL.outputs[column]
                for a, b in zip(ours, theirs, strict=True):
                    assert torch.equal(a[:, j], b[:, j]) != is_target


def test_gradients_flow() -> None:
    model = OocdmModel(WORLD, ModelOptions())
    before = random_snapshot(WORLD, FULL.counts, 5, np.random.default_rng(0))
    before = before.to("cpu", torch.float32)
    matrix = np.eye(*FULL.matrix.shape, dtype=bool)
    graph = VariableGraph(FULL.inputs, FULL.outputs, matrix)
    predict(model, before, graph)["Ball.x"].mean.sum().backward()
    assert any(p.grad is not None and p.grad.any() for p in model.parameters())


def test_worlds_without_objects() -> None:
    model = OocdmModel(WORLD, ModelOptions())
    for counts in ({"Ball": 0, "Wall": 0}, {"Ball": 0, "Wall": 2}, {"Ball": 1, "Wall": 0}):
        graph = ClassGraph.full(WORLD).ground(counts)
        before = random_snapshot(WORLD, counts, 3, np.random.default_rng(0))
        found = model.compile_for(graph)(before.to("cpu", torch.float32))
        assert found["Ball", "x"].mean.shape == (3, counts["Ball"])


# ---------------------------------------------------------------- errors


def fails(message: str, kind: type[OocdmError]) -> pytest.RaisesExc[OocdmError]:
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


def test_other_numbers_of_objects() -> None:
    model = OocdmModel(WORLD, ModelOptions())
    before = random_snapshot(WORLD, {"Ball": 3, "Wall": 1}, 2, np.random.default_rng(0))
    with fails(
        "Class `Ball`: expected 2 objects, as in the variable graph, got 3. A variable graph is "
        "for fixed numbers of objects: predict with a class graph, or discover one for these "
        "numbers.",
        ModelError,
    ):
        model.compile_for(FULL)(before)


def test_other_variables() -> None:
    start = "expected all variables of its objects in the order of `ClassGraph.ground`, got "
    end = "Start from a grounded class graph."
    few = VariableGraph(FULL.inputs[1:], FULL.outputs, FULL.matrix[1:])
    with fails(f"VariableGraph.inputs: {start}none called `Ball[0].x`. {end}", GraphError):
        HidingPlan.of(WORLD, few)
    turned = VariableGraph(FULL.inputs, FULL.outputs[::-1], FULL.matrix)
    with fails(f"VariableGraph.outputs: {start}another order. {end}", GraphError):
        HidingPlan.of(WORLD, turned)
    with pytest.raises(GraphError, match=r"^Variable `Wall\[0\]\.x` is not of this schema\. "):
        HidingPlan.of(Schema(Ball), FULL)
