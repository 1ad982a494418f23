"""Gymnasium's Walker2d in MuJoCo, put into any state and stepped on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from oocdm.errors import OocdmError

if TYPE_CHECKING:
    from gymnasium.envs.mujoco.walker2d_v5 import Walker2dEnv

FRAME_SKIP = 4
RESET_NOISE = 0.005
NUM_JOINTS = 6
NUM_SEEN = 17  # numbers of an observation: 8 positions without x, 9 velocities


def check_mujoco() -> None:
    """Raise an `OocdmError` if MuJoCo is not installed."""
    try:
        import mujoco  # noqa: F401, whether it is there
    except ImportError as error:
        raise OocdmError(
            f"Environment `walker`: MuJoCo is needed ({error}). Install it by: "
            'pip install "oocdm[walker]"'
        ) from None


def make_walker2d(**options: Any) -> Walker2dEnv:
    """Gymnasium's Walker2d as its version 4, without ends of episodes.

    Version 5 with the robot of version 4 is the same to the bit, and not deprecated: versions up
    to 4 have less friction under the right foot (0.9) than under the left one (1.9), 5 has 1.9.
    """
    check_mujoco()
    env = gymnasium.make(
        "Walker2d-v5",
        xml_file="walker2d.xml",
        frame_skip=FRAME_SKIP,
        reset_noise_scale=RESET_NOISE,
        terminate_when_unhealthy=False,
        **options,
    )
    return env.unwrapped  # type: ignore[return-value]


class Engine:
    """One robot: where a state begins, and what follows from a state and torques.

    States are what MuJoCo needs to go on to the bit: time, positions, velocities, and where its
    solver begins. Observations are Gymnasium's: positions without x, then velocities, which are
    cut off at 10.

    >>> engine = Engine()
    >>> state = engine.reset(np.random.default_rng(0))
    >>> state, seen = engine.step(state, np.zeros(6))
    >>> seen.shape
    (17,)
    """

    def __init__(self, **options: Any) -> None:
        self._env = make_walker2d(**options)
        import mujoco

        kinds = mujoco.mjtState
        self._mujoco = mujoco
        self._kind = int(kinds.mjSTATE_FULLPHYSICS) | int(kinds.mjSTATE_WARMSTART)
        self.state_size: int = mujoco.mj_stateSize(self._env.model, self._kind)

    def reset(self, rng: np.random.Generator) -> np.ndarray:
        """A state in which an episode starts: upright, with a little noise."""
        self._env.np_random = rng
        self._env.reset()
        return self._state()

    def step(self, state: np.ndarray, torques: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The next state, and what is observed of it."""
        self._enter(state)
        seen = self._env.step(torques)[0]
        return self._state(), seen

    def observe(self, state: np.ndarray) -> np.ndarray:
        """What is observed of a state."""
        self._enter(state)
        seen: np.ndarray = self._env._get_obs()
        return seen

    def state_of(self, seen: np.ndarray) -> np.ndarray:
        """A state that is observed so, at x = 0."""
        state = np.zeros(self.state_size)
        num = 1 + NUM_SEEN  # positions and velocities, after the time
        state[2 : 1 + num] = seen
        return state

    def render(self, state: np.ndarray) -> np.ndarray:
        """A picture (height, width, 3), if the engine was made with render_mode="rgb_array"."""
        self._enter(state)
        self._mujoco.mj_forward(self._env.model, self._env.data)  # where the parts are
        picture: np.ndarray = self._env.render()
        return picture

    def _enter(self, state: np.ndarray) -> None:
        self._mujoco.mj_setState(self._env.model, self._env.data, state, self._kind)

    def _state(self) -> np.ndarray:
        state = np.empty(self.state_size)
        self._mujoco.mj_getState(self._env.model, self._env.data, state, self._kind)
        return state
