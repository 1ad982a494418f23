"""Who acts in a batch of episodes, and the agent that does so at random."""

from __future__ import annotations

from typing import Protocol, final

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.errors import PlanError
from oocdm.planning.actions import Masks, acting_objects, idle_value
from oocdm.reading import Seed, checked
from oocdm.worlds.convert import to_world_state
from oocdm.worlds.world import World, world_of

_STREAM = 1  # of random numbers beside those of a world with the same seed


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

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> before = oocdm.collect(env, steps=7, seed=0).transitions(slice(0, 7)).before
    >>> agent = RandomAgent(env, seed=0)
    >>> agent.reset(7)
    >>> agent.act(before)["Mouse"]["move"].shape
    torch.Size([7, 1])
    """

    @checked(PlanError)
    def __init__(self, world: World, seed: Seed = 0) -> None:
        self.world = world_of("RandomAgent", world, PlanError)
        self.seed = seed
        self.reset(1)

    def reset(self, num_worlds: int) -> None:
        """Start the random numbers anew."""
        # Not those of the seed alone, which may be the world's: it would know what comes.
        self._rng = np.random.default_rng([self.seed, _STREAM])

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
