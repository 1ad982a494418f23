"""Who collects once there is a model: a planner in it, at some steps interrupted by chance."""

from __future__ import annotations

from typing import final

import numpy as np
import torch

from oocdm.data.log import Arrays
from oocdm.planning import Agent
from oocdm.schema import Schema
from oocdm.worlds.actor import AbstractActor, check_actions
from oocdm.worlds.convert import to_arrays, to_snapshot
from oocdm.worlds.world import AbstractWorld, WorldState


@final
class AgentActor(AbstractActor):
    """An agent, such as `MPC`, as one who collects.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> actor = AgentActor(oocdm.RandomAgent(env), env.world.schema)
    >>> actor.reset(2)
    >>> rng = np.random.default_rng(0)
    >>> state = env.world.reset(2, rng)
    >>> actor.act(state, state, np.arange(2), rng)["Mouse"]["move"].shape
    (2, 1)
    """

    title = "the planner's"

    def __init__(self, agent: Agent, schema: Schema) -> None:
        self.agent = agent
        self.schema = schema

    def reset(self, num_worlds: int) -> None:
        """Episodes start in so many worlds."""
        self.agent.reset(num_worlds)

    def act(
        self, state: WorldState, seen: WorldState, worlds: np.ndarray, rng: np.random.Generator
    ) -> Arrays:
        """What the agent does in what it sees."""
        numbers = torch.from_numpy(worlds)
        return to_arrays(self.agent.act(to_snapshot(self.schema, seen), None, numbers))


@final
class ExploringActor(AbstractActor):
    """Another actor, in whose place the world's random policy acts at a share of the steps.

    Which steps these are is drawn for each world and step, whatever the state is: so every action
    is tried in states that the actor seeks.

    >>> import oocdm
    >>> from oocdm.worlds.actor import PolicyActor
    >>> world = oocdm.make("mouse").world
    >>> stay = PolicyActor(lambda state, rng: {"Mouse": {"move": np.zeros((len(
    ...     state.present["Mouse"]), 1))}})
    >>> rng = np.random.default_rng(0)
    >>> state, worlds = world.reset(1000, rng), np.arange(1000)
    >>> actions = ExploringActor(stay, world, 0.2).act(state, state, worlds, rng)
    >>> 100 < int((actions["Mouse"]["move"] != 0).sum()) < 200
    True
    """

    def __init__(self, actor: AbstractActor, world: AbstractWorld, share: float) -> None:
        self.actor, self.world, self.share = actor, world, share
        self.title = actor.title

    def reset(self, num_worlds: int) -> None:
        """Episodes start in so many worlds."""
        self.actor.reset(num_worlds)

    def act(
        self, state: WorldState, seen: WorldState, worlds: np.ndarray, rng: np.random.Generator
    ) -> Arrays:
        """The actor's actions, and random ones where that was drawn."""
        schema, is_random = self.world.schema, rng.random(len(worlds)) < self.share
        actions: dict[str, dict[str, np.ndarray]] = {
            c: {
                f: np.zeros((*seen.present[c].shape, *field.shape), field.dtype)
                for f, field in schema.fields(c).items()
                if field.action
            }
            for c in schema.classes
        }
        for mask, is_drawn in ((~is_random, False), (is_random, True)):
            rows = np.flatnonzero(mask)
            if len(rows) == 0:
                continue
            own, shown = state.select(rows), seen.select(rows)
            if is_drawn:
                title = f"{type(self.world).__name__}.random_actions:"
                found = self.world.random_actions(own, rng)
            else:
                title = self.actor.title
                found = self.actor.act(own, shown, worlds[rows], rng)
            check_actions(f"collect: {title}", schema, found, shown.present)
            for c, fields in actions.items():
                for f, values in fields.items():
                    values[rows] = found[c][f]
        return actions
