"""What is said of one edge."""

from __future__ import annotations

import pytest

from oocdm.graph import EdgeEvidence


@pytest.mark.parametrize(
    ("score", "label"),
    [(0.31256, "0.313"), (0.0, "0"), (-1e-5, "-1e-05"), (float("nan"), ""), (1234.5, "1.23e+03")],
)
def test_labels_are_short_scores(score: float, label: str) -> None:
    assert EdgeEvidence("Ball.x <- self.x", "yes", score).label == label


def test_nothing_is_known_unless_it_is_said() -> None:
    said = EdgeEvidence("Ball.x <- self.x", "required")
    assert said.label == ""
    numbers = (said.score, said.low, said.high, said.p_value, said.stability)
    assert all(number != number for number in numbers)
