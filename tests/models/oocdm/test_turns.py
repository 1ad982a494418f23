"""What neighbours turn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.graph import Neighbours
from oocdm.models.oocdm.masks import Masks, masked
from oocdm.models.oocdm.turns import Turns, repeat
from tests.models.oocdm.worlds import SCHEMA, model_of

MODEL = model_of()
# Of an ant's targets: five own fields, five of other ants, two of hills, three paths.
ORDERS = {"in order": np.arange(15), "mixed": np.random.default_rng(1).permutation(15)}


def turns_of(parts: np.ndarray) -> Turns:
    flags = np.random.default_rng(0).random(len(MODEL.layout)) < 0.5
    structure = MODEL.layout.structure(flags[: MODEL.layout.num_edges])
    rows = Neighbours(structure, {"Ant": parts}).of("Ant")
    return Turns("Ant", Masks(MODEL.layout, MODEL.rows(rows)), parts)


@pytest.mark.parametrize("parts", ORDERS.values(), ids=list(ORDERS))
def test_contributions_add_up_to_each_neighbours_layer(parts: np.ndarray) -> None:
    turns = turns_of(parts)
    torch.manual_seed(0)
    for k in SCHEMA.classes:
        width = MODEL.encoders[k].width
        x = torch.randn(4, 2, width).double()
        weight, bias = torch.randn(width, 3, 6).double(), torch.randn(3, 6).double()
        layer, turned = turns.contribute(k, weight, bias), turns.turned[k]
        base, added = layer.base(x).view(4, 2, 18), layer.added(x)
        full = masked(weight.unsqueeze(0), turns.masks.others(k, "Ant"))
        assert len(added) == len(turned.rows) == len(SCHEMA.fields(k))
        torch.testing.assert_close(base, x @ full[0] + bias.flatten())
        for row, more in zip(turned.rows, added, strict=True):
            torch.testing.assert_close(base + more, x @ full[row] + bias.flatten())
        numbers = torch.arange(len(parts) + 1)
        assert numbers[turned.at].tolist() == turned.rows
        assert isinstance(turned.at, slice) or parts is ORDERS["mixed"]


@pytest.mark.parametrize("parts", ORDERS.values(), ids=list(ORDERS))
def test_own_variants_are_the_structures_own_and_one_for_each_own_field(parts: np.ndarray) -> None:
    turns = turns_of(parts)
    masks, local = turns.own_masks(), turns.masks.local("Ant")
    assert len(masks) == 6
    for row, variant in enumerate(turns.own_variant):
        assert torch.equal(masks[variant], local[row])
        assert (variant == 0) == (row == 0 or parts[row - 1] >= 5)


def test_a_class_that_no_neighbour_turns_has_nothing_to_add() -> None:
    turns = turns_of(np.array([0, 13]))
    assert not turns.turned and turns.own_variant.tolist() == [0, 1, 0]
    width = MODEL.encoders["Hill"].width
    layer = turns.contribute("Hill", torch.ones(width, 3, 2).double(), torch.zeros(3, 2).double())
    assert layer.turned is None and layer.fields is None


def test_objects_are_repeated_for_many_products() -> None:
    x = torch.randn(3, 2, 4)
    found = repeat(x, 5)
    assert found.shape == (5, 6, 4)
    assert all(torch.equal(each, x.flatten(0, 1)) for each in found)
