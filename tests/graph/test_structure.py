"""Sets of parts: edges and paths of a layout."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.envs.block import SCHEMA as BLOCK
from oocdm.envs.block import TRUE_GRAPH
from oocdm.errors import GraphError
from oocdm.graph import AbstractEdgeSpace, ClassEdges, ClassGraph, Layout, Structure, VariableEdges
from oocdm.schema import Schema
from tests.graph.strategies import COUNTS, schemas

PATHS = ("network", "sum")
LAYOUT = Layout(ClassEdges.of(BLOCK), PATHS)


def spaces(schema: Schema, counts: Mapping[str, int]) -> list[AbstractEdgeSpace]:
    own = {c: counts[c] for c in schema.classes}
    return [ClassEdges.of(schema), VariableEdges(schema, own)]


def random_structure(layout: Layout, rng: np.random.Generator) -> Structure:
    return Structure(layout, rng.random(len(layout)) < 0.5)


@settings(max_examples=40)
@given(schemas(), COUNTS, st.sampled_from([(), ("network",), PATHS]), st.integers(0, 99))
def test_structures_are_sets_of_parts(
    schema: Schema, counts: dict[str, int], paths: tuple[str, ...], seed: int
) -> None:
    for edges in spaces(schema, counts):
        layout, rng = Layout(edges, paths), np.random.default_rng(seed)
        a, b, c = (random_structure(layout, rng) for _ in range(3))
        x, y, z = (set(each.names) for each in (a, b, c))
        assert set((a | b).names) == x | y
        assert set((a & b).names) == x & y
        assert set((a ^ b).names) == x ^ y
        assert set((a - b).names) == x - y
        assert set(a.where(c, b).names) == (x & z) | (y - z)
        assert (a - a).any() is False and (a | b).any() is bool(x | y)
        assert layout.parse(a.names) == a == a.with_edges(a.edges).with_paths(a.paths)
        assert layout.parse(a.names[::-1]) == a
        assert edges.mask(a.graph).tolist() == a.edges.tolist()
        assert layout.of_graph(a.graph) == a.with_paths(True)
        assert set(a.with_edges(False).names) == {name for name in x if " by " in name}


@settings(max_examples=40)
@given(schemas(), COUNTS, st.sampled_from([(), PATHS]))
def test_every_part_is_of_one_target(
    schema: Schema, counts: dict[str, int], paths: tuple[str, ...]
) -> None:
    for edges in spaces(schema, counts):
        layout = Layout(edges, paths)
        assert len(layout) == len(layout.names) == len(edges) + len(edges.targets) * len(paths)
        assert layout.is_edge.tolist() == [" <- " in name for name in layout.names]
        assert len(layout.by_target) == len(edges.targets)
        for target, places in zip(edges.targets, layout.by_target, strict=True):
            expected = [n for n in layout.names if n.startswith((f"{target} <- ", f"{target} by "))]
            assert [layout.names[i] for i in places] == expected
        together = sorted(np.concatenate([*layout.by_target, np.zeros(0, int)]).tolist())
        assert together == list(range(len(layout)))


def test_parts_of_block_by_hand() -> None:
    structure = LAYOUT.of_graph(TRUE_GRAPH)
    assert repr(structure) == "Structure(14 of 84 edges, 14 of 14 paths)"
    assert repr(Structure(Layout(LAYOUT.edges), TRUE_GRAPH.mask)) == "Structure(14 of 84 edges)"
    assert structure.graph == TRUE_GRAPH
    places = LAYOUT.by_target[3]  # of Total.s1: 4 own fields, 4 of blocks, 4 of other totals
    assert len(places) == 12 + 2
    assert [LAYOUT.names[i] for i in places[-2:]] == ["Total.s1 by network", "Total.s1 by sum"]
    few = structure.with_paths(np.arange(14) == 6)
    assert few.names[-1] == "Total.s1 by network" and len(few.names) == 15
    assert structure == LAYOUT.structure(TRUE_GRAPH.mask) != few
    assert structure != "Structure"


def test_layouts_are_equal_by_what_they_hold() -> None:
    counts = {"Block": 2, "Total": 1}
    layouts = [
        Layout(edges, paths)
        for edges, paths in product([ClassEdges(BLOCK), VariableEdges(BLOCK, counts)], [(), PATHS])
    ]
    assert Layout(ClassEdges(BLOCK), PATHS) == LAYOUT
    assert len(set(layouts)) == 4 and LAYOUT in set(layouts)


def test_a_structure_does_not_share_its_flags() -> None:
    flags = np.zeros(len(LAYOUT), dtype=bool)
    structure = Structure(LAYOUT, flags)
    flags[:] = True
    assert not structure.any()
    with pytest.raises(ValueError, match="read-only"):
        structure.edges[0] = True


# ---------------------------------------------------------------- errors


def fails(message: str) -> Any:
    return pytest.raises(GraphError, match=f"^{re.escape(message)}$")


def test_wrong_sizes() -> None:
    expected = "Structure: expected one boolean for each of its 98 elements, got"
    with fails(f"{expected} bool of shape (84,)."):
        Structure(LAYOUT, TRUE_GRAPH.mask)
    with fails(f"{expected} float64 of shape (98,)."):
        Structure(LAYOUT, np.zeros(98))


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (TRUE_GRAPH, repr(TRUE_GRAPH)),
        (np.full(84, 0.01), "float64 of shape (84,)"),
        (np.ones(83, dtype=bool), "bool of shape (83,)"),
        (np.array([True]), "bool of shape (1,)"),
        (None, "None"),
    ],
)
def test_what_is_no_mask_does_not_mean_everything(given: Any, got: str) -> None:
    with fails(
        f"Structure: expected True, False or one boolean for each edge of 84, got {got}. Of a "
        "graph: layout.edges.mask(graph)."
    ):
        LAYOUT.structure(given)
    assert hash(LAYOUT.structure(True)) == hash(LAYOUT.structure(np.ones(84, dtype=bool)))


def test_layouts_that_differ() -> None:
    other = Layout(LAYOUT.edges, ("network",)).structure(True)
    ours = LAYOUT.structure(True)
    for combine in (
        lambda: ours | other,
        lambda: ours & other,
        lambda: ours - other,
        lambda: ours ^ other,
        lambda: ours.where(ours, other),
    ):
        with fails("Structure: expected one of the same layout, got another's."):
            combine()
    assert ours != other


def test_unknown_elements_and_graphs() -> None:
    with fails("Structure: expected elements of its layout, got `Total.s1 by magic`."):
        LAYOUT.parse(["Total.s1 <- self.s1", "Total.s1 by magic"])
    with pytest.raises(GraphError, match=r"^Expected a class graph, got a variable graph\."):
        LAYOUT.of_graph(TRUE_GRAPH.ground({"Block": 1, "Total": 1}))
    variables = Layout(VariableEdges(BLOCK, {"Block": 2, "Total": 1}))
    assert variables.of_graph(ClassGraph.full(BLOCK)) == variables.structure(True)
