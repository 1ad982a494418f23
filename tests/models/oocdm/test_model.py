"""What every OOCDM guarantees, whatever its implementation, options and weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oocdm.models.reference import ReferenceModel
from torch import Tensor

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import GraphError, ModelError
from oocdm.graph import ClassGraph, Edge
from oocdm.models import world_model
from oocdm.models.oocdm.model import OocdmModel, Structures
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import Predictions
from oocdm.models.scales import Scales
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.models.strategies import (
    MIXED,
    PRESETS,
    Case,
    Change,
    assert_near,
    blank,
    cases,
    map_class,
    options,
    parameters_of,
    random_snapshot,
    random_transitions,
    random_values,
    with_flipped_flag,
    with_new_value,
)

EXACT = 1e-10
KINDS = pytest.mark.parametrize("kind", [OocdmModel, ReferenceModel])
DTYPES = st.sampled_from([torch.float32, torch.float64])
SKIPPING = options().filter(lambda o: o.skip_unrelated)


def decode(model: OocdmModel, before: Snapshot, structures: Structures) -> Predictions:
    with torch.no_grad():
        return model.decode(model.inputs(before), structures)


def per_sample(structures: Structures, batch_size: int) -> np.ndarray:
    """Edges and paths of every sample, as booleans."""
    return structures.repeat_interleave(batch_size // len(structures), 0).bool().numpy()


# ---------------------------------------------------------------- only parents matter


@KINDS
@settings(max_examples=30)
@given(
    case=cases(min_count=1),
    num=st.sampled_from([1, 2, 6]),
    dtype=DTYPES,
    change=st.sampled_from([with_new_value, with_flipped_flag]),
)
def test_non_parents_change_no_bit(
    kind: type[OocdmModel], case: Case, num: int, dtype: torch.dtype, change: Change
) -> None:
    model = case.model(kind, dtype)
    structures = case.structures(model, num)
    old = decode(model, case.before, structures)
    rng = case.rng()
    k = rng.choice(list(case.schema.classes))
    u = rng.choice(list(case.schema.fields(k)))
    i = int(rng.integers(case.before.counts[k]))
    new = decode(model, change(case.before, k, i, u, rng), structures)
    edges = per_sample(structures, case.before.batch_size)
    for (c, v, before), (_, _, after) in zip(parameters_of(old), parameters_of(new), strict=True):
        for j in range(case.before.counts[c]):
            edge = Edge(k, u, c, v, is_local=(k, i) == (c, j))
            is_parent = edges[:, model.index.position[edge]]
            for a, b in zip(before, after, strict=True):
                assert torch.equal(a[~is_parent, j], b[~is_parent, j]), str(edge)


@KINDS
@settings(max_examples=30)
@given(case=cases(min_count=1), num=st.sampled_from([1, 2, 6]), dtype=DTYPES)
def test_what_stands_where_nothing_is_known_changes_no_bit(
    kind: type[OocdmModel], case: Case, num: int, dtype: torch.dtype
) -> None:
    model, rng = case.model(kind, dtype), case.rng()
    structures = case.structures(model, num)
    before = case.before
    values: dict[str, dict[str, Tensor]] = {c: {} for c in before.values}
    for c, fields in before.values.items():
        for f, value in fields.items():
            garbage = random_values(case.schema.field(c, f), value.shape[:2], rng)
            values[c][f] = value + blank(garbage, ~before.observed[c][f])
    old = decode(model, case.before, structures)
    new = decode(model, replace(case.before, values=values), structures)
    for (c, v, ours), (_, _, theirs) in zip(parameters_of(old), parameters_of(new), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a, b), f"{c}.{v}"


class Ball(ObjectClass):
    x = Real()
    n = Integer(0, 3)
    push = Real(action=True, shape=(2,))


class Wall(ObjectClass):
    x = Real(low=-2.0)


WORLD = Schema(Ball, Wall)


@KINDS
@pytest.mark.parametrize("chosen", [*PRESETS, MIXED], ids=["default", "paper", "mixed"])
def test_every_parent_matters(kind: type[OocdmModel], chosen: ModelOptions) -> None:
    rng = np.random.default_rng(0)
    transitions = random_transitions(WORLD, {"Ball": 3, "Wall": 2}, 40, rng)
    model = kind(WORLD, chosen, None).double()
    full = model.structures(ClassGraph.full(WORLD))
    for position, edge in enumerate(model.index.edges):
        cut = full.clone()
        cut[:, position] = 0
        predictions = [decode(model, transitions.before, s) for s in (full, cut)]
        mine = [
            tensors[0]
            for p in predictions
            for c, v, tensors in parameters_of(p)
            if (c, v) == (edge.target_class, edge.target_field)
        ]
        assert not torch.equal(*mine), str(edge)


@KINDS
def test_a_change_is_predicted_only_of_what_is_known(kind: type[OocdmModel]) -> None:
    """Far from 0, where the values are: an unknown one is not taken for 0."""
    schema = Schema(Wall)
    x = torch.tensor([[100.0], [101.0], [99.0], [100.0]])
    before = Snapshot.of(schema, {"Wall": {"x": x}})
    after = Snapshot.of(schema, {"Wall": {"x": x + torch.tensor([[0.01], [-0.01], [0.0], [0.0]])}})
    model = kind(schema, ModelOptions(), Scales.measure(Transitions(before, after)))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    hidden = before.hide({"Wall": {"x": torch.tensor([[False], [False], [True], [True]])}})
    found = model(hidden, ClassGraph.full(schema))["Wall", "x"]
    torch.testing.assert_close(found.mean[:2], x[:2])
    assert found.mean[2:].tolist() == [[100.0], [100.0]]
    assert found.sigma[2:].min() > 50 * found.sigma[:2].max()


# ---------------------------------------------------------------- any number of objects


def append_objects(before: Snapshot, extra: Snapshot, k: str) -> Snapshot:
    """The snapshot with the objects of one class in another snapshot added."""
    added = iter([extra.present[k], *extra.values[k].values(), *extra.observed[k].values()])
    return map_class(before, k, lambda t: torch.cat([t, next(added)], dim=1))


@KINDS
@settings(max_examples=30)
@given(case=cases(SKIPPING), num=st.sampled_from([1, 2, 6]), more=st.integers(1, 3))
def test_objects_of_unrelated_classes_do_not_matter(
    kind: type[OocdmModel], case: Case, num: int, more: int
) -> None:
    model, rng = case.model(kind), case.rng()
    structures = case.structures(model, num)
    k = rng.choice(list(case.schema.classes))
    extra = random_snapshot(case.schema, {**case.before.counts, k: more}, 6, rng)
    old = decode(model, case.before, structures)
    new = decode(model, append_objects(case.before, extra, k), structures)
    edges = per_sample(structures, 6)
    for (c, v, before), (_, _, after) in zip(parameters_of(old), parameters_of(new), strict=True):
        column = case.schema.targets(c).index(v)
        unrelated = ~model.index.global_block(edges, k, c)[:, :, column].any(1)
        for a, b in zip(before, after, strict=True):
            kept = b[:, : a.shape[1]]
            assert_equal(a[unrelated], kept[unrelated], f"{c}.{v}")


def assert_equal(a: Tensor, b: Tensor, where: str) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=EXACT, msg=lambda m: f"{where}: {m}")


@KINDS
@settings(max_examples=30)
@given(case=cases(), num=st.sampled_from([1, 2, 6]))
def test_the_order_of_objects_does_not_matter(kind: type[OocdmModel], case: Case, num: int) -> None:
    model, rng = case.model(kind), case.rng()
    structures = case.structures(model, num)
    order = {c: torch.as_tensor(rng.permutation(n)) for c, n in case.before.counts.items()}
    before = case.before
    for c in case.schema.classes:
        before = map_class(before, c, lambda t, c=c: t[:, order[c]])
    old, new = decode(model, case.before, structures), decode(model, before, structures)
    for (c, v, ours), (_, _, theirs) in zip(parameters_of(old), parameters_of(new), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert_equal(a[:, order[c]], b, f"{c}.{v}")


@KINDS
@settings(max_examples=30)
@given(case=cases(), num=st.sampled_from([1, 2, 6]), dtype=DTYPES)
def test_padding_changes_no_bit(
    kind: type[OocdmModel], case: Case, num: int, dtype: torch.dtype
) -> None:
    model, rng = case.model(kind, dtype), case.rng()
    structures = case.structures(model, num)
    before = case.before
    for c, present in before.present.items():
        padding = ~present

        def spoil(tensor: Tensor, padding: Tensor = padding) -> Tensor:
            garbage = torch.as_tensor(rng.integers(-1000, 1000, tensor.shape)).to(tensor.dtype)
            mask = padding.reshape(*padding.shape, *[1] * (tensor.ndim - 2))
            return torch.where(mask, garbage, tensor)

        before = map_class(before, c, spoil)
    before = replace(before, present=case.before.present)
    old, new = decode(model, case.before, structures), decode(model, before, structures)
    for (c, v, ours), (_, _, theirs) in zip(parameters_of(old), parameters_of(new), strict=True):
        present = case.before.present[c]
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a[present], b[present]), f"{c}.{v}"


@KINDS
@settings(max_examples=30)
@given(case=cases(min_count=1), num=st.sampled_from([1, 2, 6]))
def test_no_objects_equal_absent_objects(kind: type[OocdmModel], case: Case, num: int) -> None:
    model = case.model(kind)
    structures = case.structures(model, num)
    gone = case.rng().choice(list(case.schema.classes))
    none = map_class(case.before, gone, lambda t: t[:, :0])
    absent = map_class(case.before, gone, torch.zeros_like)
    predictions = [decode(model, before, structures) for before in (none, absent)]
    for (c, v, ours), (_, _, theirs) in zip(*map(parameters_of, predictions), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a.isfinite().all() and b.isfinite().all()
            if c == gone:
                assert a.shape[1] == 0
            else:
                assert_equal(a, b, f"{c}.{v}")


@KINDS
@pytest.mark.parametrize("chosen", [*PRESETS, MIXED], ids=["default", "paper", "mixed"])
def test_a_model_runs_on_counts_never_seen(kind: type[OocdmModel], chosen: ModelOptions) -> None:
    rng = np.random.default_rng(0)
    model = kind(WORLD, chosen, None)
    for counts in ({"Ball": 0, "Wall": 0}, {"Ball": 40, "Wall": 1}, {"Ball": 1, "Wall": 0}):
        transitions = random_transitions(WORLD, counts, 5, rng)
        predictions = model(transitions.before, ClassGraph.full(WORLD))
        scores = predictions.log_prob(model.targets(transitions))
        for c, n in counts.items():
            assert scores[c].shape == (5, n, len(WORLD.targets(c)))
            for v in WORLD.targets(c):
                assert predictions[c, v].sample().shape == (5, n)
        sum(score.sum() for score in scores.values()).backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


# ---------------------------------------------------------------- weights, errors


@settings(max_examples=30)
@given(cases())
def test_weights_bring_their_scales(case: Case) -> None:
    model = case.model(OocdmModel)
    fresh = ReferenceModel(case.schema, case.options, None).double()
    fresh.load_state_dict(model.state_dict())
    structures = case.structures(model, 2)
    assert torch.equal(
        model.structures(ClassGraph.full(case.schema)),
        fresh.structures(ClassGraph.full(case.schema)),
    )
    assert_near(
        decode(model, case.before, structures), decode(fresh, case.before, structures), 1e-9
    )


@KINDS
def test_another_schema_is_refused(kind: type[OocdmModel]) -> None:
    other = Schema(Ball)
    transitions = random_transitions(other, {"Ball": 2}, 3, np.random.default_rng(0))
    model = kind(WORLD, ModelOptions(), None)
    expected = (
        "The model was made for another schema. "
        r"It differs in classes \['Ball', 'Wall'\] against \['Ball'\]\."
    )
    with pytest.raises(ModelError, match=f"^{expected}$"):
        model.inputs(transitions.before)
    with pytest.raises(ModelError, match=f"^{expected}$"):
        model.targets(transitions)
    with pytest.raises(GraphError, match=r"^The graph is for another schema"):
        model.structures(ClassGraph.full(WORLD), ClassGraph.full(other))
    with pytest.raises(ModelError, match=f"^{expected}$"):
        model(transitions.before, ClassGraph.full(WORLD))


def test_equal_schemas_are_the_same() -> None:
    model = OocdmModel(WORLD, ModelOptions(), None)
    assert model.structures(ClassGraph.full(Schema.from_json(WORLD.to_json()))).all()


def test_field_names_that_modules_use_are_usable() -> None:
    fields = {name: Real() for name in ("type", "half", "train", "children")}
    OocdmModel(Schema(type("Thing", (ObjectClass,), fields)), ModelOptions(), None)


@pytest.mark.parametrize("chosen", [*PRESETS, MIXED], ids=["default", "paper", "mixed"])
def test_every_parameter_is_in_one_group(chosen: ModelOptions) -> None:
    model = OocdmModel(WORLD, chosen, None)
    names = {id(p): name.split(".")[2] for name, p in model.named_parameters()}
    rest, shared, maps = ([names[id(p)] for p in g["params"]] for g in model.parameter_groups())
    assert sorted(rest + shared + maps) == sorted(names.values())
    assert set(shared) <= {"local_weight", "global_weight", "message_own", "message_weight"}
    assert set(maps) == ({"linear_weight"} if chosen.linear_path else set())
    assert not any(name in shared + maps for name in rest)
    kinds = [group.get("matrices") for group in model.parameter_groups()]
    assert kinds == [None, "shared_input", "maps"]


def test_class_names_that_modules_use_are_usable() -> None:
    OocdmModel(Schema(type("items", (ObjectClass,), {"x": Real()})), ModelOptions(), None)


def test_means_beyond_their_bounds_can_come_back() -> None:
    """Where all means of a field are cut off, gradients still lead back, but not further out."""
    low, high = torch.tensor(0.0), torch.tensor(10.0)
    mean = torch.tensor([-3.0, -3.0, 5.0, 12.0, 12.0, 10.0], requires_grad=True)
    cut = world_model._Cut.apply(mean, low, high)
    assert cut.tolist() == [0.0, 0.0, 5.0, 10.0, 10.0, 10.0]
    gradient = torch.tensor([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0])  # steps go against it
    cut.backward(gradient)
    assert mean.grad is not None
    assert mean.grad.tolist() == [-1.0, 0.0, 1.0, 1.0, 0.0, -1.0]


@KINDS
@pytest.mark.parametrize("beyond", [-50.0, 50.0])
def test_bounded_fields_are_learned_from_beyond_their_bounds(
    kind: type[OocdmModel], beyond: float
) -> None:
    class Tank(ObjectClass):
        level = Real(low=0.0, high=1.0)

    schema = Schema(Tank)
    torch.manual_seed(0)
    model = kind(schema, ModelOptions(), None)
    transitions = random_transitions(schema, {"Tank": 3}, 8, np.random.default_rng(0))
    model.head_scales("Tank").value_mean.fill_(beyond)
    model.head_scales("Tank").change_mean.fill_(beyond)
    structures = model.structures(ClassGraph.full(schema))
    predictions = model.decode(model.inputs(transitions.before), structures)
    mean = predictions["Tank", "level"].mean
    assert (mean == (0.0 if beyond < 0 else 1.0)).all()
    mean.sum().backward()
    moved = [p.grad.abs().sum() for p in model.parameters() if p.grad is not None]
    # The sum falls by going down, which leads back from above and further out from below.
    assert (sum(map(float, moved)) > 0) == (beyond > 0)
