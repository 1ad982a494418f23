"""How graphs differ, with figures by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.envs.block import SCHEMA as BLOCK
from oocdm.envs.block import TRUE_GRAPH
from oocdm.errors import GraphError
from oocdm.graph import ClassGraph, Edge, GraphComparison
from oocdm.schema import ObjectClass, Real, Schema
from tests.graph.strategies import COUNTS, graphs

WRONG = (
    TRUE_GRAPH.without(Edge("Block", "a", "Block", "s1", True))
    .without(Edge("Block", "s1", "Total", "s1", False))
    .with_edge(Edge("Block", "s2", "Block", "s1", False))
    .with_edge(Edge("Total", "s1", "Total", "t", False))
    .with_edge(Edge("Total", "s1", "Total", "t", True))
)


@settings(max_examples=50)
@given(st.data(), COUNTS)
def test_comparison_counts_wrong_edges(data: st.DataObject, counts: dict[str, int]) -> None:
    found = data.draw(graphs())
    true = data.draw(graphs(found.schema))
    a, b = set(found.edges()), set(true.edges())
    assert found.compare(true) == GraphComparison(
        missing=len(b - a), extra=len(a - b), true_edges=len(b), possible=len(found.mask)
    )
    grounded = found.compare(true, counts)
    x, y = found.ground(counts), true.ground(counts)
    assert grounded == x.compare(y)
    assert grounded.shd == int((x.matrix != y.matrix).sum())
    assert grounded.possible == x.matrix.size
    assert found.compare(found, counts).accuracy == 1.0


@pytest.mark.parametrize("blocks", [1, 2, 5, 10])
def test_graph_accuracy_of_block_with_known_wrong_edges(blocks: int) -> None:
    # For each block: a -> s1 is missing, and s1 -> Total.s1; s2 -> s1 of each other block is
    # extra, and Total.s1 -> Total.t once. One Total has no other Total, so the global edge
    # Total.s1 -> Total.t is not in the grounded graph.
    counts = {"Block": blocks, "Total": 1}
    found = WRONG.compare(TRUE_GRAPH, counts)
    variables, targets = 4 * blocks + 4, 3 * blocks + 4
    assert found.missing == 2 * blocks
    assert found.extra == blocks * (blocks - 1) + 1
    assert found.possible == variables * targets
    assert found.shd == 2 * blocks + blocks * (blocks - 1) + 1
    assert found.accuracy == 1 - found.shd / (variables * targets)
    true_edges = 7 * blocks + 3 * blocks + 4
    assert found.true_edges == true_edges
    assert found.recall == (true_edges - 2 * blocks) / true_edges
    assert found.precision == (true_edges - 2 * blocks) / (
        true_edges - 2 * blocks + blocks * (blocks - 1) + 1
    )


def test_five_blocks_in_numbers() -> None:
    found = WRONG.compare(TRUE_GRAPH, {"Block": 5, "Total": 1})
    assert (found.shd, found.possible) == (31, 24 * 19)
    assert found.accuracy == pytest.approx(0.932017543859649)


def test_class_level_figures_by_hand() -> None:
    found = WRONG.compare(TRUE_GRAPH)
    assert (found.missing, found.extra, found.true_edges, found.possible) == (2, 3, 14, 84)
    assert found.shd == 5
    assert found.accuracy == 1 - 5 / 84
    assert found.precision == 12 / 15
    assert found.recall == 12 / 14
    assert found.f1 == pytest.approx(24 / 29)


def test_figures_of_extreme_graphs() -> None:
    full, empty = ClassGraph.full(BLOCK), ClassGraph.empty(BLOCK)
    nothing = empty.compare(TRUE_GRAPH)
    assert (nothing.precision, nothing.recall, nothing.f1) == (1.0, 0.0, 0.0)
    everything = full.compare(TRUE_GRAPH)
    assert (everything.precision, everything.recall) == (14 / 84, 1.0)
    assert everything.f1 == pytest.approx(28 / 98)
    same = empty.compare(empty)
    assert (same.accuracy, same.precision, same.recall, same.f1) == (1.0, 1.0, 1.0, 1.0)
    assert empty.compare(full).accuracy == 0.0
    # No object at all, no possible edge, nothing wrong.
    assert full.compare(empty, {"Block": 0, "Total": 0}).accuracy == 1.0


def fails(message: str) -> Any:
    return pytest.raises(GraphError, match=f"^{re.escape(message)}$")


def test_errors_of_comparison() -> None:
    other = ClassGraph.full(Schema(type("Block", (ObjectClass,), {"s1": Real()})))
    with fails(
        "The graph is for another schema. They differ in classes ['Block'] against "
        "['Block', 'Total']."
    ):
        TRUE_GRAPH.compare(other)
    small, large = (TRUE_GRAPH.ground({"Block": n, "Total": 1}) for n in (1, 2))
    with fails(
        "Expected and got variable graphs over different variables: only one has `Block[1].a`."
    ):
        small.compare(large)
    with fails(
        "Expected a class graph, got a variable graph. `ClassGraph.covering` makes the smallest "
        "class graph that has all edges of a variable graph, `ground(counts)` makes variable "
        "graphs."
    ):
        TRUE_GRAPH.compare(large)
    with pytest.raises(GraphError, match=r"^Expected a class graph, got str\."):
        TRUE_GRAPH.compare("Block.s1 <- self.s1")  # type: ignore[arg-type]
    with fails(
        "ground: expected the graph's own numbers of objects, {'Block': 2, 'Total': 1}, got "
        "{'Block': 1, 'Total': 1}."
    ):
        large.compare(large, {"Block": 1, "Total": 1})
    assert large.compare(TRUE_GRAPH, {"Block": 2, "Total": 1}).shd == 0
