"""What training is given, and that it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oocdm
from oocdm import ModelError, ObjectClass, Real, Schema, VariableGraph
from oocdm.discovery import Discovery
from oocdm.graph import ClassEdges, Evidence, Layout, Structure, VariableEdges
from oocdm.methods.cdl import Cdl
from oocdm.methods.method import DataInquiry, Inquiry
from oocdm.training.given import check_new, checksum, keep_given, with_given
from tests.methods.toys import DATA, QUICK, TRUE


@dataclass(frozen=True)
class Headstrong(Cdl):
    """Says the contrary of what it is given, of every edge, before training and after it."""

    name: ClassVar[str] = "headstrong"
    first: bool = False

    def discover_first(self, inquiry: DataInquiry) -> Discovery | None:
        return self.say(inquiry.free.layout, True) if self.first else None

    def discover(self, inquiry: Inquiry) -> Discovery | None:
        return self.say(inquiry.free.layout, not inquiry.estimate.flags.all())

    def say(self, layout: Layout, are_in: bool) -> Any:
        decision = np.full(len(layout.edges), "yes" if are_in else "no")
        said = replace(Evidence.nothing(layout.edges), decision=decision, score=decision == "yes")
        return Discovery(layout.structure(are_in), said)


@dataclass(frozen=True)
class Wrong(Headstrong):
    """Says something else than a discovery of its layout."""

    name: ClassVar[str] = "wrong"
    kind: str = "size"

    def say(self, layout: Layout, are_in: bool) -> Any:
        other = Layout(VariableEdges(layout.edges.schema, {"Ball": 1, "Lamp": 1}))
        yes = np.ones(len(layout), dtype=bool)
        decided = Evidence.of_test(layout.edges, yes, yes, ~yes)
        return {
            "size": Discovery(other.structure(True), decided),
            "array": Discovery(yes, decided),  # type: ignore[arg-type]
            "tuple": (layout.structure(True), decided),
            "evidence": Discovery(layout.structure(True), Evidence.nothing(other.edges)),
            "outside": Discovery(layout.structure(False), decided),
        }[self.kind]


@pytest.mark.parametrize("first", [False, True])
def test_what_was_given_holds_whatever_a_method_says(first: bool) -> None:
    method = Headstrong(schedule=QUICK, first=first)
    known = oocdm.fit(DATA, method, graph=TRUE)
    assert known.graph == TRUE
    rows = ["Ball.x <- Lamp[*].heat, !self.push"]
    result = oocdm.fit(DATA, method, priors=rows)
    assert isinstance(result.graph, VariableGraph)
    for i in range(2):
        parents = result.graph.parents(f"Ball[{i}].x")
        assert "Lamp[0].heat" in parents and f"Ball[{i}].push" not in parents
    assert set(result.evidence.decision) > {"required", "forbidden"}
    is_given = np.isin(result.evidence.decision, ["required", "forbidden"])
    assert np.isnan(result.evidence.score[is_given]).all()
    for found in (known, result):
        assert found.graph == found.evidence.graph


SAID = {
    "size": "expected a Structure of the layout that it was given, Layout(24 elements, 24 of them "
    "edges), got Structure(12 of 12 edges). Make one: estimate.with_edges(...).",
    "array": "expected a Structure of the layout that it was given, Layout(24 elements, 24 of them "
    "edges), got ndarray. Make one: estimate.with_edges(...).",
    "tuple": "expected a Discovery or None, got tuple. Return Discovery(structure, evidence).",
    "evidence": "expected Evidence of the edges of the layout, got Evidence(12 undecided). Make "
    "one: Evidence.of_test(layout.edges, ...).",
    "outside": "expected every edge that the evidence decides for in the structure, got "
    "`Ball[0].x <- Ball[0].x` outside. Make them agree: structure.with_edges(evidence.is_in).",
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("kind", SAID)
def test_anything_but_a_discovery_of_the_layout_is_refused(kind: str, first: bool) -> None:
    name = "discover_first" if first else "discover"
    message = f"Method `wrong`: `{name}`: {SAID[kind]}"
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        oocdm.fit(DATA, Wrong(schedule=QUICK, first=first, kind=kind))


class Ant(ObjectClass):
    x = Real()
    y = Real()


ANTS = Layout(ClassEdges(Schema(Ant)), ("network",))


@given(st.integers(0, 2**20))
def test_only_what_is_free_is_taken(seed: int) -> None:
    rng = np.random.default_rng(seed)
    estimate, free, said = (Structure(ANTS, rng.random(len(ANTS)) < 0.5) for _ in range(3))
    words = np.where(said.edges, rng.choice(["yes", "no", "undecided"], ANTS.num_edges), "no")
    evidence = replace(Evidence.nothing(ANTS.edges), decision=words, score=rng.random(8))
    testable = rng.random(ANTS.num_edges) < 0.5
    found = keep_given("discover", Discovery(said, evidence), estimate, free, testable)
    assert found.structure == said.where(free, estimate)
    assert found.evidence.decision[free.edges].tolist() == words[free.edges].tolist()
    assert np.isnan(found.evidence.score).tolist() == (~free.edges).tolist()
    given = np.where(estimate.edges, "required", np.where(testable, "forbidden", "untestable"))
    assert found.evidence.decision[~free.edges].tolist() == given[~free.edges].tolist()
    assert found.graph == found.evidence.graph
    assert not (ANTS.of_graph(found.graph).with_paths(False) - found.structure).any()


@given(st.integers(0, 2**20))
def test_what_was_not_free_was_given(seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure, free = (Structure(ANTS, rng.random(len(ANTS)) < 0.5) for _ in range(2))
    testable = rng.random(ANTS.num_edges) < 0.5
    found = with_given(Evidence.nothing(ANTS.edges), structure, free, testable).decision
    for word, is_free, is_in, can_be in zip(
        found, free.edges, structure.edges, testable, strict=True
    ):
        given = "required" if is_in else "forbidden" if can_be else "undecided"
        assert word == ("undecided" if is_free else given)


def test_folders_that_are_taken(tmp_path: Path) -> None:
    check_new("fit", tmp_path / "new")
    (tmp_path / "schema.json").write_text("{}")  # of a run that was only begun
    check_new("fit", tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    message = f"fit: expected a new folder, got {tmp_path}, which holds notes.txt. Choose another."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        check_new("fit", tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match=r"^save: folder .* holds a run already\. Choose another"):
        check_new("save", tmp_path)


def test_a_checksum_tells_data_apart() -> None:
    changed = DATA.values["Lamp"]["heat"].copy()
    changed[7] += 1e-3
    other = replace(DATA, values={**DATA.values, "Lamp": {**DATA.values["Lamp"], "heat": changed}})
    assert checksum(DATA) == checksum(replace(DATA)) != checksum(other)
