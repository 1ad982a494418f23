"""What a task or a simulator says of a step, checked: rewards and ends."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oocdm.errors import PlanError
from oocdm.planning.simulator import Simulator
from oocdm.task import Task, example


def checked_reward(simulator: Simulator, reward: Tensor, is_running: Tensor) -> Tensor:
    """What a simulator says that a step earned: (batch,) finite numbers.

    >>> import oocdm
    >>> from oocdm.planning import TrueSimulator
    >>> mouse = TrueSimulator(oocdm.make("mouse"))
    >>> checked_reward(mouse, torch.ones(2), torch.tensor([True, True]))
    tensor([1., 1.])
    >>> checked_reward(mouse, 1.0, torch.tensor([True, True]))
    Traceback (most recent call last):
    ...
    oocdm.errors.PlanError: Task.reward: expected a tensor of numbers of shape (2,), one per row, \
got float. Keep the rows apart, without float() or .item(), as in after["Mouse.health"].sum(1), \
or repeat one for all of them: torch.full((after.batch_size,), 1.0).
    """
    rows = len(is_running)
    where = f"{_who(simulator)}.reward"
    _check_shape(simulator, where, "numbers", reward, rows)
    # Nearly always all are finite, which a finite sum tells at once.
    if math.isfinite(float(reward.sum())):
        return reward
    # What comes after an end does not count, whatever it is.
    wrong = is_running & ~torch.isfinite(reward)
    if wrong.any():
        row = int(wrong.int().argmax())
        raise PlanError(
            f"{where}: expected finite numbers, got {float(reward[row])} in {int(wrong.sum())} of "
            f"{rows} rows. Look for divisions by 0, logarithms and roots in the reward, and at the "
            "states that the simulator predicts."
        )
    return reward


def checked_end(simulator: Simulator, ended: Tensor, rows: int) -> Tensor:
    """Which rows a simulator says have ended: (batch,) booleans.

    >>> import oocdm
    >>> from oocdm.planning import TrueSimulator
    >>> mouse = TrueSimulator(oocdm.make("mouse"))
    >>> checked_end(mouse, torch.tensor([True, False]), 2)
    tensor([ True, False])
    """
    where = f"{_who(simulator)}.terminated"
    _check_shape(simulator, where, "booleans", ended, rows)
    if ended.dtype != torch.bool:
        raise PlanError(
            f"{where}: expected booleans, got {ended.dtype}. Compare with something, as in "
            f"({_example(simulator)} < 0).any(1)."
        )
    return ended


def _who(simulator: Simulator) -> str:
    """Whose functions these are: those of the simulator's task, if it has one."""
    return "Task" if _task(simulator) is not None else "Simulator"


def _task(simulator: Simulator) -> Task | None:
    return getattr(simulator, "task", None)


def _example(simulator: Simulator) -> str:
    """How to look at a field that these functions read."""
    task = _task(simulator)
    return example(simulator.schema, () if task is None else task.reads)


def _check_shape(simulator: Simulator, where: str, what: str, values: Any, rows: int) -> None:
    is_tensor = isinstance(values, Tensor)
    if is_tensor and values.shape == (rows,):
        return
    got = f"shape {tuple(values.shape)}" if is_tensor else type(values).__name__
    reduce = ".sum(1)" if what == "numbers" else ".any(1)"
    value = _example(simulator) if what == "numbers" else f"({_example(simulator)} < 0)"
    raise PlanError(
        f"{where}: expected a tensor of {what} of shape ({rows},), one per row, got {got}. "
        + _advice(values, rows).format(f"{value}{reduce}")
    )


def _advice(values: Any, rows: int) -> str:
    """What to do about something that is not one value a row; {} stands for an example."""
    if values is None:
        return "Let the function return what it computes, as in {}."
    if isinstance(values, np.ndarray):
        return "Stay with torch, without .numpy(), as in {}."
    if isinstance(values, bool):
        return "Leave `terminated` out if it never ends, else keep the rows apart, as in {}."
    if not isinstance(values, Tensor):
        return (
            "Keep the rows apart, without float() or .item(), as in {}, or repeat one for all of "
            "them: torch.full((after.batch_size,), 1.0)."
        )
    if values.ndim == 0:
        return "Reduce over the objects only, not over the rows, as in {}."
    if values.ndim > 1 and len(values) == rows:
        return "Reduce over the objects, as in {}."
    return "The first axis of a batch is its rows: keep it whole, as in {}."
