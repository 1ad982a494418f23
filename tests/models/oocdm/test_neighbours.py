"""The same samples under a structure and its neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.graph import Neighbours
from oocdm.models.oocdm.model import OocdmModel
from tests.models.strategies import Case, assert_near, at_receivers, cases, drawn_receivers


def some_neighbours(case: Case, model: OocdmModel, seed: int) -> Neighbours:
    """Whichever parts are turned, in whatever structure."""
    rng = np.random.default_rng(seed)
    parts = {}
    for c in model.predictors:
        num = model.layout.of_class(c).shape[1]
        parts[c] = np.flatnonzero(rng.random(num) < rng.choice([0.2, 0.7, 1.0]))
    return Neighbours(case.structure(model), parts)


@settings(max_examples=80)
@given(cases(batch_size=3), st.integers(0, 2**20))
def test_neighbours_equal_the_literal_ones(case: Case, seed: int) -> None:
    fast, literal = case.model(), case.model(literal=True)
    neighbours, inputs = some_neighbours(case, fast, seed), fast.inputs(case.before)
    found, expected = (m.compile_neighbours(neighbours)(inputs) for m in (fast, literal))
    assert_near(found, expected)


@settings(max_examples=20)
@given(cases())
def test_neighbours_turn_one_part_of_every_target(case: Case) -> None:
    model = case.model(literal=True)
    structure, layout = case.structure(model), model.layout
    seen = np.zeros(len(layout), dtype=int)
    for c in model.predictors:
        columns = layout.of_class(c)
        rows = Neighbours(structure, {c: np.arange(columns.shape[1])}).of(c)
        assert np.array_equal(rows[0], structure.flags)
        for part, row in enumerate(rows[1:]):
            turned = np.flatnonzero(row != structure.flags)
            assert turned.tolist() == sorted(columns[:, part].tolist())
        seen[columns.ravel()] += 1
    assert (seen == 1).all()


@settings(max_examples=20)
@given(cases(), st.booleans())
def test_neighbours_come_one_after_the_other(case: Case, literal: bool) -> None:
    model = case.model(literal)
    structure, inputs = case.structure(model), model.inputs(case.before)
    for c in model.predictors:
        parts = {c: np.array([0, model.layout.of_class(c).shape[1] - 1])}
        neighbours = Neighbours(structure, parts)
        rows = model.rows(neighbours.of(c))
        with torch.no_grad():
            together = model.compile_neighbours(neighbours)(inputs)
            for i in range(3):
                (alone,) = model(inputs, rows[i : i + 1])
                here = slice(6 * i, 6 * i + 6)
                torch.testing.assert_close(
                    together.classes[c].mean[here], alone.classes[c].mean, rtol=1e-9, atol=1e-9
                )


@settings(max_examples=20)
@given(cases(batch_size=2), st.integers(0, 2**20))
def test_the_order_of_the_turned_parts_is_free(case: Case, seed: int) -> None:
    fast, literal = case.model(), case.model(literal=True)
    rng = np.random.default_rng(seed)
    parts = {c: rng.permutation(fast.layout.of_class(c).shape[1]) for c in fast.predictors}
    neighbours, inputs = Neighbours(case.structure(fast), parts), fast.inputs(case.before)
    found, expected = (m.compile_neighbours(neighbours)(inputs) for m in (fast, literal))
    assert_near(found, expected)


@settings(max_examples=10)
@given(cases(), st.integers(0, 2**20))
def test_an_empty_batch_gives_empty_predictions(case: Case, seed: int) -> None:
    model = case.model()
    inputs = model.inputs(case.before).map(lambda t: t[:0])
    found = model.compile_neighbours(some_neighbours(case, model, seed))(inputs)
    for c, prediction in found.classes.items():
        assert prediction.mean.shape[:2] == (0, case.before.counts[c])


@settings(max_examples=40)
@given(cases(batch_size=3), st.integers(0, 2**20))
def test_drawn_receivers_are_predicted_as_among_all(case: Case, seed: int) -> None:
    model = case.model()
    neighbours, inputs = some_neighbours(case, model, seed), model.inputs(case.before)
    some, predict = drawn_receivers(inputs, seed), model.compile_neighbours(neighbours)
    times = {c: 1 + len(each) for c, each in neighbours.elements.items()}
    repeated = {c: places.repeat(times.get(c, 1), 1) for c, places in some.items()}
    found = predict(replace(inputs, receivers=some))
    assert_near(found, at_receivers(predict(inputs), repeated))
