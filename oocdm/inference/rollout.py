"""What may happen: many futures of a state under given actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.errors import ModelError
from oocdm.inference.dynamics import Dynamics, with_actions
from oocdm.inference.evaluate import Fitted


@dataclass(frozen=True)
class Rollout:
    """Futures drawn from a model: `states` after each step, futures of a world side by side."""

    states: tuple[Snapshot, ...]
    num_worlds: int
    samples: int

    def __len__(self) -> int:
        return len(self.states)

    def values(self, class_name: str, field_name: str) -> Tensor:
        """Drawn values of a field: (step, world, sample, object, ...)."""
        steps = torch.stack([state[class_name, field_name] for state in self.states])
        return steps.unflatten(1, (self.num_worlds, self.samples))

    def mean(self, class_name: str, field_name: str) -> Tensor:
        """The mean over the futures: (step, world, object, ...)."""
        return self.values(class_name, field_name).double().mean(2)

    def interval(
        self, class_name: str, field_name: str, share: float = 0.9
    ) -> tuple[Tensor, Tensor]:
        """Lower and upper ends of where a share of the futures lies: (step, world, object, ...)."""
        if not 0 < share < 1:
            raise ModelError(f"interval: expected a share between 0 and 1, got {share!r}.")
        values = self.values(class_name, field_name).double()
        tail = (1 - share) / 2
        return values.quantile(tail, dim=2), values.quantile(1 - tail, dim=2)


def rollout(
    result: Fitted,
    state: Snapshot,
    actions: Mapping[str, Mapping[str, Tensor]],
    samples: int = 100,
    seed: int = 0,
) -> Rollout:
    """Draw futures of each world of a batch under given actions.

    `actions[class][field]` is (step, world, object, ...); its length is that of the rollout.

    >>> import oocdm
    >>> env = oocdm.make("block", num_blocks=2)
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> state = data.transitions(slice(0, 1)).before
    >>> futures = rollout(result, state, {"Block": {"a": torch.zeros(8, 1, 2)}}, samples=20)
    >>> low, high = futures.interval("Total", "s1")
    >>> low.shape
    torch.Size([8, 1, 1])
    """
    if samples < 1:
        raise ModelError(f"rollout: expected at least 1 sample, got {samples}.")
    lengths = {len(each) for fields in actions.values() for each in fields.values()}
    if len(lengths) != 1:
        raise ModelError(
            "rollout: expected actions for the same number of steps in every field, "
            f"got {sorted(lengths) or 'none'}."
        )
    dynamics = Dynamics(result)
    device = result.model.device
    generator = torch.Generator().manual_seed(seed)
    now = state.to(device).map(lambda tensor: tensor.repeat_interleave(samples, 0))
    states = []
    for step in range(lengths.pop()):
        chosen: PerField = {
            c: {
                f: each[step].to(device).repeat_interleave(samples, 0) for f, each in fields.items()
            }
            for c, fields in actions.items()
        }
        now = dynamics.step(
            with_actions(now, chosen), int(torch.randint(2**62, (), generator=generator))
        )
        states.append(now)
    return Rollout(tuple(states), state.batch_size, samples)
