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
from oocdm.data import collect
from oocdm.data.snapshot import Snapshot
from oocdm.data.world import AbstractWorld
from oocdm.inference import Fitted
from oocdm.models.network import AbstractClassModel
from oocdm.models.reference import ReferenceModel
from oocdm.planning import CEM, MPC, LearnedSimulator
from oocdm.task import Task
from oocdm.training import FitResult

# As in the paper: its numbers are the defaults; its Algorithm 3 ignores the end of episodes.
PLANNER = CEM(stop_at_termination=False)
EACH = (1, 4, 10, 20, 33)  # so many foods, so many monsters, so many traps
SEED = 0


def run_planning(
    folder: str | Path | None = None,
    tell: Tell | None = None,
    repeats: int = 5,
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
    model = fitted.model
    assert isinstance(model, AbstractClassModel)
    twin = ReferenceModel(model.schema, model.options, model.featuriser.scales)
    twin.load_state_dict(model.state_dict())
    simulator = LearnedSimulator(fitted, _task(), PLANNER.horizon)
    literal = SimpleNamespace(model=twin, graph=fitted.graph)
    state = _states(4, repeats)
    ours, seconds = _plan(fitted, state, repeats, True, "Mouse, fast", tell)
    # Its time hardly varies, and it is long.
    few = min(repeats, 2)
    theirs, literal_seconds = _plan(literal, state, few, False, "Mouse, reference", tell)
    return {
        "env": "mouse",
        "fast_ms": 1e3 * seconds,
        "reference_ms": 1e3 * literal_seconds,
        "ratio": literal_seconds / seconds,
        "same_actions": int((ours[:few] == theirs).sum()),
        "actions": few,
        "simulated": list(simulator.dynamics.simulated),
        "command": "oocdm bench planning",
        **describe_machine(),
    }


def _grow(fitted: Callable[[], FitResult], each: int, repeats: int, tell: Tell | None) -> Result:
    _, seconds = _plan(fitted(), _states(each, repeats), repeats, True, f"{each} of each", tell)
    return {
        "objects": 1 + 3 * each,
        "ms": 1e3 * seconds,
        "command": "oocdm bench planning",
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


def _plan(
    fitted: Fitted, states: Snapshot, repeats: int, prune: bool, name: str, tell: Tell | None
) -> tuple[np.ndarray, float]:
    """The action in each of some states, and the median of the seconds that one took."""
    agent = MPC(fitted, _task(), PLANNER, SEED, warm_start=False, prune=prune)
    agent.reset(1)
    agent.act(states.map(partial(_row, number=0)))  # what is made once is not timed
    actions, seconds = [], []
    for i in range(repeats):
        agent.reset(1)
        state = states.map(partial(_row, number=i))
        started = time.perf_counter()
        found = agent.act(state)
        seconds.append(time.perf_counter() - started)
        actions.append(int(found["Mouse"]["move"]))
        if tell is not None:
            tell(name, i + 1, repeats)
    return np.array(actions), float(np.median(seconds))
