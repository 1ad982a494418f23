"""Agents in another one's way in mpe2."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.bench.simulators.mpe_cases import FAR, FAST, GAP, SIZES, agents_in_the_way
from oocdm.data.dataset import Dataset
from oocdm.graph import Variable


def test_a_case_is_the_fastest_agent_and_one_that_is_put_before_it(mpe: Dataset) -> None:
    cases = list(agents_in_the_way(mpe))
    assert len(cases) > 10
    for case in cases:

        def at(name: tuple[str, int], *fields: str, row: int = case.row) -> np.ndarray:
            return np.array([float(mpe.values[name[0]][f][row, name[1]]) for f in fields])

        (other,), (runner,) = ({v[:2] for v in each} for each in (case.do, case.watched))
        speed, place = at(runner, "vx", "vy"), at(runner, "x", "y")
        assert np.linalg.norm(speed) > FAST
        assert np.linalg.norm(at(other, "x", "y") - place) > FAR
        set_to = np.array([case.do[Variable(*other, f)] for f in ("x", "y", "vx", "vy")])
        way = speed / np.linalg.norm(speed)
        ahead = SIZES[runner[0]] + SIZES[other[0]] + GAP
        assert set_to == pytest.approx([*(place + ahead * way), 0.0, 0.0])
        assert [case.watched[Variable(*runner, f)] for f in ("x", "y")] == pytest.approx([*way])
        others = [(c, i) for c in SIZES for i in np.flatnonzero(mpe.present[c][case.row])]
        for name in others:
            if name not in (runner, other):
                gap = np.linalg.norm(at(name, "x", "y") - set_to[:2]) - SIZES[name[0]]
                assert gap > SIZES[other[0]]
