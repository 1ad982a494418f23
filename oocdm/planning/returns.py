"""What sequences of actions earn: simulate them, sum the discounted rewards."""

from __future__ import annotations

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.planning.actions import ActionVariables, with_actions
from oocdm.planning.simulator import Simulator


def discounted_returns(
    simulator: Simulator,
    state: Snapshot,
    variables: ActionVariables,
    sequences: Tensor,
    discount: float,
    stop_at_termination: bool = True,
    seed: int = 0,
) -> Tensor:
    """The return of each sequence (sample, horizon, variable) in each world: (sample, batch).

    All samples of all worlds are stepped together from `state`, which has the whole batch for
    each sample. With `stop_at_termination` nothing is earned
    after the step that ends an episode. What is random follows from `seed`.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> class Pushing:
    ...     schema = Schema(Ball)
    ...     def step(self, before, seed):
    ...         x = before["Ball", "x"] + before["Ball", "push"]
    ...         return Snapshot.of(self.schema, {"Ball": {"x": x}}, before.present)
    ...     def reward(self, before, after):
    ...         return after["Ball", "x"].sum(1)
    ...     def terminated(self, after):
    ...         return after["Ball", "x"].amax(1) > 2
    >>> state = Snapshot.of(Pushing.schema, {"Ball": {"x": torch.zeros(1, 1)}})
    >>> sequences = torch.tensor([[[1.0], [1.0]], [[3.0], [1.0]]])  # two samples of two steps
    >>> start = state.map(lambda t: t.repeat(2, 1))
    >>> discounted_returns(Pushing(), start, ActionVariables.of(state), sequences, 0.5).tolist()
    [[2.0], [3.0]]
    """
    samples, horizon, _ = sequences.shape
    rows = state.batch_size
    total = torch.zeros(rows, dtype=torch.float64, device=sequences.device)
    is_running = torch.ones(rows, dtype=torch.bool, device=sequences.device)
    for t in range(horizon):
        before = with_actions(state, variables.decode(sequences[:, t]))
        state = _checked_state(simulator.step(before, seed + t), rows)
        reward = _checked_reward(simulator.reward(before, state), is_running)
        total += discount**t * torch.where(is_running, reward.double(), 0.0)
        if stop_at_termination and t + 1 < horizon:
            is_running = is_running & ~_checked_end(simulator.terminated(state), rows)
            if not is_running.any():
                break
    return total.view(samples, rows // samples)


def _checked_state(after: Snapshot, rows: int) -> Snapshot:
    if after.batch_size != rows:
        raise PlanError(
            f"Simulator.step: expected {rows} rows as it was given, got {after.batch_size}. It "
            "has to return one next state for each row, in the same order."
        )
    return after


def _checked_reward(reward: Tensor, is_running: Tensor) -> Tensor:
    rows = len(is_running)
    _check_shape("Simulator.reward", "numbers", reward, rows)
    # What comes after an end does not count, whatever it is.
    wrong = is_running & ~torch.isfinite(reward)
    if wrong.any():
        row = int(wrong.int().argmax())
        raise PlanError(
            f"Simulator.reward: expected finite numbers, got {float(reward[row])} in "
            f"{int(wrong.sum())} of {rows} rows. Look at the states that the simulator predicts, "
            "and at what the reward does with them."
        )
    return reward


def _checked_end(ended: Tensor, rows: int) -> Tensor:
    _check_shape("Simulator.terminated", "booleans", ended, rows)
    if ended.dtype != torch.bool:
        raise PlanError(
            f"Simulator.terminated: expected booleans, got {ended.dtype}. Compare with something, "
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
