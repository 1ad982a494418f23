"""What every OOCDM guarantees, whatever its evaluator, options and weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import GraphError, ModelError
from oocdm.graph import ClassEdges, ClassGraph, Edge
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import Predictions
from oocdm.models.scales import Scales
from oocdm.models.world_model import Structures
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.models.strategies import (
    MIXED,
    PRESETS,
    Case,
    Change,
    alike,
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
BOTH = pytest.mark.parametrize("literal", [False, True], ids=["batched", "literal"])
DTYPES = st.sampled_from([torch.float32, torch.float64])
SKIPPING = options().filter(lambda o: o.skip_unrelated)


def decode(model: OocdmModel, before: Snapshot, structures: Structures) -> Predictions:
    with torch.no_grad():
        (found,) = model(model.inputs(before), structures)
    return found


def per_sample(structures: Structures, batch_size: int) -> np.ndarray:
    """Edges and paths of every sample, as booleans."""
    return structures.repeat_interleave(batch_size // len(structures), 0).bool().numpy()


# ---------------------------------------------------------------- only parents matter


@BOTH
@settings(max_examples=30)
@given(
    case=cases(min_count=1),
    num=st.sampled_from([1, 2, 6]),
    dtype=DTYPES,
    change=st.sampled_from([with_new_value, with_flipped_flag]),
)
def test_non_parents_change_no_bit(
    literal: bool, case: Case, num: int, dtype: torch.dtype, change: Change
) -> None:
    model = case.model(literal, dtype)
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
            is_parent = edges[:, model.edges.position[edge]]
            for a, b in zip(before, after, strict=True):
                assert torch.equal(a[~is_parent, j], b[~is_parent, j]), str(edge)


@BOTH
@settings(max_examples=30)
@given(case=cases(min_count=1), num=st.sampled_from([1, 2, 6]), dtype=DTYPES)
def test_what_stands_where_nothing_is_known_changes_no_bit(
    literal: bool, case: Case, num: int, dtype: torch.dtype
) -> None:
    model, rng = case.model(literal, dtype), case.rng()
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


@BOTH
@pytest.mark.parametrize("chosen", [*PRESETS, MIXED], ids=["default", "paper", "mixed"])
def test_every_parent_matters(literal: bool, chosen: ModelOptions) -> None:
    rng = np.random.default_rng(0)
    transitions = random_transitions(WORLD, {"Ball": 3, "Wall": 2}, 40, rng)
    model = OocdmModel(WORLD, chosen, literal=literal).double()
    full = model.structures(ClassGraph.full(WORLD))
    for position, edge in enumerate(model.edges.edges):
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


@BOTH
def test_a_change_is_predicted_only_of_what_is_known(literal: bool) -> None:
    """Far from 0, where the values are: an unknown one is not taken for 0."""
    schema = Schema(Wall)
    x = torch.tensor([[100.0], [101.0], [99.0], [100.0]])
    before = Snapshot.of(schema, {"Wall": {"x": x}})
    after = Snapshot.of(schema, {"Wall": {"x": x + torch.tensor([[0.01], [-0.01], [0.0], [0.0]])}})
    model = OocdmModel(schema, ModelOptions(), Scales.measure(Transitions(before, after)), literal)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    hidden = before.hide({"Wall": {"x": torch.tensor([[False], [False], [True], [True]])}})
    (found,) = model(model.inputs(hidden), model.structures(ClassGraph.full(schema)))
    found = found["Wall.x"]
    torch.testing.assert_close(found.mean[:2], x[:2])
    assert found.mean[2:].tolist() == [[100.0], [100.0]]
    assert found.sigma[2:].min() > 50 * found.sigma[:2].max()


# ---------------------------------------------------------------- any number of objects


def append_objects(before: Snapshot, extra: Snapshot, k: str) -> Snapshot:
    """The snapshot with the objects of one class in another snapshot added."""
    added = iter([extra.present[k], *extra.values[k].values(), *extra.observed[k].values()])
    return map_class(before, k, lambda t: torch.cat([t, next(added)], dim=1))


@BOTH
@settings(max_examples=30)
@given(case=cases(SKIPPING), num=st.sampled_from([1, 2, 6]), more=st.integers(1, 3))
def test_objects_of_unrelated_classes_do_not_matter(
    literal: bool, case: Case, num: int, more: int
) -> None:
    model, rng = case.model(literal), case.rng()
    structures = case.structures(model, num)
    k = rng.choice(list(case.schema.classes))
    extra = random_snapshot(case.schema, {**case.before.counts, k: more}, 6, rng)
    old = decode(model, case.before, structures)
    new = decode(model, append_objects(case.before, extra, k), structures)
    edges = per_sample(structures, 6)
    for (c, v, before), (_, _, after) in zip(parameters_of(old), parameters_of(new), strict=True):
        column = case.schema.targets(c).index(v)
        unrelated = ~ClassEdges.of(case.schema).global_block(edges, k, c)[:, :, column].any(1)
        if k == c and case.options.identity_dim:
            continue  # how many objects stand behind one is part of who it is
        for a, b in zip(before, after, strict=True):
            kept = b[:, : a.shape[1]]
            assert_equal(a[unrelated], kept[unrelated], f"{c}.{v}")


def assert_equal(a: Tensor, b: Tensor, where: str) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=EXACT, msg=lambda m: f"{where}: {m}")


@BOTH
@settings(max_examples=30)
@given(case=cases(alike()), num=st.sampled_from([1, 2, 6]))
def test_the_order_of_objects_does_not_matter(literal: bool, case: Case, num: int) -> None:
    model, rng = case.model(literal), case.rng()
    structures = case.structures(model, num)
    order = {c: torch.as_tensor(rng.permutation(n)) for c, n in case.before.counts.items()}
    before = case.before
    for c in case.schema.classes:
        before = map_class(before, c, lambda t, c=c: t[:, order[c]])
    old, new = decode(model, case.before, structures), decode(model, before, structures)
    for (c, v, ours), (_, _, theirs) in zip(parameters_of(old), parameters_of(new), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert_equal(a[:, order[c]], b, f"{c}.{v}")


@BOTH
@settings(max_examples=30)
@given(case=cases(), num=st.sampled_from([1, 2, 6]), dtype=DTYPES)
def test_padding_changes_no_bit(literal: bool, case: Case, num: int, dtype: torch.dtype) -> None:
    model, rng = case.model(literal, dtype), case.rng()
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


@BOTH
@settings(max_examples=30)
@given(case=cases(min_count=1), num=st.sampled_from([1, 2, 6]))
def test_no_objects_equal_absent_objects(literal: bool, case: Case, num: int) -> None:
    model = case.model(literal)
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


@BOTH
@pytest.mark.parametrize("chosen", [*PRESETS, MIXED], ids=["default", "paper", "mixed"])
def test_a_model_runs_on_counts_never_seen(literal: bool, chosen: ModelOptions) -> None:
    rng = np.random.default_rng(0)
    model = OocdmModel(WORLD, chosen, literal=literal)
    full = model.structures(ClassGraph.full(WORLD))
    for counts in ({"Ball": 0, "Wall": 0}, {"Ball": 40, "Wall": 1}, {"Ball": 1, "Wall": 0}):
        transitions = random_transitions(WORLD, counts, 5, rng)
        (predictions,) = model(model.inputs(transitions.before), full)
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
    model = case.model()
    fresh = OocdmModel(case.schema, case.options, literal=True).double()
    fresh.load_state_dict(model.state_dict())
    structures = case.structures(model, 2)
    assert torch.equal(
        model.structures(ClassGraph.full(case.schema)),
        fresh.structures(ClassGraph.full(case.schema)),
    )
    assert_near(
        decode(model, case.before, structures), decode(fresh, case.before, structures), 1e-9
    )


@BOTH
def test_another_schema_is_refused(literal: bool) -> None:
    other = Schema(Ball)
    transitions = random_transitions(other, {"Ball": 2}, 3, np.random.default_rng(0))
    model = OocdmModel(WORLD, ModelOptions(), literal=literal)
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
        model.compile_for(ClassGraph.full(WORLD))(transitions.before)


def test_equal_schemas_are_the_same() -> None:
    model = OocdmModel(WORLD, ModelOptions())
    assert model.structures(ClassGraph.full(Schema.from_json(WORLD.to_json()))).all()


def test_field_names_that_modules_use_are_usable() -> None:
    fields = {name: Real() for name in ("type", "half", "train", "children")}
    OocdmModel(Schema(type("Thing", (ObjectClass,), fields)), ModelOptions())


USERS = ("of_Ball", "of_Wall")
SHARED = {
    *("local.weight", "attention.weight", "messages.own_weight", "messages.weight"),
    *("pairs.own_weight", "pairs.weight", "pairs.between_weight"),
}


@pytest.mark.parametrize("chosen", [*PRESETS, MIXED], ids=["default", "paper", "mixed"])
def test_every_parameter_is_in_one_group(chosen: ModelOptions) -> None:
    model = OocdmModel(WORLD, chosen)
    # Such as `of_Ball.parts.of_messages.weight.of_Wall`, without what a user named.
    names = {
        id(p): ".".join(x.removeprefix("of_") for x in n.split(".") if x not in USERS)
        for n, p in model.named_parameters()
    }
    groups = model.parameter_groups()
    beside, more = int(chosen.linear_path), int(chosen.has_products)
    kinds = [None, "shared_input", *["maps"] * beside, *[None] * more]
    assert [group.get("matrices") for group in groups] == kinds
    assert [group.get("boost") for group in groups] == [None, None, *[3.0] * (beside + more)]
    everything = [id(p) for group in groups for p in group["params"]]
    assert sorted(everything) == sorted(names)
    rest, shared, *fast = ({names[id(p)] for p in group["params"]} for group in groups)
    used = {"local", *chosen.aggregators, *(["pairs"] if chosen.pairs else [])}
    assert shared == {
        f"predictors.parts.{name}"
        for name in SHARED
        if name.split(".")[0].replace("messages", "sum") in used
    }
    maps, products = [{"predictors.linear_map.weight"}], ["weight", "second"]
    expected = [*maps * beside, *[{f"predictors.products.{name}" for name in products}] * more]
    assert fast == expected
    assert not rest & shared.union(*fast)


def test_class_names_that_modules_use_are_usable() -> None:
    OocdmModel(Schema(type("items", (ObjectClass,), {"x": Real()})), ModelOptions())


def test_the_paper_s_network_begins_with_random_biases() -> None:
    """Theirs are N(0, 1); weights are Xavier-normal in both."""

    class Ball(ObjectClass):
        x, v = Real(), Real()

    paper = ModelOptions.preset("paper")
    torch.manual_seed(0)
    with_biases = OocdmModel(Schema(Ball), paper)
    torch.manual_seed(0)
    without = OocdmModel(Schema(Ball), replace(paper, random_biases=False))
    biases = {n for n, _ in without.named_parameters() if "bias" in n}
    assert len(biases) >= 9
    for name, parameter in without.named_parameters():
        theirs = dict(with_biases.named_parameters())[name]
        assert torch.equal(parameter, theirs) == (name not in biases)
    drawn = torch.cat(
        [p.detach().flatten() for n, p in with_biases.named_parameters() if n in biases]
    )
    assert abs(float(drawn.mean())) < 0.2 and abs(float(drawn.std()) - 1) < 0.15
    assert not any(p.any() for n, p in without.named_parameters() if n in biases)
