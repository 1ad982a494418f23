"""The largest and smallest values among the objects that one is open to."""

from __future__ import annotations

import torch
from torch.nn import functional

from oocdm.data.snapshot import Snapshot
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.open_extremes import OpenExtremes
from tests.models.oocdm.worlds import ants, model_of

OPTIONS = ModelOptions(identity_dim=4)


def part_of(model: OocdmModel, c: str) -> OpenExtremes:
    part = model.predictors[c].parts["extremes"]
    assert isinstance(part, OpenExtremes)
    return part


def set_score(model: OocdmModel, c: str, score: float) -> None:
    """The same openness for all pairs."""
    openness = model.predictors[c].openness
    assert openness is not None
    for k in model.schema.classes:
        openness.receiver[k].zero_()
        openness.bias[k].fill_(score)


def gathered(model: OocdmModel, c: str, before: Snapshot) -> torch.Tensor:
    """What the part gives under all edges: (batch, object, target, column)."""
    gather = part_of(model, c).compose(
        Masks(model.layout, model.structures(model.layout.structure(True)))
    )
    assert gather is not None
    found = gather(model.see(model.inputs(before)))
    assert found is not None
    return found


@torch.no_grad()
def test_where_all_are_open_it_is_the_plain_part() -> None:
    model, plain = model_of(OPTIONS), model_of()
    for c in model.predictors:
        set_score(model, c, 40.0)
        found = gathered(model, c, ants())
        expected = plain.inputs(ants()).extra["extremes", c]
        here = ants().present[c]
        for i in range(found.shape[2]):
            torch.testing.assert_close(found[:, :, i][here], expected[here])


@torch.no_grad()
def test_what_is_taken_off_is_a_share_of_how_far_apart_senders_are() -> None:
    model = model_of(OPTIONS)
    set_score(model, "Hill", 40.0)
    open_ones = gathered(model, "Hill", ants())
    set_score(model, "Hill", 0.5)
    share = functional.logsigmoid(torch.tensor(0.5)).square().item()
    high = part_of(model, "Hill").at("Ant", "awake").start  # of one ant it is 1, of another -1
    change = gathered(model, "Hill", ants()) - open_ones
    torch.testing.assert_close(change[0, 0, 0, high].item(), -2 * share)
    torch.testing.assert_close(change[0, 0, 0, high + 1].item(), 2 * share)


@torch.no_grad()
def test_nobody_and_nothing_known_give_zero() -> None:
    model = model_of(OPTIONS)
    nobody = ants().map(lambda t: t[:, :0])
    nobody = Snapshot(
        nobody.schema,
        {**ants().values, "Ant": nobody.values["Ant"]},
        {**ants().present, "Ant": nobody.present["Ant"]},
        {**ants().observed, "Ant": nobody.observed["Ant"]},
    )
    found = gathered(model, "Hill", nobody)
    at = part_of(model, "Hill").at("Ant", "x")
    assert not found[..., at].any()
    # One hill has no other hill.
    assert not found[..., part_of(model, "Hill").at("Hill", "x")].any()


def test_gradients_are_finite_where_nobody_is_heard() -> None:
    model = model_of(OPTIONS)
    inputs = model.inputs(ants())
    (found,) = model(inputs, model.structures(model.layout.structure(True)))
    (found["Hill.x"].mean.sum() + found["Ant.x"].mean.sum()).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_only_networks_with_openness_have_it() -> None:
    assert OpenExtremes.is_used(OPTIONS)
    for options in (ModelOptions(), ModelOptions(identity_dim=4, openness=False)):
        assert not OpenExtremes.is_used(options)
