"""Who is who: encodings of places, from a GRU that reads nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from oocdm.graph import ClassGraph
from oocdm.models.oocdm.identities import Identities, KnownIdentities, told
from oocdm.models.oocdm.options import ModelOptions
from tests.models.oocdm.worlds import SCHEMA, ants, model_of
from tests.models.strategies import (
    AUGMENTED,
    Case,
    cases,
    map_class,
    parameters_of,
    with_all_known,
)

DIFFERING = st.sampled_from(AUGMENTED)
BOTH = pytest.mark.parametrize("literal", [False, True], ids=["batched", "literal"])


def of(dim: int = 6) -> Identities:
    torch.manual_seed(0)
    identities = Identities(dim).double()
    with torch.no_grad():
        identities.start.normal_()
    return identities


def there(*rows: list[int]) -> Tensor:
    return torch.tensor(rows, dtype=torch.bool)


@torch.no_grad()
def test_it_is_torch_s_gru_with_nothing_to_read() -> None:
    """Both ways: torch's own cell, fed with no numbers at all."""
    identities = of()
    found = identities(there([1, 1, 1, 1]))[0]
    for way in range(2):
        cell = nn.GRUCell(1, 3).double()
        cell.weight_hh.copy_(identities.weight[way].T)
        cell.bias_ih.copy_(identities.input_bias[way])
        cell.bias_hh.copy_(identities.hidden_bias[way])
        state = identities.start[way][None]
        rows = found[:, 3 * way : 3 * way + 3]
        for row in rows if way == 0 else rows.flip(0):
            state = cell(torch.zeros(1, 1).double(), state)  # a zero is as good as nothing
            torch.testing.assert_close(row[None], state)


@torch.no_grad()
def test_the_start_is_0_and_objects_differ_all_the_same() -> None:
    torch.manual_seed(0)
    identities = Identities(64)
    assert not identities.start.any()
    who = identities(torch.ones(1, 10, dtype=torch.bool))[0]
    apart = torch.cdist(who, who) + 9 * torch.eye(10)
    assert apart.min() > 0.05


@torch.no_grad()
def test_the_last_object_that_is_there_is_the_end() -> None:
    """Padding changes nothing; a gap is an object's that is away."""
    identities = of()
    two, gap = identities(there([1, 1])), identities(there([0, 1]))
    padded = identities(there([1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]))
    assert padded.shape == (4, 4, 6)
    assert torch.equal(padded[0, :2], two[0]) and torch.equal(gap, two)
    assert torch.equal(padded[3], padded[0])
    assert torch.equal(padded[1, :3], identities(there([1, 1, 1]))[0])
    # What comes first knows nothing of what follows on its way forth, all of it on its way back.
    assert torch.equal(padded[0, 0, :3], padded[1, 0, :3])
    assert not torch.equal(padded[0, 0, 3:], padded[1, 0, 3:])


@torch.no_grad()
def test_no_objects_and_no_worlds() -> None:
    assert of()(torch.zeros(2, 0, dtype=torch.bool)).shape == (1, 0, 6)
    assert of()(torch.zeros(0, 3, dtype=torch.bool)).shape == (1, 3, 6)


def test_steps_are_taken_once_for_weights_that_stay() -> None:
    identities = of()
    known, asked = KnownIdentities(identities), []
    taken = identities.states
    identities.states = lambda num: asked.append(num) or taken(num)  # type: ignore[assignment, func-returns-value]
    for present in (there([1, 1, 0]), there([1]), there([1, 1, 1], [1, 0, 0])):
        assert torch.equal(known(present), identities(present))
    assert asked == [3, 3, 1, 3]  # by the known ones only the first


def test_all_predictors_share_one_set() -> None:
    model = model_of(ModelOptions(identity_dim=4))
    assert list(model.identities) == list(SCHEMA.classes)
    names = [name for name, _ in model.named_parameters() if "input_bias" in name]
    assert names == ["identities.of_Ant.input_bias", "identities.of_Hill.input_bias"]
    found = told({c: model.identities[c] for c in model.identities}, ants().present)
    assert [tuple(who.shape) for who in found.values()] == [(1, 3, 4), (1, 1, 4)]
    assert not list(model_of().identities)
    assert not any("identit" in name for name in model_of().state_dict())


@BOTH
@torch.no_grad()
def test_who_stands_where_matters(literal: bool) -> None:
    """With the same objects in another order each is taken for another; without, for itself."""
    for dim, is_same in ((0, True), (4, False)):
        model = model_of(ModelOptions(identity_dim=dim))
        model.is_literal = literal
        before = with_all_known(ants(), Case.of(SCHEMA, ants().counts, 0).rng())
        before = replace(before, present={c: p | True for c, p in before.present.items()})
        turned = map_class(before, "Ant", lambda t: t.flip(1))
        rows = model.structures(ClassGraph.parse(SCHEMA, ["Ant.x <- self.x", "Hill.x <- Ant[*].x"]))
        (now,), (then,) = (model(model.inputs(each), rows) for each in (before, turned))
        mean = now["Ant.x"].mean
        assert torch.allclose(mean, then["Ant.x"].mean.flip(1)) is is_same
        assert torch.allclose(now["Hill.x"].mean, then["Hill.x"].mean) is is_same
        # And without any parent at all, objects are told apart just as well.
        alone = now["Ant.awake"].log_probabilities
        assert torch.allclose(alone[:, :1], alone) is is_same


@BOTH
@settings(max_examples=25)
@given(case=cases(DIFFERING, min_count=1))
@torch.no_grad()
def test_values_that_are_no_parents_change_no_bit(literal: bool, case: Case) -> None:
    """Who objects are is no value: with all values others, nothing changes under no edges."""
    model = case.model(literal)
    rows = model.structures(model.layout.structure(False, True))
    rng = case.rng()
    one, other = (with_all_known(case.before, rng) for _ in range(2))
    (now,), (then,) = (model(model.inputs(each), rows) for each in (one, other))
    for (c, v, ours), (_, _, theirs) in zip(parameters_of(now), parameters_of(then), strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a, b), f"{c}.{v}"
