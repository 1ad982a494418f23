"""Who acts in a batch of episodes, and the agent that does so at random."""

from __future__ import annotations

from typing import Protocol, final

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.data.values import read_count
from oocdm.data.world import World, world_of
from oocdm.errors import PlanError
from oocdm.planning.actions import Masks, acting_objects, idle_value
from oocdm.planning.convert import to_world_state


class Agent(Protocol):
    """Anything that acts in a batch of episodes side by side.

    >>> class Idle:
    ...     def reset(self, num_worlds):
    ...         pass
    ...     def act(self, state, can_act=None, worlds=None):
    ...         return {"Ball": {"push": torch.zeros(state.present["Ball"].shape)}}
    >>> agent: Agent = Idle()
    """

    def reset(self, num_worlds: int) -> None:
        """Episodes start in so many worlds."""
        ...

    def act(
        self, state: Snapshot, can_act: Masks | None = None, worlds: Tensor | None = None
    ) -> PerField:
        """Actions (batch, object, ...) for a state.

        `worlds` (batch,) says which of the worlds the rows are, all in order if it is None.
        """
        ...


@final
class RandomAgent:
    """The random policy of a world: what any planner should beat.

    >>> from oocdm.data.world import AbstractWorld, WorldState
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> class Balls(AbstractWorld):
    ...     schema, max_episode_steps, max_objects = Schema(Ball), 30, {"Ball": 1}
    ...     def reset(self, num_worlds, rng):
    ...         x = np.ones((num_worlds, 1))
    ...         return WorldState({"Ball": {"x": x}}, {"Ball": np.ones_like(x, bool)})
    ...     def random_actions(self, state, rng):
    ...         return {"Ball": {"push": rng.normal(size=state.present["Ball"].shape)}}
    ...     def step(self, state, actions, rng):
    ...         x = state.values["Ball"]["x"] + actions["Ball"]["push"]
    ...         return WorldState({"Ball": {"x": x}}, state.present), x[:, 0], x[:, 0] > 9
    >>> agent = RandomAgent(Balls(), seed=0)
    >>> agent.reset(7)
    >>> state = Snapshot.of(Balls.schema, {"Ball": {"x": torch.ones(7, 1)}})
    >>> agent.act(state)["Ball"]["push"].shape
    torch.Size([7, 1])
    """

    def __init__(self, world: World, seed: int = 0) -> None:
        self.world = world_of("RandomAgent", world, PlanError)
        self.seed = read_count("RandomAgent: `seed`", seed, PlanError, least=0)
        self._rng = np.random.default_rng(self.seed)

    def reset(self, num_worlds: int) -> None:
        """Start the random numbers anew."""
        self._rng = np.random.default_rng(self.seed)

    def act(
        self, state: Snapshot, can_act: Masks | None = None, worlds: Tensor | None = None
    ) -> PerField:
        """Actions as the world's random policy draws them.

        Objects that do not act have 0 or, if they are present and that is not allowed, the allowed
        value nearest to it.
        """
        drawn = self.world.random_actions(to_world_state(state), self._rng)
        acting = acting_objects(state, can_act)
        actions: dict[str, dict[str, Tensor]] = {}
        for c, fields in drawn.items():
            actions[c] = {}
            for f, array in fields.items():
                field = state.schema.field(c, f)
                values = torch.from_numpy(np.array(array, field.dtype)).to(acting[c].device)
                acts, idle = (
                    mask.reshape(*mask.shape, *[1] * len(field.shape))
                    for mask in (acting[c], state.present[c] * idle_value(field))
                )
                actions[c][f] = torch.where(acts, values, idle.to(values.dtype))
        return actions
