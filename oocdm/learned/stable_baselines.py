"""Learned worlds for Stable-Baselines3, which comes with `pip install "oocdm[rl]"`."""

from __future__ import annotations

from typing import Any, final

import gymnasium
import numpy as np

from oocdm.errors import OocdmError, PlanError
from oocdm.learned.flat_spaces import FlatSpaces
from oocdm.learned.vector_env import LearnedVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn
except ImportError as error:
    raise OocdmError(
        f"Stable-Baselines3 is needed here ({error}). Install it by: pip install 'oocdm[rl]'"
    ) from None


@final
class StableBaselinesEnv(VecEnv):
    """The worlds of a `LearnedVectorEnv` with flat spaces, as Stable-Baselines3 trains in them.

    A world starts anew in the step in which its episode ends, as Stable-Baselines3 expects,
    whatever the vector's own mode. A policy that was trained here acts in a `FlatEnv` of the
    true environment.

    >>> import oocdm
    >>> from stable_baselines3 import PPO
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> worlds = oocdm.LearnedVectorEnv(result, env.task, env.max_objects, num_envs=4, start=data)
    >>> policy = PPO("MlpPolicy", StableBaselinesEnv(worlds), n_steps=8, batch_size=32, seed=0)
    >>> policy.learn(32).num_timesteps
    32
    """

    def __init__(self, env: LearnedVectorEnv) -> None:
        if not isinstance(env, LearnedVectorEnv):
            raise PlanError(
                "StableBaselinesEnv: expected an oocdm.LearnedVectorEnv, got "
                f"{type(env).__name__}. Make one with num_envs worlds: "
                "LearnedVectorEnv(result, task, counts, num_envs=8)."
            )
        self.env = env
        self._flat = FlatSpaces(env.schema, env.max_objects)
        self._actions = np.zeros(0)
        super().__init__(env.num_envs, self._flat.observation_space, self._flat.action_space)

    def reset(self) -> np.ndarray:
        """Start an episode in every world."""
        given = any(seed is not None for seed in self._seeds)
        observation, _ = self.env.reset(seed=self._seeds if given else None)
        self._reset_seeds()
        return self._flat.observe(observation)

    def step_async(self, actions: np.ndarray) -> None:
        """Remember the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """One step of every world."""
        worlds = self.env.worlds
        outcomes = worlds.step(self._flat.read(self._actions))
        seen = self._flat.observe(worlds.observe())
        infos: list[dict[str, Any]] = [
            {"TimeLimit.truncated": bool(cut)} for cut in outcomes.truncated & ~outcomes.terminated
        ]
        for world in np.flatnonzero(outcomes.ended):
            infos[world]["terminal_observation"] = seen[world]
        if outcomes.ended.any():
            worlds.restart(outcomes.ended)
            seen = self._flat.observe(worlds.observe())
        return seen, outcomes.reward.astype(np.float32), outcomes.ended, infos

    def close(self) -> None:
        """Nothing has to be closed."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the vector environment, once a world."""
        return [getattr(self.env, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the vector environment, which all worlds share."""
        self._check_all(f"set_attr `{attr_name}`", indices)
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment, for all worlds at once.

        `do` and `undo` can also be called for some of the worlds.
        """
        if indices is not None and method_name in ("do", "undo"):
            kwargs["worlds"] = list(self._get_indices(indices))
        else:
            self._check_all(f"env_method `{method_name}`", indices)
        answer = getattr(self.env, method_name)(*method_args, **kwargs)
        return [answer for _ in self._get_indices(indices)]

    def _check_all(self, where: str, indices: VecEnvIndices) -> None:
        """Raise a `PlanError` unless all worlds are meant."""
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise PlanError(
                f"{where}: expected `indices` of all {self.num_envs} worlds, since they share one "
                f"environment, got {indices!r}. Leave `indices` out; `do` and `undo` take some."
            )

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: VecEnvIndices = None,
    ) -> list[bool]:
        """No world has a wrapper of its own."""
        return [False for _ in self._get_indices(indices)]
