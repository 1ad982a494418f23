"""The record of what data say about edges."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from oocdm.errors import GraphError
from oocdm.graph import ClassEdges, ClassGraph, EdgeEvidence, Evidence, VariableEdges
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real()
    push = Real(action=True)


SCHEMA = Schema(Ball)  # four edges: x and push of oneself, x and push of others


def some() -> Evidence:
    return Evidence(
        ClassEdges.of(SCHEMA),
        score=np.array([1.0, 0.001, np.nan, 0.2]),
        low=np.array([0.9, -0.01, np.nan, 0.0]),
        high=np.array([1.1, 0.02, np.nan, 0.4]),
        limit=np.array([0.003, 0.05, np.nan, 0.1]),
        p_value=np.array([1e-9, 0.4, np.nan, 0.04]),
        stability=np.array([1.0, 1.0, np.nan, 0.5]),
        decision=np.array(["yes", "no", "required", "undecided"]),
    )


def test_the_graph_has_decided_and_required_edges() -> None:
    assert some().edges.mask(some().graph).tolist() == [True, False, True, False]
    assert some().is_decided.tolist() == [True, True, False, False]


def test_rows_survive_json() -> None:
    rows = json.loads(json.dumps(some().rows()))
    assert rows[3] == {
        "edge": "Ball.x <- Ball[*].push",
        "score": 0.2,
        "low": 0.0,
        "high": 0.4,
        "limit": 0.1,
        "p_value": 0.04,
        "stability": 0.5,
        "decision": "undecided",
    }
    assert rows[2]["score"] is None
    back = Evidence.from_rows(ClassEdges.of(SCHEMA), rows)
    for column in dataclasses.fields(Evidence)[1:]:
        np.testing.assert_array_equal(getattr(back, column.name), getattr(some(), column.name))


def test_wrong_columns_are_refused() -> None:
    with pytest.raises(GraphError, match=r"Evidence.score: expected one value for each of the 4"):
        dataclasses.replace(some(), score=np.zeros(3))
    with pytest.raises(GraphError, match=r"Evidence.decision: expected .*, got \['maybe'\]"):
        dataclasses.replace(some(), decision=np.array(["yes", "no", "maybe", "no"]))
    with pytest.raises(GraphError, match="one row for each possible edge"):
        Evidence.from_rows(ClassEdges.of(SCHEMA), some().rows()[:3])
    rows = some().rows()
    del rows[1]["low"]
    with pytest.raises(GraphError, match=r"^Evidence: `\[1\]`: `low` is missing\.$"):
        Evidence.from_rows(ClassEdges.of(SCHEMA), rows)


def test_roc_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    true = ClassGraph(SCHEMA, np.array([True, False, False, True]))
    # Scores 1.0 and 0.2 of true edges, 0.001 of an absent one; the third has none.
    assert some().roc_auc(true) == 1.0
    other = ClassGraph(SCHEMA, np.array([False, True, False, True]))
    assert some().roc_auc(other) == 0.0  # 0.001 and 0.2 are both below 1.0
    mixed = ClassGraph(SCHEMA, np.array([True, True, False, False]))
    assert some().roc_auc(mixed) == 0.5  # 1.0 is above 0.2, 0.001 is not
    assert np.isnan(some().roc_auc(ClassGraph.full(SCHEMA)))


def test_roc_auc_of_variables_counts_pairs_of_objects() -> None:
    """With three balls a local edge stands for 3 variables, one from others for 6."""
    mixed = ClassGraph(SCHEMA, np.array([True, False, False, True]))
    scores = dataclasses.replace(some(), score=np.array([0.1, 0.2, np.nan, 0.3]))
    # True: 3 variables at 0.1, 6 at 0.3; absent: 3 at 0.2.
    assert scores.roc_auc(mixed, {"Ball": 3}) == pytest.approx(6 / 9)
    assert scores.roc_auc(mixed) == pytest.approx(1 / 2)


def test_roc_auc_of_edges_between_variables_needs_no_counts() -> None:
    edges = VariableEdges(SCHEMA, {"Ball": 3})
    rng = np.random.default_rng(0)
    scores = dataclasses.replace(Evidence.nothing(edges), score=rng.random(len(edges)))
    true = edges.graph(rng.random(len(edges)) < 0.5)
    assert scores.roc_auc(true, {"Ball": 3}) == scores.roc_auc(true)


def test_roc_auc_of_another_schema() -> None:
    class Cube(ObjectClass):
        x = Real()

    with pytest.raises(GraphError, match="The graph is for another schema"):
        some().roc_auc(ClassGraph.full(Schema(Cube)))


# ---------------------------------------------------------------- words


def flags(*places: int) -> np.ndarray:
    return np.isin(np.arange(4), places)


def test_the_words_of_a_test() -> None:
    score = np.array([1.0, 2.0, 3.0, 4.0])
    found = Evidence.of_test(
        ClassEdges.of(SCHEMA), flags(0, 1, 2), flags(0, 3), flags(0, 1, 3), score=score
    )
    assert found.decision.tolist() == ["yes", "no", "undecided", "untestable"]
    np.testing.assert_array_equal(found.score, [1.0, 2.0, 3.0, np.nan])
    for numbers in (found.low, found.high, found.limit, found.p_value, found.stability):
        assert np.isnan(numbers).all()
    assert Evidence.nothing(ClassEdges.of(SCHEMA)).decision.tolist() == ["undecided"] * 4


def test_what_is_given_overrides_the_data() -> None:
    given = some().with_given(flags(1), flags(0, 1))
    assert given.decision.tolist() == ["forbidden", "required", "required", "undecided"]
    assert given.is_in.tolist() == [False, True, True, False]
    assert given.graph == ClassGraph(SCHEMA, given.is_in)
    assert given.score is not None and given["Ball.x <- self.x"].score == 1.0
    rejected = some().with_rejected(flags(3))
    assert rejected.decision.tolist() == ["yes", "no", "required", "no"]


# ---------------------------------------------------------------- a value


def test_one_edge() -> None:
    said = some()["Ball.x <- Ball[*].push"]
    assert said == EdgeEvidence(
        "Ball.x <- Ball[*].push", "undecided", 0.2, 0.0, 0.4, 0.1, 0.04, 0.5
    )
    assert type(said.score) is float and type(said.decision) is str
    message = (
        "Unknown edge `Ball.x <- self.psh`. Did you mean `Ball.x <- self.push`? Known: "
        "Ball.x <- self.x, Ball.x <- self.push, Ball.x <- Ball[*].x, Ball.x <- Ball[*].push."
    )
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        some()["Ball.x <- self.psh"]


def test_a_frame_has_one_row_an_edge() -> None:
    frame = some().to_frame()
    columns = ["edge", "decision", "score", "low", "high", "limit", "p_value", "stability"]
    assert list(frame.columns) == [*columns, "share"]
    assert frame.edge.tolist() == list(some().edges.names)
    assert frame.decision.tolist() == ["yes", "no", "required", "undecided"]
    np.testing.assert_array_equal(frame.score, some().score)
    np.testing.assert_array_equal(frame.limit, some().limit)
    assert (frame.score.dtype, frame.limit.dtype, frame.p_value.dtype) == (float, float, float)


def test_shares_are_told_where_scores_are_in_nats() -> None:
    """A normal whose variance without the edge is 4, and with it 1: log 2 nats, three quarters."""
    said = dataclasses.replace(
        some(),
        score=np.array([np.log(2.0), -0.5, np.nan, 2.0]),
        limit=np.array([0.1, 0.1, 0.1, np.nan]),
    )
    np.testing.assert_allclose(said.share, [0.75, 0.0, np.nan, np.nan])
    assert said[some().edges.names[0]].share == said.share[0]
    assert " 75% " in str(said).splitlines()[1]


def test_evidence_is_compared_by_value_and_cannot_be_written() -> None:
    assert some() == some() != dataclasses.replace(some(), score=np.zeros(4))
    assert some() != some().with_given(flags(0), flags())
    assert some() != "evidence"
    score = np.zeros(4)
    evidence = dataclasses.replace(some(), score=score)
    score[0] = 5.0
    assert evidence.score[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        evidence.decision[0] = "no"


def of_one_test(**numbers: float) -> Evidence:
    edges = ClassEdges.of(SCHEMA)
    yes, no = np.ones(len(edges), dtype=bool), np.zeros(len(edges), dtype=bool)
    return Evidence.of_test(edges, yes, no, no, **numbers)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"p_value": 1.5}, "p_value: expected numbers from 0 to 1, got 1.5 of `Ball.x <- self.x`."),
        ({"stability": -0.5}, "stability: expected numbers from 0 to 1, got -0.5 of `Ball.x <-"),
        ({"low": 2.0, "high": 1.0}, "high: expected numbers no smaller than `low`, got 1.0 of"),
    ],
)
def test_numbers_out_of_range_are_refused(numbers: dict[str, float], message: str) -> None:
    with pytest.raises(GraphError, match=f"^Evidence.{re.escape(message)}"):
        of_one_test(**numbers)


def test_rows_of_files_are_in_range_as_well() -> None:
    rows = of_one_test(p_value=0.5).rows()
    rows[1]["p_value"] = 7.0
    with pytest.raises(GraphError, match=r"`\[1\].p_value`: expected a number from 0 to 1, got 7"):
        Evidence.from_rows(ClassEdges.of(SCHEMA), rows)
