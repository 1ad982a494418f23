"""What a part gets from its interface: forms for neighbours and single targets for nothing."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.graph import Neighbours
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.part import AbstractGathered, Place, Target
from oocdm.models.oocdm.turns import Turns
from tests.models.oocdm.worlds import SCHEMA, model_of, reading_of, view_of
from tests.models.strategies import Case

MODEL = model_of(ModelOptions(aggregators=("attention", "sum")))
BEFORE = Case.of(SCHEMA, {"Ant": 3, "Hill": 2}, seed=0).known


@pytest.mark.parametrize("name", ["attention", "messages"])
@torch.no_grad()
def test_forms_of_ones_own_are_those_that_come_for_nothing(name: str) -> None:
    part = MODEL.predictors["Ant"].parts[name]
    assert isinstance(part, AbstractGathered)
    flags = np.random.default_rng(0).random(len(MODEL.layout)) < 0.6
    structure = MODEL.layout.structure(flags[: MODEL.layout.num_edges])
    elements = np.arange(MODEL.layout.of_class("Ant").shape[1] - 3)  # paths are not the part's own
    masks = Masks(MODEL.layout, MODEL.rows(Neighbours(structure, {"Ant": elements}).of("Ant")))
    turns, seen = Turns("Ant", masks, elements), MODEL.see(MODEL.inputs(BEFORE))
    found, expected = (
        part.compose_neighbours(turns)(seen),
        AbstractGathered.compose_neighbours(part, turns)(seen),
    )
    assert found.shape == (3, 1 + len(elements), 6, 3, part.width)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", ["attention", "messages"])
@torch.no_grad()
def test_a_single_target_is_one_of_all(name: str) -> None:
    predictor = MODEL.predictors["Ant"]
    part, start = next((p, s) for p, s in predictor.features() if p.name == name)
    assert isinstance(part, AbstractGathered)
    masks = Masks(MODEL.layout, MODEL.structures(MODEL.layout.structure(True)))
    others = {k: tuple(SCHEMA.fields(k)) for k in SCHEMA.classes}
    gather = part.compose(masks)
    assert gather is not None
    features = gather(MODEL.see(MODEL.inputs(BEFORE)))
    assert features is not None
    for i in range(3):
        layer = predictor.first_layer(masks).of_target(i).of_features(start, part.width)
        target = Target("Ant", i, others["Ant"], others, masks, reading_of(MODEL))
        expected = features[:, :, i].flatten(0, 1) @ layer.weight()[0, 0]
        for make in (part.alone, lambda *given: AbstractGathered.alone(part, *given)):
            alone, view = make(target, layer), view_of(MODEL, BEFORE)
            assert alone is not None
            own = target.project("Ant", alone.own_weight, alone.own_bias)(view)
            first = torch.zeros_like(expected)
            alone.add(first, own, view)
            torch.testing.assert_close(first, expected)
    assert AbstractGathered.alone(part, target, layer).sees_all


def test_a_place_knows_its_class() -> None:
    place = MODEL.predictors["Hill"].parts["messages"].place
    assert isinstance(place, Place)
    assert (place.class_name, place.schema, place.num_targets) == ("Hill", SCHEMA, 2)
    assert list(place.earlier) == ["local", "attention"]
    assert place.widths == {c: MODEL.encoders[c].width for c in SCHEMA.classes}
