"""Methods: objectives, presets, options and their JSON."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oocdm.discovery import Search, StructureParts
from oocdm.envs.block import SCHEMA, TRUE_GRAPH
from oocdm.errors import ModelError
from oocdm.graph import ClassEdges
from oocdm.methods import (
    METHODS,
    AbstractMethod,
    Inquiry,
    LearningState,
    Oocdm,
    Oofull,
    Schedule,
    make_method,
    method_from_json,
    method_names,
)
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prepared import Prepared
from tests.inference.ragged import ragged, random_model

PARTS = StructureParts.of(SCHEMA)
WIDTH = PARTS.width
EDGES = ClassEdges.of(SCHEMA)
NUM_EDGES = len(EDGES)
SEEDS = st.integers(0, 2**20)
MODEL = OocdmModel(SCHEMA, ModelOptions(), None)
NAMES = ", ".join(method_names())
EVERYTHING = np.ones(WIDTH, dtype=bool)


def fails(message: str) -> Any:
    return pytest.raises(ModelError, match=f"^{re.escape(message)}$")


def random_standing(
    seed: int, iteration: int = 0, free: np.ndarray | None = None
) -> tuple[LearningState, np.random.Generator]:
    """A random estimate of which a part is free, nothing contested; and random numbers."""
    rng = np.random.default_rng(seed)
    estimate, some = rng.random(WIDTH) < 0.5, rng.random(WIDTH) < 0.7
    free = some if free is None else free
    return LearningState(MODEL, estimate, free, np.zeros(WIDTH, dtype=bool), iteration), rng


# ---------------------------------------------------------------- objectives


@settings(max_examples=30)
@given(st.sampled_from(["default", "paper"]), SEEDS, st.integers(0, 3), st.integers(1, 40))
def test_fixed_columns_never_change(
    preset: str, seed: int, iteration: int, num_graphs: int
) -> None:
    now, rng = random_standing(seed, iteration)
    before = now.estimate.copy()
    for term in Oocdm.preset(preset, num_graphs=num_graphs).objective(now, rng):
        assert term.structures.dtype == bool and term.structures.shape[1:] == (WIDTH,)
        assert len(term.structures) in (1, num_graphs)
        assert (term.structures[:, ~now.free] == now.estimate[~now.free]).all()
    assert np.array_equal(now.estimate, before)


@settings(max_examples=20)
@given(SEEDS, st.integers(0, 3))
def test_the_paper_s_objective(seed: int, iteration: int) -> None:
    """J = L(G_lambda) + alpha L(G_1) + beta L(estimate)."""
    now, rng = random_standing(seed, iteration)
    method = Oocdm.preset("paper", alpha=0.5, beta=0.25)
    drawn, full, found = method.objective(now, rng)
    assert (drawn.weight, full.weight, found.weight) == (1.0, 0.5, 0.25)
    assert np.array_equal(full.structures, np.where(now.free, True, now.estimate)[None])
    assert np.array_equal(found.structures, now.estimate[None])
    assert drawn.structures.shape == (32, WIDTH)
    assert len(np.unique(drawn.structures[:, now.free], axis=0)) == 32


def test_the_paper_s_numbers() -> None:
    method = Oocdm.preset("paper")
    assert (method.alpha, method.beta, method.edge_probability) == (1.0, 1.0, 0.9)
    assert method.num_graphs >= 24
    s = method.schedule
    assert (s.optimiser, s.learning_rate, s.final_learning_rate) == ("adam", 1e-3, 1e-3)
    assert (s.batch_size, s.max_gradient_norm) == (512, 0.5)
    assert (s.resolution, s.held_out, s.polish_steps) == (0.0, 0.0, 0)
    assert s.batch_size % method.num_graphs == 0  # each graph has as many samples
    assert method.model == ModelOptions.preset("paper")
    assert [t.weight for t in method.objective(*random_standing(0))] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", METHODS)
def test_all_methods_are_optimised_alike(name: str) -> None:
    """Otherwise a comparison would be one of optimisers."""
    ours, theirs = make_method("oocdm").schedule, make_method(name).schedule
    differ = {"iterations", "steps_per_iteration", "patience", "batch_size"}
    assert {k for k, v in vars(theirs).items() if v != getattr(ours, k)} <= differ


def test_random_graphs_of_the_paper_have_nine_of_ten_edges() -> None:
    now, rng = random_standing(0)
    method = Oocdm.preset("paper")
    rows = np.concatenate(
        [method.objective(now, rng)[0].structures[:, now.free] for _ in range(50)]
    )
    assert rows.mean() == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / rows.size))
    # Each edge on its own, five standard errors.
    assert np.abs(rows.mean(0) - 0.9).max() < 5 * np.sqrt(0.09 / len(rows))


def test_default_objective_starts_with_any_structure() -> None:
    now, rng = random_standing(0, free=EVERYTHING)
    shares = []
    for _ in range(40):
        (term,) = Oocdm().objective(now, rng)
        assert term.weight == 1.0 and term.structures.shape == (32, WIDTH)
        shares.append(term.structures.mean(1))
    # The probability itself is uniform: sparse and dense structures are equally common.
    counts, _ = np.histogram(np.concatenate(shares), bins=4, range=(0, 1))
    assert np.abs(counts / counts.sum() - 0.25).max() < 0.06


def test_default_objective_then_stays_near_the_estimate() -> None:
    now, rng = random_standing(0, iteration=1, free=EVERYTHING)
    now = replace(now, contested=rng.random(WIDTH) < 0.3)
    combined = []
    for _ in range(40):
        (term,) = Oocdm().objective(now, rng)
        is_turned = term.structures != now.estimate
        assert is_turned[:8].mean() > 0.2  # any
        assert not is_turned[8:16][:, ~now.contested].any()
        combined.append(is_turned[8:16][:, now.contested])
        for columns in PARTS.columns:
            turned = is_turned[16:24][:, columns]
            assert (turned[::2].sum(1) == 1).all()
            # In the other rows an edge that comes in may take the place of another.
            for row in turned[1::2]:
                is_present = now.estimate[columns[row]]
                assert row.sum() == 1 or sorted(is_present) == [False, True]
        assert not is_turned[24:].any()  # the last quarter is the estimate itself
    assert np.concatenate(combined).mean() == pytest.approx(0.5, abs=0.02)


def test_contested_parts_are_turned_more_often() -> None:
    now, rng = random_standing(1, iteration=1, free=EVERYTHING)
    columns = PARTS.columns[0]
    now = replace(now, contested=np.isin(np.arange(WIDTH), columns[:2]))
    method = Oocdm(contested_weight=10.0)
    rows = [method.objective(now, rng)[0].structures[16:24:2] != now.estimate for _ in range(400)]
    turned = np.concatenate(rows)[:, columns].mean(0)
    expected = np.where(np.arange(len(columns)) < 2, 10.0, 1.0)
    expected /= expected.sum()
    assert np.abs(turned - expected).max() < 5 * np.sqrt(0.25 / len(np.concatenate(rows)))


def test_few_graphs_still_divide_a_batch() -> None:
    now, rng = random_standing(0, iteration=2)
    for num in (1, 2, 3, 5):
        (term,) = Oocdm(num_graphs=num).objective(now, rng)
        assert len(term.structures) == num


# ---------------------------------------------------------------- where training starts

TESTABLE = ClassEdges.of(SCHEMA).testable({"Block": 5, "Total": 1})


@pytest.mark.parametrize(("preset", "has_free_paths"), [("default", True), ("paper", False)])
def test_start_is_all_that_can_occur(preset: str, has_free_paths: bool) -> None:
    start, free = Oocdm.preset(preset).start(EDGES, None, TESTABLE)
    assert start.shape == free.shape == (WIDTH,)
    assert np.array_equal(start[:NUM_EDGES], TESTABLE)
    assert np.array_equal(free[:NUM_EDGES], TESTABLE)
    assert start[NUM_EDGES:].all()
    assert (free[NUM_EDGES:] == has_free_paths).all()


@pytest.mark.parametrize("method", [Oocdm(), Oocdm.preset("paper"), Oofull()])
def test_a_known_graph_is_not_free(method: AbstractMethod) -> None:
    start, free = method.start(EDGES, TRUE_GRAPH.mask, TESTABLE)
    assert np.array_equal(start[:NUM_EDGES], TRUE_GRAPH.mask)
    assert not free[:NUM_EDGES].any()


def test_oofull_keeps_the_full_graph() -> None:
    method = Oofull()
    start, free = method.start(EDGES, None, TESTABLE)
    assert start.all() and not free.any()
    now = LearningState(MODEL, start, free, ~EVERYTHING, 3)
    (term,) = method.objective(now, np.random.default_rng(0))
    assert term.weight == 1.0 and np.array_equal(term.structures, start[None])
    assert method.discover(Inquiry(None, None, start, free)) is None  # type: ignore[arg-type]


# ---------------------------------------------------------------- discovery rules


def test_paper_discovers_by_leaving_out_of_the_full_graph() -> None:
    data = ragged(lengths=(4, 3))
    model = random_model(data, "paper")
    prepared = Prepared.of(model, data)
    testable = ClassEdges.of(data.schema).testable(data.max_counts)
    method = Oocdm.preset("paper", threshold=1e-3)
    estimate, free = method.start(ClassEdges.of(data.schema), None, testable)
    found = method.discover(Inquiry(model, prepared, estimate, free))
    assert found is not None
    scores = np.nan_to_num(found.evidence.score, nan=-1)
    assert np.array_equal(found.graph.mask, testable & (scores > 1e-3))
    # It does not depend on the estimate, nor on its size.
    other = estimate.copy()
    other[: len(testable)] = False
    again = method.discover(Inquiry(model, prepared, other, free))
    assert again is not None and again.graph == found.graph
    known = method.start(ClassEdges.of(data.schema), found.graph.mask, testable)[1]
    assert method.discover(Inquiry(model, prepared, estimate, known)) is None


def test_default_scores_at_most_so_many_transitions(monkeypatch: pytest.MonkeyPatch) -> None:
    data = ragged(lengths=(4, 3))
    model = random_model(data)
    seen = []

    def discover(model: Any, start: np.ndarray, search: Search) -> None:
        seen.append((start, search))

    monkeypatch.setattr("oocdm.methods.oocdm.discover_around", discover)
    width = StructureParts.of(data.schema).width
    estimate, free = np.ones(width, dtype=bool), np.ones(width, dtype=bool)
    Oocdm(max_scored=3).discover(Inquiry(model, Prepared.of(model, data), estimate, free))
    ((start, search),) = seen
    assert len(search.data) == 3 and start is estimate and search.free is free
    assert search.rule == Oocdm().rule


def test_paths_go_for_helping_too_little_only_when_edges_are_settled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = ragged(lengths=(4, 3))
    model = random_model(data)
    thresholds = []
    monkeypatch.setattr(
        "oocdm.methods.oocdm.discover_around",
        lambda model, start, search: thresholds.append(search.path_threshold),
    )
    parts = StructureParts.of(data.schema)
    everything, prepared = np.ones(parts.width, dtype=bool), Prepared.of(model, data)
    for free in (everything, ~parts.is_edge):
        Oocdm(path_threshold=0.4).discover(Inquiry(model, prepared, everything, free))
    assert thresholds == [0.0, 0.4]


# ---------------------------------------------------------------- presets, options, JSON


def test_methods_by_name() -> None:
    assert list(METHODS) == ["oocdm", "oofull", "cdl", "cdl-a", "grader", "ticsa", "gnn", "mlp"]
    for name, kind in METHODS.items():
        method = make_method(name)
        assert isinstance(method, kind) and isinstance(method, AbstractMethod)
        assert method.name == name
        assert method == kind() == kind.preset("default")


def test_options_reach_the_method() -> None:
    method = make_method("oocdm", "paper", threshold=0.3, num_graphs=24)
    assert isinstance(method, Oocdm)
    assert (method.threshold, method.num_graphs, method.preset_name) == (0.3, 24, "paper")
    quick = Schedule(iterations=2)
    assert make_method("oofull", schedule=quick).schedule == quick
    assert make_method("oocdm", "paper", schedule=quick).schedule == quick
    small = ModelOptions(decoder_dim=8)
    for name in ("oocdm", "oofull"):
        assert make_method(name, model=small).model == small  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["oocdm", "oofull"])
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_json_round_trip(name: str, preset: str) -> None:
    method = make_method(name, preset, schedule=Schedule(iterations=3, resolution=0.2))
    back = method_from_json(json.loads(json.dumps(method.to_json(), allow_nan=False)))
    assert back == method and type(back) is type(method)
    assert back.schedule == method.schedule


def test_json_round_trip_of_every_option() -> None:
    method = Oocdm(
        preset_name="paper",
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
        hide_variables=0.1,
    )
    default = Oocdm()
    assert all(getattr(method, name) != getattr(default, name) for name in vars(default))
    assert method_from_json(json.loads(json.dumps(method.to_json()))) == method
    assert set(method.to_json()) == {*asdict(method), "name"}


def test_unknown_names() -> None:
    with fails(f"Unknown method `oocmd`. Did you mean `oocdm`? Known: {NAMES}."):
        make_method("oocmd")
    with fails(f"Unknown method `lstm`. Known: {NAMES}."):
        make_method("lstm")
    with fails("Unknown preset `papr`. Did you mean `paper`? Known: default, paper."):
        make_method("oocdm", "papr")
    with fails(
        "Method `oofull` has no option `shedule`. Did you mean `schedule`? Known: schedule, model."
    ):
        make_method("oofull", shedule=Schedule())
    with pytest.raises(
        ModelError, match=r"^Method `oocdm` has no option `treshold`\. Did you mean `threshold`\?"
    ):
        make_method("oocdm", treshold=0.3)


def test_errors_of_json() -> None:
    good = Oocdm().to_json()
    with fails(f"Unknown method `oocd`. Did you mean `oocdm`? Known: {NAMES}."):
        method_from_json({**good, "name": "oocd"})
    with fails(f"Unknown method ``. Known: {NAMES}."):
        method_from_json({})
    with pytest.raises(ModelError, match=r"^Unknown model option `hads`\. Did you mean `heads`\?"):
        method_from_json({**good, "model": {"hads": 2}})
    with fails("model: `heads`: expected a whole number of at least 1, got 'two'."):
        method_from_json({**good, "model": {"heads": "two"}})


@pytest.mark.parametrize(
    "change",
    [
        {"treshold": 0.3},
        {"schedule": {"iteration": 3}},
        {"schedule": None},
        {"model": None},
    ],
    ids=str,
)
def test_malformed_json(change: dict[str, Any]) -> None:
    with pytest.raises(
        ModelError, match=r"^Method `oocdm`: settings that this version cannot read"
    ):
        method_from_json({**Oocdm().to_json(), **change})


@pytest.mark.parametrize("missing", ["model", "schedule"])
def test_incomplete_json(missing: str) -> None:
    settings = {k: v for k, v in Oocdm().to_json().items() if k != missing}
    with fails(f"Method `oocdm`: settings that this version cannot read ('{missing}')."):
        method_from_json(settings)


@pytest.mark.parametrize("option", ["preset_name", "is_paper", "start"])
def test_what_is_not_an_option(option: str) -> None:
    with pytest.raises(ModelError, match=f"^Method `oocdm` has no option `{option}`"):
        make_method("oocdm", **{option: "paper"})


def test_methods_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Oocdm().threshold = 0.3  # type: ignore[misc]
