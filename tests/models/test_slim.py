"""Single targets from their parents alone, against the reference."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oocdm.models.reference import ReferenceModel
from oocdm.models.slim import SlimTarget
from oocdm.models.tabled import TabledTarget
from oocdm.models.targets import SlimTargets, can_be_slim
from oocdm.models.view import View
from oocdm.models.wiring import Wiring

import oocdm
from oocdm.data.snapshot import Snapshot
from oocdm.envs.mouse import MouseWorld
from oocdm.errors import ModelError
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import FieldDistribution, NormalField
from oocdm.models.scales import Scales
from tests.models.strategies import (
    SMALL,
    Case,
    blank,
    cases,
    options,
    random_values,
    targets_of,
    with_new_value,
)

SWITCHES = ("enrich", "predict_change", "linear_path", "structure_aware", "normalise")
slim_options = st.one_of(
    st.just(ModelOptions()),
    st.builds(
        lambda **o: ModelOptions(**SMALL, **o),
        **{name: st.booleans() for name in (*SWITCHES, "flag_unknown")},
    ),
)


def all_known(case: Case) -> Snapshot:
    """The state of a case with a value for every attribute of every object."""
    before, rng = case.before, case.rng()
    values = {
        c: {
            f: blank(random_values(before.schema.field(c, f), present.shape, rng), present)
            for f in before.values[c]
        }
        for c, present in before.present.items()
    }
    observed = {c: dict.fromkeys(values[c], p) for c, p in before.present.items()}
    return replace(before, values=values, observed=observed)


def parameters(found: FieldDistribution) -> list[torch.Tensor]:
    if isinstance(found, NormalField):
        return [found.mean, found.sigma]
    return [found.log_probabilities]


@settings(max_examples=150)
@given(cases(slim_options))
@torch.no_grad()
def test_slim_equals_reference(case: Case) -> None:
    fast, reference = case.model(OocdmModel), case.model(ReferenceModel)
    structure, before = case.structures(fast, 1), all_known(case)
    found = SlimTargets(fast, structure)(before)
    expected = reference.decode(reference.inputs(before), structure)
    together = SlimTargets(fast, structure).all(before)
    for c, v in targets_of(case.schema):
        here = before.present[c]
        ours, theirs = parameters(found[c, v]), parameters(expected[c, v])
        for x, y, z in zip(ours, theirs, parameters(together[c, v]), strict=True):
            assert x.shape == y.shape
            torch.testing.assert_close(x[here], y[here], rtol=1e-9, atol=1e-9)
            assert torch.equal(x, z)


@settings(max_examples=60)
@given(cases(slim_options, min_count=1))
@torch.no_grad()
def test_non_parents_change_no_bit(case: Case) -> None:
    """Neither their values nor which other targets are asked for."""
    model, rng = case.model(OocdmModel), case.rng()
    structure, before = case.structures(model, 1), all_known(case)
    slim = SlimTargets(model, structure)
    index = model.index
    for c, v in targets_of(case.schema):
        i = case.schema.targets(c).index(v)
        at_once = parameters(slim(before)[c, v])
        for k in case.schema.classes:
            for j, f in enumerate(case.schema.fields(k)):
                if index.global_block(structure, k, c)[0, j, i] > 0:
                    continue
                if k == c and index.local_block(structure, c)[0, j, i] > 0:
                    continue
                changed = before
                for row in range(before.present[k].shape[1]):
                    changed = with_new_value(changed, k, row, f, rng)
                predictions = slim(changed)
                for other in targets_of(case.schema):
                    predictions[other]
                for x, y in zip(at_once, parameters(predictions[c, v]), strict=True):
                    assert torch.equal(x, y), f"{k}.{f} moves {c}.{v}"


@settings(max_examples=40)
@given(options())
def test_only_networks_of_its_kind_are_made_slim(chosen: ModelOptions) -> None:
    assert can_be_slim(ModelOptions()) and not can_be_slim(ModelOptions.preset("paper"))
    is_plain = chosen.aggregators == ("sum",) and chosen.clamp_means and chosen.skip_unrelated
    assert can_be_slim(chosen) == is_plain


def test_parents_of_few_values_are_looked_up() -> None:
    """The duration of a trap depends on its own duration and place and on that of the mouse."""
    data = oocdm.collect(oocdm.make("mouse", num_traps=(1, 3)), steps=50, seed=0)
    torch.manual_seed(0)
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(data.transitions())).double()
    graph = MouseWorld().true_graph
    before = data.transitions().before
    wiring = Wiring(model, model.structures(graph))
    view = View(model, torch.float64, before)
    for c, v, is_tabled in (("Trap", "duration", True), ("Mouse", "health", False)):
        slim = SlimTarget(model, wiring, c, v)
        tabled = TabledTarget(model, slim)
        with torch.no_grad():
            (found, _), (expected, _) = tabled(view), slim(view)
        here = before.present[c].flatten()
        torch.testing.assert_close(found[here], expected[here], rtol=1e-12, atol=1e-12)
        assert (tabled._table is not None) == is_tabled


def test_extremes_of_full_worlds_are_those_of_the_featuriser() -> None:
    data = oocdm.collect(oocdm.make("mouse", num_food=3, num_monsters=1), steps=40, seed=0)
    transitions = data.transitions()
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(transitions))
    before = transitions.before
    for c in data.schema.classes:
        columns = model.featuriser.extreme_columns[c]
        fields = tuple(dict.fromkeys((x.source_class, x.source_field) for x in columns))
        for dtype in (torch.float32, torch.float64):
            found = View(model, dtype, before).extremes(c, fields)
            parts = [model.featuriser.extremes_of(before, k, f, c, dtype) for k, f in fields]
            assert torch.equal(found, torch.cat(parts, -1).flatten(0, 1))


@torch.no_grad()
def test_no_worlds_and_other_worlds() -> None:
    data = oocdm.collect(oocdm.make("mouse"), steps=50, seed=0)
    model = OocdmModel(data.schema, ModelOptions(), Scales.measure(data.transitions()))
    graph = MouseWorld().true_graph
    before = data.transitions().before
    nothing = before.map(lambda tensor: tensor[:0])
    assert model.compile_for(graph)(nothing)["Trap", "duration"].mode().shape == (0, 4)
    other = oocdm.collect(oocdm.make("block"), steps=50, seed=0).transitions().before
    with pytest.raises(ModelError, match="made for another schema"):
        model.compile_for(graph)(other)
