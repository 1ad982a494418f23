"""Messages between pairs of objects."""

from __future__ import annotations

import pytest
import torch

from oocdm.models.features import at_places
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts import messages
from oocdm.models.oocdm.parts.messages import Messages, heard
from tests.models.oocdm.worlds import ants, model_of


def part_of(model: OocdmModel, c: str) -> Messages:
    part = model.predictors[c].parts["messages"]
    assert isinstance(part, Messages)
    return part


def test_equalities_need_all_components_and_known_values() -> None:
    model = model_of()
    extra, fields = model.inputs(ants()).extra, part_of(model, "Ant").equal_fields
    assert fields["Ant"] == ["cell", "awake", "colour"]
    assert fields["Hill"] == []
    assert ("messages", "Hill", "Ant") not in extra
    cell, awake, colour = extra["messages", "Ant", "Ant"][0].unbind(-1)
    assert cell.tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert awake.tolist() == colour.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_plain_messages_have_no_equalities() -> None:
    model = model_of(ModelOptions(enrich=False, pairs=False))
    assert not model.inputs(ants()).extra
    assert not any(part_of(model, "Ant").equal_fields.values())
    assert not list(part_of(model, "Ant").equal_weight.parameters())


@pytest.mark.parametrize("skip_unrelated", [False, True])
@torch.no_grad()
def test_messages_are_sums_over_senders(skip_unrelated: bool) -> None:
    """One object and one sender at a time; hills are unrelated to the first target."""
    model = model_of(ModelOptions(skip_unrelated=skip_unrelated))
    part, layout, seen = part_of(model, "Ant"), model.layout, model.see(model.inputs(ants()))
    edges = ["Ant.x <- self.cell", "Ant.x <- Ant[*].cell", "Ant.x <- Ant[*].awake"]
    structure = layout.parse([*edges, "Ant.x by messages"])
    gather = part.compose(Masks(layout, model.structures(structure)))
    assert gather is not None
    found = gather(seen)[0, :, 0]
    encoder = model.encoders["Ant"]
    codes = seen.encoded["Ant"][0].unflatten(1, (5, encoder.channels))
    cells = {"own": [1], "others": [1, 2]}

    def read(weight: torch.Tensor, r: int, fields: list[int]) -> torch.Tensor:
        rows = weight[:, 0].unflatten(0, (5, encoder.channels))
        return sum(codes[r, i] @ rows[i] for i in fields)

    for j in range(3):
        own = read(part.own_weight, j, cells["own"])
        total = own.relu()
        for r in (0, 1):  # the third is no ant
            if r != j:
                message = own + read(part.weight["Ant"], r, cells["others"]) + part.bias["Ant"][0]
                if j < 2:  # both stand in the same cell, which both ends may see
                    message = message + part.equal_weight["Ant"][0, 0]
                total = total + message.relu()
        if not skip_unrelated:
            total = total + (own + part.bias["Hill"][0]).relu()
        torch.testing.assert_close(found[j], total)


def test_without_its_path_nothing_is_composed() -> None:
    model = model_of()
    cut = model.layout.structure(True, paths=False)
    assert part_of(model, "Ant").compose(Masks(model.layout, model.structures(cut))) is None


def test_messages_with_and_without_gradients_are_the_same() -> None:
    torch.manual_seed(0)
    own, source = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5)
    source[0, 1] = -torch.inf
    flags, added = torch.randint(0, 2, (2, 3, 3)).float(), torch.randn(4, 5)
    for is_own_class in (False, True):
        expected = torch.zeros_like(own)
        for j in range(3):
            for r in range(3):
                if not (is_own_class and r == j):
                    same = flags[:, j, r, None, None] * added
                    expected[:, j] += (own[:, j] + source[:, r] + same).relu()
        places = slice(0, 3) if is_own_class else None
        with torch.no_grad():
            quick = heard(own, source, [(flags, added)], places)
        leaf = own.clone().requires_grad_()
        slow = heard(leaf, source, [(flags, added)], places)
        slow.sum().backward()
        assert leaf.grad is not None and leaf.grad.isfinite().all()
        torch.testing.assert_close(quick, expected)
        torch.testing.assert_close(slow.detach(), expected)


@pytest.mark.parametrize("drawn", [None, torch.tensor([[0, 2], [1, 2]])])
def test_many_messages_are_summed_some_receivers_at_a_time(
    drawn: torch.Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    own, source = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5)
    flags, added = torch.randint(0, 2, (2, 3, 3)).float(), torch.randn(4, 5)
    places: slice | torch.Tensor = slice(0, 3)
    if drawn is not None:
        places, own, flags = drawn, at_places(own, drawn), at_places(flags, drawn)
    with torch.no_grad():
        at_once = heard(own, source, [(flags, added)], places)
        monkeypatch.setattr(messages, "LARGEST", 1)
        assert torch.equal(heard(own, source, [(flags, added)], places), at_once)
