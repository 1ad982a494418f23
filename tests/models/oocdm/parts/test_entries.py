"""Which structures and targets are computed, and what of the batch and of weights they read."""

from __future__ import annotations

import torch

from oocdm.models.oocdm.parts.entries import LARGEST, Entries

# The second target under the first of two structures, and both targets under the second.
ENTRIES = Entries(torch.tensor([0, 1, 1]), torch.tensor([1, 0, 1]), groups=2)


def test_they_read_their_structure_s_part_of_the_batch() -> None:
    rows = torch.arange(4)
    assert ENTRIES.read(rows).tolist() == [[0, 1], [2, 3], [2, 3]]
    shared = Entries(ENTRIES.structures, ENTRIES.targets, groups=1)
    assert shared.read(rows).tolist() == [[0, 1, 2, 3]] * 3


def test_weights_are_those_of_their_targets_without_what_is_forbidden() -> None:
    weight = torch.arange(8.0).view(4, 2, 1)  # two fields of two channels
    assert ENTRIES.of(weight)[..., 0].tolist() == [[1, 3, 5, 7], [0, 2, 4, 6], [1, 3, 5, 7]]
    mask = torch.ones(2, 2, 2)  # (structure, field, target)
    mask[1, 0, 1] = 0.0
    found = ENTRIES.masked(weight, mask)[..., 0]
    assert found.tolist() == [[1, 3, 5, 7], [0, 2, 4, 6], [0, 0, 5, 7]]


def test_they_are_split_only_where_nothing_is_learned() -> None:
    assert list(ENTRIES.split(LARGEST)) == [slice(0, 3)]
    with torch.no_grad():
        assert list(ENTRIES.split(LARGEST)) == [slice(0, 1), slice(1, 2), slice(2, 3)]
        assert list(ENTRIES.split(1)) == [slice(0, LARGEST)]
