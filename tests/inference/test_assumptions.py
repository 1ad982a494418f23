"""Violations of each assumption planted in a small linear world, under a model that knows it."""

from __future__ import annotations

from dataclasses import astuple, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from oocdm.data import Dataset
from oocdm.data.snapshot import Snapshot
from oocdm.errors import DataError
from oocdm.graph import ClassGraph
from oocdm.inference import Finding, check_assumptions
from oocdm.inference.assumptions import _residuals
from oocdm.models.prediction import ClassPrediction, Predictions
from oocdm.schema import Boolean, ObjectClass, Real, Schema
from tests.inference.ragged import padded, ragged, random_model


class Ball(ObjectClass):
    x = Real()
    v = Real()
    lit = Boolean()
    mass = Real(static=True)
    push = Real(action=True)


class Box(ObjectClass):
    place = Real(shape=(2,))


SCHEMA = Schema(Ball, Box)
SIGMA = 0.3
BALLS, BOXES = 3, 2


def world(
    seed: int = 0,
    episodes: int = 40,
    steps: int = 25,
    together: float = 0.0,
    memory: float = 0.0,
    shock: float = 0.0,
    shared: float = 0.0,
    lit_by_noise: bool = False,
    drift: bool = False,
    noise: float = SIGMA,
) -> Dataset:
    """A log of x' = x + v / 2, v' = v / 2 + push, lit' ~ x and a place that shrinks, and noise.

    `together` correlates the noise of x and v, `shock` that of x of all balls, `shared` that of x
    and of the second coordinate of place; `memory` times the previous v is added to x; `drift`
    makes the noise of x slow, like a speed that was not logged.
    """
    rng = np.random.default_rng(seed)
    shape = (episodes, steps, BALLS)
    x, v, lit = np.zeros((3, *shape))
    place = np.zeros((episodes, steps, BOXES, 2))
    push = rng.normal(size=shape)
    x[:, 0], v[:, 0] = rng.normal(size=(2, episodes, BALLS))
    common = rng.normal(size=(2, episodes, steps, 1))
    slow = rng.normal(size=(episodes, BALLS))
    for k in range(1, steps):
        ex, ev = rng.normal(size=(2, episodes, BALLS))
        ev = together * ex + np.sqrt(1 - together**2) * ev
        ex = np.sqrt(shock) * common[0, :, k] + np.sqrt(1 - shock) * ex
        ex = np.sqrt(shared) * common[1, :, k] + np.sqrt(1 - shared) * ex
        if drift:
            slow = ex = 0.9 * slow + np.sqrt(1 - 0.9**2) * ex
        ep = rng.normal(size=(episodes, BOXES, 2))
        ep[..., 1] = np.sqrt(shared) * common[1, :, k] + np.sqrt(1 - shared) * ep[..., 1]
        x[:, k] = x[:, k - 1] + v[:, k - 1] / 2 + noise * ex
        x[:, k] += memory * noise * v[:, max(k - 2, 0)]
        v[:, k] = v[:, k - 1] / 2 + push[:, k - 1] + noise * ev
        place[:, k] = 0.8 * place[:, k - 1] + noise * ep
        threshold = ex if lit_by_noise else rng.normal(size=ex.shape)
        lit[:, k] = threshold + np.tanh(x[:, k - 1]) > 0
    push[:, -1] = 0
    mass = np.repeat(rng.normal(size=(episodes, 1, BALLS)), steps, axis=1)
    columns = {"x": x, "v": v, "lit": lit, "mass": mass, "push": push}
    values = {
        "Ball": {f: a.reshape(-1, BALLS).astype(Ball.fields[f].dtype) for f, a in columns.items()},
        "Box": {"place": place.reshape(-1, BOXES, 2).astype(np.float32)},
    }
    rows = episodes * steps
    present = {"Ball": np.ones((rows, BALLS), bool), "Box": np.ones((rows, BOXES), bool)}
    observed = {c: {f: present[c].copy() for f in fields} for c, fields in values.items()}
    step = np.tile(np.arange(steps), episodes)
    observed["Ball"]["push"][step == steps - 1] = False
    off = np.zeros(rows, bool)
    episode = np.repeat(np.arange(episodes), steps)
    return Dataset(
        SCHEMA, values, present, observed, episode, step, np.zeros(rows, np.float32), off, off
    )


def knowing(sigma: float = SIGMA, bias: float = 0.0, speed: float = 0.5) -> Any:
    """A result whose model predicts the clean world as it is (or errs as asked for)."""

    def predict(before: Snapshot) -> Predictions:
        x, v, push = (before["Ball", f].double() for f in ("x", "v", "push"))
        lit = torch.special.ndtr(torch.tanh(x))
        ball = torch.stack([x + speed * v + bias, v / 2 + push + bias, torch.zeros_like(x)], 2)
        logits = torch.stack([(1 - lit).log(), lit.log()], -1).unsqueeze(2)
        place = 0.8 * before["Box", "place"].double().unsqueeze(2)
        ball = ball.unsqueeze(-1)
        return Predictions(
            SCHEMA,
            {
                "Ball": ClassPrediction(ball, torch.full_like(ball, sigma), {"lit": logits}),
                "Box": ClassPrediction(place, torch.full_like(place, sigma), {}),
            },
        )

    model = SimpleNamespace(
        schema=SCHEMA, counts=None, device=torch.device("cpu"), compile_for=lambda graph: predict
    )
    return SimpleNamespace(model=model, graph=ClassGraph.full(SCHEMA))


def check(data: Dataset) -> list[Finding]:
    return check_assumptions(knowing(), data)


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1, [str(f) for f in findings]
    assert findings[0].p_value < 1e-3
    return findings[0]


def edited(data: Dataset, c: str, f: str, rows: np.ndarray, value: float | None) -> Dataset:
    """The data with a field of all objects raised in some rows, or there unknown."""
    column, known = data.values[c][f].copy(), data.observed[c][f].copy()
    column[rows] = 0 if value is None else column[rows] + value
    known[rows] &= value is not None
    return replace(
        data,
        values={**data.values, c: {**data.values[c], f: column}},
        observed={**data.observed, c: {**data.observed[c], f: known}},
    )


def test_clean_data_have_hardly_a_finding() -> None:
    findings = [f for seed in range(20) for f in check(world(seed, episodes=12, steps=15))]
    assert len(findings) <= 4  # 5 % of 20 times 3 kinds are 3


def test_large_clean_data_have_none() -> None:
    assert check(world(episodes=100, steps=40)) == []


def test_noise_that_two_fields_share() -> None:
    found = only(check(world(together=0.43)))
    assert (found.kind, found.what) == ("within step", ("Ball.x", "Ball.v"))
    assert found.size == pytest.approx(0.43, abs=0.04)
    assert str(found) == (
        "Ball.x and Ball.v move together beyond what the graph explains (correlation "
        f"{found.size:.2f}): one may cause the other within a step, or both share a cause that "
        "was not logged."
    )


def test_noise_that_two_fields_share_with_opposite_signs() -> None:
    found = only(check(world(together=-0.3)))
    assert found.size == pytest.approx(-0.3, abs=0.04)
    assert "move against each other" in str(found)


def test_a_choice_that_follows_the_noise_of_a_number() -> None:
    found = only(check(world(lit_by_noise=True)))
    assert found.what == ("Ball.x", "Ball.lit")
    assert found.size > 0.5


def test_a_field_that_remembers() -> None:
    """The variance of v is 1.09 / (1 - 1/4), a quarter of which the next v tells."""
    found = only(check(world(memory=0.5)))
    assert (found.kind, found.what) == ("history", ("Ball.x",))
    total = 0.5**2 * 1.09 / 0.75
    assert found.size == pytest.approx(total * 0.75 / (1 + total), abs=0.03)
    assert str(found) == (
        f"Ball.x still depends on what was two steps ago (explains {100 * found.size:.0f} % of "
        "what is left): log a longer history, e.g. add the previous value as a field."
    )


def test_a_speed_that_was_not_logged() -> None:
    found = only(check(world(drift=True)))
    assert (found.kind, found.what) == ("history", ("Ball.x",))
    assert found.size > 0.5


def test_a_missing_parent_is_not_taken_for_a_memory() -> None:
    """v is like the previous v, but the current one says it all."""
    findings = check_assumptions(knowing(speed=0.0), world())
    assert not [f for f in findings if f.kind == "history"]


def test_a_shock_to_all_objects_of_a_class() -> None:
    found = only(check(world(shock=0.3)))
    assert (found.kind, found.what) == ("common cause", ("Ball.x",))
    assert found.size == pytest.approx(0.3, abs=0.05)
    assert str(found).startswith("Ball.x of different objects move together")


def test_a_shock_to_two_classes() -> None:
    findings = {f.what: f for f in check(world(shared=0.5))}
    assert set(findings) == {("Ball.x",), ("Box.place",), ("Ball.x", "Box.place")}
    between = findings["Ball.x", "Box.place"]
    # Of the mean of n, the common part has 0.5 and the rest 0.5 / n.
    assert between.size == pytest.approx(0.5 / np.sqrt((0.5 + 0.5 / 3) * (0.5 + 0.5 / 2)), abs=0.05)
    assert str(between).startswith("Ball.x and Box.place of different classes move together")
    assert {f.kind for f in findings.values()} == {"common cause"}


def test_findings_are_sorted_and_small_ones_left_out() -> None:
    findings = check(world(episodes=100, together=0.3, shock=0.5, memory=0.5))
    sizes = [abs(f.size) for f in findings]
    assert len(sizes) >= 3 and sizes == sorted(sizes, reverse=True)
    assert check(world(episodes=300, steps=40, together=0.02)) == []


def test_a_constant_error_is_no_correlation() -> None:
    assert check_assumptions(knowing(bias=0.5 * SIGMA), world()) == []


def test_patterns_finer_than_the_predicted_sigma_do_not_count() -> None:
    data = world(together=0.9, noise=SIGMA / 20)
    assert check(data) == []
    assert check_assumptions(knowing(sigma=SIGMA / 20), data)


def test_too_small_sigmas_do_not_inflate_a_correlation() -> None:
    data = world(together=0.3)
    (found,) = [f for f in check_assumptions(knowing(sigma=SIGMA / 3), data) if len(f.what) == 2]
    assert found.size == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("together", [0.0, 0.43])
def test_single_surprises_do_not_dominate(together: float) -> None:
    data, row = world(together=together), np.array([24])  # an episode's last: nothing follows it
    findings = check(edited(edited(data, "Ball", "x", row, 1e4), "Ball", "v", row, -1e4))
    assert [f.what for f in findings] == [("Ball.x", "Ball.v")] * (together > 0)
    assert all(f.size == pytest.approx(together, abs=0.06) for f in findings)


@pytest.mark.parametrize("is_there", [True, False])
def test_unobserved_values_and_absent_objects_do_not_count(is_there: bool) -> None:
    """A last step of which nothing is known is like one that was not logged."""
    data = world(together=0.43, shock=0.3, shared=0.2, memory=0.5)
    kept, last = np.flatnonzero(~data.is_last), np.flatnonzero(data.is_last)
    hidden = data
    for c, cls in SCHEMA.classes.items():
        for f in cls.fields:
            hidden = edited(hidden, c, f, last, None)
    if not is_there:
        present = {c: p & ~data.is_last[:, None] for c, p in data.present.items()}
        # A static value was filled in again, since other steps of its episode have it.
        there = {"present": present, "observed": {}, "values": {}}
        for c, mask in present.items():
            there["observed"][c] = {f: known & mask for f, known in hidden.observed[c].items()}
            there["values"][c] = {
                f: np.where(there["observed"][c][f].reshape(*mask.shape, *[1] * (v.ndim - 2)), v, 0)
                for f, v in hidden.values[c].items()
            }
        hidden = replace(hidden, **there)
    found, expected = check(hidden), check(data._take(kept))
    assert len(expected) > 4
    assert [f.what for f in found] == [f.what for f in expected]
    np.testing.assert_allclose([f.size for f in found], [f.size for f in expected], rtol=1e-9)


def test_history_counts_where_all_of_an_object_is_known() -> None:
    data = world(memory=0.5)
    few, enough = (edited(data, "Ball", "mass", data.episode >= n, None) for n in (7, 20))
    assert check(few) == []  # seven episodes are left
    assert only(check(enough)).kind == "history"


@pytest.mark.parametrize("seed", [0, 1])
def test_ragged_data_do_not_crash(seed: int) -> None:
    data = ragged(lengths=(6, 1, 9, 4, 8, 7, 5, 9, 9, 6, 8), seed=seed)
    result: Any = SimpleNamespace(model=random_model(data), graph=ClassGraph.full(data.schema))
    findings = check_assumptions(result, data)
    for f in findings:
        assert 0.05 <= abs(f.size) <= 1 and 0 <= f.p_value <= 0.05
    again = check_assumptions(result, data, batch_size=7)
    for one, other in zip(findings, again, strict=True):
        assert astuple(one)[:2] == astuple(other)[:2]
        assert one.size == pytest.approx(other.size)


def test_a_field_that_is_never_known_is_not_judged() -> None:
    data = world(together=0.5)
    blind = edited(data, "Ball", "v", np.arange(len(data.episode)), None)
    assert not [f for f in check(blind) if "Ball.v" in f.what]


def test_too_few_episodes_are_refused() -> None:
    data = world(episodes=7)
    message = (
        r"^check_assumptions: expected at least 8 episodes with transitions, got 7\. "
        r"Effects are judged by how they vary between episodes; log more of them\.$"
    )
    with pytest.raises(DataError, match=message):
        check(data)


def test_data_of_another_schema_are_refused() -> None:
    with pytest.raises(DataError, match=r"^This dataset does not fit the model\."):
        check(ragged())


def test_batches_of_different_widths_change_nothing() -> None:
    data = ragged(slots=20, chance=0.15)
    result = SimpleNamespace(model=random_model(data), graph=ClassGraph.full(data.schema))

    def ask(data: Dataset) -> np.ndarray:
        found = _residuals(result, data, batch_size=4)
        assert any(each.known.any() for each in found)
        return np.concatenate([each.value.ravel() for each in found])

    np.testing.assert_allclose(ask(data), padded(data, ask))
