"""All edges between variables: the same questions as to class edges."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings

from oocdm.envs.block import SCHEMA as BLOCK
from oocdm.envs.block import TRUE_GRAPH
from oocdm.errors import GraphError
from oocdm.graph import ClassEdges, ClassGraph, VariableEdges
from oocdm.schema import Schema
from tests.graph.strategies import COUNTS, schemas

COUNTS_OF_BLOCK = {"Block": 2, "Total": 1}
EDGES = VariableEdges(BLOCK, COUNTS_OF_BLOCK)


@settings(max_examples=40)
@given(schemas(), COUNTS)
def test_edges_stand_where_their_graphs_have_them(schema: Schema, counts: dict[str, int]) -> None:
    edges = VariableEdges(schema, counts)
    assert len(edges) == len(edges.edges) == len(edges.names) == edges.full.mask.size
    for i, edge in enumerate(edges.edges):
        assert edges.position[edge] == i and edges.names[i] == str(edge)
        alone = edges.graph(np.arange(len(edges)) == i)
        assert alone.edges() == [edge]
        assert edges.mask(alone).argmax() == i
    for target in edges.targets:
        assert [edges.edges[i] for i in edges.into(target)] == edges.full.edges(target)


@settings(max_examples=40)
@given(schemas(), COUNTS)
def test_values_spread_from_the_class_edges(schema: Schema, counts: dict[str, int]) -> None:
    edges, classes = VariableEdges(schema, counts), ClassEdges.of(schema)
    spread = edges.spread(np.arange(len(classes)))
    for edge, place in zip(edges.edges, spread, strict=True):
        assert str(edge) in ClassGraph.of_edges(schema, [classes.edges[place]]).ground(counts)
    assert edges.testable(counts).all()  # they are of objects that are there
    fewer = {c: min(n, 1) for c, n in counts.items()}
    assert edges.testable(fewer).tolist() == edges.spread(classes.testable(fewer)).tolist()
    assert edges.num_pairs(counts).tolist() == [1] * len(edges)
    assert classes.num_pairs(counts).tolist() == [
        int((spread == i).sum()) for i in range(len(classes))
    ]


def test_masks_of_either_kind_of_graph() -> None:
    grounded = TRUE_GRAPH.ground(COUNTS_OF_BLOCK)
    assert edges_of(EDGES.mask(TRUE_GRAPH)) == edges_of(EDGES.mask(grounded)) == grounded.edges()
    with pytest.raises(GraphError, match=r"^Expected and got variable graphs over different"):
        EDGES.mask(TRUE_GRAPH.ground({"Block": 1, "Total": 1}))


def edges_of(mask: np.ndarray) -> list[object]:
    return [edge for edge, is_in in zip(EDGES.edges, mask, strict=True) if is_in]


def test_spaces_are_equal_by_schema_and_counts() -> None:
    again = VariableEdges(BLOCK, {"Total": 1, "Block": 2})
    assert again == EDGES and hash(again) == hash(EDGES)
    assert VariableEdges(BLOCK, {"Block": 1, "Total": 1}) != EDGES != ClassEdges.of(BLOCK)
    assert copy.deepcopy(EDGES) is EDGES


def test_an_unknown_target_gets_a_suggestion() -> None:
    with pytest.raises(GraphError, match=r"^Unknown target `Block\[2\]\.s1`. Did you mean `Block"):
        EDGES.into("Block[2].s1")
