"""The loop of training: phases, batches, what is told."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from oocdm import (
    FitResult,
    ModelError,
    ModelOptions,
    Oocdm,
    Oofull,
    Progress,
    Schedule,
    collect,
    evaluate,
    fit,
    load,
    make,
)
from oocdm.discovery import Discovery
from oocdm.graph import ClassEdges, ClassGraph, Evidence, Structure
from oocdm.methods.method import Inquiry
from oocdm.training import Trainer, discover, trainer
from tests.inference.ragged import ragged
from tests.models.oocdm.worlds import AtOnce
from tests.training.toys import (
    DATA,
    HIDING,
    METHODS,
    SCHEDULE,
    SMALL,
)

AT_ONCE = AtOnce(**{o.name: getattr(METHODS["oocdm"], o.name) for o in fields(Oocdm)})

pytestmark = pytest.mark.usefixtures("short_rounds")


def test_every_step_is_reported() -> None:
    seen: list[Progress] = []
    result = fit(DATA, METHODS["oocdm"], seed=5, callback=seen.append)
    assert [(p.phase, p.step, p.total) for p in seen] == [
        *(("learn", i + 1, 12) for i in range(12)),
        *(("polish", i + 1, 7) for i in range(7)),
        *(("copy", i + 1, 4) for i in range(4)),
    ]
    assert all(math.isfinite(p.metrics["loss"]) for p in seen)
    rounds = [(row["phase"], row["step"]) for row in result.history]
    polished, copied = (("polish", i) for i in (3, 6, 7)), (("copy", i) for i in range(1, 5))
    assert rounds == [*(("learn", i) for i in (4, 8, 12)), *polished, *copied]
    losses = [p.metrics["loss"] for p in seen]
    assert result.history[0]["loss"] == pytest.approx(np.mean(losses[:4]))
    assert [row["edges"] for row in result.history[2:]] == [int(result.graph.mask.sum())] * 8
    seconds = [row["seconds"] for row in result.history]
    assert seconds == sorted(seconds) and seconds[-1] == result.seconds


def test_training_ends_when_the_graph_has_settled() -> None:
    method = Oocdm(
        schedule=Schedule(9, 1, 0, patience=2, batch_size=32),
        model=ModelOptions(**SMALL),
        num_graphs=4,
        threshold=1e9,  # nothing is ever worth it
    )
    result = fit(DATA, method)
    assert result.graph == ClassGraph.empty(DATA.schema)
    edges = [row["edges"] for row in result.history]
    assert edges[-3:] == [0, 0, 0] and edges[-4:] != [0] * 4


def test_training_lowers_the_loss() -> None:
    block = collect(make("block", num_blocks=2), 150, seed=0)
    schedule = Schedule(iterations=1, steps_per_iteration=40, polish_steps=0, batch_size=64)
    losses: list[float] = []
    fit(block, Oofull(schedule=schedule), callback=lambda p: losses.append(p.metrics["loss"]))
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 5


def test_half_of_the_samples_keep_everything() -> None:
    built = Trainer(DATA, HIDING, seed=5)
    rows = np.arange(len(built.training)).repeat(20)
    whole = built.training.rows(torch.as_tensor(rows)).inputs
    partial = built.model.inputs(built.material.partly_hidden(rows, built.rng))
    flags = [(whole.features[c] != partial.features[c]).any(-1) for c in DATA.schema.classes]
    is_hidden = torch.cat([f.flatten(1) for f in flags], dim=1).double()  # (batch, variable)
    is_partial = is_hidden.any(1)
    never = 0.5 * 0.7 ** is_hidden.shape[1]
    assert float(is_partial.double().mean()) == pytest.approx(0.5 - never, abs=0.03)
    assert float(is_hidden.mean()) == pytest.approx(0.5 * 0.3, abs=0.02)
    again = built.model.inputs(built.material.partly_hidden(rows, built.rng))
    assert not torch.equal(again.features["Ball"], partial.features["Ball"])


def test_sigmas_are_calibrated_after_polishing(finished: dict[str, FitResult]) -> None:
    for name, is_calibrated in (("oocdm", True), ("oofull", True), ("paper", False)):
        model = finished[name].model
        floors = torch.cat([model.heads[c].calibrated_sigma for c in DATA.schema.classes])
        assert bool((floors > 0).all()) == is_calibrated


@pytest.mark.parametrize("finest", [0.0, 0.003])
def test_polishing_without_blur(finest: float) -> None:
    """A resolution of 0 means no blur, in both phases."""
    schedule = Schedule(1, 2, 4, batch_size=32, resolution=0.0, final_resolution=finest)
    result = fit(DATA, Oofull(schedule=schedule))
    assert math.isfinite(evaluate(result, DATA).aill)


def test_fit_scores_held_out_episodes() -> None:
    built = Trainer(DATA, METHODS["oocdm"], seed=5)
    training, held_out = DATA.split(0.2, 5)
    assert (len(built.training), len(built.held_out)) == (len(training), len(held_out))
    paper = Trainer(DATA, METHODS["paper"], seed=5)
    assert paper.held_out is paper.training and len(paper.training) == len(DATA)


def test_what_no_structure_uses_is_not_read() -> None:
    for method, is_read in ((METHODS["oocdm"], False), (METHODS["oofull"], False), (AT_ONCE, True)):
        built = Trainer(DATA, method, seed=5)
        for data in (built.training, built.held_out):
            assert (("pairs", "Ball", "Ball") in data.inputs.extra) is is_read
    built.run()
    assert ("pairs", "Ball", "Ball") in built.model.inputs(DATA.transitions().before).extra


def test_unknown_values_do_not_enter_the_loss() -> None:
    """What stands where nothing is known changes no bit of the result."""
    data = ragged()
    first = Trainer(data, METHODS["oofull"], seed=0)
    second = Trainer(data, METHODS["oofull"], seed=0)
    for c, values in second.training.targets.values.items():
        values[~second.training.targets.known[c]] = 123.0
    for built in (first, second):
        built.run()
    for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_divergence_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "oocdm.training.batch.mean_scores",
        lambda scores, counts: next(iter(scores.values())).sum() * torch.inf,
    )
    with pytest.raises(ModelError, match="Training diverged"):
        fit(DATA, METHODS["oofull"])


@pytest.mark.parametrize("phase", ["learn", "polish"])
def test_phases_begin_with_small_steps(phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new optimiser knows nothing of the gradients yet, and could undo what was learned."""
    rates: list[float] = []
    step = trainer.Trainer._step

    def record(self: trainer.Trainer, terms: Any, rate: float, *others: Any) -> float:
        if self.position.phase == phase:
            rates.append(rate)
        return step(self, terms, rate, *others)

    monkeypatch.setattr(trainer.Trainer, "_step", record)
    schedule = replace(SCHEDULE, iterations=1, steps_per_iteration=80, polish_steps=80, warm_up=100)
    fit(DATA, replace(METHODS["oocdm"], schedule=schedule))
    top = schedule.learning_rate
    # A twentieth of the phase: four steps.
    assert rates[0] == pytest.approx(top / 4) and rates[:4] == sorted(rates[:4])
    assert top / 2 < max(rates) < top and max(rates[4:]) <= rates[3] > rates[-1]
    assert Oocdm.preset("paper").schedule.warm_up == 0


def test_one_look_says_nothing_about_stability() -> None:
    once = replace(METHODS["oocdm"], schedule=replace(SCHEDULE, iterations=2))
    assert np.isnan(fit(DATA, once).evidence.stability).all()


# ---------------------------------------------------------------- the graph and its evidence

EDGES = ClassEdges.of(DATA.schema)
TESTABLE = EDGES.testable(DATA.max_counts)
PRIORS = ["Ball.x <- self.hue, !self.x", "Sum.x <- !Ball[*].x"]


def assert_agree(found: FitResult | Discovery) -> None:
    """One graph, however it is asked for; edges outside it are not decided for."""
    assert found.graph == found.evidence.graph
    is_in = np.isin(found.evidence.decision, ["yes", "required"])
    assert np.array_equal(found.evidence.is_in, is_in)
    assert found.graph == found.evidence.edges.graph(is_in)
    if isinstance(found, FitResult):
        claimed, predicting = (EDGES.mask(g) for g in (found.graph, found.prediction_graph))
        assert not (claimed & ~predicting).any()
        words = {found.evidence[edge].decision for edge in found.kept_undecided}
        assert words <= {"undecided"}
    if isinstance(found, Discovery):  # open edges may be in its structure, but none is missing
        assert not (is_in & ~found.structure.edges).any()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("threshold", [-1e9, 1e-3, 1e9, None])
@pytest.mark.parametrize("priors", [None, PRIORS], ids=["free", "priors"])
def test_the_graph_is_that_of_its_evidence(
    name: str, threshold: float | None, priors: list[str] | None, tmp_path: Path
) -> None:
    method = METHODS[name]
    if isinstance(method, Oocdm):
        method = replace(method, threshold=threshold)
    result = fit(DATA, method, priors=priors, folder=tmp_path)
    assert_agree(result)
    assert_agree(load(tmp_path))
    words = result.evidence.decision
    if priors is not None:
        assert (words[EDGES.names.index("Ball.x <- self.hue")]) == "required"
        assert (words[EDGES.names.index("Sum.x <- Ball[*].x")]) == "forbidden"
    if isinstance(method, Oocdm):
        assert set(words[~TESTABLE]) == {"untestable"}
        assert not set(words[TESTABLE]) & {"untestable"}
        assert_agree(discover(result, DATA))
        anew = discover(result, DATA, threshold=0.01, priors=[])
        assert_agree(anew)
        assert not set(anew.evidence.decision[TESTABLE]) & {"untestable"}


@pytest.mark.parametrize("name", METHODS)
def test_a_known_graph_is_that_of_its_evidence(name: str, tmp_path: Path) -> None:
    graph = ClassGraph.random(DATA.schema, 0.5, np.random.default_rng(0))
    result = fit(DATA, METHODS[name], graph=graph, folder=tmp_path)
    assert result.graph == graph
    assert_agree(result)
    assert_agree(load(tmp_path))


@pytest.mark.parametrize("keeps", [True, False])
def test_the_predictor_may_keep_open_edges(keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polishing and the calibration of sigma are for what predicts; the claim is the same."""
    asked: list[Inquiry] = []

    def keep(self: Oocdm, inquiry: Inquiry) -> Structure:
        asked.append(inquiry)
        return inquiry.estimate if keeps else inquiry.estimate - inquiry.free

    polished: list[np.ndarray] = []
    step, calibrated = trainer.Trainer._step, list[Any]()

    def record(self: trainer.Trainer, terms: Any, *others: Any) -> float:
        if self.position.phase == "polish":
            polished.append(terms[0].structures[0])
        return step(self, terms, *others)

    monkeypatch.setattr(Oocdm, "keep_plausible", keep)
    monkeypatch.setattr(trainer.Trainer, "_step", record)
    monkeypatch.setattr(trainer, "calibrate_sigma", lambda *given: calibrated.append(given[1]))
    result = fit(DATA, replace(METHODS["oocdm"], threshold=None), seed=5)
    (inquiry,) = asked
    assert set(result.evidence.decision[inquiry.free.edges]) == {"undecided"}
    assert not (inquiry.free - inquiry.estimate).any() and not inquiry.free.paths.any()
    open_edges = [name for name in inquiry.free.names]
    assert sorted(result.kept_undecided) == (sorted(open_edges) if keeps else [])
    assert result.graph == result.evidence.graph
    assert calibrated == [result.prediction_graph]
    mask = EDGES.mask(result.prediction_graph)
    assert polished and all(np.array_equal(each[: len(EDGES)], mask) for each in polished)


@pytest.mark.parametrize("name", METHODS)
def test_with_a_threshold_claim_and_prediction_are_equal(
    name: str, finished: dict[str, FitResult]
) -> None:
    assert finished[name].prediction_graph == finished[name].graph


def test_data_that_were_learned_from_say_nothing_of_what_to_keep() -> None:
    """Every edge helps on them, so nothing is kept that is not claimed."""
    schedule = replace(SCHEDULE, held_out=0.0)
    result = fit(DATA, replace(METHODS["oocdm"], threshold=None, schedule=schedule), seed=5)
    assert "undecided" in result.evidence.decision
    assert result.prediction_graph == result.graph


def test_while_it_learns_open_edges_are_in_the_estimate_alone() -> None:
    built = Trainer(DATA, METHODS["oocdm"], seed=5)
    assert built.position.structure.edges.tolist() == TESTABLE.tolist()
    assert set(built.evidence.decision[TESTABLE]) == {"undecided"}
    assert set(built.evidence.decision[~TESTABLE]) == {"untestable"}
    built.run()
    assert built.graph == built.evidence.graph


def test_positions_hold_values() -> None:
    built = Trainer(DATA, METHODS["oocdm"], seed=5)
    built.run()
    position = built.position
    assert isinstance(position.structure, Structure) and isinstance(position.evidence, Evidence)
    assert position.structure.layout == built.model.layout
    assert len(position.found) == SCHEDULE.iterations
    assert all(edges.shape == (len(EDGES),) and edges.dtype == bool for edges in position.found)
    paths = built.model.paths.numpy() > 0
    assert np.array_equal(position.structure.paths, paths)
