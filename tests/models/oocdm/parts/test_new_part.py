"""A part of one's own: one file and one line, and every evaluator has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from oocdm.graph import Edge, Neighbours
from oocdm.models.initial import xavier
from oocdm.models.named import ParametersByName
from oocdm.models.oocdm.masks import Masks, masked
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts import PARTS
from oocdm.models.oocdm.parts.part import AbstractGathered, Gather, Place, Seen, SeenByTarget
from oocdm.schema import ObjectClass, Real, Schema
from tests.models.strategies import (
    Case,
    assert_near,
    at_receivers,
    cases,
    drawn_receivers,
    gradients_of,
    parameters_of,
    with_new_value,
)


class Mean(AbstractGathered):
    """The mean over the other objects of a linear map of what they show; zero without any."""

    name: ClassVar[str] = "mean"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.width, s = 3, place.num_targets
        self.weight = ParametersByName(
            {k: xavier(w, s, self.width, fan_in=w, fan_out=3) for k, w in place.widths.items()}
        )

    @classmethod
    def is_used(cls, options: ModelOptions) -> bool:
        return True

    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        total, number = seen.own.new_zeros(*seen.own.shape[:2], self.width), 0
        for k, x in seen.others.items():
            allowed = seen.allowed[k].to(x.dtype)
            total = total + allowed @ (x @ self.weight[k][:, i])
            number = number + allowed.sum(2, keepdim=True)
        return total / number.clamp(min=1)

    def compose(self, masks: Masks) -> Gather | None:
        weights, is_open = {}, {}
        for k in self.place.schema.classes:
            mask = masks.others(k, self.c)
            weights[k] = masked(self.weight[k].unsqueeze(0), mask, self.num_free)
            reads = masks.reads(k, self.c) | (not self.place.options.skip_unrelated)
            is_open[k] = torch.as_tensor(reads)  # (structure, target)

        def gather(seen: Seen) -> Tensor:
            targets, total, number = self.place.num_targets, 0, 0
            for k, x in seen.encoded.items():
                rows = x.reshape(len(masks), -1, x.shape[2])
                theirs = torch.bmm(rows, weights[k]).view(*x.shape[:2], targets, self.width)
                may_see = masks.spread(is_open[k], len(x))[:, None, None]
                allowed = (seen.inputs.others(k, self.c).unsqueeze(3) & may_see).to(x.dtype)
                total = total + torch.einsum("bost,bstd->botd", allowed, theirs)
                number = number + allowed.sum(2).unsqueeze(-1)
            found = total / number.clamp(min=1)
            return found.expand(*seen.encoded[self.c].shape[:2], -1, -1)

        return gather


@pytest.fixture(autouse=True, scope="module")
def _registered() -> Iterator[None]:
    PARTS.append(Mean)
    yield
    PARTS.remove(Mean)


@settings(max_examples=80)
@given(cases(), st.sampled_from([1, 2, 3, 6]))
def test_the_batched_form_and_its_gradients_equal_the_literal_ones(case: Case, num: int) -> None:
    fast, literal = case.model(), case.model(literal=True)
    inputs, structures = fast.inputs(case.before), case.structures(fast, num)
    (found,), (expected,) = (model(inputs, structures) for model in (fast, literal))
    assert_near(found, expected)
    ours, theirs = gradients_of(fast, found, 0), gradients_of(literal, expected, 0)
    assert any(".of_mean." in name for name in ours)
    for name, gradient in theirs.items():
        assert gradient.isfinite().all(), name
        torch.testing.assert_close(ours[name], gradient, rtol=1e-7, atol=1e-7, msg=name)


@settings(max_examples=60)
@given(cases(batch_size=3), st.integers(0, 2**20))
def test_the_form_for_neighbours_equals_the_literal_one(case: Case, seed: int) -> None:
    fast, literal = case.model(), case.model(literal=True)
    rng = np.random.default_rng(seed)
    parts = {}
    for c in fast.predictors:
        num = fast.layout.of_class(c).shape[1]
        parts[c] = np.flatnonzero(rng.random(num) < rng.choice([0.2, 0.7, 1.0]))
    neighbours, inputs = Neighbours(case.structure(fast), parts), fast.inputs(case.before)
    found, expected = (m.compile_neighbours(neighbours)(inputs) for m in (fast, literal))
    assert_near(found, expected)


@settings(max_examples=30)
@given(cases(batch_size=6), st.sampled_from([1, 2, 6]))
@torch.no_grad()
def test_drawn_receivers_are_predicted_as_among_all(case: Case, num: int) -> None:
    """Though the part knows nothing of them."""
    model = case.model()
    inputs, structures = model.inputs(case.before), case.structures(model, num)
    some = drawn_receivers(inputs, case.seed)
    (all_of_them,) = model(inputs, structures)
    (found,) = model(replace(inputs, receivers=some), structures)
    assert_near(found, at_receivers(all_of_them, some))
    around = Neighbours(case.structure(model), {c: np.arange(2) for c in model.predictors})
    predict = model.compile_neighbours(around)
    thrice = {c: places.repeat(3, 1) for c, places in some.items()}
    found = predict(replace(inputs, receivers=some))
    assert_near(found, at_receivers(predict(inputs), thrice))


@settings(max_examples=80)
@given(cases())
@torch.no_grad()
def test_the_form_for_single_targets_equals_the_literal_one(case: Case) -> None:
    fast, literal = case.model(), case.model(literal=True)
    structure = case.structure(fast)
    predict = fast.compile_for(structure)
    for before in (case.before, case.known):
        (expected,) = literal(literal.inputs(before), literal.structures(structure))
        assert_near(predict(before), expected, present=before.present)


@settings(max_examples=60)
@given(case=cases(min_count=1), num=st.sampled_from([1, 2, 6]))
@torch.no_grad()
def test_non_parents_change_no_bit(case: Case, num: int) -> None:
    """In any evaluator."""
    model, literal, rng = case.model(), case.model(literal=True), case.rng()
    k = str(rng.choice(list(case.schema.classes)))
    u = str(rng.choice(list(case.schema.fields(k))))
    i = int(rng.integers(case.before.counts[k]))
    rows, structure = case.structures(model, num), case.structure(model)
    many = np.repeat(rows.bool().numpy(), case.before.batch_size // num, 0)
    one = np.repeat(structure.flags[None], case.before.batch_size, 0)
    around = Neighbours(structure, {c: np.zeros(0, dtype=int) for c in model.predictors})
    evaluators = [
        (many, lambda state: model(model.inputs(state), rows)[0]),
        (many, lambda state: literal(literal.inputs(state), rows)[0]),
        (one, model.compile_for(structure)),
        (one, lambda state: model.compile_neighbours(around)(model.inputs(state))),
    ]
    for flags, predict in evaluators:
        for state in (case.before, case.known):
            old, new = predict(state), predict(with_new_value(state, k, i, u, rng))
            for (c, v, before), (_, _, after) in zip(
                parameters_of(old), parameters_of(new), strict=True
            ):
                for j in range(case.before.counts[c]):
                    edge = Edge(k, u, c, v, is_local=(k, i) == (c, j))
                    is_parent = flags[:, model.edges.position[edge]]
                    for a, b in zip(before, after, strict=True):
                        assert torch.equal(a[~is_parent, j], b[~is_parent, j]), str(edge)


class Ball(ObjectClass):
    x = Real()


def test_it_has_a_path_of_its_own() -> None:
    schema = Schema(Ball)
    torch.manual_seed(0)
    model = OocdmModel(schema, ModelOptions())
    paths = ("network", "products", "messages", "extremes", "pairs", "mean")
    assert model.layout.paths == paths
    assert model.layout.names[-1] == "Ball.x by mean"
    full = model.layout.structure(True)
    cut = model.layout.parse([name for name in full.names if name != "Ball.x by mean"])
    inputs = model.inputs(Case.of(schema, {"Ball": 3}, seed=0).before)
    with torch.no_grad():
        (with_it,), (without,) = (model(inputs, model.structures(s)) for s in (full, cut))
        assert not torch.equal(with_it["Ball.x"].mean, without["Ball.x"].mean)
        for weight in model.predictors["Ball"].parts["mean"].parameters():
            weight.mul_(-3)
        (changed,), (same,) = (model(inputs, model.structures(s)) for s in (full, cut))
        assert not torch.equal(with_it["Ball.x"].mean, changed["Ball.x"].mean)
        assert torch.equal(same["Ball.x"].mean, without["Ball.x"].mean)


def test_it_is_the_mean() -> None:
    """Of numbers that can be followed by hand."""
    schema = Schema(Ball)
    model = OocdmModel(schema, ModelOptions.preset("paper")).double()
    part = model.predictors["Ball"].parts["mean"]
    seen = model.see(model.inputs(Case.of(schema, {"Ball": 3}, seed=0).before))
    seen.inputs.present["Ball"][:] = torch.tensor([True, True, False])
    seen.encoded["Ball"][:] = torch.arange(1.0, 4.0)[:, None]
    with torch.no_grad():
        part.weight["Ball"].fill_(1 / seen.encoded["Ball"].shape[2])
        gather = part.compose(Masks(model.layout, model.structures(model.layout.structure(True))))
        assert gather is not None
        found = gather(seen)
    torch.testing.assert_close(found[0, :, 0, 0], torch.tensor([2.0, 1.0, 1.5]).double())
