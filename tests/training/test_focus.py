"""Learning single targets alone."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from oocdm import FitResult, Oocdm, Progress, Schedule, fit, resume
from oocdm.bench.units import exponents_of, in_units
from oocdm.data.dataset import Dataset
from oocdm.discovery import Gains
from oocdm.errors import ModelError
from oocdm.files.tensors import from_bytes
from oocdm.graph import ClassEdges, Layout, Structure
from oocdm.methods.method import Term
from oocdm.models.memory import measure
from oocdm.models.oocdm.excerpt import excerpt_of
from oocdm.models.oocdm.model import OocdmModel
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.training import Trainer, confirm, focus, trainer
from oocdm.training.clock import Clock
from oocdm.training.focus import TRIFLE, VARIANTS, Trial
from oocdm.training.run import CHECKPOINT
from tests.training.toys import assert_same


class Ball(ObjectClass):
    place = Real(static=True)
    charge = Real(static=True)
    colour = Real(static=True)
    speed = Real()
    size = Real()


SCHEMA = Schema(Ball)
FORCES = {"self.place", "Ball[*].place", "Ball[*].charge"}
SCHEDULE = Schedule(
    iterations=2, steps_per_iteration=75, polish_steps=150, patience=9, batch_size=128
)


def balls(seed: int, num: int = 3000, count: int = 4) -> Dataset:
    """Speeds that are sums of charges over squared distances, in single steps; sizes shrink."""
    rng = np.random.default_rng(seed)
    place, charge, colour = rng.uniform(-2, 2, (3, num, count))
    size = rng.uniform(1, 2, (num, count))
    apart = place[:, :, None] - place[:, None]
    force = (charge[:, None] * apart / (apart**2 + 0.3) ** 1.5).sum(2)
    force += 0.1 * rng.standard_normal(force.shape)
    shrunk = 0.9 * size + 0.02 * rng.standard_normal(size.shape)
    fixed = {"place": place, "charge": charge, "colour": colour}
    columns = {name: np.stack([x, x], axis=1) for name, x in fixed.items()}
    columns |= {
        "speed": np.stack([np.zeros_like(force), force], axis=1),
        "size": np.stack([size, shrunk], axis=1),
    }
    episode, step, obj = np.indices(columns["speed"].shape)
    columns |= {"episode": episode, "step": step, "object": obj}
    frame = pd.DataFrame({name: column.ravel() for name, column in columns.items()})
    return Dataset.from_frames({"Ball": frame}, SCHEMA)


def short(patch: pytest.MonkeyPatch, steps: int, rounds: int) -> None:
    """Learn for less long than usual."""
    patch.setattr(trainer, "LEAST_LEARNED", 100)
    patch.setattr(focus, "FULL_STEPS", steps)
    patch.setattr(focus, "ROUND_STEPS", steps // 8)
    patch.setattr(focus, "TRIM_ROUNDS", rounds)
    patch.setattr(focus, "ROUNDS", 2)
    patch.setattr(confirm, "ROUNDS", 0)


def causes(result: FitResult, target: str) -> set[str]:
    """The causes that were found."""
    frame = result.evidence.to_frame()
    names = frame.edge[frame.decision == "yes"]
    return {name.split(" <- ")[1] for name in names if name.startswith(f"{target} <-")}


def test_what_is_between_objects_is_found_by_learning_it_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short(monkeypatch, steps=500, rounds=8)
    learned: list[str] = []
    asked = focus.Focus.unexplained

    def unexplained(self: focus.Focus) -> list[str]:
        learned.extend(asked(self))
        return list(learned)

    monkeypatch.setattr(focus.Focus, "unexplained", unexplained)
    data = balls(0)
    without = fit(data, method=Oocdm(schedule=SCHEDULE, focus=False), seed=0)
    assert not causes(without, "Ball.speed") >= FORCES
    result = fit(data, method=Oocdm(schedule=SCHEDULE), seed=0)
    assert learned == ["Ball.speed"]  # what is simple is not learned again
    assert causes(result, "Ball.speed") >= FORCES
    assert causes(result, "Ball.size") == {"self.size"}
    assert "Ball.speed by pairs" in result.model.structure(result.graph).names


def tiny(patch: pytest.MonkeyPatch, gained: bool = True) -> None:
    """A few steps of everything; all targets are learned alone, and all gain or none."""
    short(patch, steps=8, rounds=1)
    patch.setattr(focus, "ROUNDS", 1)
    patch.setattr(confirm, "ROUNDS", 2)
    patch.setattr(confirm, "STEPS", 2)
    patch.setattr(focus, "ROUND_STEPS", 3)
    patch.setattr(trainer, "LEAST_LEARNED", 8)
    patch.setattr(trainer, "POLISH_ROUND", 4)
    for name in ("UNEXPLAINED", "SURE", "ERRORS"):
        patch.setattr(focus, name, -1e9)
    patch.setattr(focus, "LEAST", -1e9 if gained else 1e9)


TINY = Schedule(2, 4, 6, patience=9, batch_size=32, polish_batch_size=256)
LITTLE = 105 * 2**20  # bytes: batches are divided, the more so with pairs
# When a run ends, and the phase that its last checkpoint begins with.
MOMENTS = {
    ("learn", 6): "learn",
    ("confirm", 1): "confirm",
    ("focus", 7): "focus",
    ("polish", 1): "polish",
    ("polish", 5): "polish",
    ("copy", 2): "copy",
}


@pytest.mark.parametrize("outcome", ["pairs", "no pairs", "nothing gained"])
def test_a_run_goes_on_from_there_to_the_bit(
    outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended before, in and after this phase, with what it brings in and without."""
    tiny(monkeypatch, gained=outcome != "nothing gained")
    data, threshold = balls(0, num=160), 1e9 if outcome == "no pairs" else -1e9
    method = Oocdm(schedule=TINY, path_threshold=threshold)  # all paths help, or pairs never do
    copies: dict[tuple[str, int], Path] = {}

    def copy(now: Progress) -> None:
        at = now.phase, now.step
        if at in MOMENTS and at not in copies:
            copies[at] = tmp_path / f"{now.phase} {now.step}"
            shutil.copytree(tmp_path / "whole", copies[at])  # as an end of the process leaves it

    whole = fit(data, method, seed=0, folder=tmp_path / "whole", callback=copy, memory=LITTLE)
    phases = ["learn"] * 2 + ["confirm", "focus"] + ["polish"] * 2 + ["copy"] * 4
    assert [row["phase"] for row in whole.history] == phases
    has_pairs = "Ball.speed by pairs" in whole.model.structure(whole.graph).names
    assert has_pairs == (outcome == "pairs")
    assert list(copies) == list(MOMENTS)
    for at, folder in copies.items():
        path = folder / CHECKPOINT
        _, metadata = from_bytes(path.read_bytes(), path, ModelError)
        assert json.loads(metadata["position"])["phase"] == MOMENTS[at]
        assert_same(resume(folder, data), whole)


def test_without_polishing_too_a_model_may_be_asked_about_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny(monkeypatch, gained=False)
    data = balls(0, num=40)
    result = fit(data, method=Oocdm(schedule=replace(TINY, polish_steps=0)), seed=0)
    before = data.transitions().before
    for model in (result.model, result.learned):
        assert isinstance(model, OocdmModel)
        full = model.structures(model.layout.structure(True))
        for each in (model, model.literal()):
            (found,) = each(each.inputs(before), full)
            assert found["Ball.speed"].mean.isfinite().all()


def test_polishing_with_what_it_brings_in_stays_within_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny(monkeypatch)
    method = Oocdm(schedule=TINY, path_threshold=-1e9)
    built = Trainer(balls(0, num=160), method, seed=0, memory=LITTLE)
    model, planned = built.model, built.plan.polishing
    built.run()
    assert "Ball.speed by pairs" in built.position.structure.names
    batch = built.material.largest_batch([Term(1.0, built.position.structure.flags[None])], 256)
    assert len(batch.counts) == 1  # which all parts of it share
    limit = built.training.budget.working + sum(p.nbytes for p in model.parameters())

    def taken(at_once: int) -> int:
        model.zero_grad(set_to_none=True)
        return measure(lambda: batch.backward_of_first(at_once)).peak

    assert taken(built.plan.polishing) <= limit < taken(planned)


def test_it_stays_within_what_was_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(monkeypatch)
    memory = 150 * 2**20
    built = Trainer(balls(0, num=160, count=12), Oocdm(schedule=TINY), seed=0, memory=memory)
    estimate = built.plan.estimate
    learned = built._focus(built.rng, Clock(0.0, None))
    lesson = focus.Lesson(learned, excerpt_of(built.model, built.model.schema.all_targets))
    assert lesson.one.size < focus.BATCH  # else nothing is divided
    used = measure(lambda: lesson.learn(lambda done, loss: None))
    assert used.peak <= estimate.working["focus"] <= estimate.total <= memory


def test_progress_is_one_count_that_never_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny(monkeypatch)
    monkeypatch.setattr(focus, "AT_ONCE", 1)  # two targets, two excerpts
    told: list[Progress] = []
    fit(
        balls(0, num=40), method=Oocdm(schedule=replace(TINY, polish_steps=0)), callback=told.append
    )
    steps = [now.step for now in told if now.phase == "focus"]
    assert steps[:14] == list(range(1, 15))  # 8, 3 and 3
    assert all(one < other for one, other in pairwise(steps))
    # Two excerpts, each with at most two rounds of two steps that confirm; not all may be needed.
    assert {now.total for now in told if now.phase == "focus"} == {2 * (14 + 4)}
    assert 14 + 18 <= steps[-1] <= 2 * 18


def test_what_does_not_fit_is_refused_beforehand_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny(monkeypatch)
    data, memory = balls(0, num=160, count=12), 103 * 2**20
    with pytest.raises(ModelError, match=r"or learn no targets alone: focus=False\.$"):
        Trainer(data, Oocdm(schedule=TINY), seed=0, memory=memory)
    Trainer(data, Oocdm(schedule=TINY, focus=False), seed=0, memory=memory)


# ---------------------------------------------------------------- what is left out for trial


LAYOUT = Layout(ClassEdges.of(SCHEMA), ("network",))


def gains(mean: np.ndarray) -> Gains:
    return Gains(mean, np.zeros(len(mean)), np.full(len(mean), 9))


def test_many_go_at_once_then_fewer_then_single_ones() -> None:
    everything, order = LAYOUT.structure(True), np.arange(len(LAYOUT)).astype(float)
    trial = Trial(np.arange(8))
    first = trial.propose(everything, gains(order))
    assert [chosen.tolist() for chosen in first] == [[0, 1, 2, 3]] * VARIANTS  # the least helpful
    assert not len(trial.verdict([-0.5] * VARIANTS))
    assert trial.propose(everything, gains(order))[0].tolist() == [0, 1]
    assert not len(trial.verdict([-0.5] * VARIANTS))
    assert [c.tolist() for c in trial.propose(everything, gains(order))] == [[0], [1], [2], [3]]


def test_what_does_no_good_goes_and_what_is_needed_is_not_asked_for_again() -> None:
    everything, order = LAYOUT.structure(True), np.arange(len(LAYOUT)).astype(float)
    trial = Trial(np.arange(4))
    trial.propose(everything, gains(order))
    assert trial.verdict([-TRIFLE / 2] * VARIANTS).tolist() == [0, 1]
    left = Structure(LAYOUT, np.isin(np.arange(len(LAYOUT)), [2, 3]))
    assert [c.tolist() for c in trial.propose(left, gains(order))] == [[2], [3]]
    assert not len(trial.verdict([-0.2, -0.3, 0.0, 0.0]))
    assert trial.propose(left, gains(order)) == []


def test_of_single_ones_the_least_helpful_goes_unless_another_does_harm() -> None:
    everything, order = LAYOUT.structure(True), np.arange(len(LAYOUT)).astype(float)
    for added, expected in (([0.0, 0.005], [0]), ([0.0, 0.5], [1]), ([-0.5, 0.0], [])):
        trial = Trial(np.arange(2))
        trial.share = 0.0
        trial.propose(everything, gains(order))
        assert trial.verdict([*added, 0.0, 0.0]).tolist() == expected


def test_what_is_learned_alone_does_not_depend_on_units(monkeypatch: pytest.MonkeyPatch) -> None:
    short(monkeypatch, steps=16, rounds=2)
    for name in ("UNEXPLAINED", "SURE", "LEAST", "ERRORS"):
        monkeypatch.setattr(focus, name, -np.inf)
    data, method = balls(0, num=200), Oocdm(schedule=SCHEDULE)
    own, other = (
        fit(in_units(data, exponents_of(SCHEMA, unit)), method=method, seed=0)
        for unit in ("2^0", "mixed")
    )
    assert any(row["phase"] == "focus" for row in own.history)
    weights = zip(own.model.parameters(), other.model.parameters(), strict=True)
    assert all(torch.equal(one, two) for one, two in weights)
    np.testing.assert_array_equal(own.evidence.decision, other.evidence.decision)
