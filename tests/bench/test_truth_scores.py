"""Models beside the truth of generated worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import oocdm
from oocdm.bench.truth_scores import blurred_scores, score_fields
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.generated.distribution import Choice, Normal
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import CategoricalField
from oocdm.worlds import WorldState

QUICK = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)


def true_distribution(world: GeneratedWorld, data: oocdm.Dataset, c: str, f: str) -> Any:
    rows = data.starts
    split: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for name in world.schema.classes:
        for is_action, part in enumerate(split):
            part[name] = {
                field: data.values[name][field][rows]
                for field, kind in world.schema.fields(name).items()
                if kind.action is bool(is_action)
            }
    present = {name: p[rows] for name, p in data.present.items()}
    return world.distribution(WorldState(split[0], present), split[1])[c][f]


def test_the_truth_itself_is_no_nats_below_the_truth() -> None:
    world = GeneratedWorld(world_seed=10_001, family="weak")
    data = oocdm.collect(world, steps=300, seed=0)
    truth, seen = world.truth(data), set()
    for c in world.schema.classes:
        for f in world.schema.targets(c):
            found, field = true_distribution(world, data, c, f), world.schema.field(c, f)
            seen.add(type(found))
            if isinstance(found, Choice):
                log = torch.from_numpy(np.log(found.probabilities))
                prediction: Any = CategoricalField(field, log)
            else:
                assert isinstance(found, Normal)
                mean = torch.from_numpy(np.array(found.mean))
                sigma = torch.full_like(mean, float(found.sd))
                prediction = NormalField(field, mean, sigma)
            scores = blurred_scores({(c, f): prediction}, truth, c, f)  # type: ignore[arg-type]
            assert truth.nats_below((c, f), scores) == pytest.approx(0, abs=1e-5)
    assert seen == {Choice, Normal}


@dataclass
class Flat:
    """A distribution of another kind, which has a density of its own."""

    density: float

    def log_prob(self, values: Tensor, blur: Tensor) -> Tensor:
        return torch.full_like(values, self.density) - blur


def test_other_distributions_tell_their_own_density_under_the_blur() -> None:
    world = GeneratedWorld(world_seed=4)
    truth = world.truth(oocdm.collect(world, steps=100, seed=0))
    scores = blurred_scores({("A", "x1"): Flat(-3.0)}, truth, "A", "x1")  # type: ignore[dict-item]
    assert np.allclose(scores, -3.0 - truth.blur["A", "x1"])
    below = truth.log_likelihood["A.x1"] + 3.0 + float(truth.blur["A", "x1"])
    assert truth.nats_below("A.x1", scores) == pytest.approx(below)


def test_every_field_has_its_nats_and_numbers_have_coverage() -> None:
    world = GeneratedWorld(world_seed=10_001, family="weak")
    data = oocdm.collect(world, steps=200, seed=0)
    found = score_fields(oocdm.fit(data, seed=0, schedule=QUICK), world, data)
    reports = {name: world.schema.field(*world.schema.split(name)).num_codes for name in found}
    for name, codes in reports.items():
        assert found[name]["nats_below"] is not None
        assert (found[name]["coverage"] is None) == bool(codes)
    assert len(found) == sum(len(world.schema.targets(c)) for c in world.schema.classes)
