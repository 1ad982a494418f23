"""Small data and quick methods that tests of training share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from oocdm import (
    FitResult,
    Integer,
    ModelOptions,
    ObjectClass,
    Oocdm,
    OocdmPlus,
    Oofull,
    Progress,
    Real,
    Schedule,
    Schema,
    fit,
)
from oocdm.methods import AbstractMethod
from tests.inference.ragged import ragged


class Ball(ObjectClass):
    x = Real()
    hue = Integer(1, 3)
    push = Real(action=True)


class Sum(ObjectClass):
    x = Real()


# Two balls or three, and one sum: an edge from sum to sum cannot be tested.
DATA = ragged(Schema(Ball, Sum), (12,) * 8, slots={"Ball": 3, "Sum": 1}, is_whole=True)
SMALL = {"encoding_dim": 4, "local_dim": 4, "message_dim": 4, "decoder_dim": 8}
SCHEDULE = Schedule(iterations=3, steps_per_iteration=4, polish_steps=7, patience=9, batch_size=32)
PAPER = Schedule(
    *(3, 4, 0, 9, 32), optimiser="adam", resolution=0.0, final_resolution=0.0, held_out=0.0
)
# Random data have no causes; with such a threshold discovery moves some edges all the same.
METHODS: dict[str, AbstractMethod] = {
    "oocdm": Oocdm(model=ModelOptions(**SMALL), schedule=SCHEDULE, num_graphs=8, threshold=1e-3),
    "paper": Oocdm.preset("paper", schedule=PAPER, num_graphs=8, threshold=1e-3),
    "oofull": Oofull(model=ModelOptions(**SMALL), schedule=SCHEDULE),
    "oocdm+": OocdmPlus(
        model=ModelOptions(**SMALL, identity_dim=4),
        schedule=SCHEDULE,
        num_graphs=8,
        threshold=1e-3,
    ),
}


def assert_same(a: FitResult, b: FitResult) -> None:
    """All but the clock: every bit of the weights, graph, scores and history."""
    ours, theirs = a.model.state_dict(), b.model.state_dict()
    assert list(ours) == list(theirs)
    for name, tensor in ours.items():
        assert torch.equal(tensor, theirs[name]), name
    assert a.graph == b.graph and a.prediction_graph == b.prediction_graph
    assert a.settled == b.settled
    assert a.evidence.rows() == b.evidence.rows()
    for name, tensor in a.learned.state_dict().items():
        assert torch.equal(tensor, b.learned.state_dict()[name]), name
    assert (a.copies is None) == (b.copies is None)
    if a.copies is not None and b.copies is not None:
        for one, other in zip(a.copies.models, b.copies.models, strict=True):
            for name, tensor in one.state_dict().items():
                assert torch.equal(tensor, other.state_dict()[name]), name
        for c, usual in a.copies.usual.items():
            assert torch.equal(usual, b.copies.usual[c])
            assert torch.equal(a.copies.times[c], b.copies.times[c])
    assert (a.method, a.seed) == (b.method, b.seed)

    def timeless(result: FitResult) -> list[dict[str, Any]]:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in result.history]

    assert timeless(a) == timeless(b)


class Interrupt(Exception):
    """Stands for the end of the process."""


def stop_at(phase: str, step: int) -> Any:
    def callback(progress: Progress) -> None:
        if (progress.phase, progress.step) == (phase, step):
            raise Interrupt

    return callback


def interrupt(folder: Path, method: AbstractMethod, phase: str, step: int) -> None:
    with pytest.raises(Interrupt):
        fit(DATA, method, seed=6, folder=folder, callback=stop_at(phase, step))
    assert not (folder / "model.safetensors").exists()


HIDING = replace(METHODS["oocdm"], hide_variables=0.3)
