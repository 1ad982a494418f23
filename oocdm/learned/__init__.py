"""The learned world as a Gymnasium environment, single, vectorised and flat."""

from oocdm.learned.env import LearnedEnv
from oocdm.learned.flat_env import FlatEnv
from oocdm.learned.vector_env import LearnedVectorEnv

__all__ = ["FlatEnv", "LearnedEnv", "LearnedVectorEnv"]
