"""How long it takes to plan one action, against the reference and as objects grow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from oocdm.bench.machine import describe_machine
from oocdm.bench.mouse import Tell, fitted_mouse, mouse_world
from oocdm.bench.results import Result, recall
from oocdm.data.snapshot import Snapshot
from oocdm.inference import Fitted
from oocdm.models.oocdm.model import OocdmModel
from oocdm.planning import CEM, MPC, LearnedSimulator
from oocdm.task import Task
from oocdm.training import FitResult
from oocdm.worlds import collect
from oocdm.worlds.world import AbstractWorld

# As in the paper: its numbers are the defaults; its Algorithm 3 ignores the end of episodes.
PLANNER = CEM(stop_at_termination=False)
EACH = (1, 4, 10, 20, 33)  # so many foods, so many monsters, so many traps
SEED = 0
REFERENCE_REPEATS = 3  # its time hardly varies, and it is long


def run_planning(
    folder: str | Path | None = None,
    tell: Tell | None = None,
    repeats: int = 9,
    each: Sequence[int] = EACH,
) -> dict[str, Any]:
    """One action of a fitted Mouse, planned by both implementations, then with more objects."""
    fitted = partial(fitted_mouse, "oocdm", SEED, {}, "mouse", folder, tell)
    threads = torch.get_num_threads()
    rows = [recall(folder, f"planning-{threads}threads", lambda: _compare(fitted(), repeats, tell))]
    growth = [
        recall(
            folder,
            f"growth-{n}each-{threads}threads",
            partial(_grow, fitted, n, repeats, tell),
        )
        for n in each
    ]
    return {"rows": rows, "growth": growth}


def _compare(fitted: FitResult, repeats: int, tell: Tell | None) -> Result:
    """All of it simulated by the reference; only what matters by the fast way; the same action."""
    assert isinstance(fitted.model, OocdmModel)
    twin = fitted.model.literal()
    simulator = LearnedSimulator(fitted, _task(), PLANNER.horizon)
    literal = SimpleNamespace(model=twin, graph=fitted.prediction_graph)
    state = _states(4, repeats)
    fast, slow = _Planner(fitted, prune=True), _Planner(literal, prune=False)
    few = min(repeats, REFERENCE_REPEATS)
    # By turns: the machine's own speed may drift.
    for i in range(repeats):
        fast.plan(state, i)
        if i < few:
            slow.plan(state, i)
        if tell is not None:
            tell("Mouse, fast and reference", i + 1, repeats)
    return {
        "env": "mouse",
        "fast_ms": 1e3 * fast.median,
        "reference_ms": 1e3 * slow.median,
        "ratio": slow.median / fast.median,
        "same_actions": sum(a == b for a, b in zip(fast.actions, slow.actions, strict=False)),
        "actions": few,
        "simulated": list(simulator.dynamics.simulated),
        "command": f"oocdm bench planning --threads {torch.get_num_threads()}",
        **describe_machine(),
    }


def _grow(fitted: Callable[[], FitResult], each: int, repeats: int, tell: Tell | None) -> Result:
    states, planner = _states(each, repeats), _Planner(fitted(), prune=True)
    for i in range(repeats):
        planner.plan(states, i)
        if tell is not None:
            tell(f"{each} of each", i + 1, repeats)
    return {
        "objects": 1 + 3 * each,
        "ms": 1e3 * planner.median,
        "command": f"oocdm bench planning --threads {torch.get_num_threads()}",
        **describe_machine(),
    }


def _task() -> Task:
    return cast("Task", mouse_world({}).task)


def _world(each: int) -> AbstractWorld:
    return mouse_world({"num_food": each, "num_monsters": each, "num_traps": each})


def _states(each: int, num: int) -> Snapshot:
    """States of different episodes."""
    data = collect(_world(each), 300 * num, seed=SEED + 1)
    return data.transitions(np.arange(num) * 300).before


def _row(tensor: Tensor, number: int) -> Tensor:
    return tensor[number : number + 1]


class _Planner:
    """Plans single actions, and keeps them and the seconds that they took."""

    def __init__(self, fitted: Fitted, prune: bool) -> None:
        self.agent = MPC(fitted, _task(), PLANNER, SEED, warm_start=False, prune=prune)
        self.actions: list[int] = []
        self.seconds: list[float] = []

    def plan(self, states: Snapshot, number: int) -> None:
        """Plan in one of some states; what is made once, in the first, is not timed."""
        state = states.map(partial(_row, number=number))
        if not self.actions:
            self._act(state)
        started = time.perf_counter()
        self.actions.append(self._act(state))
        self.seconds.append(time.perf_counter() - started)

    def _act(self, state: Snapshot) -> int:
        self.agent.reset(1)
        return int(self.agent.act(state)["Mouse"]["move"])

    @property
    def median(self) -> float:
        """The median of the seconds."""
        return float(np.median(self.seconds))
