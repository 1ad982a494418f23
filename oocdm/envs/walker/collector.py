"""Who collects data of the walker: a policy that PPO trains between episodes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces

from oocdm.data.log import Arrays
from oocdm.envs.walker.engine import NUM_JOINTS, NUM_SEEN
from oocdm.envs.walker.world import WalkerWorld, seen_of
from oocdm.errors import OocdmError
from oocdm.reading import Count, Seed, check_fields, checked
from oocdm.worlds.world import WorldState

if TYPE_CHECKING:
    from stable_baselines3 import PPO

ROLLOUT = 2_048  # steps between two updates of PPO, its default


@dataclass(frozen=True)
class Collecting:
    """When a collector is trained: for `practice` steps of PPO after every `every` transitions.

    >>> WEAK
    Collecting(every=20000, practice=2048, batch_size=128)
    """

    every: Count
    practice: Count
    batch_size: Count = 128

    def __post_init__(self) -> None:
        check_fields(self, "collecting", OocdmError)


WEAK = Collecting(every=20_000, practice=2_048)  # for training and in distribution
STRONG = Collecting(every=10_000, practice=8_192)  # out of distribution


class PpoPolicy:
    """A policy of the walker for `oocdm.collect`, which is trained along the way.

    It begins with random weights. Whenever it has acted for `collecting.every` transitions,
    Stable-Baselines3 trains it with PPO in a walker of its own. `seed` is that of weights and
    training, and acting draws from the generator that it is given: policies of one seed are the
    same ones after each training, whatever episodes they acted in. `on_practice` is called
    after every step of training.

    >>> import oocdm
    >>> policy = PpoPolicy(Collecting(every=100, practice=64, batch_size=32))
    >>> oocdm.collect(oocdm.make("walker"), steps=300, policy=policy, num_worlds=1)
    Dataset(1 episode, 300 transitions; Joint: 6 objects, Top: 1 object)
    >>> policy.num_trainings
    2
    """

    @checked(OocdmError)
    def __init__(
        self,
        collecting: Collecting = WEAK,
        seed: Seed = 0,
        on_practice: Callable[[], None] | None = None,
    ) -> None:
        self.collecting, self.seed = collecting, seed
        self.num_trainings = 0
        self._acted = 0  # transitions since the last training
        self._on_practice = on_practice
        with self._own_random_numbers():
            self._ppo = _ppo(collecting, self._number())

    def __call__(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """Torques for many walkers, drawn from what the policy has learned so far."""
        if self._acted >= self.collecting.every:
            self._train()
        seen = seen_of(state)
        self._acted += len(seen)
        policy = self._ppo.policy
        policy.set_training_mode(False)
        with torch.no_grad():
            normal: Any = policy.get_distribution(torch.from_numpy(seen)).distribution
        noise = rng.standard_normal((len(seen), NUM_JOINTS), dtype=np.float32)
        torques = normal.mean.numpy() + normal.stddev.numpy() * noise
        return {"Joint": {"torque": torques.clip(-1.0, 1.0)}}

    def _train(self) -> None:
        self.num_trainings += 1
        self._acted = 0
        with self._own_random_numbers():
            self._ppo.learn(
                self.collecting.practice, callback=self._told, reset_num_timesteps=False
            )

    def _told(self, *_: Any) -> bool:
        if self._on_practice is not None:
            self._on_practice()
        return True  # go on

    @contextmanager
    def _own_random_numbers(self) -> Iterator[None]:
        """Let Stable-Baselines3, which draws from the generators of all, leave them as they are."""
        legacy, plain = np.random.get_state(), random.getstate()
        with torch.random.fork_rng(devices=[]):
            try:
                number = self._number()
                torch.manual_seed(number)
                np.random.seed(number)
                random.seed(number)
                yield
            finally:
                np.random.set_state(legacy)
                random.setstate(plain)

    def _number(self) -> int:
        """A seed for each training of this policy."""
        return int(np.random.SeedSequence([self.seed, self.num_trainings]).generate_state(1)[0])


def _ppo(collecting: Collecting, seed: int) -> PPO:
    try:
        from stable_baselines3 import PPO
    except ImportError as error:
        raise OocdmError(
            f"PpoPolicy: Stable-Baselines3 is needed ({error}). Install it by: "
            'pip install "oocdm[walker]"'
        ) from None
    return PPO(
        "MlpPolicy",
        _Practice(),
        n_steps=min(collecting.practice, ROLLOUT),
        batch_size=collecting.batch_size,
        seed=seed,
        device="cpu",
    )


class _Practice(gymnasium.Env[np.ndarray, np.ndarray]):
    """One walker as Stable-Baselines3 takes it, with Gymnasium's own observations."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (NUM_SEEN,), np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (NUM_JOINTS,), np.float32)
        self._world = WalkerWorld()
        self._num_steps = 0
        self._state: WorldState | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._state, self._num_steps = self._world.reset(1, self.np_random), 0
        return seen_of(self._state)[0], {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self._state is not None  # Stable-Baselines3 resets first
        actions = {"Joint": {"torque": action[None]}}
        self._state, reward, _ = self._world.step(self._state, actions, self.np_random)
        self._num_steps += 1
        is_cut = self._num_steps >= self._world.max_episode_steps
        return seen_of(self._state)[0], float(reward[0]), False, is_cut, {}
