"""Many learned worlds as one Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, final

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from oocdm.data.snapshot import Snapshot
from oocdm.errors import PlanError
from oocdm.inference import Fitted
from oocdm.learned.counts import Counted
from oocdm.learned.starts import Start
from oocdm.learned.worlds import EpisodeSteps, LearnedWorlds
from oocdm.reading import Count, Seed, checked
from oocdm.schema import Schema
from oocdm.task import Task
from oocdm.worlds.spaces import Action, Observation, action_space, observation_space, read_action


@final
class LearnedVectorEnv(VectorEnv[Any, Any, np.ndarray]):
    """Many learned worlds, stepped in one call of the model; otherwise like `LearnedEnv`.

    World `i` of a vector that is reset with a seed starts as a `LearnedEnv` with seed + i does.
    What chance brings in a step follows from the seeds of all worlds together. What happens when
    an episode ends is Gymnasium's `autoreset_mode`: by default a world starts anew in the step
    after its last one.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> counts = {"Mouse": 1, "Food": 9, "Monster": 0, "Trap": 2}
    >>> worlds = LearnedVectorEnv(result, env.task, counts, num_envs=5, start=data, seed=0)
    >>> observations, infos = worlds.reset()
    >>> observations["Food"]["amount"].shape
    (5, 9)
    >>> observations, rewards, *_ = worlds.step(worlds.action_space.sample())
    >>> rewards.shape
    (5,)
    """

    @checked(PlanError)
    def __init__(
        self,
        result: Fitted,
        task: Task,
        counts: Counted,
        num_envs: Annotated[Count, "It says how many worlds run side by side."],
        *,
        start: Start | None = None,
        max_episode_steps: EpisodeSteps = 100,
        sample: bool = True,
        seed: Seed | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        self.num_envs = num_envs
        modes = [mode.value for mode in AutoresetMode]
        if autoreset_mode not in (*AutoresetMode, *modes):
            raise PlanError(
                f"autoreset_mode: expected one of {', '.join(modes)}, got {autoreset_mode!r}."
            )
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.worlds = LearnedWorlds(result, task, counts, start, max_episode_steps, sample)
        self.single_observation_space = observation_space(self.schema, self.max_objects)
        self.single_action_space = action_space(self.schema, self.max_objects)
        self.observation_space: spaces.Space[Any] = batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space: spaces.Space[Any] = batch_space(self.single_action_space, self.num_envs)
        self._rngs = [seeding.np_random(each)[0] for each in self._seeds(seed)]
        self._ended = np.zeros(self.num_envs, bool)

    @property
    def schema(self) -> Schema:
        """The classes and fields of the worlds."""
        return self.worlds.schema

    @property
    def task(self) -> Task:
        """Reward and termination."""
        return self.worlds.task

    @property
    def max_objects(self) -> Mapping[str, int]:
        """The number of rows of each class."""
        return self.worlds.max_objects

    @property
    def state(self) -> Snapshot:
        """The worlds as they are, a snapshot with a row a world."""
        return self.worlds.state

    @checked(PlanError)
    def reset(
        self,
        *,
        seed: Seed | Sequence[Seed | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode in every world, or in those of `options={"reset_mask": booleans}`.

        `seed` is that of the first world, the next ones follow; or a list with one a world.
        """
        given = (options or {}).get("reset_mask")
        mask = np.ones(self.num_envs, bool) if given is None else self._checked_mask(given)
        for world, each in enumerate(self._seeds(seed)):
            if each is not None and mask[world]:
                self._rngs[world] = seeding.np_random(each)[0]
        if given is None:
            self.worlds.begin(self._rngs)
        else:
            self.worlds.restart(mask, self._rngs)
        self._ended &= ~mask
        return self.worlds.observe(), {}

    def _seeds(self, seed: Seed | Sequence[Seed | None] | None) -> Sequence[int | None]:
        """One seed a world, None where nothing is said."""
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            return [seed + world for world in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise PlanError(
                f"reset: seed: expected one number, or {self.num_envs} of them, one a world, got "
                f"{len(seed)}."
            )
        return seed

    def _checked_mask(self, mask: Any) -> np.ndarray:
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.shape != (self.num_envs,):
            raise PlanError(
                f"reset: options['reset_mask']: expected an array of {self.num_envs} booleans, one "
                f"a world, got {mask!r}."
            )
        return mask

    def step(
        self, actions: Action
    ) -> tuple[Observation, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One step of every world; in the mode "next step" those that ended start anew instead."""
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise PlanError(
                f"step: expected worlds whose episodes go on, got ended ones: "
                f"{np.flatnonzero(self._ended).tolist()}. Start them anew with "
                'reset(options={"reset_mask": terminated | truncated}).'
            )
        anew = self._ended
        chosen = read_action(self.schema, actions, self.worlds.present)
        outcomes = self.worlds.step(chosen, ~anew)
        self.worlds.restart(anew)
        reward = np.where(anew, 0.0, outcomes.reward)
        terminated, truncated = outcomes.terminated & ~anew, outcomes.truncated & ~anew
        ended = terminated | truncated
        infos: dict[str, Any] = {}
        if self.autoreset_mode is AutoresetMode.SAME_STEP:
            for world in np.flatnonzero(ended).tolist():
                last = {"final_obs": self.worlds.observe_one(world), "final_info": {}}
                infos = self._add_info(infos, last, world)
            self.worlds.restart(ended)
        else:
            self._ended = ended
        return self.worlds.observe(), reward, terminated, truncated, infos

    def do(
        self, name: str, value: Any, hold: bool = True, worlds: Sequence[int] | None = None
    ) -> Observation:
        """Set an attribute as `LearnedEnv.do` does, in all worlds or in those that are numbered.

        A world that starts a new episode forgets what was held in it.
        """
        self.worlds.do(name, value, hold, worlds)
        return self.worlds.observe()

    def undo(self, name: str, worlds: Sequence[int] | None = None) -> None:
        """Leave an attribute that is held to the model again, in all worlds or in some."""
        self.worlds.undo(name, worlds)
