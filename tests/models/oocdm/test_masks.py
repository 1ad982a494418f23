"""Structures as networks read them."""

from __future__ import annotations

import numpy as np
import torch

from oocdm.models.oocdm.masks import Masks, masked
from tests.models.oocdm.worlds import SCHEMA, model_of

MODEL = model_of()
LAYOUT = MODEL.layout


def masks_of(*names: list[str]) -> Masks:
    flags = np.stack([LAYOUT.parse(each).flags for each in names])
    return Masks(LAYOUT, MODEL.rows(flags))


def test_blocks_are_the_edges_of_the_structures() -> None:
    found = masks_of(["Ant.x <- self.push", "Ant.cell <- Hill[*].x"], ["Ant.x <- self.x"])
    assert len(found) == 2
    local, others = found.local("Ant"), found.others("Hill", "Ant")
    assert local.shape == (2, 5, 3) and others.shape == (2, 2, 3)
    assert local.nonzero().tolist() == [[0, 4, 0], [1, 0, 0]]
    assert others.nonzero().tolist() == [[0, 0, 1]]
    assert found.reads("Hill", "Ant").tolist() == [[False, True, False], [False] * 3]
    assert not found.reads("Ant", "Hill").any()
    assert found.self_edges("Ant").tolist() == [[0, 0, 0], [1, 0, 0]]


def test_paths_are_those_of_each_target() -> None:
    found = masks_of(["Ant.cell by messages", "Ant.x by network"], [])
    assert found.path("Ant", "messages").tolist() == [[0, 1, 0], [0, 0, 0]]
    assert found.has_path("Ant", "network").tolist() == [[True, False, False], [False] * 3]
    assert not found.has_path("Hill", "messages").any()
    gate = found.gate("Ant", "messages")
    assert gate is not None and torch.equal(gate, found.path("Ant", "messages"))


def test_what_is_no_path_is_used_by_all() -> None:
    found = masks_of([], [])
    assert found.path("Ant", "local").all() and found.has_path("Ant", "local").all()
    assert found.gate("Ant", "local") is None
    half = Masks(LAYOUT, found.structures + 0.5)
    assert half.has_path("Ant", "messages").all() and half.gate("Ant", "messages") is not None


def test_parts_are_all_that_may_enter_a_predictor() -> None:
    numbers = torch.arange(float(len(LAYOUT))).unsqueeze(0)
    found = Masks(LAYOUT, numbers).elements("Hill")[0]
    names = [[LAYOUT.names[int(i)] for i in row] for row in found]
    fields = [f"self.{f}" for f in SCHEMA.fields("Hill")]
    fields += [f"{k}[*].{f}" for k in SCHEMA.classes for f in SCHEMA.fields(k)]
    for v, row in zip(SCHEMA.targets("Hill"), names, strict=True):
        paths = [f"Hill.{v} by {path}" for path in LAYOUT.paths]
        assert row == [f"Hill.{v} <- {f}" for f in fields] + paths


def test_rows_are_spread_over_the_batch_in_order() -> None:
    found = masks_of([], [])
    assert found.spread(torch.tensor([[1], [2]]), 6).flatten().tolist() == [1, 1, 1, 2, 2, 2]
    assert found.spread(torch.tensor([[3]]), 6).tolist() == [[3]]


def test_weights_lose_the_fields_that_structures_forbid() -> None:
    """Two fields of two channels, two more axes, two targets."""
    weight = torch.ones(1, 4, 3, 2, 5)
    mask = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 1.0], [1.0, 0.0]]])
    found = masked(weight, mask)
    assert found.shape == (2, 4, 30)
    found = found.view(2, 2, 2, 3, 2, 5)
    for s, f, t in np.ndindex(2, 2, 2):
        assert (found[s, f, :, :, t] == mask[s, f, t]).all()
