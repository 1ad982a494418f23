"""Which targets stay mixtures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import oocdm
from oocdm.models.mixture_field import MixtureField
from oocdm.models.prediction import ClassPrediction, WidePart
from oocdm.training.likelihoods import _is_better, as_normal

QUICK = oocdm.Schedule(iterations=4, steps_per_iteration=100, polish_steps=400)


def jumping(likelihood: str, jump: float, seed: int = 0) -> oocdm.Dataset:
    """v' = 0.9 v + push, and in one of fifty steps a jump."""
    rng, episodes, steps = np.random.default_rng(seed), 80, 20
    v, rows = rng.normal(size=episodes), []
    for step in range(steps + 1):
        push = rng.normal(size=episodes)
        last = step == steps
        rows.append(
            pd.DataFrame(
                {
                    "episode": np.arange(episodes),
                    "step": step,
                    "object": 0,
                    "v": v,
                    "push": np.nan if last else push,
                }
            )
        )
        v = 0.9 * v + push + jump * rng.normal(size=episodes) * (rng.random(episodes) < 0.02)
    frame = pd.concat(rows).sort_values(["episode", "step"])
    ball = type(
        "Ball",
        (oocdm.ObjectClass,),
        {"v": oocdm.Real(likelihood=likelihood), "push": oocdm.Real(action=True)},
    )
    frame["push"] = frame["push"].astype("Float64").where(frame["step"] < steps, pd.NA)
    return oocdm.Dataset.from_frames({"Ball": frame}, oocdm.Schema(ball))


GRAPH = ["Ball.v <- self.v, self.push"]


@pytest.mark.parametrize(
    ("likelihood", "jump", "stays"),
    [("auto", 20.0, True), ("auto", 0.0, False), ("mixture", 0.0, True), ("normal", 20.0, False)],
)
def test_auto_fields_stay_mixtures_where_it_pays(likelihood: str, jump: float, stays: bool) -> None:
    data = jumping(likelihood, jump)
    result = oocdm.fit(data, seed=0, graph=GRAPH, schedule=QUICK)
    found = result.model.compile_for(result.graph)(data.transitions().before)["Ball.v"]
    assert isinstance(found, MixtureField) == stays
    assert result.schema.field("Ball", "v").likelihood == likelihood
    # The network before polishing was learned as a mixture, and predicts as one.
    assert bool(result.learned.heads["Ball"].is_mixture[0]) == (likelihood != "normal")


def test_what_was_chosen_is_read_again(tmp_path) -> None:
    data = jumping("auto", 20.0)
    quick = oocdm.Schedule(iterations=1, steps_per_iteration=60, polish_steps=20)
    result = oocdm.fit(data, seed=0, graph=GRAPH, schedule=quick, folder=tmp_path / "run")
    again = oocdm.load(tmp_path / "run")
    assert torch.equal(again.model.heads["Ball"].is_mixture, result.model.heads["Ball"].is_mixture)
    assert oocdm.evaluate(again, data).aill == oocdm.evaluate(result, data).aill


def test_a_likelihood_that_is_given_overrides_and_is_kept(tmp_path) -> None:
    data = jumping("auto", 20.0)
    quick = {"iterations": 1, "steps_per_iteration": 3, "polish_steps": 2}
    result = oocdm.fit(data, schedule=quick, likelihood="normal", folder=tmp_path / "run")
    again = oocdm.load(tmp_path / "run")
    for each in (result, again):
        assert each.method.likelihood == "normal"
        assert each.schema.field("Ball", "v").likelihood == "auto"  # as the user said
        assert each.model.schema.field("Ball", "v").likelihood == "normal"
        assert each.model.heads["Ball"].num_outputs == 2
    again.save(tmp_path / "copy")
    assert oocdm.load(tmp_path / "copy").schema.likelihoods == data.schema.likelihoods


def test_a_run_meets_data_that_say_another_likelihood() -> None:
    quick = {"iterations": 1, "steps_per_iteration": 3, "polish_steps": 2}
    result = oocdm.fit(jumping("auto", 20.0), schedule=quick)
    aills = [oocdm.evaluate(result, jumping(name, 20.0)).aill for name in ("auto", "normal")]
    assert aills[0] == aills[1]


def test_gains_of_one_episode_are_not_sure() -> None:
    cluster = torch.arange(20).repeat_interleave(10)
    known = torch.ones(200, 3)
    gains = torch.zeros(200, 3, dtype=torch.float64)
    gains[:, 0] = 0.05 + 0.01 * torch.randn(200, generator=torch.Generator().manual_seed(0))
    gains[:10, 1] = 5.0
    gains[:, 2] = 0.005
    assert _is_better(gains, known, cluster).tolist() == [True, False, False]


def test_the_normal_has_mean_and_variance_of_the_mixture() -> None:
    generator = torch.Generator().manual_seed(0)
    one = torch.ones(1, 1, 2, 1)
    wide = WidePart(3 * one, 2 * one, 0.3 * one, torch.tensor([True, False]))
    found = as_normal(ClassPrediction(one, one / 2, {}, wide))
    is_wide = torch.rand(200_000, generator=generator) < 0.3
    noise = torch.randn(200_000, generator=generator)
    drawn = torch.where(is_wide, 3 + 2 * noise, 1 + noise / 2)
    assert found.mean[0, 0, 0, 0].item() == pytest.approx(drawn.mean().item(), abs=0.02)
    assert found.sigma[0, 0, 0, 0].item() == pytest.approx(drawn.std().item(), abs=0.02)
    assert found.mean[0, 0, 1, 0] == 1 and found.sigma[0, 0, 1, 0] == 0.5 and found.wide is None
