"""A flat view of an environment of objects."""

from __future__ import annotations

from typing import Any, final

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from oocdm.errors import PlanError, short
from oocdm.learned.flat_spaces import FlatSpaces
from oocdm.worlds.spaces import Observation


@final
class FlatEnv(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """One of oocdm's environments, true or learned, with flat observations and actions.

    Algorithms such as those of Stable-Baselines3 take no nested spaces; `FlatSpaces` tells what
    the vectors mean. Worlds with the same schema and as many rows have the same vectors, so that
    a policy of a learned one can act in the true one.

    >>> import oocdm
    >>> env = FlatEnv(oocdm.make("mouse", seed=0))
    >>> env.observation_space.shape, env.action_space
    ((61,), Discrete(5))
    >>> observation, info = env.reset()
    >>> observation, reward, terminated, truncated, info = env.step(2)
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        if not isinstance(env, gymnasium.Env):
            raise PlanError(f"FlatEnv: `env`: expected an environment, got {short(env)}.")
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)
        schema = getattr(env.unwrapped, "schema", None)
        max_objects = getattr(env.unwrapped, "max_objects", None)
        if schema is None or max_objects is None:
            raise PlanError(
                "FlatEnv: expected an environment from oocdm.make or an oocdm.LearnedEnv, got "
                f"{type(env.unwrapped).__name__}. Gymnasium's FlattenObservation serves others."
            )
        self.flat = FlatSpaces(schema, max_objects)
        self.observation_space = self.flat.observation_space
        self.action_space = self.flat.action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        return self._observe(observation), info

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One step with a flat action."""
        read = self.flat.read(np.asarray(action)[None])
        single = {c: {f: v[0] for f, v in fields.items()} for c, fields in read.items()}
        observation, reward, terminated, truncated, info = self.env.step(single)
        return self._observe(observation), float(reward), terminated, truncated, info

    def _observe(self, observation: Observation) -> np.ndarray:
        batch = {c: {f: v[None] for f, v in seen.items()} for c, seen in observation.items()}
        return self.flat.observe(batch)[0]
