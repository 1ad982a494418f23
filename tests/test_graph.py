"""Class graphs, the graphs over single variables that they stand for, and their comparison."""

from __future__ import annotations

import json
import re
from itertools import product
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.envs.block import SCHEMA as BLOCK
from oocdm.envs.block import TRUE_GRAPH
from oocdm.errors import GraphError, OocdmError, SchemaError
from oocdm.graph import ClassGraph, Edge, EdgeIndex, GraphComparison, VariableGraph
from oocdm.schema import ObjectClass, Real, Schema

# ---------------------------------------------------------------- random graphs


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """One to three classes of one to three fields in any roles; the first has a target."""
    roles = st.sampled_from([{}, {}, {"action": True}, {"static": True}])
    classes = []
    for name in "ABC"[: draw(st.integers(1, 3))]:
        fields = {f: Real(**draw(roles)) for f in "uvw"[: draw(st.integers(1, 3))]}
        if name == "A":
            fields["u"] = Real()
        classes.append(type(name, (ObjectClass,), fields))
    return Schema(*classes)


@st.composite
def graphs(draw: st.DrawFn, schema: Schema | None = None) -> ClassGraph:
    schema = schema or draw(schemas())
    mask = draw(st.lists(st.booleans(), min_size=len(EdgeIndex.of(schema)), max_size=99))
    return ClassGraph(schema, np.array(mask[: len(EdgeIndex.of(schema))]))


COUNTS = st.fixed_dictionaries({c: st.integers(0, 3) for c in "ABC"})


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
    schema = graph.schema
    inside = set(graph.edges())
    for c in schema.classes:
        for j, v in enumerate(schema.targets(c)):
            for i, u in enumerate(schema.fields(c)):
                assert graph.local(c)[i, j] == (Edge(c, u, c, v, True) in inside)
            for k in schema.classes:
                for i, u in enumerate(schema.fields(k)):
                    assert graph.global_(k, c)[i, j] == (Edge(k, u, c, v, False) in inside)
            into = [e for e in graph.edges() if (e.target_class, e.target_field) == (c, v)]
            assert sorted(graph.parents(c, v), key=str) == sorted(into, key=str)
            # Local ones first, as they are printed.
            assert [e.is_local for e in graph.parents(c, v)] == sorted(
                (e.is_local for e in into), reverse=True
            )


@settings(max_examples=50)
@given(schemas())
def test_the_index_lists_every_possible_edge_once(schema: Schema) -> None:
    expected = {
        Edge(k, u, c, v, is_local)
        for c, k in product(schema.classes, schema.classes)
        for u, v in product(schema.fields(k), schema.targets(c))
        for is_local in ([True, False] if k == c else [False])
    }
    index = EdgeIndex.of(schema)
    assert len(index) == len(index.edges) == len(expected)
    assert set(index.edges) == expected
    assert all(index.edges[i] == edge for edge, i in index.position.items())
    for c in schema.classes:
        for v in schema.targets(c):
            found = [index.edges[i] for i in index.of_target(c, v)]
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


@settings(max_examples=50)
@given(schemas(), COUNTS)
def test_an_edge_is_testable_if_it_occurs_in_the_grounded_graph(
    schema: Schema, counts: dict[str, int]
) -> None:
    index = EdgeIndex.of(schema)
    testable = index.testable(counts)
    assert testable.dtype == bool and testable.shape == (len(index),)
    for edge, is_testable in zip(index.edges, testable, strict=True):
        occurs = ClassGraph.of_edges(schema, [edge]).ground(counts).matrix.any()
        assert is_testable == occurs


@settings(max_examples=50)
@given(graphs())
def test_exports_have_exactly_the_edges(graph: ClassGraph) -> None:
    expected = {
        (
            f"{e.source_class}{'' if e.is_local else '[*]'}.{e.source_field}",
            f"{e.target_class}.{e.target_field}'",
            "local" if e.is_local else "global",
        )
        for e in graph.edges()
    }
    exported = graph.to_networkx()
    assert isinstance(exported, networkx.DiGraph)
    assert {(a, b, kind) for a, b, kind in exported.edges(data="kind")} == expected
    dot = re.findall(r'^  "(.+)" -> "(.+)"( \[style=dashed\])?;$', graph.to_dot(), re.M)
    assert {(a, b, "global" if dashed else "local") for a, b, dashed in dot} == expected
    mermaid = re.findall(r'^  (n\d+)\["(.+)"\] (\S+) (n\d+)\["(.+)"\]$', graph.to_mermaid(), re.M)
    arrows = {"-->": "local", "-.->": "global"}
    assert {(a, b, arrows[arrow]) for _, a, arrow, _, b in mermaid} == expected
    assert len(dot) == len(mermaid) == len(expected)
    # Names of nodes stand for their labels one to one.
    names = {(n, label) for n1, a, _, n2, b in mermaid for n, label in ((n1, a), (n2, b))}
    assert len({n for n, _ in names}) == len({label for _, label in names}) == len(names)


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

WRONG = (
    TRUE_GRAPH.without(Edge("Block", "a", "Block", "s1", True))
    .without(Edge("Block", "s1", "Total", "s1", False))
    .with_edge(Edge("Block", "s2", "Block", "s1", False))
    .with_edge(Edge("Total", "s1", "Total", "t", False))
    .with_edge(Edge("Total", "s1", "Total", "t", True))
)


def test_sixteen_of_the_84_edges_of_block_are_untestable() -> None:
    index = EdgeIndex.of(BLOCK)
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


def test_the_grounded_graph_of_two_blocks() -> None:
    grounded = TRUE_GRAPH.ground({"Block": 2, "Total": 1})
    assert grounded.matrix.shape == (12, 10)
    assert grounded.parents("Block[1].s3") == ["Block[1].s2", "Block[1].s3", "Block[1].a"]
    assert grounded.parents("Total[0].s2") == ["Block[0].s2", "Block[1].s2", "Total[0].s2"]
    assert grounded.parents("Total[0].t") == ["Total[0].t"]


def test_exports_of_a_small_graph() -> None:
    class Ball(ObjectClass):
        x = Real()

    graph = ClassGraph.full(Schema(Ball))
    assert graph.to_dot() == (
        "digraph causes {\n  rankdir=LR;\n"
        '  "Ball.x" -> "Ball.x\'";\n  "Ball[*].x" -> "Ball.x\'" [style=dashed];\n}'
    )
    assert graph.to_mermaid() == (
        'graph LR\n  n0["Ball.x"] --> n1["Ball.x\'"]\n  n2["Ball[*].x"] -.-> n1["Ball.x\'"]'
    )
    assert graph.to_json() == {"edges": ["Ball.x <- self.x", "Ball.x <- Ball[*].x"]}
    assert networkx.is_bipartite(TRUE_GRAPH.to_networkx())


# ---------------------------------------------------------------- errors


def fails(message: str, kind: type[OocdmError] = GraphError) -> Any:
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


def test_errors_of_rows() -> None:
    form = "expected the form `Total.s1 <- self.s1, Block[*].s1`."
    for row in ("Total.s1", "Total <- self.s1", "", "Total.s1 -> self.s1"):
        with fails(f"Graph row {row!r}: {form}"):
            ClassGraph.parse(BLOCK, [row])
    for source in ("Block.s1", "s1", "Block[0].s1", "self"):
        with fails(
            f"Graph row 'Total.s1 <- {source}': expected `self.field` or `Class[*].field`, "
            f"got `{source}`."
        ):
            ClassGraph.parse(BLOCK, [f"Total.s1 <- {source}"])


def test_errors_of_names() -> None:
    with fails("Unknown class `Blok`. Did you mean `Block`? Known: Block, Total.", SchemaError):
        ClassGraph.parse(BLOCK, ["Total.s1 <- Blok[*].s1"])
    with fails("Unknown class `Totl`. Did you mean `Total`? Known: Block, Total.", SchemaError):
        ClassGraph.parse(BLOCK, ["Totl.s1 <- Block[*].s1"])
    with fails("Unknown field `Block.s9`. Did you mean `s3`? Known: s1, s2, s3, a.", SchemaError):
        ClassGraph.parse(BLOCK, ["Block.s1 <- self.s9"])
    with pytest.raises(SchemaError, match=r"^Unknown field `Block\.t`\."):
        TRUE_GRAPH.parents("Block", "t")


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


def test_errors_of_comparison() -> None:
    other = ClassGraph.full(Schema(type("Block", (ObjectClass,), {"s1": Real()})))
    with fails(
        "Cannot compare graphs of different schemas: classes ['Block', 'Total'] against ['Block']."
    ):
        TRUE_GRAPH.compare(other)
    small, large = (TRUE_GRAPH.ground({"Block": n, "Total": 1}) for n in (1, 2))
    with fails(
        "Cannot compare variable graphs over different variables: only one has `Block[1].a`."
    ):
        small.compare(large)
    with fails(
        "compare: expected a graph between classes, got VariableGraph. Compare graphs between "
        "variables: graph.ground(counts).compare(other)."
    ):
        TRUE_GRAPH.compare(large)  # type: ignore[arg-type]
    with fails(
        "Unknown variable `Total[1].t`. Did you mean `Total[0].t`? Known: Block[0].s1, "
        "Block[0].s2, Block[0].s3, Total[0].s1, Total[0].s2, Total[0].s3, Total[0].t."
    ):
        small.parents("Total[1].t")
    assert isinstance(small, VariableGraph)
