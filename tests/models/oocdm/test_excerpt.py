"""A smaller model for some targets, and back."""

from __future__ import annotations

from itertools import chain, combinations

import pytest
import torch

from oocdm.graph import Structure
from oocdm.models.oocdm.excerpt import excerpt_of, merged, places_of, put_back, take_out, within
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import ClassPrediction
from tests.models.oocdm.worlds import SCHEMA, ants, model_of

TARGETS = [f"{c}.{v}" for c, v in SCHEMA.all_targets]
SOME = list(chain(*(combinations(TARGETS, n) for n in (1, 2, 3))))


def numbers(model: OocdmModel, structure: Structure, target: str) -> list[torch.Tensor]:
    """All that is predicted of one target."""
    c, v = target.split(".")
    (found,) = model(model.inputs(ants()), model.structures(structure))
    said: ClassPrediction = found.classes[c]
    i, size = list(model.heads[c].targets).index(v), SCHEMA.field(c, v).size
    tensors = [said.mean, said.sigma]
    if said.wide is not None:
        tensors += [said.wide.mean, said.wide.sigma, said.wide.chance]
    return [
        *(t[:, :, i, :size] for t in tensors[: 2 if v in said.logits else 5]),
        *([said.logits[v]] if v in said.logits else []),
    ]


def halves(model: OocdmModel) -> Structure:
    """Every other element."""
    return Structure(model.layout, torch.arange(len(model.layout)).numpy() % 3 > 0)


@torch.no_grad()
@pytest.mark.parametrize("options", [ModelOptions(), ModelOptions(identity_dim=4)], ids=["", "+"])
@pytest.mark.parametrize("names", SOME, ids="+".join)
def test_an_excerpt_predicts_as_the_whole(names: tuple[str, ...], options: ModelOptions) -> None:
    whole = model_of(options)
    part = excerpt_of(whole, names)
    assert part.edges.targets == tuple(t for t in TARGETS if t in names)
    take_out(whole, part)
    structure = halves(whole)
    for target in names:
        ours = numbers(part, within(structure, part.layout), target)
        theirs = numbers(whole, structure, target)
        if target.endswith("awake"):  # a choice: numbers of it mean nothing
            ours, theirs = ours[-1:], theirs[-1:]
        for mine, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-12, atol=1e-12)


@torch.no_grad()
@pytest.mark.parametrize("names", SOME, ids="+".join)
def test_what_is_put_back_changes_nothing_else(names: tuple[str, ...]) -> None:
    whole = model_of()
    structure = halves(whole)
    before = {t: numbers(whole, structure, t) for t in TARGETS}
    part = excerpt_of(whole, names)  # with new weights
    put_back(whole, part)
    again = excerpt_of(whole, names)
    take_out(whole, again)
    for name, weight in part.named_parameters():
        assert torch.equal(dict(again.named_parameters())[name], weight), name
    for target in TARGETS:
        now = numbers(whole, structure, target)
        is_same = all(map(torch.equal, now, before[target]))
        assert is_same is (target not in names)


def test_encoders_are_the_whole_models_and_stay() -> None:
    whole = model_of(ModelOptions(identity_dim=4))
    part = excerpt_of(whole, ["Ant.x"])
    for ours, theirs in ((whole.encoders, part.encoders), (whole.identities, part.identities)):
        weights = theirs.state_dict()
        assert weights and all(torch.equal(weights[n], w) for n, w in ours.state_dict().items())
        assert not any(p.requires_grad for p in theirs.parameters())
    assert all(p.requires_grad for p in part.predictors.parameters())


def test_structures_go_there_and_back() -> None:
    whole = model_of()
    part = excerpt_of(whole, ["Hill.x", "Ant.cell"])
    structure = halves(whole)
    some = within(structure, part.layout)
    assert set(some.names) <= set(structure.names)
    assert merged(structure, some) == structure
    none = part.layout.structure(False, False)
    gone = merged(structure, none)
    assert not gone.flags[places_of(part.layout, whole.layout)].any()
    others = [n for n in structure.names if not n.startswith(("Hill.x ", "Ant.cell "))]
    assert gone.names == others
