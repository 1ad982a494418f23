"""The record of what data say about edges."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from oocdm.errors import GraphError
from oocdm.graph import Evidence
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


SCHEMA = Schema(Ball)  # four edges: x and push of oneself, x and push of others


def some() -> Evidence:
    return Evidence(
        SCHEMA,
        score=np.array([1.0, 0.001, np.nan, 0.2]),
        low=np.array([0.9, -0.01, np.nan, 0.0]),
        high=np.array([1.1, 0.02, np.nan, 0.4]),
        p_value=np.array([1e-9, 0.4, np.nan, 0.04]),
        stability=np.array([1.0, 1.0, np.nan, 0.5]),
        decision=np.array(["yes", "no", "required", "undecided"]),
    )


def test_the_graph_has_decided_and_required_edges() -> None:
    assert some().graph.mask.tolist() == [True, False, True, False]
    assert some().is_decided.tolist() == [True, True, False, False]


def test_rows_survive_json() -> None:
    rows = json.loads(json.dumps(some().rows()))
    assert rows[3] == {
        "edge": "Ball.x <- Ball[*].push",
        "score": 0.2,
        "low": 0.0,
        "high": 0.4,
        "p_value": 0.04,
        "stability": 0.5,
        "decision": "undecided",
    }
    assert rows[2]["score"] is None
    back = Evidence.from_rows(SCHEMA, rows)
    for column in dataclasses.fields(Evidence)[1:]:
        np.testing.assert_array_equal(getattr(back, column.name), getattr(some(), column.name))


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(GraphError, match=r"Evidence.score: expected one value for each of the 4"):
        dataclasses.replace(some(), score=np.zeros(3))
    with pytest.raises(GraphError, match=r"Evidence.decision: expected .*, got \['maybe'\]"):
        dataclasses.replace(some(), decision=np.array(["yes", "no", "maybe", "no"]))
    with pytest.raises(GraphError, match="one row for each possible edge"):
        Evidence.from_rows(SCHEMA, some().rows()[:3])
    rows = some().rows()
    del rows[1]["low"]
    with pytest.raises(GraphError, match="a row lacks 'low'"):
        Evidence.from_rows(SCHEMA, rows)
