"""Acting with a world model: optimisers of action sequences, and the agent that uses them."""

from oocdm.planning.agent import Agent, RandomAgent
from oocdm.planning.cem import CEM
from oocdm.planning.episodes import EpisodeResults, EpisodesProgress, Moment, run_episodes
from oocdm.planning.icem import ICEM
from oocdm.planning.learned_simulator import LearnedSimulator
from oocdm.planning.mpc import MPC
from oocdm.planning.mppi import MPPI
from oocdm.planning.planner import Plan, Planner
from oocdm.planning.simulator import Simulator
from oocdm.planning.true_simulator import TrueSimulator
from oocdm.planning.warm import WarmStart

__all__ = [
    "CEM",
    "ICEM",
    "MPC",
    "MPPI",
    "Agent",
    "EpisodeResults",
    "EpisodesProgress",
    "LearnedSimulator",
    "Moment",
    "Plan",
    "Planner",
    "RandomAgent",
    "Simulator",
    "TrueSimulator",
    "WarmStart",
    "run_episodes",
]
