"""The rules that turn scores into a graph, with an oracle in place of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.discovery import (
    Discovery,
    Rule,
    Search,
    StructureParts,
    discover_around,
    discover_leave_one_out,
)
from oocdm.discovery import search as search_module
from oocdm.envs.block import SCHEMA as BLOCK
from oocdm.envs.block import TRUE_GRAPH as BLOCK_TRUE
from oocdm.envs.mouse import MouseWorld
from oocdm.graph import ClassEdges, ClassGraph
from oocdm.schema import ObjectClass, Real, Schema
from tests.discovery.oracle import Oracle, random_oracle

THRESHOLD = 0.05
SEEDS = st.integers(0, 2**20)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    classes = []
    for name in "ABC"[: draw(st.integers(1, 3))]:
        roles = draw(st.lists(st.sampled_from([{}, {}, {"action": True}]), min_size=0, max_size=3))
        fields = {f: Real(**role) for f, role in zip("vwx", roles, strict=False)}
        classes.append(type(name, (ObjectClass,), {"u": Real(), **fields}))
    return Schema(*classes)


def around(
    oracle: Oracle,
    start: np.ndarray,
    free: np.ndarray | None = None,
    threshold: float = THRESHOLD,
    path_threshold: float = THRESHOLD,
    **options: Any,
) -> Discovery:
    free = np.ones(len(start), dtype=bool) if free is None else free
    search = Search(None, free, Rule(threshold=threshold), path_threshold, None)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "part_gains", oracle.part_gains)
        return discover_around(oracle.model, start, search, **options)


def leave_one_out(oracle: Oracle, testable: np.ndarray, threshold: float = THRESHOLD) -> Discovery:
    num_paths = StructureParts.of(oracle.schema).width - len(testable)
    free = np.concatenate([testable, np.zeros(num_paths, dtype=bool)])
    start = np.concatenate([np.zeros_like(testable), np.ones(num_paths, dtype=bool)])
    search = Search(None, free, Rule(threshold=threshold), 0.0, None)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "part_gains", oracle.part_gains)
        return discover_leave_one_out(oracle.model, start, search)


def everything(schema: Schema) -> np.ndarray:
    return np.ones(StructureParts.of(schema).width, dtype=bool)


def starts(schema: Schema, rng: np.random.Generator) -> dict[str, np.ndarray]:
    full = everything(schema)
    return {
        "full": full,
        "empty": ~full,
        "random": rng.random(len(full)) < rng.random(),
        "another": rng.random(len(full)) < 0.5,
    }


# ---------------------------------------------------------------- Algorithm 1


@settings(max_examples=20)
@given(schemas(), SEEDS)
def test_leave_one_out_recovers_the_graph(schema: Schema, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # What stands in for a cause leaves it at least 0.2 * 0.5 nats of its own.
    oracle, true = random_oracle(schema, rng, (0.3, 0.8), everything(schema))
    num = len(ClassEdges.of(schema))
    found = leave_one_out(oracle, np.ones(num, dtype=bool))
    assert found.graph == ClassGraph(schema, true[:num])
    assert oracle.calls == 1
    assert found.structure[num:].all()
    assert not np.isnan(found.evidence.score).any()
    np.testing.assert_array_equal(found.graph.mask, found.evidence.score > THRESHOLD)


@settings(max_examples=20)
@given(schemas(), SEEDS)
def test_leave_one_out_never_takes_an_untestable_edge(schema: Schema, seed: int) -> None:
    rng = np.random.default_rng(seed)
    oracle, true = random_oracle(schema, rng, (0.3, 0.8), everything(schema))
    num = len(ClassEdges.of(schema))
    testable = rng.random(num) < 0.6
    oracle.gains[:num][~testable] = 9.0
    for i in np.flatnonzero(~testable):
        oracle.stand_ins.pop(int(i), None)  # nothing is there for others to stand in for
    found = leave_one_out(oracle, testable)
    np.testing.assert_array_equal(found.graph.mask, testable & true[:num])
    np.testing.assert_array_equal(np.isnan(found.evidence.score), ~testable)
    np.testing.assert_array_equal(found.evidence.decision != "untestable", testable)


def test_an_edge_must_exceed_the_threshold() -> None:
    schema = Schema(type("A", (ObjectClass,), {"u": Real()}))
    gains = np.array([0.25, 0.5, 0, 0, 0])
    found = leave_one_out(Oracle(schema, gains), np.ones(2, dtype=bool), threshold=0.25)
    assert found.graph.mask.tolist() == [False, True]
    assert around(
        Oracle(schema, gains), np.ones(5, bool), threshold=0.25, path_threshold=0.25
    ).graph == (found.graph)


def test_leave_one_out_loses_both_of_two_inputs_that_carry_the_same() -> None:
    """The weakness of the paper's rule that the search around an estimate mends."""
    schema = Schema(type("A", (ObjectClass,), {"u": Real()}))
    oracle = Oracle(schema, np.array([1.0, -0.01, -0.01, -0.01, -0.01]), {0: {1: 0.99}})
    assert not leave_one_out(oracle, np.ones(2, dtype=bool)).graph.mask.any()
    assert around(oracle, everything(schema)).graph.mask.tolist() == [True, False]


# ---------------------------------------------------------------- the search around an estimate


@settings(max_examples=20)
@given(schemas(), SEEDS)
def test_exact_recovery_from_any_start(schema: Schema, seed: int) -> None:
    rng = np.random.default_rng(seed)
    oracle, true = random_oracle(schema, rng, (0.3, 0.8), everything(schema))
    for name, start in starts(schema, rng).items():
        before = start.copy()
        found = around(oracle, start, max_passes=60)
        np.testing.assert_array_equal(found.structure, true, err_msg=name)
        np.testing.assert_array_equal(found.graph.mask, true[: len(found.graph.mask)])
        np.testing.assert_array_equal(start, before)  # the caller's own is left alone
        expected = oracle.part_gains(None, None, true, None).mean[: len(found.graph.mask)]
        np.testing.assert_allclose(found.evidence.score, expected, atol=1e-12)


@settings(max_examples=20)
@given(schemas(), SEEDS)
def test_recovery_among_nearly_perfect_proxies(schema: Schema, seed: int) -> None:
    """While both are present, a cause and its proxy are both weak; one of them must stay."""
    rng = np.random.default_rng(seed)
    oracle, true = random_oracle(schema, rng, (0.985, 0.999), everything(schema), is_shared=False)
    for start in (everything(schema), ~everything(schema)):
        np.testing.assert_array_equal(around(oracle, start, max_passes=60).structure, true)


@pytest.mark.parametrize(("share", "calls"), [(0.98, 3), (0.999, 1)])
def test_an_impostor_gives_way_to_the_cause_that_it_stands_in_for(share: float, calls: int) -> None:
    """The cause adds too little beside the impostor to be found, but enough to be tried."""
    schema = Schema(type("A", (ObjectClass,), {"u": Real()}))
    oracle = Oracle(schema, np.array([1.0, -0.01, -0.01, -0.01, -0.01]), {0: {1: share}})
    impostor = np.array([False, True, False, False, False])
    found = around(oracle, impostor)
    is_tried = 1 - share > 0.005
    assert found.graph.mask.tolist() == ([True, False] if is_tried else [False, True])
    assert oracle.calls == calls


def test_a_part_is_tried_once() -> None:
    schema = Schema(type("A", (ObjectClass,), {"u": Real()}))
    oracle = Oracle(schema, np.array([0.03, 1.0, -0.01, -0.01, -0.01]))
    start = np.array([False, True, False, False, False])
    found = around(oracle, start)
    assert found.graph.mask.tolist() == [False, True]
    assert oracle.calls == 3  # tried, dropped, and that is all


@settings(max_examples=20)
@given(schemas(), SEEDS)
def test_a_settled_structure_stays(schema: Schema, seed: int) -> None:
    oracle, true = random_oracle(
        schema, np.random.default_rng(seed), (0.3, 0.8), everything(schema)
    )
    np.testing.assert_array_equal(around(oracle, true).structure, true)
    assert oracle.calls == 1


@settings(max_examples=20)
@given(schemas(), SEEDS)
def test_parts_that_are_not_free_never_move(schema: Schema, seed: int) -> None:
    rng = np.random.default_rng(seed)
    oracle, _ = random_oracle(schema, rng, (0.3, 0.8), everything(schema))
    free = rng.random(len(oracle.gains)) < 0.5
    # Whatever the scores say of them.
    oracle.gains[~free] = rng.choice([-9.0, 9.0], (~free).sum())
    oracle.stand_ins.clear()
    num = len(ClassEdges.of(schema))
    for start in starts(schema, rng).values():
        found = around(oracle, start, free, max_passes=60)
        np.testing.assert_array_equal(found.structure[~free], start[~free])
        np.testing.assert_array_equal(found.structure[free], (oracle.gains > THRESHOLD)[free])
        np.testing.assert_array_equal(np.isnan(found.evidence.score), ~free[:num])
        np.testing.assert_array_equal(found.evidence.decision == "untestable", ~free[:num])


@settings(max_examples=20)
@given(schemas(), SEEDS)
def test_untestable_edges_never_enter(schema: Schema, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = {c: int(rng.integers(1, 3)) for c in schema.classes}
    testable = ClassEdges.of(schema).testable(counts)
    num_paths = StructureParts.of(schema).width - len(testable)
    free = np.concatenate([testable, np.ones(num_paths, dtype=bool)])
    oracle, true = random_oracle(schema, rng, (0.3, 0.8), free)
    oracle.gains[~free] = 9.0
    for start in starts(schema, rng).values():
        found = around(oracle, start & free, free, max_passes=60)
        assert not found.graph.mask[~testable].any()
        np.testing.assert_array_equal(found.structure, true)
        assert np.isnan(found.evidence.score[~testable]).all()


def test_edges_and_paths_have_their_own_thresholds() -> None:
    schema = Schema(type("A", (ObjectClass,), {"u": Real()}))
    gains = np.array([0.03, 0.06, 0.03, 0.01, 0.03])
    for start in (np.ones(5, bool), np.zeros(5, bool)):
        found = around(Oracle(schema, gains), start, threshold=0.05, path_threshold=0.02)
        assert found.structure.tolist() == [False, True, True, False, True]


def test_targets_move_side_by_side() -> None:
    """As many passes as the busiest target needs, not as many as there are edges."""
    gains = np.full(StructureParts.of(BLOCK).width, -0.01)
    gains[: len(BLOCK_TRUE.mask)][BLOCK_TRUE.mask] = 1.0
    oracle = Oracle(BLOCK, gains)
    found = around(oracle, np.zeros(len(gains), dtype=bool))
    assert found.graph == BLOCK_TRUE
    assert oracle.calls == 3 + 1  # Block.s3 has three parents; the last pass moves nothing


@pytest.mark.parametrize("name", ["block", "mouse"])
@pytest.mark.parametrize("seed", range(5))
def test_the_default_number_of_passes_is_enough_for_the_paper_s_worlds(
    name: str, seed: int
) -> None:
    true_graph = BLOCK_TRUE if name == "block" else MouseWorld().true_graph
    schema, rng = true_graph.schema, np.random.default_rng(seed)
    oracle, _ = random_oracle(schema, rng, (0.3, 0.8), everything(schema))
    true = np.concatenate([true_graph.mask, oracle.gains[len(true_graph.mask) :] > 0])
    oracle.gains = np.where(true, rng.uniform(0.5, 3, len(true)), -0.01)
    for start in starts(schema, rng).values():
        assert around(oracle, start).graph == true_graph


def test_a_search_that_is_cut_off_returns_what_it_has() -> None:
    gains = np.full(StructureParts.of(BLOCK).width, 1.0)
    found = around(Oracle(BLOCK, gains), np.zeros(len(gains), dtype=bool), max_passes=2)
    parts = StructureParts.of(BLOCK)
    assert [int(found.structure[c].sum()) for c in parts.columns] == [2] * len(parts.columns)
