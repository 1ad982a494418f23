"""Moments of a log in which something may be set otherwise."""

from __future__ import annotations

import pandas as pd

import oocdm
from oocdm.bench.simulators.case import moments


class Ball(oocdm.ObjectClass):
    x = oocdm.Real()


def test_moments_stand_in_episodes_that_go_on_for_long_enough() -> None:
    steps = [(episode, step) for episode, last in ((0, 7), (1, 2), (2, 4)) for step in range(last)]
    frame = pd.DataFrame([{"episode": e, "step": s, "object": 0, "x": float(s)} for e, s in steps])
    data = oocdm.Dataset.from_frames({"Ball": frame}, oocdm.Schema(Ball))
    rows = list(moments(data, horizon=3, every=2))
    assert [(int(data.episode[row]), int(data.step[row])) for row in rows] == [
        *((0, 0), (0, 2), (2, 0)),
    ]
