"""OOCDM: its objectives, where it starts, how it searches."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from functools import partial
from itertools import product
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oocdm
from oocdm.data import Dataset
from oocdm.discovery import Discovery, Search
from oocdm.envs.block import SCHEMA, TRUE_GRAPH
from oocdm.errors import ModelError
from oocdm.graph import Layout, Structure
from oocdm.methods import Inquiry, LearningState, Oocdm, Schedule, make_method, method_from_json
from oocdm.methods import oocdm as module
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.predictor import LATE
from oocdm.models.prepared import Prepared
from tests.inference.ragged import ragged, random_model

MODEL = OocdmModel(SCHEMA, ModelOptions())
LAYOUT = MODEL.layout
COSTLY = LAYOUT.ways(LATE)  # is tried late
EVERYTHING, NOTHING = LAYOUT.structure(True), LAYOUT.structure(False, False)
SEEDS = st.integers(0, 2**20)


def drawn(rng: np.random.Generator, share: float, layout: Layout = LAYOUT) -> Structure:
    return Structure(layout, rng.random(len(layout)) < share)


def random_state(
    seed: int, iteration: int = 0, free: Structure | None = None
) -> tuple[LearningState, np.random.Generator]:
    """A random estimate of which a part is free, nothing contested; and random numbers."""
    rng = np.random.default_rng(seed)
    estimate, some = drawn(rng, 0.5), drawn(rng, 0.7)
    free = some if free is None else free
    return LearningState(MODEL, estimate, free, NOTHING, iteration), rng


# ---------------------------------------------------------------- objectives


@settings(max_examples=30)
@given(st.sampled_from(get_args(module.Objective)), SEEDS, st.integers(0, 3), st.integers(1, 40))
def test_fixed_columns_never_change(
    objective: str, seed: int, iteration: int, num_graphs: int
) -> None:
    now, rng = random_state(seed, iteration)
    estimate, fixed = now.estimate.flags.copy(), ~now.free.flags
    for term in Oocdm(objective_name=objective, num_graphs=num_graphs).objective(now, rng):
        assert isinstance(term.structures, np.ndarray)
        assert term.structures.dtype == bool and term.structures.shape[1:] == (len(LAYOUT),)
        assert len(term.structures) in (1, num_graphs)
        assert (term.structures[:, fixed] == estimate[fixed]).all()
    assert np.array_equal(now.estimate.flags, estimate)


@settings(max_examples=20)
@given(SEEDS, st.integers(0, 3))
def test_the_paper_s_objective(seed: int, iteration: int) -> None:
    """A third of J = L(G_lambda) + alpha L(G_1) + beta L(estimate), a G_lambda for each sample."""
    now, rng = random_state(seed, iteration)
    method = Oocdm.preset("paper", alpha=0.5, beta=0.25)
    some, full, found = method.objective(now, rng)
    weights = some.weight, full.weight, found.weight
    assert weights == pytest.approx((1 / 3, 0.5 / 3, 0.25 / 3))
    assert np.array_equal(full.structures, (now.estimate | now.free).flags[None])
    assert np.array_equal(found.structures, now.estimate.flags[None])
    assert some.structures.shape == (512, len(LAYOUT))
    assert len(np.unique(np.array(some.structures)[:, now.free.flags], axis=0)) > 32


def test_the_paper_s_numbers() -> None:
    method = Oocdm.preset("paper")
    assert (method.alpha, method.beta, method.edge_probability) == (1.0, 1.0, 0.9)
    s = method.schedule
    assert (s.optimiser, s.learning_rate, s.final_learning_rate) == ("adam", 1e-3, 1e-3)
    assert (s.batch_size, s.max_gradient_norm) == (512, 0.5)
    assert (s.resolution, s.held_out, s.polish_steps) == (0.0, 0.0, 0)
    assert method.num_graphs == s.batch_size  # a graph for each sample
    small = Oocdm.preset("paper", schedule=replace(s, batch_size=64))
    assert len(small.objective(*random_state(0))[0].structures) == 64
    assert method.model == ModelOptions.preset("paper")
    assert [t.weight for t in method.objective(*random_state(0))] == [1 / 3] * 3


def test_random_graphs_of_the_paper_have_nine_of_ten_edges() -> None:
    now, rng = random_state(0)
    method, free = Oocdm.preset("paper"), now.free.flags
    rows = np.concatenate(
        [np.array(method.objective(now, rng)[0].structures)[:, free] for _ in range(50)]
    )
    assert rows.mean() == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / rows.size))
    # Each edge on its own, five standard errors.
    assert np.abs(rows.mean(0) - 0.9).max() < 5 * np.sqrt(0.09 / len(rows))


def test_default_objective_starts_with_the_full_and_any_structures() -> None:
    now, rng = random_state(0, free=EVERYTHING)
    shares = []
    for _ in range(80):
        (term,) = Oocdm().objective(now, rng)
        assert term.weight == 1.0 and term.structures.shape == (32, len(LAYOUT))
        full, others = np.split(np.array(term.structures), 2)
        assert full.all()
        shares.append(others.mean(1))
    # The probability itself is uniform: sparse and dense structures are equally common.
    counts, _ = np.histogram(np.concatenate(shares), bins=4, range=(0, 1))
    assert np.abs(counts / counts.sum() - 0.25).max() < 0.06


def turned(method: Oocdm, now: LearningState, rng: np.random.Generator) -> np.ndarray:
    """Which parts of the estimate a batch has the other way round."""
    (term,) = method.objective(now, rng)
    return np.array(term.structures) != now.estimate.flags


def test_default_objective_then_stays_near_the_estimate() -> None:
    now, rng = random_state(0, iteration=1, free=EVERYTHING)
    now = replace(now, contested=drawn(rng, 0.3))
    contested, combined = now.contested.flags, []
    for _ in range(40):
        is_turned = turned(Oocdm(), now, rng)
        assert is_turned[:8].mean() > 0.2  # any
        assert not is_turned[8:16][:, ~contested].any()
        combined.append(is_turned[8:16][:, contested])
        for columns in LAYOUT.by_target:
            near = is_turned[16:24][:, columns]
            assert (near[::2].sum(1) == 1).all()
            # In the other rows an edge that comes in may take the place of another.
            for row in near[1::2]:
                is_present = now.estimate.flags[columns[row]]
                assert row.sum() == 1 or sorted(is_present) == [False, True]
        assert not is_turned[24:].any()  # the last quarter is the estimate itself
    assert np.concatenate(combined).mean() == pytest.approx(0.5, abs=0.02)


def test_an_edge_that_comes_in_takes_the_place_of_another_in_half_of_the_rows() -> None:
    """Of every target, of any present edge alike; what is a path or goes takes nobody's place."""
    now, rng = random_state(2, iteration=1, free=EVERYTHING)
    estimate, is_edge = now.estimate.flags, LAYOUT.is_edge
    rows = np.stack([turned(Oocdm(), now, rng)[16:24] for _ in range(300)])  # (batch, row, part)
    for target, columns in zip(LAYOUT.edges.targets, LAYOUT.by_target, strict=True):
        edges = columns[is_edge[columns]]
        absent, present = edges[~estimate[edges]], edges[estimate[edges]]
        comes_in = rows[..., absent].any(-1)
        assert len(present) > 1 and comes_in[:, 1::2].sum() > 50, target
        num_turned = rows[..., columns].sum(-1)
        is_odd = np.arange(8) % 2 == 1
        assert np.array_equal(num_turned == 2, comes_in & is_odd), target
        assert (num_turned[~(comes_in & is_odd)] == 1).all()
        gone = rows[comes_in & is_odd][:, present]
        assert (gone.sum(1) == 1).all()
        error = np.sqrt(0.25 / len(gone))
        assert np.abs(gone.mean(0) - 1 / len(present)).max() < 5 * error


def test_what_is_not_free_gives_its_place_to_nobody() -> None:
    """Known edges stay: one that is drawn for an exchange leaves the row with one turn."""
    rng = np.random.default_rng(3)
    estimate = drawn(rng, 0.5)
    free = EVERYTHING - estimate  # all that is there was given
    now = LearningState(MODEL, estimate, free, NOTHING, 1)
    is_turned = np.concatenate([turned(Oocdm(), now, rng)[16:24] for _ in range(20)])
    assert not is_turned[:, estimate.flags].any()
    for columns in LAYOUT.by_target:
        assert (is_turned[:, columns].sum(1) == 1).all()


def test_contested_parts_are_turned_more_often() -> None:
    now, rng = random_state(1, iteration=1, free=EVERYTHING)
    columns = LAYOUT.by_target[0]
    now = replace(now, contested=Structure(LAYOUT, np.isin(np.arange(len(LAYOUT)), columns[:2])))
    method = Oocdm(contested_weight=10.0)
    rows = np.concatenate([turned(method, now, rng)[16:24:2] for _ in range(400)])
    expected = np.where(np.arange(len(columns)) < 2, 10.0, 1.0)
    expected /= expected.sum()
    assert np.abs(rows[:, columns].mean(0) - expected).max() < 5 * np.sqrt(0.25 / len(rows))


def test_few_graphs_still_divide_a_batch() -> None:
    now, rng = random_state(0, iteration=2)
    for num in (1, 2, 3, 5):
        (term,) = Oocdm(num_graphs=num).objective(now, rng)
        assert len(term.structures) == num


# ---------------------------------------------------------------- where training starts

TESTABLE = LAYOUT.edges.testable({"Block": 5, "Total": 1})


def test_start_is_all_that_can_occur_but_what_is_tried_late() -> None:
    start, free = Oocdm().start(LAYOUT, None, TESTABLE)
    assert start == free == LAYOUT.structure(TESTABLE) - COSTLY
    start, free = Oocdm.preset("paper").start(LAYOUT, None, TESTABLE)
    assert start == LAYOUT.structure(TESTABLE)
    assert free == LAYOUT.structure(TESTABLE, paths=False)


def test_a_known_graph_is_not_free() -> None:
    start, free = Oocdm().start(LAYOUT, TRUE_GRAPH.mask, TESTABLE)
    assert start == LAYOUT.of_graph(TRUE_GRAPH) - COSTLY
    assert free == LAYOUT.structure(False) - COSTLY
    start, free = Oocdm.preset("paper").start(LAYOUT, TRUE_GRAPH.mask, TESTABLE)
    assert start == LAYOUT.of_graph(TRUE_GRAPH) and free == NOTHING


# ---------------------------------------------------------------- discovery rules


def test_paper_discovers_by_leaving_out_of_the_full_graph() -> None:
    data = ragged(lengths=(4, 3))
    model = random_model(data, "paper")
    prepared, layout = Prepared.of(model, data), model.layout
    testable = layout.edges.testable(data.max_counts)
    method = Oocdm.preset("paper", threshold=1e-3)
    estimate, free = method.start(layout, None, testable)
    told: list[tuple[int, int]] = []
    inquiry = Inquiry(model, prepared, estimate, free, on_settled=lambda *n: told.append(n))
    found = method.discover(inquiry)
    assert found is not None
    assert told == [(testable.sum(), testable.sum())]
    scores = np.nan_to_num(found.evidence.score, nan=-1)
    assert found.graph == layout.edges.graph(testable & (scores > 1e-3))
    # It does not depend on the estimate, nor on its size.
    again = method.discover(Inquiry(model, prepared, estimate.with_edges(False), free))
    assert again is not None and again.graph == found.graph
    known = method.start(layout, found.structure.edges, testable)[1]
    assert method.discover(Inquiry(model, prepared, estimate, known)) is None


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Structure, Search]]:
    """Where searches start and what they are told, instead of searching."""
    seen: list[tuple[Structure, Search]] = []
    for name in ("discover_around", "discover_leave_one_out"):
        monkeypatch.setattr(module, name, lambda model, start, search: seen.append((start, search)))
    return seen


def asked(
    searches: list[tuple[Structure, Search]], method: Oocdm, free: Structure | None = None
) -> tuple[Structure, Search]:
    """The search that a method does on little data."""
    data = ragged(lengths=(4, 3))
    model = random_model(data)
    full = model.layout.structure(True)
    method.discover(Inquiry(model, Prepared.of(model, data), full, full if free is None else free))
    return searches.pop()


def test_default_scores_at_most_so_many_transitions(
    searches: list[tuple[Structure, Search]],
) -> None:
    start, search = asked(searches, Oocdm(max_scored=3))
    full = random_model(ragged()).layout.structure(True)
    assert len(search.data) == 3 and start == full == search.free
    assert search.rule == Oocdm().rule
    assert len(asked(searches, Oocdm.preset("paper", max_scored=3))[1].data) > 3


def test_paths_go_for_helping_too_little_only_when_edges_are_settled(
    searches: list[tuple[Structure, Search]],
) -> None:
    full = random_model(ragged()).layout.structure(True)
    thresholds = [
        asked(searches, Oocdm(path_threshold=0.4), free)[1].path_threshold
        for free in (full, full.with_edges(False))
    ]
    assert thresholds == [0.0, 0.4]


@pytest.mark.parametrize("name", get_args(module.SearchName))
def test_edges_are_judged_as_finely_as_they_were_learned(
    name: str, searches: list[tuple[Structure, Search]]
) -> None:
    model = random_model(ragged(lengths=(4, 3)))
    fine = Oocdm(search_name=name, schedule=Schedule(resolution=0.0))
    assert asked(searches, fine)[1].resolution is None
    blur = asked(searches, Oocdm(search_name=name))[1].resolution
    assert blur is not None
    for c, expected in model.resolution(0.1).items():
        np.testing.assert_allclose(blur[c], expected)


# ---------------------------------------------------------------- mixed options

COMBINATIONS = list(product(get_args(module.Objective), get_args(module.SearchName)))


@pytest.mark.parametrize(("objective", "search"), COMBINATIONS)
def test_objectives_and_searches_combine(
    objective: str, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each option chooses what it names and nothing else, also through JSON."""
    called: list[str] = []

    def watched(name: str, does: Any) -> Any:
        return lambda *arguments: (called.append(name), does(*arguments))[1]

    for name in ("discover_around", "discover_leave_one_out"):
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    data: Dataset = oocdm.collect(oocdm.make("block", num_blocks=2), steps=200, seed=0)
    quick = Schedule(2, 3, 2, batch_size=32)
    method = Oocdm(objective_name=objective, search_name=search, schedule=quick)
    assert method_from_json(json.loads(json.dumps(method.to_json()))) == method
    result = oocdm.fit(data, method, seed=0)
    by_name = oocdm.fit(
        *(data, "oocdm", 0), objective_name=objective, search_name=search, schedule=quick
    )
    assert by_name.evidence == result.evidence and result.graph == result.evidence.graph
    expected = "discover_around" if search == "around" else "discover_leave_one_out"
    assert set(called) == {expected}
    num_terms = 3 if objective == "three-graphs" else 1
    now, rng = random_state(0, iteration=1)
    assert len(method.objective(now, rng)) == num_terms
    free = method.start(LAYOUT, None, TESTABLE)[1].with_edges(False)
    assert free == (LAYOUT.structure(False) - COSTLY if search == "around" else NOTHING)


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        (
            "objective_name",
            "three-graph",
            "unknown value 'three-graph'. Did you mean `three-graphs`? Known: any-structure, "
            "three-graphs.",
        ),
        (
            "search_name",
            "leave_one_out",
            "unknown value 'leave_one_out'. Did you mean `leave-one-out`? Known: around, "
            "leave-one-out.",
        ),
        ("search_name", "paper", "unknown value 'paper'. Known: around, leave-one-out."),
    ],
)
def test_unknown_objectives_and_searches(option: str, name: str, message: str) -> None:
    options: dict[str, Any] = {option: name}
    message = f"Method `oocdm`: `{option}`: {message}"
    for make in (Oocdm, partial(Oocdm.preset, "paper"), partial(make_method, "oocdm")):
        with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
            make(**options)


def test_the_paper_s_preset_is_a_choice_of_options() -> None:
    paper = Oocdm.preset("paper")
    assert (paper.objective_name, paper.search_name) == ("three-graphs", "leave-one-out")
    mixed = Oocdm.preset("paper", search_name="around")
    assert replace(mixed, search_name="leave-one-out") == paper


def test_a_trained_network_is_asked_with_less_patience() -> None:
    assert Oocdm().after_training() == replace(Oocdm(), patience=1024)
    assert Oocdm(patience=7).after_training() == Oocdm(patience=7)


def test_what_it_finds_is_a_discovery_of_its_layout() -> None:
    data = ragged(lengths=(4, 3))
    model = random_model(data)
    full = model.layout.structure(True)
    for search in get_args(module.SearchName):
        inquiry = Inquiry(model, Prepared.of(model, data), full, full.with_paths(False))
        found = Oocdm(search_name=search, threshold=0.01).discover(inquiry)
        assert isinstance(found, Discovery) and found.structure.layout == model.layout
        assert found.structure.paths.all() and found.graph == found.evidence.graph


# ---------------------------------------------------------------- options


def test_json_round_trip_of_every_option() -> None:
    method = Oocdm(
        likelihood="mixture",
        objective_name="three-graphs",
        search_name="leave-one-out",
        model=ModelOptions(aggregators=("attention", "sum"), heads=4, enrich=False),
        schedule=replace(Schedule(), patience=9, optimiser="adam"),
        min_effect=0.3,
        false_discovery_rate=0.2,
        threshold=0.3,
        path_threshold=0.4,
        num_graphs=7,
        contested_weight=4.0,
        edge_probability=0.8,
        alpha=2.0,
        beta=3.0,
        max_scored=11,
        patience=13,
        focus=False,
        hide_variables=0.1,
    )
    default = Oocdm()
    assert all(getattr(method, name) != getattr(default, name) for name in vars(default))
    assert method_from_json(json.loads(json.dumps(method.to_json()))) == method
    assert set(method.to_json()) == {*asdict(method), "name"}


def test_methods_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Oocdm().threshold = 0.3  # type: ignore[misc]
