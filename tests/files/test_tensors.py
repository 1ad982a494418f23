"""Tensors and metadata in one file."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from oocdm.errors import ModelError
from oocdm.files.tensors import checksum_of, from_bytes, to_bytes

SOME = {
    "a": torch.arange(6.0).reshape(2, 3),
    "b": torch.tensor([True, False]),
    "c": torch.zeros(0, dtype=torch.int64),
    "d": torch.tensor(2.5, dtype=torch.float64),
}


def test_round_trip() -> None:
    tensors, metadata = from_bytes(to_bytes(SOME, {"x": "y"}), Path("a"), ModelError)
    assert metadata == {"x": "y"} and set(tensors) == set(SOME)
    assert checksum_of(tensors, metadata) == checksum_of(SOME, {"x": "y"})
    assert from_bytes(to_bytes(SOME, {}), Path("a"), ModelError)[1] == {}


def test_whatever_differs_changes_the_checksum() -> None:
    others = [
        {**SOME, "a": SOME["a"].reshape(3, 2)},
        {**SOME, "a": SOME["a"].double()},
        {**SOME, "b": torch.tensor([True, True])},
        {**SOME, "e": SOME["d"]},
        {n: t for n, t in SOME.items() if n != "c"},
    ]
    sums = [checksum_of(SOME, {}), checksum_of(SOME, {"x": ""})]
    sums += [checksum_of(other, {}) for other in others]
    assert len(set(sums)) == len(sums)


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_what_is_cut_off(keep: int) -> None:
    content = to_bytes(SOME, {})[:keep]
    with pytest.raises(ModelError, match=r"^a: not readable as weights \(.*\)\. The file is dam"):
        from_bytes(content, Path("a"), ModelError)
