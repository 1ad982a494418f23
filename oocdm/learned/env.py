"""The learned world as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import gymnasium
from gymnasium import spaces

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.inference import Fitted
from oocdm.learned.counts import Counted
from oocdm.learned.starts import Start
from oocdm.learned.worlds import EpisodeSteps, LearnedWorlds
from oocdm.reading import Seed, checked
from oocdm.schema import Schema
from oocdm.task import Task
from oocdm.worlds.spaces import Action, Observation, action_space, observation_space, read_action


@final
class LearnedEnv(gymnasium.Env[Any, Any]):
    """What a model believes of a world, as a Gymnasium environment to act in.

    Spaces, observations and actions are those of oocdm's true environments with as many objects,
    so that a policy of one can act in the other. `result` is a fit, or anything with its model
    and graph; `task` says what a step earns and when an episode ends. `counts` gives the number
    of objects of each class, or a range (low, high) from which every episode draws; the model
    need never have seen such numbers.

    `start` says where episodes start: as those of a dataset do; in any state of a snapshot; or in
    what a function of a random generator returns, a snapshot of one world. Where no logged state
    has as many objects as `counts` says, each object is drawn from all the logged ones of its
    class. Without `start` every field is drawn on its own, with the mean and the spread of the
    training data, which is quick to try but may give states that cannot be.

    Next states are drawn from the model, or with `sample=False` the most likely ones. Episodes
    are cut after `max_episode_steps`. `seed` is that of the first `reset()` without its own.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> counts = {"Mouse": 1, "Food": 9, "Monster": 0, "Trap": 2}
    >>> world = LearnedEnv(result, env.task, counts=counts, start=data, seed=0)
    >>> observation, info = world.reset()
    >>> observation["Food"]["amount"].shape
    (9,)
    >>> observation, reward, terminated, truncated, info = world.step({"Mouse": {"move": [2]}})
    >>> world.do("Mouse[0].hunger", 50.0)["Mouse"]["hunger"]
    array([50.], dtype=float32)
    """

    observation_space: spaces.Dict[Any]
    action_space: spaces.Dict[Any]
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    @checked(PlanError)
    def __init__(
        self,
        result: Fitted,
        task: Task,
        counts: Counted,
        *,
        start: Start | None = None,
        max_episode_steps: EpisodeSteps = 100,
        sample: bool = True,
        seed: Seed | None = None,
    ) -> None:
        self._worlds = LearnedWorlds(result, task, counts, start, max_episode_steps, sample)
        self.observation_space = observation_space(self.schema, self.max_objects)
        self.action_space = action_space(self.schema, self.max_objects)
        self._first_seed = seed

    @property
    def schema(self) -> Schema:
        """The classes and fields of the world."""
        return self._worlds.schema

    @property
    def task(self) -> Task:
        """Reward and termination."""
        return self._worlds.task

    @property
    def max_objects(self) -> Mapping[str, int]:
        """The number of rows of each class."""
        return self._worlds.max_objects

    @property
    def state(self) -> Snapshot:
        """The world as it is, a snapshot of one row, as `rollout` and planners take it."""
        return self._worlds.state

    @checked(PlanError)
    def reset(
        self, *, seed: Seed | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; nothing is held any more."""
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        self._worlds.begin([self.np_random])
        return self._worlds.observe_one(0), {}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """One step of the world."""
        present = {c: rows[0] for c, rows in self._worlds.present.items()}
        chosen = read_action(self.schema, action, present)
        batch = {c: {f: v[None] for f, v in fields.items()} for c, fields in chosen.items()}
        outcomes = self._worlds.step(batch)
        reward, terminated = float(outcomes.reward[0]), bool(outcomes.terminated[0])
        return self._worlds.observe_one(0), reward, terminated, bool(outcomes.truncated[0]), {}

    @checked(PlanError)
    def do(self, name: str, value: Any, hold: bool = True) -> Observation:
        """Set an attribute such as `Mouse[0].hunger`, or `Mouse[*].hunger` of all objects.

        It keeps that value after every step, whatever the model says, until `undo` or `reset`;
        with `hold=False` it is set once and then left to the model. Returns what is seen now.
        """
        self._worlds.do(name, value, hold, None)
        return self._worlds.observe_one(0)

    @checked(PlanError)
    def undo(self, name: str) -> None:
        """Leave an attribute that is held to the model again, from its present value on."""
        self._worlds.undo(name, None)
