"""What useless edges may add."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from oocdm.discovery.limits import TIMES, limits_of
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prepared import Prepared
from oocdm.models.scales import Scales
from tests.training.toys import DATA


def model() -> OocdmModel:
    torch.manual_seed(0)
    return OocdmModel(DATA.schema, ModelOptions(), Scales.measure(DATA.transitions()))


@torch.no_grad()
def test_they_are_what_a_target_s_score_has_moved_by_since_the_last_look() -> None:
    before = model()
    now = before.copy()
    # Of the ball's x alone something else is predicted now, of everything else the same.
    now.predictors["Ball"].network.bias3[0, 0] += 0.3
    structure = now.layout.structure(True, False)
    data = Prepared.of(now, DATA)
    blur = now.resolution(0.1)

    def score(each: OocdmModel) -> float:
        (found,) = each(data.inputs, each.structures(structure))
        scores, known = found.log_prob(data.targets, blur)["Ball"], data.targets.known["Ball"]
        return float(scores[..., 0][known[..., 0]].double().mean())

    moved = abs(score(now) - score(before))
    for ours, theirs in ((now, before), (before, now)):
        limits = limits_of(ours, theirs, data, structure, blur)
        into = now.edges.into("Ball.x")
        assert limits[into] == pytest.approx(TIMES * moved, abs=1e-5)
        assert not np.delete(limits, into).any()


def test_without_learning_there_is_none() -> None:
    same = model()
    data = Prepared.of(same, DATA)
    assert not limits_of(same, same.copy(), data, same.layout.structure(True), None).any()
