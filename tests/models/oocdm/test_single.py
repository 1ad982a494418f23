"""Single targets from their parents alone, against the literal evaluator."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings

import oocdm
from oocdm.data.snapshot import Snapshot
from oocdm.envs.mouse import MouseWorld
from oocdm.errors import ModelError
from oocdm.graph import ClassEdges
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from tests.models.strategies import Case, cases, parameters, targets_of, with_new_value


@settings(max_examples=200)
@given(cases())
@torch.no_grad()
def test_single_equals_literal(case: Case) -> None:
    """Whatever the options: of attributes, and of all of them at once."""
    fast, literal = case.model(), case.model(literal=True)
    structure, before = case.structure(fast), case.known
    predict = fast.compile_for(structure)
    found, together = predict.each(before), predict(before)
    (expected,) = literal(literal.inputs(before), literal.structures(structure))
    for c, v in targets_of(case.schema):
        here = before.present[c]
        ours, theirs = parameters(found[f"{c}.{v}"]), parameters(expected[c, v])
        for x, y, z in zip(ours, theirs, parameters(together[c, v]), strict=True):
            assert x.shape == y.shape
            torch.testing.assert_close(x[here], y[here], rtol=1e-9, atol=1e-9)
            assert torch.equal(x, z)


@settings(max_examples=80)
@given(cases(min_count=1))
@torch.no_grad()
def test_non_parents_change_no_bit(case: Case) -> None:
    """Neither their values nor which other targets are asked for."""
    model, rng = case.model(), case.rng()
    structures, before = case.structures(model, 1), case.known
    predict, edges = model.compile_for(case.structure(model)), ClassEdges.of(case.schema)
    for c, v in targets_of(case.schema):
        i = case.schema.targets(c).index(v)
        at_once = parameters(predict.each(before)[c, v])
        for k in case.schema.classes:
            for j, f in enumerate(case.schema.fields(k)):
                if edges.global_block(structures, k, c)[0, j, i] > 0:
                    continue
                if k == c and edges.local_block(structures, c)[0, j, i] > 0:
                    continue
                changed = before
                for row in range(before.present[k].shape[1]):
                    changed = with_new_value(changed, k, row, f, rng)
                predictions = predict.each(changed)
                for other in targets_of(case.schema):
                    predictions[other]
                for x, y in zip(at_once, parameters(predictions[c, v]), strict=True):
                    assert torch.equal(x, y), f"{k}.{f} moves {c}.{v}"


@settings(max_examples=40)
@given(cases())
@torch.no_grad()
def test_states_of_which_something_is_unknown_are_predicted_too(case: Case) -> None:
    model = case.model()
    structure = case.structure(model)
    (expected,) = model(model.inputs(case.before), model.structures(structure))
    found = model.compile_for(structure).each(case.before)
    for c, v in targets_of(case.schema):
        here = case.before.present[c]
        for x, y in zip(parameters(found[c, v]), parameters(expected[c, v]), strict=True):
            torch.testing.assert_close(x[here], y[here], rtol=1e-9, atol=1e-9)


@torch.no_grad()
def test_predictions_follow_values_that_change_in_place() -> None:
    """Nothing that was made of one state is used for the next."""
    data = oocdm.collect(oocdm.make("mouse", num_monsters=(1, 3)), steps=50, seed=0)
    torch.manual_seed(0)
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(data.transitions()))
    graph = MouseWorld().true_graph
    predict = model.compile_for(graph)
    state = data.transitions().before.map(torch.clone)

    def check(changed: Snapshot) -> None:
        afresh, found = model.compile_for(graph).each(changed), predict.each(changed)
        for c, v in targets_of(data.schema):
            for x, y in zip(parameters(found[c, v]), parameters(afresh[c, v]), strict=True):
                assert torch.equal(x, y), f"{c}.{v}"

    check(state)
    before = parameters(predict.each(state)["Mouse.health"])[0]
    state["Mouse.position"].add_(1).remainder_(8)
    check(state)
    assert not torch.equal(before, parameters(predict.each(state)["Mouse.health"])[0])
    state.present["Monster"][:, 0] = False
    check(state)
    with torch.inference_mode():
        check(state)


@torch.no_grad()
def test_no_worlds_and_other_worlds() -> None:
    data = oocdm.collect(oocdm.make("mouse"), steps=50, seed=0)
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(data.transitions()))
    graph = MouseWorld().true_graph
    before = data.transitions().before
    nothing = before.map(lambda tensor: tensor[:0])
    assert model.compile_for(graph)(nothing)["Trap.duration"].mode().shape == (0, 4)
    other = oocdm.collect(oocdm.make("block"), steps=50, seed=0).transitions().before
    with pytest.raises(ModelError, match="made for another schema"):
        model.compile_for(graph)(other)
