"""Discovery of edges between single variables, against gains computed one by one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from oocdm.data import Dataset
from oocdm.discovery import Rule, discover_variables
from oocdm.discovery.single_variables import LIMIT
from oocdm.errors import DataError, GraphError
from oocdm.graph import ClassGraph, Evidence, VariableEdges, VariableGraph
from oocdm.models.memory import measure, rows_at_once
from oocdm.models.oocdm.model import OocdmModel
from oocdm.schema import Integer, ObjectClass, Real, Schema
from tests.inference.ragged import SCHEMA as RAGGED
from tests.inference.ragged import ragged, random_model


class Ball(ObjectClass):
    x = Real()
    hue = Integer(1, 3)
    push = Real(action=True)


class Wall(ObjectClass):
    place = Real(static=True)


class Sum(ObjectClass):
    x = Real()


SCHEMA = Schema(Ball, Wall, Sum)
SLOTS = {"Ball": 2, "Wall": 1, "Sum": 1}
DATA = ragged(SCHEMA, (60,) * 9, SLOTS, is_whole=True)
ROWS = ["Ball.x <- self.x, self.push, Wall[*].place", "Ball.hue <- Ball[*].x", "Sum.x <- Ball[*].x"]
GRAPH = ClassGraph.parse(SCHEMA, ROWS)


@pytest.fixture(scope="module")
def model() -> OocdmModel:
    return random_model(DATA)


@pytest.fixture(scope="module")
def found(model: OocdmModel) -> Evidence:
    return discover_variables(model, DATA, GRAPH, Rule(), model.resolution(0.1))


def matrix(found: Evidence, values: np.ndarray) -> np.ndarray:
    """Inputs by outputs."""
    assert isinstance(found.edges, VariableEdges)
    return found.edges.matrix(values)


def graph_of(found: Evidence) -> VariableGraph:
    assert isinstance(found.graph, VariableGraph)
    return found.graph


def scores_by_hand(model: OocdmModel, data: Dataset, hidden: str | None) -> np.ndarray:
    """Log-likelihoods (transition, output), one variable of the data deleted."""
    transitions = data.transitions()
    before = transitions.before
    if hidden is not None:
        c, i, f = re.split(r"\[|\]\.", hidden)
        observed, values = before.observed[c][f].clone(), before.values[c][f].clone()
        observed[:, int(i)], values[:, int(i)] = False, 0
        before = replace(
            before,
            observed={**before.observed, c: {**before.observed[c], f: observed}},
            values={**before.values, c: {**before.values[c], f: values}},
        )
    with torch.no_grad():
        (predictions,) = model(model.inputs(before), model.structures(GRAPH))
        table = predictions.log_prob(model.targets(transitions), model.resolution(0.1))
    return np.concatenate([table[c].flatten(1).numpy() for c in ("Ball", "Sum")], axis=1)


def test_gains_and_errors_one_by_one(model: OocdmModel, found: Evidence) -> None:
    group = DATA.clusters
    everything = scores_by_hand(model, DATA, None)
    allowed = GRAPH.ground(SLOTS)
    graph, score = graph_of(found), matrix(found, found.score)
    assert (graph.inputs, graph.outputs) == (allowed.inputs, allowed.outputs)
    assert np.array_equal(~np.isnan(score), allowed.matrix)
    num = group.max() + 1
    assert num == 9
    for i, name in enumerate(allowed.inputs):
        gains = everything - scores_by_hand(model, DATA, name)
        mean = gains.mean(0)
        sums = np.stack([(gains - mean)[group == g].sum(0) for g in range(num)])
        error = np.sqrt((sums**2).sum(0) * num / (num - 1)) / len(DATA)
        half = matrix(found, found.high - found.low)[i] / 2
        tested = allowed.matrix[i]
        np.testing.assert_allclose(score[i][tested], mean[tested], atol=1e-9)
        # The 97.5 % point of a t-distribution with 8 degrees of freedom.
        np.testing.assert_allclose(half[tested], 2.306004135 * error[tested], atol=1e-9)
        assert np.allclose(gains[:, ~tested], 0)  # what the class graph forbids adds nothing


def test_decisions_follow_the_rule(model: OocdmModel, found: Evidence) -> None:
    allowed = GRAPH.ground(SLOTS).matrix
    decision = matrix(found, found.decision)
    assert set(decision[~allowed]) == {"no"}
    assert set(decision[allowed]) <= {"yes", "no", "undecided"}
    assert np.array_equal(decision == "yes", graph_of(found).matrix)
    all_of_it = discover_variables(model, DATA, GRAPH, Rule(threshold=-1e9))
    assert np.array_equal(graph_of(all_of_it).matrix, allowed)
    nothing = discover_variables(model, DATA, GRAPH, Rule(threshold=1e9))
    assert not graph_of(nothing).matrix.any() and set(nothing.decision) == {"no"}


def test_rows_are_ready_for_json(found: Evidence) -> None:
    rows = json.loads(json.dumps(found.rows(), allow_nan=False))
    assert len(rows) == found.score.size == 8 * 5
    columns = ["edge", "score", "low", "high", "limit", "p_value", "stability", "decision"]
    assert list(rows[0]) == columns
    assert rows[0]["edge"] == "Ball[0].x <- Ball[0].x"
    by_edge = {row["edge"]: row for row in rows}
    graph = graph_of(found)
    i, j = graph.inputs.index("Ball[1].x"), graph.outputs.index("Sum[0].x")
    score = matrix(found, found.score)[i, j]
    assert by_edge["Sum[0].x <- Ball[1].x"]["score"] == pytest.approx(score)
    assert by_edge["Sum[0].x <- Ball[1].x"]["limit"] == LIMIT
    forbidden = by_edge["Sum[0].x <- Sum[0].x"]
    assert (forbidden["score"], forbidden["limit"], forbidden["decision"]) == (None, None, "no")


def test_roc_auc(found: Evidence) -> None:
    tested = ~np.isnan(found.score)
    best = np.nan_to_num(found.score, nan=-np.inf) > np.nanmedian(found.score)
    assert found.roc_auc(found.edges.graph(best)) == 1.0
    assert found.roc_auc(found.edges.graph(tested & ~best)) == 0.0
    assert np.isnan(found.roc_auc(found.edges.graph(tested)))
    with pytest.raises(GraphError, match=r"variable graphs over different variables"):
        found.roc_auc(GRAPH.ground({**SLOTS, "Ball": 3}))


def test_progress_counts_edges(model: OocdmModel) -> None:
    told: list[tuple[int, int]] = []
    discover_variables(model, DATA, GRAPH, Rule(), on_settled=lambda *n: told.append(n))
    total = int(GRAPH.ground(SLOTS).matrix.sum())
    assert told[-1] == (total, total)
    assert [n for n, _ in told] == sorted({n for n, _ in told})
    assert len(told) == 2 * 2 + 1  # one pass for each x and push, and for the wall's place


def test_what_is_never_known_cannot_be_tested(model: OocdmModel) -> None:
    values = {c: dict(fields) for c, fields in DATA.values.items()}
    observed = {c: dict(fields) for c, fields in DATA.observed.items()}
    x, known = values["Ball"]["x"].copy(), observed["Ball"]["x"].copy()
    x[:, 1], known[:, 1] = 0, False
    values["Ball"]["x"], observed["Ball"]["x"] = x, known
    data = replace(DATA, values=values, observed=observed)
    found = discover_variables(model, data, GRAPH, Rule())
    decision = {row["edge"]: row["decision"] for row in found.rows()}
    for edge in ("Ball[1].x <- Ball[1].push", "Ball[0].hue <- Ball[1].x", "Sum[0].x <- Ball[1].x"):
        assert decision[edge] == "untestable"
    assert decision["Sum[0].x <- Ball[0].x"] != "untestable"
    assert decision["Ball[1].x <- Ball[0].x"] == "no"  # not in the class graph


@pytest.mark.parametrize("balls", [0, 1])
def test_few_objects(balls: int) -> None:
    data = ragged(SCHEMA, (5,) * 3, {**SLOTS, "Ball": balls}, is_whole=True)
    found = discover_variables(random_model(DATA), data, ClassGraph.full(SCHEMA), Rule())
    assert found.score.shape == ((3 * balls + 2) * (2 * balls + 1),)
    assert not np.isnan(found.score).any()
    assert len(found.rows()) == found.score.size


def test_no_edge_at_all(model: OocdmModel) -> None:
    found = discover_variables(model, DATA, ClassGraph.empty(SCHEMA), Rule())
    assert not graph_of(found).matrix.any() and np.isnan(found.score).all()


# ---------------------------------------------------------------- errors


def test_objects_that_come_and_go() -> None:
    data = ragged()
    message = (
        r"^discover_variables: expected the same objects of class `Ant` in every step, got 1 to 4 "
        r"in 4 places\. Edges between classes need no fixed objects: use `discover`\.$"
    )
    with pytest.raises(DataError, match=message):
        discover_variables(random_model(data), data, ClassGraph.full(RAGGED), Rule())


def test_other_objects_in_other_episodes(model: OocdmModel) -> None:
    ids = {c: each.copy() for c, each in DATA.object_ids.items()}
    ids["Ball"][4] += 1
    message = "expected the same objects of class `Ball` in every episode, got others in episode 4"
    with pytest.raises(DataError, match=message):
        discover_variables(model, replace(DATA, object_ids=ids), GRAPH, Rule())


def test_data_of_another_schema(model: OocdmModel) -> None:
    other = ragged(Schema(Ball), (5,) * 3, is_whole=True)
    with pytest.raises(DataError, match=r"^This dataset does not fit the model"):
        discover_variables(model, other, GRAPH, Rule())


def test_places_that_no_object_takes(model: OocdmModel, found: Evidence) -> None:
    def wider(array: np.ndarray) -> np.ndarray:
        return np.pad(array, [(0, 0), (0, 30)])

    data = replace(
        DATA,
        values={**DATA.values, "Ball": {f: wider(v) for f, v in DATA.values["Ball"].items()}},
        observed={**DATA.observed, "Ball": {f: wider(v) for f, v in DATA.observed["Ball"].items()}},
        present={**DATA.present, "Ball": wider(DATA.present["Ball"])},
        object_ids={**DATA.object_ids, "Ball": wider(DATA.object_ids["Ball"])},
    )
    again = discover_variables(model, data, GRAPH, Rule(), model.resolution(0.1))
    scores, expected = (
        {row["edge"]: row["score"] for row in each.rows() if row["score"] is not None}
        for each in (again, found)
    )
    assert scores == pytest.approx(expected)


def test_less_memory_means_smaller_chunks_of_the_same(
    model: OocdmModel, found: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def limited(work: Callable[[int], object], most: int) -> int:
        sizes.append(rows_at_once(work, most, limit=measure(lambda: work(20)).peak))
        return sizes[-1]

    monkeypatch.setattr(sys.modules["oocdm.discovery.single_variables"], "rows_at_once", limited)
    parts = discover_variables(model, DATA, GRAPH, Rule(), model.resolution(0.1))
    assert 10 <= sizes[0] <= 20 < len(DATA)
    np.testing.assert_allclose(parts.score, found.score, atol=1e-6)
