"""Copies of a polished model: how they are learned, kept and counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from oocdm import FitResult, ModelError, Oocdm, Schedule, evaluate, fit, load, rollout
from oocdm.models.prepared import Prepared
from oocdm.training import estimate_memory
from oocdm.training.clock import Clock
from oocdm.training.copies import learn_copy
from tests.training.toys import DATA, METHODS

SCHEDULE = Schedule(iterations=1, steps_per_iteration=4, polish_steps=25, batch_size=32)


@pytest.fixture(scope="module")
def result() -> FitResult:
    return fit(DATA, replace(METHODS["oocdm"], schedule=SCHEDULE), seed=1)


def copy_of(result: FitResult, seed: int, seconds: float | None = None) -> torch.nn.Module:
    clock, told = Clock(0.0, seconds), []
    clock.start(0.0, 1.0)
    data = Prepared.of(result.model, DATA)
    structure = result.model.structure(result.prediction_graph)
    rng = np.random.default_rng(seed)
    args = (result.model, structure, data, SCHEDULE, 10**9, rng, clock)
    copy = learn_copy(*args, lambda step, loss: told.append(step))
    assert told == list(range(1, 6 if seconds is None else 2))
    return copy


def vector(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def test_copies_differ_from_the_model_and_from_each_other(result: FitResult) -> None:
    before = vector(result.model).clone()
    one, same, other = (copy_of(result, seed) for seed in (0, 0, 1))
    assert torch.equal(vector(one), vector(same))
    assert not torch.equal(vector(one), vector(other))
    assert not torch.equal(vector(one), before)
    assert torch.equal(vector(result.model), before)


def test_limited_time_ends_a_copy_early(result: FitResult) -> None:
    copy_of(result, 0, seconds=0.0)


def test_a_fit_has_as_many_as_its_schedule_says(result: FitResult) -> None:
    assert result.copies is not None and len(result.copies.models) == 4
    assert [row["phase"] for row in result.history].count("copy") == 4
    for schedule in (replace(SCHEDULE, copies=0), replace(SCHEDULE, polish_steps=0)):
        assert fit(DATA, replace(METHODS["oocdm"], schedule=schedule)).copies is None
    assert Oocdm.preset("paper").schedule.polish_steps == 0  # so it has none


def test_they_are_kept_with_a_run(result: FitResult, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert evaluate(again, DATA).to_json() == evaluate(result, DATA).to_json()
    path = tmp_path / "run" / "copies.safetensors"
    path.write_bytes((tmp_path / "run" / "learned.safetensors").read_bytes())
    with pytest.raises(ModelError, match=r"copies\.safetensors.* is not as it was"):
        load(tmp_path / "run")
    (tmp_path / "run" / "manifest.json").unlink()
    with pytest.raises(ModelError, match="other things than copies of the run's model"):
        load(tmp_path / "run")


def test_evaluate_and_rollout_are_less_sure_with_them(result: FitResult) -> None:
    sure, unsure = (evaluate(result, DATA, doubts=doubts) for doubts in (False, True))
    alone = evaluate(replace(result, copies=None), DATA)
    assert sure.to_json() == alone.to_json() != unsure.to_json()
    assert all(
        unsure.fields[name].rmse == field.rmse
        and (field.coverage is None or unsure.fields[name].coverage >= field.coverage)
        for name, field in sure.fields.items()
    )
    state = DATA.transitions(slice(0, 1)).before
    push = torch.zeros(3, *state.present["Ball"].shape)
    futures = [
        rollout(result, state, {"Ball": {"push": push}}, samples=400, doubts=doubts)
        for doubts in (False, True)
    ]
    widths = [f.interval("Ball.x")[1] - f.interval("Ball.x")[0] for f in futures]
    there = state.present["Ball"][0]
    assert (widths[1] > 0.9 * widths[0])[..., there].all()


def test_their_memory_is_counted(result: FitResult) -> None:
    size = sum(t.nbytes for t in result.model.state_dict().values())
    with_copies, without = (
        estimate_memory(DATA, replace(METHODS["oocdm"], schedule=replace(SCHEDULE, copies=n)))
        for n in (4, 0)
    )
    assert with_copies.weights - without.weights >= 4 * 0.9 * size
