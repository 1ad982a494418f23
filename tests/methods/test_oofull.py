"""OOFULL: the full graph, whatever comes."""

from __future__ import annotations

import numpy as np

import oocdm
from oocdm.envs.block import SCHEMA, TRUE_GRAPH
from oocdm.methods import Inquiry, LearningState, Oofull, Schedule
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.predictor import LATE

MODEL = OocdmModel(SCHEMA, ModelOptions())
LAYOUT = MODEL.layout
TESTABLE = LAYOUT.edges.testable({"Block": 5, "Total": 1})


def test_it_keeps_the_full_graph() -> None:
    method = Oofull()
    start, free = method.start(LAYOUT, None, TESTABLE)
    assert start == LAYOUT.structure(True) - LAYOUT.ways(LATE) and not free.any()
    now = LearningState(MODEL, start, free, free, 3)
    (term,) = method.objective(now, np.random.default_rng(0))
    assert term.weight == 1.0 and np.array_equal(term.structures, start.flags[None])
    assert method.discover(Inquiry(None, None, start, free)) is None  # type: ignore[arg-type]


def test_a_known_graph_is_not_free() -> None:
    start, free = Oofull().start(LAYOUT, TRUE_GRAPH.mask, TESTABLE)
    assert start == LAYOUT.of_graph(TRUE_GRAPH) - LAYOUT.ways(LATE) and not free.any()


def test_the_graph_is_full_and_given() -> None:
    """Also where an edge cannot occur: it is the graph of another world as well."""
    data = oocdm.collect(oocdm.make("block", num_blocks=1), steps=60, seed=0)
    result = oocdm.fit(data, "oofull", schedule=Schedule(1, 2, 2))
    assert result.graph == oocdm.ClassGraph.full(data.schema) == result.evidence.graph
    assert set(result.evidence.decision) == {"required"}
