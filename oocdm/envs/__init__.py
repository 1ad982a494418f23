"""The paper's worlds and generated ones, with their true graphs and tasks."""

from oocdm.envs.asymblock import AsymBlockWorld
from oocdm.envs.block import BlockWorld
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.gym_env import WorldGym
from oocdm.envs.mouse import MouseWorld
from oocdm.envs.mouse_tasks import seen_tasks, unseen_tasks
from oocdm.envs.registry import EnvInfo, collector_of, list_envs, make, picture_of, register
from oocdm.envs.walker import PpoPolicy, WalkerWorld, collect_walker

__all__ = [
    "AsymBlockWorld",
    "BlockWorld",
    "EnvInfo",
    "GeneratedWorld",
    "MouseWorld",
    "PpoPolicy",
    "WalkerWorld",
    "WorldGym",
    "collect_walker",
    "collector_of",
    "list_envs",
    "make",
    "picture_of",
    "register",
    "seen_tasks",
    "unseen_tasks",
]

register()
