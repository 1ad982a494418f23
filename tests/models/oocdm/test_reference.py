"""The literal evaluator against the formulas of the paper's appendix."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from oocdm.errors import ModelError, SchemaError
from oocdm.graph import ClassGraph, Edge
from oocdm.methods.augmented import augmented
from oocdm.models.normal_field import NormalField
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.schema import ObjectClass, Real, Schema
from tests.models.strategies import (
    Case,
    assert_near,
    cases,
    parameters,
    random_transitions,
    targets_of,
)


class Ball(ObjectClass):
    x = Real()
    v = Real(shape=(2,))
    push = Real(action=True)


class Wall(ObjectClass):
    x = Real()


PAPER, AUGMENTED = ModelOptions.preset("paper"), augmented("paper")
SCHEMA = Schema(Ball, Wall).with_likelihood("normal")  # as the paper has it


def appendix(
    model: OocdmModel, graph: ClassGraph, objects: list[tuple[str, dict[str, Tensor]]], j: int
) -> tuple[Tensor, Tensor]:
    """Mean and sigma of `x` of object j, one object and one formula at a time."""
    c = objects[j][0]
    p, i = model.predictors[c], SCHEMA.targets(c).index("x")

    def object_encoding(r: int) -> Tensor:
        k, values = objects[r]
        e, codes = model.encoders[k], []
        for row, u in enumerate(SCHEMA.fields(k)):
            size = values[u].numel()
            hidden = values[u].reshape(size) @ e.hidden_weight[row, :size] + e.hidden_bias[row]
            hidden = torch.where(hidden > 0, hidden, 0.01 * hidden)
            code = (hidden @ e.weight[row] + e.bias[row]).clamp(min=0)
            is_parent = Edge(k, u, c, "x", is_local=r == j) in graph
            codes.append(code if is_parent else torch.zeros_like(code))
        if model.options.identity_dim:
            of_class = [i for i, (other, _) in enumerate(objects) if other == k]
            codes.append(hidden_encoding(model, k, of_class.index(r), len(of_class)))
        return torch.cat(codes)

    own, a, network = p.parts["local"], p.parts["attention"], p.network
    local = object_encoding(j) @ own.weight[:, i] + own.bias[i]
    query = local @ a.query_weight[i] + a.query_bias[i]
    d, heads = model.options.local_dim, model.options.heads
    scores, values = [], []
    for r in range(len(objects)):
        if r != j:
            k = objects[r][0]
            code = object_encoding(r) @ a.weight[k][:, i] + a.bias[k][i]
            key = code @ a.key_weight[i] + a.key_bias[i]
            scores.append((query * key).view(heads, -1).sum(1) / math.sqrt(d))
            values.append((code @ a.value_weight[i] + a.value_bias[i]).view(heads, -1))
    weights = [score.exp() / sum(s.exp() for s in scores) for score in scores]
    attended = sum(w.unsqueeze(1) * v for w, v in zip(weights, values, strict=True))
    h = torch.cat([local, torch.as_tensor(attended).flatten()])
    for weight, bias in (
        (network.weight1, network.bias1),
        (network.weight2, network.bias2),
    ):
        h = h @ weight[i] + bias[i]
        h = torch.where(h > 0, h, 0.01 * h)
    out = h @ network.weight3[i] + network.bias3[i]
    width = model.heads[c].width
    return out[0], torch.log1p(out[width].exp()) + 1e-5


def hidden_encoding(model: OocdmModel, k: str, i: int, num: int) -> Tensor:
    """Of object i among so many: the GRU's state after its steps, on the way forth and back."""
    p, states = model.identities[k], []
    for way, steps in ((0, i + 1), (1, num - i)):
        h: Tensor = p.start[way]
        for _ in range(steps):
            a, b = p.input_bias[way].chunk(3), (h @ p.weight[way] + p.hidden_bias[way]).chunk(3)
            r, z = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
            h = (1 - z) * torch.tanh(a[2] + r * b[2]) + z * h
        states.append(h)
    return torch.cat(states)


@pytest.mark.parametrize("options", [PAPER, AUGMENTED], ids=["oocdm", "oocdm+"])
@pytest.mark.parametrize("seed", range(4))
def test_the_paper_preset_is_the_appendix(seed: int, options: ModelOptions) -> None:
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    model = OocdmModel(SCHEMA, options, literal=True).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    graph = ClassGraph.random(SCHEMA, 0.6, rng)
    before = random_transitions(SCHEMA, {"Ball": 3, "Wall": 2}, 1, rng).before
    present = {c: torch.ones_like(t) for c, t in before.present.items()}
    observed = {c: {f: present[c] for f in before.values[c]} for c in before.values}
    before = type(before)(SCHEMA, before.values, present, observed)
    objects = [
        (c, {f: values[0, i] for f, values in before.values[c].items()})
        for c, n in before.counts.items()
        for i in range(n)
    ]
    with torch.no_grad():
        (predictions,) = model(model.inputs(before), model.structures(graph))
        for j, (c, _) in enumerate(objects):
            found = predictions[c, "x"]
            assert isinstance(found, NormalField)
            row = j if c == "Ball" else j - 3
            expected = appendix(model, graph, objects, j)
            for ours, theirs in zip((found.mean, found.sigma), expected, strict=True):
                torch.testing.assert_close(ours[0, row], theirs, rtol=1e-10, atol=1e-10)


@settings(max_examples=20)
@given(cases())
def test_each_sample_may_have_a_structure_of_its_own(case: Case) -> None:
    model = case.model(literal=True)
    inputs, structures = model.inputs(case.before), case.structures(model, 6)
    with torch.no_grad():
        (together,) = model(inputs, structures)
        for i in range(6):
            row = slice(i, i + 1)
            (alone,) = model(inputs.map(lambda t, row=row: t[row]), structures[row])
            assert_near(alone, together.map(lambda t, row=row: t[row]))


@settings(max_examples=30)
@given(cases())
def test_one_target_alone_is_as_among_the_others(case: Case) -> None:
    model = case.model(literal=True)
    inputs, structures = model.inputs(case.before), case.structures(model, 2)
    with torch.no_grad():
        (together,) = model(inputs, structures)
        for c, v in targets_of(case.schema):
            alone = model.predict_literally(inputs, structures, (c, v))[c, v]
            expected = together[c, v]
            assert alone.field == expected.field
            pairs = zip(parameters(alone), parameters(expected), strict=True)
            assert all(torch.equal(a, b) for a, b in pairs)


def test_weights_move_between_the_evaluators() -> None:
    for name in ("default", "paper"):
        fast, literal = (
            OocdmModel(SCHEMA, ModelOptions.preset(name), literal=each) for each in (False, True)
        )
        assert list(literal.state_dict()) == list(fast.state_dict())
        literal.load_state_dict(fast.state_dict())
        for twin in (literal, fast.literal()):
            assert twin.is_literal and not fast.is_literal
            for n, a in twin.state_dict().items():
                assert torch.equal(a, fast.state_dict()[n]), n


def test_only_state_fields_can_be_asked_for() -> None:
    model = OocdmModel(SCHEMA, ModelOptions())
    before = random_transitions(SCHEMA, {"Ball": 1, "Wall": 1}, 1, np.random.default_rng(0)).before
    inputs, full = model.inputs(before), model.structures(ClassGraph.full(SCHEMA))
    with pytest.raises(SchemaError, match=r"^Unknown class `Bal`\. Did you mean `Ball`\?"):
        model.predict_literally(inputs, full, ("Bal", "x"))
    expected = r"^Field `Ball\.push` is not predicted: no state field\.$"
    with pytest.raises(ModelError, match=expected):
        model.predict_literally(inputs, full, ("Ball", "push"))
