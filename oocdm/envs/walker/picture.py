"""Pictures of the walker, drawn by MuJoCo."""

from __future__ import annotations

import os
import sys
from functools import lru_cache

import numpy as np

from oocdm.envs.walker.engine import Engine
from oocdm.envs.walker.world import ENGINE, seen_of
from oocdm.worlds.world import WorldState

WIDTH, HEIGHT = 400, 300


def draw_walker(state: WorldState) -> np.ndarray:
    """A picture of the first of some worlds, (height, width, 3).

    >>> from oocdm.envs.walker import WalkerWorld
    >>> draw_walker(WalkerWorld().reset(1, np.random.default_rng(0))).shape
    (300, 400, 3)
    """
    engine = _engine()
    if ENGINE in state.memory:
        return engine.render(state.memory[ENGINE][0])
    return engine.render(engine.state_of(seen_of(state)[0]))


@lru_cache(maxsize=1)
def _engine() -> Engine:
    if sys.platform == "linux":  # drawing needs no screen there, if it is not told otherwise
        os.environ.setdefault("MUJOCO_GL", "egl")
    # From the robot's own camera, which goes along with it.
    return Engine(render_mode="rgb_array", width=WIDTH, height=HEIGHT, camera_name="track")
