"""Which undecided edges a predictor keeps, with an oracle in place of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oocdm.discovery import Gains, plausible
from oocdm.discovery.plausible import NATS, is_plausible, keep_plausible
from oocdm.graph import Structure
from oocdm.schema import ObjectClass, Real, Schema
from tests.discovery.oracle import Oracle, layout_of


class Ball(ObjectClass):
    x = Real()
    v = Real()


LAYOUT = layout_of(Schema(Ball))


def kept(
    gains: list[float],
    undecided: np.ndarray,
    structure: np.ndarray,
    stand_ins: dict[int, dict[int, float]] | None = None,
) -> tuple[Structure, Oracle]:
    padded = np.zeros(len(LAYOUT))
    padded[: len(gains)] = gains
    oracle = Oracle(LAYOUT, padded, stand_ins or {})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plausible, "element_gains", oracle.element_gains)
        data: Any = None
        found = keep_plausible(
            *(oracle.model, data, LAYOUT.structure(structure), LAYOUT.structure(undecided, False)),
            resolution=None,
        )
    return found, oracle


def flags(*places: int) -> np.ndarray:
    return np.isin(np.arange(LAYOUT.num_edges), places)


def test_a_gain_must_stand_out_from_chance_and_from_needless_edges() -> None:
    mean = np.array([0.01, 0.01, NATS / 2, -0.01, 0.0])
    error = np.array([0.009, 0.011, 0.0, 0.001, 0.0])
    found = is_plausible(Gains(mean, error, np.full(5, 9)))
    assert found.tolist() == [True, False, False, False, False]


def test_only_what_is_plausible_is_kept() -> None:
    found, _ = kept([0.1, 0.01, 0.001, -0.1], flags(1, 2, 3), flags(0, 1, 2, 3))
    assert found.edges.nonzero()[0].tolist() == [0, 1]
    assert found.paths.all()


def test_what_is_not_undecided_is_not_asked() -> None:
    """Edges that were decided stay, whatever they add, and none comes in."""
    found, oracle = kept([-1.0, -1.0, 5.0, 5.0], flags(1, 2), flags(0, 1))
    assert found.edges.nonzero()[0].tolist() == [0]
    nothing, silent = kept([-1.0], flags(), flags(0))
    assert nothing.edges.nonzero()[0].tolist() == [0] and silent.calls == 0 < oracle.calls


def test_of_two_edges_that_stand_in_for_each_other_one_is_kept() -> None:
    into = LAYOUT.edges.into("Ball.x")[:2]
    gains = np.zeros(LAYOUT.num_edges)
    gains[into] = 0.5, 0.4
    one, other = (int(i) for i in into)
    both = flags(one, other)
    found, oracle = kept(gains.tolist(), both, both, {one: {other: 1.0}, other: {one: 1.0}})
    assert found.edges.sum() == 1 and oracle.calls == 2


@given(st.lists(st.floats(-0.05, 0.05), min_size=8, max_size=8), st.integers(0, 255))
def test_whatever_is_kept_is_plausible_in_the_end(gains: list[float], number: int) -> None:
    undecided = np.array([number >> i & 1 for i in range(LAYOUT.num_edges)], dtype=bool)
    found, _ = kept(gains, undecided, np.ones(LAYOUT.num_edges, dtype=bool))
    assert found.edges.tolist() == (~undecided | (np.array(gains) > NATS)).tolist()
