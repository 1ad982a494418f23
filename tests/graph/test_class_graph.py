"""Class graphs, their possible edges, and the graphs over single variables that they stand for."""

from __future__ import annotations

import copy
import json
import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from oocdm.envs.block import SCHEMA as BLOCK
from oocdm.envs.block import TRUE_GRAPH
from oocdm.errors import GraphError, OocdmError, SchemaError
from oocdm.graph import ClassEdges, ClassGraph, Edge
from oocdm.schema import ObjectClass, Real, Schema
from tests.graph.strategies import COUNTS, graphs, schemas

# ---------------------------------------------------------------- random graphs


@settings(max_examples=50)
@given(graphs())
def test_print_and_parse(graph: ClassGraph) -> None:
    assert ClassGraph.parse(graph.schema, str(graph).splitlines()) == graph


@settings(max_examples=50)
@given(graphs())
def test_json_round_trip(graph: ClassGraph) -> None:
    back = ClassGraph.from_json(graph.schema, json.loads(json.dumps(graph.to_json())))
    assert back == graph and hash(back) == hash(graph)
    assert back.edges() == graph.edges()


@settings(max_examples=50)
@given(graphs())
def test_every_edge_is_where_its_blocks_say(graph: ClassGraph) -> None:
    schema, space = graph.schema, graph.space
    inside = set(graph.edges())
    for c in schema.classes:
        for j, v in enumerate(schema.targets(c)):
            for i, u in enumerate(schema.fields(c)):
                edge = Edge(c, u, c, v, True)
                assert space.local_block(graph.mask, c)[i, j] == (edge in inside)
            for k in schema.classes:
                for i, u in enumerate(schema.fields(k)):
                    edge = Edge(k, u, c, v, False)
                    assert space.global_block(graph.mask, k, c)[i, j] == (edge in inside)
            into = [e for e in graph.edges() if (e.target_class, e.target_field) == (c, v)]
            assert graph.edges(f"{c}.{v}") == into
            # Local ones first, as they are printed.
            assert [e.is_local for e in into] == sorted((e.is_local for e in into), reverse=True)


@settings(max_examples=50)
@given(schemas())
def test_the_index_lists_every_possible_edge_once(schema: Schema) -> None:
    expected = {
        Edge(k, u, c, v, is_local)
        for c, k in product(schema.classes, schema.classes)
        for u, v in product(schema.fields(k), schema.targets(c))
        for is_local in ([True, False] if k == c else [False])
    }
    index = ClassEdges.of(schema)
    assert len(index) == len(index.edges) == len(expected)
    assert set(index.edges) == expected
    assert all(index.edges[i] == edge for edge, i in index.position.items())
    for c in schema.classes:
        for v in schema.targets(c):
            found = [index.edges[i] for i in index.into(f"{c}.{v}")]
            assert set(found) == {e for e in expected if e.target == f"{c}.{v}"}


@settings(max_examples=50)
@given(graphs(), COUNTS)
def test_ground_by_its_definition(graph: ClassGraph, counts: dict[str, int]) -> None:
    """A local edge holds within every object, a global one between all pairs of different ones."""
    expected = set()
    for line in str(graph).splitlines():
        target, _, sources = line.partition(" <- ")
        c, v = target.split(".")
        for j in range(counts[c]):
            for source in sources.replace("(nothing)", "").split(", "):
                if source.startswith("self."):
                    expected.add((f"{c}[{j}].{source[5:]}", f"{c}[{j}].{v}"))
                elif source:
                    k, u = source.split("[*].")
                    expected |= {
                        (f"{k}[{i}].{u}", f"{c}[{j}].{v}")
                        for i in range(counts[k])
                        if k != c or i != j
                    }
    grounded = graph.ground(counts)
    found = {
        (source, target)
        for row, source in enumerate(grounded.inputs)
        for column, target in enumerate(grounded.outputs)
        if grounded.matrix[row, column]
    }
    assert found == expected
    fields = {c: graph.schema.fields(c) for c in graph.schema.classes}
    assert len(grounded.inputs) == sum(counts[c] * len(f) for c, f in fields.items())
    assert len(grounded.outputs) == sum(
        counts[c] * len(graph.schema.targets(c)) for c in graph.schema.classes
    )
    for target in grounded.outputs:
        assert set(grounded.parents(target)) == {s for s, t in expected if t == target}


@settings(max_examples=50)
@given(schemas(), COUNTS)
def test_an_edge_is_testable_if_it_occurs_in_the_grounded_graph(
    schema: Schema, counts: dict[str, int]
) -> None:
    index = ClassEdges.of(schema)
    testable = index.testable(counts)
    assert testable.dtype == bool and testable.shape == (len(index),)
    for edge, is_testable in zip(index.edges, testable, strict=True):
        occurs = ClassGraph.of_edges(schema, [edge]).ground(counts).matrix.any()
        assert is_testable == occurs


# ---------------------------------------------------------------- making


def test_full_and_empty() -> None:
    assert ClassGraph.full(BLOCK).mask.all() and len(ClassGraph.full(BLOCK).edges()) == 84
    assert not ClassGraph.empty(BLOCK).mask.any() and ClassGraph.empty(BLOCK).edges() == []
    assert str(ClassGraph.empty(BLOCK)).splitlines()[0] == "Block.s1 <- (nothing)"
    assert repr(TRUE_GRAPH) == "ClassGraph(14 of 84 edges)"


def test_random_graphs_have_each_edge_with_the_probability() -> None:
    rng = np.random.default_rng(0)
    share = np.mean([ClassGraph.random(BLOCK, 0.9, rng).mask for _ in range(2000)], axis=0)
    # Five standard errors, for 84 edges.
    assert np.all(np.abs(share - 0.9) < 5 * np.sqrt(0.09 / 2000))
    assert ClassGraph.random(BLOCK, 1.0, rng) == ClassGraph.full(BLOCK)
    assert ClassGraph.random(BLOCK, 0.0, rng) == ClassGraph.empty(BLOCK)
    again, other = (ClassGraph.random(BLOCK, 0.5, np.random.default_rng(s)) for s in (3, 4))
    assert again == ClassGraph.random(BLOCK, 0.5, np.random.default_rng(3)) != other


def test_leave_one_out_and_put_it_back() -> None:
    full = ClassGraph.full(BLOCK)
    for edge in full.edges():
        less = full.without(edge)
        assert edge in full and edge not in less
        assert len(less.edges()) == 83
        assert less.without(edge) == less
        assert less.with_edge(edge) == full == full.with_edge(edge)


def test_a_graph_does_not_share_its_mask() -> None:
    mask = np.zeros(84, dtype=bool)
    graph = ClassGraph(BLOCK, mask)
    mask[:] = True
    assert graph == ClassGraph.empty(BLOCK)
    with pytest.raises(ValueError, match="read-only"):
        graph.mask[0] = True


def test_equality() -> None:
    other = Schema(*(type(c, (ObjectClass,), dict(BLOCK.fields(c))) for c in BLOCK.classes))
    assert ClassGraph(other, TRUE_GRAPH.mask) == TRUE_GRAPH
    renamed = Schema(type("Block", (ObjectClass,), {"u": Real()}))
    assert ClassGraph.full(renamed) != ClassGraph.full(BLOCK)
    assert str(TRUE_GRAPH) != TRUE_GRAPH


def test_parse_takes_rows_in_any_order_and_spacing() -> None:
    rows = str(TRUE_GRAPH).splitlines()
    spaced = [row.replace("<-", "  <-  ").replace(", ", " ,") for row in reversed(rows)]
    assert ClassGraph.parse(BLOCK, spaced) == TRUE_GRAPH
    split = [str(edge) for edge in TRUE_GRAPH.edges()]
    assert ClassGraph.parse(BLOCK, split) == TRUE_GRAPH
    assert ClassGraph.parse(BLOCK, []) == ClassGraph.empty(BLOCK)


# ---------------------------------------------------------------- figures by hand


def test_sixteen_of_the_84_edges_of_block_are_untestable() -> None:
    index = ClassEdges.of(BLOCK)
    testable = index.testable({"Block": 5, "Total": 1})
    assert len(index) == 84
    assert [e for e, ok in zip(index.edges, testable, strict=True) if not ok] == [
        Edge("Total", u, "Total", v, False) for u in ("s1", "s2", "s3", "t")
        for v in ("s1", "s2", "s3", "t")
    ]  # fmt: skip
    assert index.testable({"Block": 2, "Total": 2}).all()
    # With one block also the 12 global edges among blocks.
    assert (~index.testable({"Block": 1, "Total": 1})).sum() == 16 + 12
    # Without any block, only the local edges of Total are left.
    assert index.testable({"Block": 0, "Total": 1}).sum() == 16


def test_the_grounded_graph_of_two_blocks() -> None:
    grounded = TRUE_GRAPH.ground({"Block": 2, "Total": 1})
    assert grounded.matrix.shape == (12, 10)
    assert grounded.parents("Block[1].s3") == ["Block[1].s2", "Block[1].s3", "Block[1].a"]
    assert grounded.parents("Total[0].s2") == ["Block[0].s2", "Block[1].s2", "Total[0].s2"]
    assert grounded.parents("Total[0].t") == ["Total[0].t"]


def test_spaces_are_made_once_and_equal_by_schema() -> None:
    edges = ClassEdges.of(BLOCK)
    assert ClassEdges.of(BLOCK) is edges and copy.deepcopy(edges) is edges
    assert ClassEdges(BLOCK) == edges and hash(ClassEdges(BLOCK)) == hash(edges)
    assert ClassEdges.of(Schema(type("Block", (ObjectClass,), {"u": Real()}))) != edges
    values = np.random.default_rng(0).random((3, len(edges)))
    assert edges.local_block(values, "Block").shape == (3, 4, 3)
    assert edges.global_block(values, "Block", "Total").shape == (3, 4, 4)
    assert edges.spread(values[0]) is not None and edges.mask(TRUE_GRAPH) is TRUE_GRAPH.mask


def test_a_class_graph_covers_itself() -> None:
    assert ClassGraph.covering(BLOCK, TRUE_GRAPH) == TRUE_GRAPH


# ---------------------------------------------------------------- errors


def fails(message: str, kind: type[OocdmError] = GraphError) -> Any:
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


def test_errors_of_names() -> None:
    with fails("Unknown class `Blok`. Did you mean `Block`? Known: Block, Total.", SchemaError):
        ClassGraph.parse(BLOCK, ["Total.s1 <- Blok[*].s1"])
    with fails("Unknown class `Totl`. Did you mean `Total`? Known: Block, Total.", SchemaError):
        ClassGraph.parse(BLOCK, ["Totl.s1 <- Block[*].s1"])
    with fails("Unknown field `Block.s9`. Did you mean `s3`? Known: s1, s2, s3, a.", SchemaError):
        ClassGraph.parse(BLOCK, ["Block.s1 <- self.s9"])


def test_errors_of_targets() -> None:
    known = "Block.s1, Block.s2, Block.s3, Total.s1, Total.s2, Total.s3, Total.t"
    for ask in (ClassEdges.of(BLOCK).into, TRUE_GRAPH.parents):
        with fails(f"Unknown target `Block.a`. Did you mean `Block.s3`? Known: {known}."):
            ask("Block.a")


def test_errors_of_edges() -> None:
    to_action = Edge("Block", "s1", "Block", "a", True)
    message = (
        "Edge `Block.a <- self.s1`: `Block.a` is a field with the role action; "
        "only state fields have causes."
    )
    for ask in (
        lambda: ClassGraph.of_edges(BLOCK, [to_action]),
        lambda: TRUE_GRAPH.without(to_action),
        lambda: TRUE_GRAPH.with_edge(to_action),
        lambda: to_action in TRUE_GRAPH,
    ):
        with fails(message):
            ask()
    with fails("Edge `Total.s1 <- self.s1`: a local edge starts in the target's own class."):
        ClassGraph.of_edges(BLOCK, [Edge("Block", "s1", "Total", "s1", True)])


def test_errors_of_masks_counts_and_files() -> None:
    with fails(
        "ClassGraph: expected one boolean for each of the 84 possible edges, got shape (83,)."
    ):
        ClassGraph(BLOCK, np.ones(83, dtype=bool))
    for counts in ({"Block": 3}, {"Block": 3, "Total": -1}):
        with fails(f"ground: expected a number of objects for class `Total`, got counts {counts}."):
            TRUE_GRAPH.ground(counts)
    for wrong in ({}, {"edges": "Block.s1 <- self.s1"}):
        with fails('Graph: expected a JSON object with a list under the key "edges".'):
            ClassGraph.from_json(BLOCK, wrong)
