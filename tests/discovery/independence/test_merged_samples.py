"""Samples of all objects of a class, merged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import oocdm
from oocdm.data import Dataset
from oocdm.discovery.independence.class_tests import discover_by_tests
from oocdm.discovery.independence.merged_samples import MergedSamples
from oocdm.errors import DataError
from oocdm.graph import ClassEdges, ClassGraph, Edge
from oocdm.schema import Categorical, Schema
from tests.discovery.independence.toys import (
    BALLS,
    EVERYTHING,
    Ball,
    Rock,
    dataset,
    random_dataset,
    worlds,
)


def test_merged_samples_by_hand() -> None:
    u = np.array([[3.0, 1.0, 2.0], [30.0, 10.0, 20.0]])
    rocks = {"kind": np.array([[2], [0]]), "w": np.array([[[7.0, 8.0]], [[0.0, 0.0]]])}
    schema = Schema(Ball, Rock)
    data = dataset(schema, {"Ball": {"u": u, "v": -u}, "Rock": rocks})
    rng = np.random.default_rng(0)
    samples = MergedSamples(data, "Ball", EVERYTHING, rng)

    def rows(edge: str) -> list[list[list[float]]]:
        question = samples.question(ClassGraph.parse(schema, [edge]).edges()[0])
        order = np.argsort(question.y[:, 0])
        return [a[order].tolist() for a in (question.x, question.y, question.given)]

    rock = [0, 0, 1, 7, 8]
    assert rows("Ball.u <- self.u") == [
        [[1], [2], [3]],
        [[10], [20], [30]],
        [[-1, 2, 3, -2, -3, *rock], [-2, 1, 3, -1, -3, *rock], [-3, 1, 2, -1, -2, *rock]],
    ]
    x, _, others = rows("Ball.u <- Ball[*].v")
    assert x == [[-2, -3], [-1, -3], [-1, -2]]
    assert others == [[1, -1, 2, 3, *rock], [2, -2, 1, 3, *rock], [3, -3, 1, 2, *rock]]
    x, _, others = rows("Ball.u <- Rock[*].kind")
    assert x == [[0, 0, 1]] * 3
    assert others[0] == [1, -1, 2, 3, -2, -3, 7, 8]
    target = MergedSamples(data, "Rock", EVERYTHING, rng)
    question = target.question(Edge("Ball", "u", "Rock", "kind", is_local=False))
    assert question.x.tolist() == [[1, 2, 3]]
    assert question.y.tolist() == [[1, 0, 0]]


@settings(max_examples=30)
@given(world=worlds())
def test_numbers_of_objects_do_not_matter(world: tuple[Schema, dict[str, int], int]) -> None:
    schema, counts, seed = world
    rng = np.random.default_rng(seed)
    orders = {c: rng.permutation(num) for c, num in counts.items()}
    data = random_dataset(schema, counts, seed)
    moved = dataset(
        schema,
        {c: {f: v[:, orders[c]] for f, v in fs.items()} for c, fs in data.values.items()},
    )
    width = {
        c: sum(
            field.num_codes if isinstance(field, Categorical) else field.size
            for field in schema.fields(c).values()
        )
        for c in counts
    }
    for i in np.flatnonzero(ClassEdges.of(schema).testable(counts)):
        edge = ClassEdges.of(schema).edges[i]
        found = []
        for each in (data, moved):
            samples = MergedSamples(each, edge.target_class, EVERYTHING, rng)
            question = samples.question(edge)
            assert len(question.y) == len(each) * counts[edge.target_class]
            columns = question.x.shape[1] + question.given.shape[1]
            assert columns == sum(width[c] * num for c, num in counts.items())
            rows = np.concatenate([question.x, question.y, question.given], axis=1)
            found.append(rows[np.lexsort(rows.T)])
        np.testing.assert_array_equal(*found)


def test_unknown_values_are_left_out() -> None:
    data = random_dataset(BALLS, {"Ball": 2}, 0, rows=20)
    known = data.observed["Ball"]["u"].copy()
    known[0, 1] = False  # before the first step: the whole transition is lost
    known[3, 0] = False  # after the second: one sample of edges into u
    u = np.where(known, data.values["Ball"]["u"], 0)
    values = {"Ball": {**data.values["Ball"], "u": u.astype(np.float32)}}
    observed = {"Ball": {**data.observed["Ball"], "u": known}}
    holes = Dataset(
        *(BALLS, values, data.present, observed, data.episode, data.step),
        *(data.reward, data.terminated, data.truncated),
    )
    samples = MergedSamples(holes, "Ball", EVERYTHING, np.random.default_rng(0))
    assert len(samples.question(Edge("Ball", "v", "Ball", "v", True)).y) == 18
    assert len(samples.question(Edge("Ball", "v", "Ball", "u", True)).y) == 17


def test_varying_numbers_are_refused() -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=None), steps=300, seed=0)
    with pytest.raises(DataError, match=r"same objects of class `Block` .* 1 to 7\. .*`oocdm.fit`"):
        discover_by_tests(data)


def test_no_known_transition_is_refused() -> None:
    data = random_dataset(BALLS, {"Ball": 1}, 0)
    nothing = np.zeros_like(data.present["Ball"])
    zeros = np.zeros(nothing.shape, np.float32)
    blank = Dataset(
        *(BALLS, {"Ball": {**data.values["Ball"], "u": zeros}}, data.present),
        *({"Ball": {**data.observed["Ball"], "u": nothing}}, data.episode, data.step),
        *(data.reward, data.terminated, data.truncated),
    )
    with pytest.raises(DataError, match=r"edges into `Ball`: expected .* all known, got none"):
        discover_by_tests(blank)
