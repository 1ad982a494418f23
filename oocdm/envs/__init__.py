"""The paper's worlds and generated ones, with their true graphs and tasks."""

from oocdm.envs.block import BlockWorld
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.gym_env import WorldGym
from oocdm.envs.mouse import MouseWorld
from oocdm.envs.mouse_tasks import seen_tasks, unseen_tasks
from oocdm.envs.registry import EnvInfo, list_envs, make, picture_of, register

__all__ = [
    "BlockWorld",
    "EnvInfo",
    "GeneratedWorld",
    "MouseWorld",
    "WorldGym",
    "list_envs",
    "make",
    "picture_of",
    "register",
    "seen_tasks",
    "unseen_tasks",
]

register()
