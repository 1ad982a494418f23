"""Acting with a world model: optimisers of action sequences, and the agent that uses them."""

from oocdm.planning.agent import Agent, RandomAgent
from oocdm.planning.cem import CEM
from oocdm.planning.episodes import EpisodeResults, EpisodesProgress, Moment, run_episodes
from oocdm.planning.flat_world import FlatWorld
from oocdm.planning.icem import ICEM
from oocdm.planning.learned import LearnedSimulator
from oocdm.planning.mpc import MPC
from oocdm.planning.mppi import MPPI
from oocdm.planning.planner import Plan, Planner
from oocdm.planning.simulator import Simulator, WorldSimulator
from oocdm.planning.warm import WarmStart
from oocdm.planning.world_env import WorldEnv
from oocdm.planning.world_vector_env import WorldVectorEnv

__all__ = [
    "CEM",
    "ICEM",
    "MPC",
    "MPPI",
    "Agent",
    "EpisodeResults",
    "EpisodesProgress",
    "FlatWorld",
    "LearnedSimulator",
    "Moment",
    "Plan",
    "Planner",
    "RandomAgent",
    "Simulator",
    "WarmStart",
    "WorldEnv",
    "WorldSimulator",
    "WorldVectorEnv",
    "run_episodes",
]
