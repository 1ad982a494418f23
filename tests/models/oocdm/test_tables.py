"""Targets that are looked up."""

from __future__ import annotations

import torch

import oocdm
from oocdm.envs.mouse import MouseWorld
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.single import SingleTarget
from oocdm.models.oocdm.tables import TabledTarget
from oocdm.models.scales import Scales
from tests.models.oocdm.worlds import reading_of, view_of


def mouse(options: ModelOptions) -> tuple[OocdmModel, oocdm.Snapshot]:
    data = oocdm.collect(oocdm.make("mouse", num_traps=(1, 3)), steps=50, seed=0)
    torch.manual_seed(0)
    model = OocdmModel(data.schema, options, Scales.measure(data.transitions())).double()
    return model, data.transitions().before


def single(model: OocdmModel, c: str, v: str) -> SingleTarget:
    masks = Masks(model.layout, model.structures(MouseWorld().true_graph))
    predictor = model.predictors[c]
    layer, head = predictor.first_layer(masks), model.heads[c]
    return SingleTarget(predictor, v, masks, layer, head, reading_of(model))


@torch.no_grad()
def test_parents_of_few_values_are_looked_up() -> None:
    """The duration of a trap depends on its own duration and place and on that of the mouse."""
    model, before = mouse(ModelOptions())
    view = view_of(model, before)
    for c, v, is_tabled in (("Trap", "duration", True), ("Mouse", "health", False)):
        target = single(model, c, v)
        tabled = TabledTarget(target)
        found, expected = tabled(view)[0], target(view)[0]
        here = before.present[c].flatten()
        torch.testing.assert_close(found[here], expected[here], rtol=1e-12, atol=1e-12)
        assert (tabled._table is not None) == is_tabled


@torch.no_grad()
def test_what_depends_on_more_than_its_parents_is_not_looked_up() -> None:
    """Objects of other classes are heard, or looked at, although nothing of them is read."""
    for options in (
        ModelOptions(skip_unrelated=False),
        ModelOptions(aggregators=("attention", "sum")),
    ):
        model, before = mouse(options)
        target = single(model, "Trap", "duration")
        assert target.sees_all
        tabled = TabledTarget(target)
        tabled(view_of(model, before))
        assert tabled._table is None


@torch.no_grad()
def test_two_mice_are_not_looked_up() -> None:
    model, before = mouse(ModelOptions())
    tabled = TabledTarget(single(model, "Trap", "duration"))
    twice = before.map(lambda t: t)
    for fields in (twice.values["Mouse"], twice.observed["Mouse"]):
        for f, tensor in fields.items():
            fields[f] = torch.cat([tensor, tensor.flip(0)], 1)
    twice.present["Mouse"] = twice.present["Mouse"].repeat(1, 2)
    tabled(view_of(model, twice))
    assert tabled._table is None
    tabled(view_of(model, before))
    assert tabled._table is not None
