"""What a task or a simulator says of a step, checked: rewards and ends."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from oocdm.errors import PlanError


def checked_reward(where: str, reward: Tensor, is_running: Tensor) -> Tensor:
    """A reward (batch,) of finite numbers; `where` says whose it is.

    >>> checked_reward("Task", torch.ones(2), torch.tensor([True, True]))
    tensor([1., 1.])
    """
    rows = len(is_running)
    _check_shape(f"{where}.reward", "numbers", reward, rows)
    # Nearly always all are finite, which a finite sum tells at once.
    if math.isfinite(float(reward.sum())):
        return reward
    # What comes after an end does not count, whatever it is.
    wrong = is_running & ~torch.isfinite(reward)
    if wrong.any():
        row = int(wrong.int().argmax())
        raise PlanError(
            f"{where}.reward: expected finite numbers, got {float(reward[row])} in "
            f"{int(wrong.sum())} of {rows} rows. Look at the states that the simulator predicts, "
            "and at what the reward does with them."
        )
    return reward


def checked_end(where: str, ended: Tensor, rows: int) -> Tensor:
    """Which rows ended, (batch,) booleans; `where` says who tells.

    >>> checked_end("Task", torch.tensor([True, False]), 2)
    tensor([ True, False])
    """
    _check_shape(f"{where}.terminated", "booleans", ended, rows)
    if ended.dtype != torch.bool:
        raise PlanError(
            f"{where}.terminated: expected booleans, got {ended.dtype}. Compare with something, "
            "as in after['Mouse', 'health'][:, 0] < 0."
        )
    return ended


def _check_shape(where: str, what: str, values: Tensor, rows: int) -> None:
    got = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
    if not isinstance(values, Tensor) or values.shape != (rows,):
        raise PlanError(
            f"{where}: expected a tensor of {what} of shape ({rows},), one a row, got {got}. "
            "Reduce over the objects, as in after['Mouse', 'health'].sum(1)."
        )
