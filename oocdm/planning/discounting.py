"""What sequences of actions earn: simulate them, sum the discounted rewards."""

from __future__ import annotations

import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.errors import PlanError
from oocdm.inference import with_actions
from oocdm.planning.actions import ActionVariables
from oocdm.planning.outcomes import checked_end, checked_reward
from oocdm.planning.simulator import Simulator


def discounted_returns(
    simulator: Simulator,
    state: Snapshot,
    variables: ActionVariables,
    sequences: Tensor,
    discount: float,
    stop_at_termination: bool = True,
    seed: int = 0,
    skipped: int = 0,
) -> Tensor:
    """The return of each sequence (sample, horizon, variable) in each world: (sample * batch,).

    All samples of all worlds are stepped together from `state`, which has the whole batch for
    each sample; or only some of these rows, the first ones being `skipped`. With
    `stop_at_termination` nothing is earned after the step that ends an episode. What is random
    follows from `seed`.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> class Pushing:
    ...     schema = Schema(Ball)
    ...     def step(self, before, seed):
    ...         x = before["Ball.x"] + before["Ball.push"]
    ...         return Snapshot.of(self.schema, {"Ball": {"x": x}}, before.present)
    ...     def reward(self, before, after):
    ...         return after["Ball.x"].sum(1)
    ...     def terminated(self, after):
    ...         return after["Ball.x"].amax(1) > 2
    >>> state = Snapshot.of(Pushing.schema, {"Ball": {"x": torch.zeros(1, 1)}})
    >>> sequences = torch.tensor([[[1.0], [1.0]], [[3.0], [1.0]]])  # two samples of two steps
    >>> start = state.map(lambda t: t.repeat(2, 1))
    >>> discounted_returns(Pushing(), start, ActionVariables.of(state), sequences, 0.5).tolist()
    [2.0, 3.0]
    """
    samples, horizon, _ = sequences.shape
    rows, present, all_rows = state.batch_size, state.present, samples * variables.batch_size
    # All steps at once, each of them then a slice: (horizon * sample, variable).
    actions = variables.decode(sequences.transpose(0, 1).flatten(0, 1))
    total = torch.zeros(rows, dtype=torch.float64, device=sequences.device)
    is_running = torch.ones(rows, dtype=torch.bool, device=sequences.device)
    for t in range(horizon):
        now = slice(t * all_rows + skipped, t * all_rows + skipped + rows)
        chosen: PerField = {
            c: {f: v[now] for f, v in fields.items()} for c, fields in actions.items()
        }
        # The actions are those of the objects that are present at first.
        if all(torch.equal(state.present[c], here) for c, here in present.items()):
            before = state.joined(chosen)
        else:
            before = with_actions(state, variables.with_newcomers(chosen, state.present, skipped))
        state = _checked_state(simulator.step(before, seed + t), rows)
        reward = checked_reward(simulator, simulator.reward(before, state), is_running)
        earned = reward.double()
        if stop_at_termination:
            earned = torch.where(is_running, earned, 0.0)
        total += discount**t * earned
        if stop_at_termination and t + 1 < horizon:
            is_running = is_running & ~checked_end(simulator, simulator.terminated(state), rows)
            if not is_running.any():
                break
    return total


def _checked_state(after: Snapshot, rows: int) -> Snapshot:
    if after.batch_size != rows:
        raise PlanError(
            f"Simulator.step: expected {rows} rows as it was given, got {after.batch_size}. It "
            "has to return one next state for each row, in the same order."
        )
    return after
