"""How much objects hear of others, by who both are."""

from __future__ import annotations

import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.openness import Openness
from oocdm.models.oocdm.options import ModelOptions
from oocdm.schema import ObjectClass, Real, Schema
from tests.models.oocdm.worlds import ants, model_of, view_of
from tests.models.strategies import AUGMENTED


class Ball(ObjectClass):
    x = Real()


class Wind(ObjectClass):
    x = Real(static=True)


def shut(model: OocdmModel, sender: int) -> None:
    """Close one object of class Wind for all balls: only its score is very negative."""
    who = model.identities["Wind"](torch.ones(1, 3, dtype=torch.bool))[0]
    chosen = torch.linalg.solve(who @ who.T, torch.eye(3, dtype=who.dtype)[sender]) @ who
    openness = model.predictors["Ball"].openness
    assert openness is not None
    balls = model.identities["Ball"](torch.ones(1, 2, dtype=torch.bool))[0]
    always = torch.linalg.solve(balls @ balls.T, torch.ones(2, dtype=who.dtype)) @ balls
    openness.bias["Wind"].fill_(40.0)
    for weights, column in ((openness.receiver, always), (openness.sender, -1e6 * chosen)):
        weights["Wind"].zero_()
        weights["Wind"][:, :, 0] = column


@pytest.mark.parametrize("literal", [False, True], ids=["batched", "literal"])
@pytest.mark.parametrize(
    "options",
    [
        ModelOptions(identity_dim=8),
        ModelOptions(identity_dim=8, aggregators=("attention",), pairs=False),
        ModelOptions(identity_dim=8, enrich=False, skip_unrelated=False),
    ],
    ids=["default", "attention", "plain"],
)
@torch.no_grad()
def test_who_is_closed_out_is_not_heard_in_any_way(options: ModelOptions, literal: bool) -> None:
    """Neither in sums, means, attention, pairs nor among the largest; all others are."""
    torch.manual_seed(0)
    model = OocdmModel(Schema(Ball, Wind), options, literal=literal).double()
    for parameter in model.parameters():
        if not parameter.any():
            parameter.normal_(std=0.3)
    shut(model, 1)

    def mean(wind: list[float]) -> torch.Tensor:
        values = {"Ball": {"x": [[1.0, 2.0]]}, "Wind": {"x": [wind]}}
        state = Snapshot.of(model.schema, values)
        (found,) = model(model.inputs(state), model.structures(model.layout.structure(True)))
        return found["Ball.x"].mean

    base = mean([0.5, 0.0, -0.5])
    assert torch.equal(base, mean([0.5, 50.0, -0.5]))
    assert torch.equal(base, mean([0.5, -50.0, -0.5]))
    for other in ([5.0, 0.0, -0.5], [0.5, 0.0, -5.0]):
        assert not torch.allclose(base, mean(other))


@torch.no_grad()
def test_all_are_nearly_open_at_first() -> None:
    torch.manual_seed(0)
    openness, who = Openness(["Ball"], 3, 64), torch.randn(1, 20, 64).tanh()
    share = openness("Ball", who, who).exp()
    assert 0.65 < share.mean() < 0.8 and share.min() > 0.2


@torch.no_grad()
def test_its_forms_agree() -> None:
    model, before = model_of(ModelOptions(identity_dim=4)), ants()
    view = view_of(model, before)
    openness, who = model.predictors["Hill"].openness, model.who(model.inputs(before))
    assert openness is not None
    together = openness("Ant", who["Hill"], who["Ant"])
    assert together.shape == (1, 1, 3, 2)
    for i in range(2):
        literal = openness.literal(i, "Ant", who["Hill"], who["Ant"])
        for found in (literal, openness.of_target(i, "Hill", "Ant")(view)):
            torch.testing.assert_close(found, together[..., i])


def test_the_papers_network_has_none() -> None:
    default, paper = AUGMENTED
    assert default.has_openness and not paper.has_openness and paper.identity_dim == 64
    assert not ModelOptions().has_openness
    assert model_of(paper).predictors["Ant"].openness is None
