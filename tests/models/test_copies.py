"""Where copies of a model disagree more than usual, its predictions are less sure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.graph import ClassGraph
from oocdm.models.copies import MOST, Copies, doubted, squares_apart, widening
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.prediction import ClassPrediction, Predictions, WidePart
from oocdm.models.prepared import Prepared
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from tests.inference.ragged import SCHEMA, ragged, random_model


def copies_of(data, num: int = 3) -> tuple[OocdmModel, Copies]:
    """A random model, and others that are a little different."""
    model, others = random_model(data, "default", 0), []
    for k in range(num):
        generator = torch.Generator().manual_seed(k)
        copy = model.copy()
        for p in copy.parameters():
            p.data += 0.1 * torch.randn(p.shape, generator=generator)
        others.append(copy)
    structures = model.structures(ClassGraph.full(data.schema))
    return model, Copies.measured(model, others, structures, Prepared.of(model, data))


DATA = ragged(SCHEMA, (12,) * 6, is_whole=True)
MODEL, COPIES = copies_of(DATA)


def parts(predictions: Predictions) -> dict[str, torch.Tensor]:
    found = {}
    for c, p in predictions.classes.items():
        found |= {f"{c} mean": p.mean, f"{c} sigma": p.sigma}
        found |= {f"{c}.{v}": logits for v, logits in p.logits.items()}
        if p.wide is not None:
            found |= {f"{c} wide mean": p.wide.mean, f"{c} wide sigma": p.wide.sigma}
    return found


def test_means_stay_and_standard_deviations_only_grow() -> None:
    graph, before = ClassGraph.full(SCHEMA), DATA.transitions().before
    plain = parts(MODEL.compile_for(graph)(before))
    wide = parts(COPIES.compile_for(MODEL, graph)(before))
    grown = 0
    for name, values in plain.items():
        if name.endswith("mean"):
            assert torch.equal(values, wide[name])
        if name.endswith("sigma"):
            assert (wide[name] >= values).all()
            grown += int((wide[name] > values).sum())
    assert grown > 0


def test_what_is_usual_is_what_three_of_four_values_have() -> None:
    """Against sums over single values, on data where all of them are known."""
    structures = MODEL.structures(ClassGraph.full(SCHEMA))
    prepared = Prepared.of(MODEL, DATA)
    base, *others = (m(prepared.inputs, structures)[0] for m in (MODEL, *COPIES.models))
    for c, usual in COPIES.usual.items():
        known = prepared.targets.known[c]
        apart = squares_apart(base.classes[c], [o.classes[c] for o in others]).sqrt()
        error = (prepared.targets.values[c] - base.classes[c].mean).abs()
        for i in range(known.shape[2]):
            rows = apart[known[..., i]][:, i].double().detach().numpy()
            wrong = error[known[..., i]][:, i].double().detach().numpy()
            expected = np.quantile(rows, 0.75, axis=0)
            assert usual[i].numpy() == pytest.approx(expected, rel=1e-5)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.minimum(np.nan_to_num(np.quantile(wrong, 0.75, axis=0) / expected), MOST)
            assert COPIES.times[c][i].numpy() == pytest.approx(ratio, rel=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_what_is_no_parent_changes_no_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = ClassGraph.random(SCHEMA, 0.4, rng)
    predict, before = COPIES.compile_for(MODEL, graph), DATA.transitions(slice(0, 5)).before
    usual = predict(before)
    for c in SCHEMA.classes:
        for f, field in SCHEMA.fields(c).items():
            if not field.is_real:
                continue
            values = {k: dict(each) for k, each in before.values.items()}
            values[c][f] = values[c][f] + torch.randn_like(values[c][f])
            other = predict(replace(before, values=values))
            causes = {
                (e.target_class, e.target_field) for e in graph.edges() if e.cause == f"{c}.{f}"
            }
            for d in SCHEMA.classes:
                for i, v in enumerate(SCHEMA.targets(d)):
                    if (d, v) not in causes:
                        a, b = usual.classes[d], other.classes[d]
                        assert torch.equal(a.mean[:, :, i], b.mean[:, :, i])
                        assert torch.equal(a.sigma[:, :, i], b.sigma[:, :, i])


def test_copies_that_agree_change_nothing() -> None:
    same = replace(COPIES, models=(MODEL, MODEL.copy()))
    graph, before = ClassGraph.full(SCHEMA), DATA.transitions().before
    plain, wide = (
        parts(p(before)) for p in (MODEL.compile_for(graph), same.compile_for(MODEL, graph))
    )
    for name, values in plain.items():
        if "." in name:
            values, wide[name] = (t.softmax(-1) for t in (values, wide[name]))
        assert torch.allclose(values, wide[name], atol=2e-5), name
    names = [f"{c}.{v}" for c in SCHEMA.classes for v in SCHEMA.targets(c)]
    doubts = same.compile_for(MODEL, graph).doubt(before, names)
    assert doubts.shape == (before.batch_size,) and (doubts < 1e-4).all()


def test_choices_are_as_likely_as_on_average() -> None:
    def choice(*chances: float) -> ClassPrediction:
        zero = torch.zeros(1, 1, 1, 1)
        return ClassPrediction(zero, zero + 1, {"k": torch.tensor(chances).log().view(1, 1, 1, -1)})

    found = doubted(choice(0.8, 0.2), [choice(0.5, 0.5), choice(0.2, 0.8)], torch.zeros(()))
    assert found.logits["k"].softmax(-1).flatten().tolist() == pytest.approx([0.5, 0.5], abs=1e-4)


def test_both_parts_of_a_mixture_grow() -> None:
    one = torch.ones(1, 1, 1, 1)
    wide = WidePart(one, 5 * one, one / 10, torch.tensor([True]))
    base = ClassPrediction(one, 3 * one, {}, wide)
    grown = widening(base, [replace(base, mean=5 * one)], 0 * one[0, 0], one[0, 0])
    found = doubted(base, [], grown)
    assert found.sigma.item() == pytest.approx(5.0)
    assert found.wide is not None and found.wide.sigma.item() == pytest.approx(41**0.5)


def test_doubt_is_about_what_is_asked_for() -> None:
    predict = COPIES.compile_for(MODEL, ClassGraph.full(SCHEMA))
    before = DATA.transitions(slice(0, 4)).before
    names = [f"{c}.{v}" for c in SCHEMA.classes for v in SCHEMA.targets(c)]
    each = torch.stack([predict.doubt(before, [name]) for name in names])
    assert (each >= 0).all() and (each > 0).any()
    assert (predict.doubt(before, []) == 0).all()
    assert not torch.equal(each[0], predict.doubt(before, names))


def test_a_class_without_objects_or_numbers_has_no_doubts() -> None:
    class Lamp(ObjectClass):
        colour = Categorical(3)

    class Ball(ObjectClass):
        x = Real()

    data = ragged(Schema(Lamp, Ball), (6,) * 4, slots={"Lamp": 0, "Ball": 2}, is_whole=True)
    model, copies = copies_of(data)
    assert all(t.isfinite().all() for t in (*copies.usual.values(), *copies.times.values()))
    found = copies.compile_for(model, ClassGraph.full(data.schema))(data.transitions().before)
    assert found["Ball.x"].mean.isfinite().all()
