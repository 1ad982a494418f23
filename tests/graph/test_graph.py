"""What both kinds of graphs answer: edges, parents, children, exports."""

from __future__ import annotations

import json
import re
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, settings

from oocdm.envs.block import TRUE_GRAPH
from oocdm.errors import GraphError
from oocdm.graph import ClassEdges, ClassGraph, EdgeEvidence, Evidence, Graph, graph_from_json
from oocdm.schema import ObjectClass, Real, Schema
from tests.graph.strategies import COUNTS, graphs

GROUNDED = TRUE_GRAPH.ground({"Block": 2, "Total": 1})
BOTH: Any = pytest.mark.parametrize("graph", [TRUE_GRAPH, GROUNDED], ids=["classes", "variables"])


@BOTH
def test_parents_and_children_are_two_views_of_the_edges(graph: Graph) -> None:
    edges = graph.edges()
    assert len(edges) == int(graph.mask.sum())
    by_target = [e for target in graph.targets for e in graph.edges(target=target)]
    assert sorted(map(str, by_target)) == sorted(map(str, edges))
    for target in graph.targets:
        assert [e.target for e in graph.edges(target)] == [target] * len(graph.parents(target))
        assert graph.parents(target) == [e.source for e in edges if e.target == target]
    for cause in graph.causes:
        children = graph.children(cause)
        assert set(children) == {e.target for e in edges if e.cause == cause}
        assert children == [target for target in graph.targets if target in children]
    for edge in edges:
        assert edge in graph and str(edge) in graph
    assert str(graph).splitlines()[0] in graph  # a row: all of its edges


def test_names_of_parents_and_children() -> None:
    assert TRUE_GRAPH.parents("Total.s1") == ["self.s1", "Block[*].s1"]
    assert TRUE_GRAPH.children("Block.s1") == ["Block.s1", "Block.s2", "Total.s1"]
    assert TRUE_GRAPH.children("Block.a")[0] == "Block.s1"
    assert GROUNDED.parents("Total[0].s1") == ["Block[0].s1", "Block[1].s1", "Total[0].s1"]
    assert GROUNDED.children("Block[1].s1") == ["Block[1].s1", "Block[1].s2", "Total[0].s1"]
    local, *others = GROUNDED.edges("Total[0].s1")[::-1]
    assert local.is_local and not any(e.is_local for e in others)
    assert "Block.s1 <- Block[*].s1" not in TRUE_GRAPH
    assert "Block[0].s1 <- Block[1].s1" not in GROUNDED


def test_a_row_without_sources_is_no_edge() -> None:
    with pytest.raises(
        GraphError, match=r"^Edge: expected a row with a source, got 'Block\.s1 <- "
    ):
        _ = "Block.s1 <- (nothing)" in TRUE_GRAPH
    with pytest.raises(GraphError, match=r"^compare: expected counts or testable edges, got both"):
        TRUE_GRAPH.compare(TRUE_GRAPH, {"Block": 1, "Total": 1}, TRUE_GRAPH.mask)


@pytest.mark.parametrize(
    ("graph", "wrong", "right"),
    [(TRUE_GRAPH, "Total.s9", "Total.s3"), (GROUNDED, "Total[1].t", "Total[0].t")],
)
def test_unknown_names_get_a_suggestion(graph: Graph, wrong: str, right: str) -> None:
    for what, ask in (
        ("target", graph.parents),
        ("target", graph.edges),
        ("source", graph.children),
    ):
        message = f"^Unknown {what} `{re.escape(wrong)}`. Did you mean `{re.escape(right)}`"
        with pytest.raises(GraphError, match=message):
            ask(wrong)
    with pytest.raises(GraphError, match=r"^Unknown variable `Moon"):
        "Block[0].s1 <- Moon[0].s1" in GROUNDED  # noqa: B015


@BOTH
def test_either_graph(graph: Graph) -> None:
    empty = graph.with_mask(np.zeros(graph.mask.size, dtype=bool))
    assert empty | graph == graph == graph | empty
    assert (GROUNDED | TRUE_GRAPH) == GROUNDED
    assert graph != empty and len({graph, empty, graph | empty}) == 2


@BOTH
def test_json_of_either_kind(graph: Graph) -> None:
    again = graph_from_json(TRUE_GRAPH.schema, json.loads(json.dumps(graph.to_json())))
    assert again == graph and type(again) is type(graph)


@settings(max_examples=50)
@given(graphs(), COUNTS)
def test_exports_have_exactly_the_edges(of_classes: ClassGraph, counts: dict[str, int]) -> None:
    for graph in (of_classes, of_classes.ground(counts)):
        check_exports(graph)


def check_exports(graph: Graph) -> None:
    expected = {
        (
            e.cause if e.is_local else e.source,
            f"{e.target}'",
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


class Ball(ObjectClass):
    x = Real()


def test_exports_with_evidence_carry_what_the_data_say() -> None:
    edges = ClassEdges.of(Schema(Ball))
    yes, no = np.ones(2, dtype=bool), np.zeros(2, dtype=bool)
    evidence = Evidence.of_test(
        edges, yes, yes, no, score=np.array([0.5, np.nan]), low=np.array([0.25, np.nan])
    )
    graph = evidence.graph
    assert graph.to_dot(evidence).splitlines()[2:4] == [
        '  "Ball.x" -> "Ball.x\'" [label="0.5"];',
        '  "Ball[*].x" -> "Ball.x\'" [style=dashed];',  # it has no score
    ]
    assert graph.to_mermaid(evidence).splitlines()[1:] == [
        '  n0["Ball.x"] -->|0.5| n1["Ball.x\'"]',
        '  n2["Ball[*].x"] -.-> n1["Ball.x\'"]',
    ]
    found = graph.to_networkx(evidence).edges["Ball.x", "Ball.x'"]
    assert (found["kind"], found["score"], found["low"]) == ("local", 0.5, 0.25)
    assert np.isnan(found["high"]) and np.isnan(found["p_value"])
    assert found["decision"] == "yes"
    both = {name: EdgeEvidence(name, "yes", score=2.0) for name in edges.names}
    assert '" [style=dashed, label="2"];' in graph.to_dot(both)
    with pytest.raises(GraphError, match=r"^Unknown edge `Ball\[0\]\.x <- Ball\[0\]\.x`\."):
        graph.ground({"Ball": 1}).to_dot(evidence)
