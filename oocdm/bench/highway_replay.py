"""A braked car: what the model believes of the car behind it, beside the simulator replayed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from oocdm.bench.highway import SCHEMA, change, make_highway, vehicles
from oocdm.data.dataset import Dataset
from oocdm.inference import counterfactual
from oocdm.training import FitResult

HORIZON = 10
BRAKED = 8.0  # metres a second that the car ahead loses at once
GAP = (8.0, 40.0)  # metres between the two, in one lane
BESIDE = 1.0  # metres to the side that are still one lane
EVERY = 10  # steps between cases of one episode


def brake_effects(result: FitResult, data: Dataset, most: int) -> dict[str, Any]:
    """How much the car behind is slower for it after ten steps, by the model and in truth.

    `replay_error`, median and largest over cases, is how far speeds of the simulator, replayed
    without braking, are from those of the log. It is not 0 everywhere: the log has 7 digits, and
    a timer that is rounded thinks of changing lanes a step earlier or later.
    """
    cases = [case for _, case in zip(range(most), _cases(data), strict=False)]
    believed, true, errors = [], [], []
    for row, leader, follower in cases:
        episode, step = int(data.episode[row]), int(data.step[row])
        speed = float(data.values["Car"]["speed"][row, leader]) - BRAKED
        do = {f"Car[{leader}].speed": speed}
        answer = counterfactual(result, data, episode, step, do, horizon=HORIZON)
        last = len(answer.steps) - 1
        pair = (answer.imagined[last], answer.actual[last])
        imagined, actual = (float(s["Car.speed"][0, follower]) for s in pair)
        believed.append(imagined - actual)
        usual, braked = (_replay(data, row, leader, value) for value in (None, speed))
        true.append(float(braked[follower] - usual[follower]))
        logged = data.values["Car"]["speed"][row + HORIZON][: len(usual)]
        errors.append(float(np.abs(usual - logged).max()))
    strong = np.array(true) < -0.5
    return {
        "cases": len(cases),
        "true": true,
        "believed": believed,
        "true_mean": float(np.mean(true)) if cases else None,
        "believed_mean": float(np.mean(believed)) if cases else None,
        # Of those that brake for it, how many do so by the model by half as much or more.
        "brakes": float(np.mean(np.array(believed)[strong] < 0.5 * np.array(true)[strong]))
        if strong.any()
        else None,
        "replay_error": [float(np.median(errors)), max(errors)] if cases else None,
    }


def _cases(data: Dataset) -> Iterator[tuple[int, int, int]]:
    """Rows of the log in which a car closely follows another one: row, leader and follower."""
    for row in data.starts.tolist():
        later = data.episode[row + HORIZON : row + HORIZON + 1]
        if data.step[row] % EVERY or later.tolist() != [data.episode[row]]:
            continue
        cars = np.flatnonzero(data.present["Car"][row])
        x, y = (data.values["Car"][f][row] for f in ("x", "y"))
        for leader in cars.tolist():
            gaps = x[leader] - x[cars]
            is_close = (np.abs(y[leader] - y[cars]) < BESIDE) & (gaps > GAP[0]) & (gaps < GAP[1])
            if is_close.any():
                yield row, leader, int(cars[is_close][np.argmin(gaps[is_close])])
                break


def _replay(data: Dataset, row: int, leader: int, speed: float | None) -> np.ndarray:
    """Speeds of the cars after ten steps of the simulator from a logged state."""
    env = make_highway()
    twin: Any = env.unwrapped
    twin.config["vehicles_count"] = int(data.present["Car"][row].sum())
    twin.reset(seed=0)
    for (c, number), vehicle in vehicles(env).items():
        for f, kind in SCHEMA.fields(c).items():
            if not kind.action:
                change(vehicle, f, data.values[c][f][row, number].item())
    if speed is not None:
        change(vehicles(env)["Car", leader], "speed", speed)
    for step in range(HORIZON):
        twin.step(int(data.values["Ego"]["action"][row + step, 0]))
    env.close()
    return np.array([v.speed for (c, _), v in vehicles(env).items() if c == "Car"])
