"""The floor of the predicted standard deviations, with predictions made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

from oocdm.envs.block import BlockWorld
from oocdm.graph import ClassGraph
from oocdm.models.features import Targets
from oocdm.models.prediction import ClassPrediction, Predictions
from oocdm.models.prepared import Prepared
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.training.calibrated_sigma import calibrate_sigma
from oocdm.worlds import collect
from tests.inference.ragged import random_model


class Ball(ObjectClass):
    x = Real()


SCHEMA = Schema(Ball)
FINEST = 0.003
STEP = (1 / FINEST) ** (1 / 32)  # the ratio of two neighbours among the floors that are tried


def floor_of(
    errors: Tensor,
    sigma: float | Tensor,
    known: Tensor | None = None,
    change_sd: float = 1.0,
    num_chunks: int = 1,
) -> float:
    """The chosen floor when predictions of mean 0 have these errors."""
    n = len(errors)
    sigmas = torch.as_tensor(sigma, dtype=torch.float32).expand(n)
    flags = torch.ones(n, dtype=torch.bool) if known is None else known
    spreads = {"change_sd": torch.full((1, 1), change_sd)}
    head = SimpleNamespace(
        spread=spreads.get,
        calibrated_sigma=torch.full((1, 1), 123.0),
        calibrated_share=torch.full((1, 1), 0.5),
        is_mixture=torch.tensor([False]),
    )

    def predict(rows: Any, structures: Tensor) -> tuple[Predictions]:
        assert structures == "structures of the graph"
        assert not head.calibrated_sigma.any()  # earlier floors are not in the way
        shape = (len(rows), 1, 1, 1)
        prediction = ClassPrediction(torch.zeros(shape), sigmas[rows].view(shape), {})
        return (Predictions(SCHEMA, {"Ball": prediction}),)

    def chunk(rows: Tensor) -> Any:
        values = {"Ball": errors[rows].float().view(-1, 1, 1, 1)}
        return SimpleNamespace(
            inputs=rows, targets=Targets(values, {"Ball": flags[rows].view(-1, 1, 1)})
        )

    class Model:
        schema = SCHEMA
        heads: ClassVar = {"Ball": head}
        __call__ = staticmethod(predict)

        def structures(self, graph: str) -> str:
            return f"structures of {graph}"

    data = SimpleNamespace(
        chunks=lambda size, work: [chunk(rows) for rows in torch.arange(n).chunk(num_chunks)]
    )
    calibrate_sigma(Model(), "the graph", data, FINEST)  # type: ignore[arg-type]
    return float(head.calibrated_sigma)


def normal(n: int, sd: float, seed: int = 0) -> Tensor:
    return torch.as_tensor(sd * np.random.default_rng(seed).normal(size=n), dtype=torch.float32)


def test_an_exact_field_gets_the_finest_floor() -> None:
    assert floor_of(torch.zeros(500), 1e-5) == pytest.approx(FINEST)


@pytest.mark.parametrize("change_sd", [1e-3, 1.0, 1e3])
def test_floors_are_in_units_of_the_field_s_change(change_sd: float) -> None:
    errors = normal(2000, 0.05) * change_sd
    floor = floor_of(errors, 1e-5 * change_sd, change_sd=change_sd)
    assert floor / change_sd == pytest.approx(floor_of(normal(2000, 0.05), 1e-5), rel=1e-4)


@pytest.mark.parametrize("sd", [0.01, 0.05, 0.3])
def test_too_small_sigmas_are_raised_to_the_size_of_the_errors(sd: float) -> None:
    floor = floor_of(normal(5000, sd), 1e-5)
    assert sd / STEP <= floor <= sd * STEP


@pytest.mark.parametrize("n", [100, 1000, 10000])
def test_one_surprise_counts_less_the_more_was_seen(n: int) -> None:
    """Of n errors one is not 0: the surprise, and an imagined one of three times its size."""
    errors = torch.zeros(n)
    errors[n // 2] = 0.5
    best = 0.5 * np.sqrt((1 + 3**2) / (n + 1))
    assert floor_of(errors, 1e-5) == pytest.approx(best, rel=STEP - 1)


@pytest.mark.parametrize("n", [1000, 10000])
@pytest.mark.parametrize("sd", [0.03, 0.3, 0.9])
def test_where_sigma_is_right_the_floor_has_hardly_any_effect(n: int, sd: float) -> None:
    errors = normal(n, sd)
    floor = floor_of(errors, sd)
    sigma = np.sqrt(sd**2 + floor**2)

    def score(s: float) -> float:
        return float((-0.5 * (errors / s) ** 2 - np.log(s)).mean())

    assert score(sd) - score(sigma) < 0.01
    assert sigma < 1.1 * sd


def test_a_predicted_sigma_that_varies_is_left_as_it_is() -> None:
    """Large where the error is large, small where it is small: nothing to mend."""
    sigma = torch.where(torch.arange(4000) % 2 == 0, 0.02, 0.5)
    errors = normal(4000, 1.0) * sigma
    assert floor_of(errors, sigma) < 0.01


def test_unknown_values_do_not_count() -> None:
    errors = normal(2000, 0.05)
    known = torch.arange(2000) % 3 > 0
    spoilt = torch.where(known, errors, torch.tensor(1e6))
    assert floor_of(spoilt, 1e-5, known) == floor_of(errors[known], 1e-5)


def test_chunks_do_not_matter() -> None:
    errors = normal(2000, 0.05)
    assert floor_of(errors, 1e-5, num_chunks=7) == floor_of(errors, 1e-5)


def test_a_floor_lies_between_the_finest_and_the_change_itself() -> None:
    assert floor_of(normal(1000, 50.0), 1e-5) == pytest.approx(1.0)
    assert floor_of(normal(1000, 1e-9), 1e-5) == pytest.approx(FINEST)


def test_calibrating_twice_is_calibrating_once() -> None:
    data = collect(BlockWorld(num_blocks=2), 120)
    model = random_model(data)
    prepared = Prepared.of(model, data)
    floors = []
    for _ in range(2):
        calibrate_sigma(model, ClassGraph.full(data.schema), prepared, FINEST)
        floors.append(torch.cat([model.heads[c].calibrated_sigma for c in data.schema.classes]))
    assert torch.equal(*floors)
    assert (floors[0] > 0).all()


def test_predictions_respect_the_floor() -> None:
    data = collect(BlockWorld(num_blocks=2), 60)
    model = random_model(data)
    inputs = model.inputs(data.transitions().before)
    structures = model.structures(ClassGraph.full(data.schema))
    before = model(inputs, structures)[0].classes["Block"].sigma
    model.heads["Block"].calibrated_sigma.fill_(3.0)
    after = model(inputs, structures)[0].classes["Block"].sigma
    torch.testing.assert_close(after, (before.square() + 9).sqrt())
