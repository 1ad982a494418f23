"""Causal world models of environments made of objects.

Everything a script needs is here, as `oocdm.X`. Two names load only when they are first used,
because of the libraries behind them: `save_adjacency` (matplotlib) and `StableBaselinesEnv`
(Stable-Baselines3, which comes with the extra `rl`).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import oocdm.interruption  # noqa: F401, first, since the others take long to load
from oocdm.checks import check_method
from oocdm.data import Dataset, Snapshot, Transitions, load_dataset
from oocdm.discovery import Discovery, discover_by_tests
from oocdm.envs import EnvInfo, list_envs, make
from oocdm.errors import (
    DataError,
    FileError,
    GraphError,
    ModelError,
    OocdmError,
    PlanError,
    SchemaError,
)
from oocdm.files import accept_changes
from oocdm.graph import (
    ClassGraph,
    Edge,
    EdgeEvidence,
    Evidence,
    GraphComparison,
    Layout,
    Priors,
    Structure,
    VariableGraph,
)
from oocdm.inference import (
    Counterfactual,
    Dynamics,
    Evaluation,
    Explanation,
    FieldReport,
    Finding,
    Rollout,
    Seen,
    SeenField,
    check_assumptions,
    counterfactual,
    evaluate,
    explain,
    rollout,
    with_actions,
)
from oocdm.learned import FlatEnv, LearnedEnv, LearnedVectorEnv
from oocdm.methods import (
    AbstractMethod,
    AbstractVariableMethod,
    Oocdm,
    OocdmPlus,
    Oofull,
    OofullPlus,
    Schedule,
)
from oocdm.models.oocdm.options import ModelOptions
from oocdm.online import OnlineProgress, OnlineResult, learn_online
from oocdm.planning import (
    CEM,
    ICEM,
    MPC,
    MPPI,
    Agent,
    EpisodeResults,
    EpisodesProgress,
    LearnedSimulator,
    Moment,
    Planner,
    RandomAgent,
    Simulator,
    TrueSimulator,
    run_episodes,
)
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.training import (
    FitResult,
    Progress,
    discover,
    discover_variables,
    estimate_memory,
    fit,
    load,
    resume,
)
from oocdm.worlds import AbstractWorld, WorldState, check_world, collect, record

if TYPE_CHECKING:
    from oocdm.learned.stable_baselines import StableBaselinesEnv
    from oocdm.report.adjacency import save_adjacency

__version__ = "0.1.0"

__all__ = [
    "CEM",
    "ICEM",
    "MPC",
    "MPPI",
    "AbstractMethod",
    "AbstractVariableMethod",
    "AbstractWorld",
    "Agent",
    "Boolean",
    "Categorical",
    "ClassGraph",
    "Counterfactual",
    "DataError",
    "Dataset",
    "Discovery",
    "Dynamics",
    "Edge",
    "EdgeEvidence",
    "EnvInfo",
    "EpisodeResults",
    "EpisodesProgress",
    "Evaluation",
    "Evidence",
    "Explanation",
    "FieldReport",
    "FileError",
    "Finding",
    "FitResult",
    "FlatEnv",
    "GraphComparison",
    "GraphError",
    "Integer",
    "Layout",
    "LearnedEnv",
    "LearnedSimulator",
    "LearnedVectorEnv",
    "ModelError",
    "ModelOptions",
    "Moment",
    "ObjectClass",
    "OnlineProgress",
    "OnlineResult",
    "Oocdm",
    "OocdmError",
    "OocdmPlus",
    "Oofull",
    "OofullPlus",
    "PlanError",
    "Planner",
    "Priors",
    "Progress",
    "RandomAgent",
    "Real",
    "Rollout",
    "Schedule",
    "Schema",
    "SchemaError",
    "Seen",
    "SeenField",
    "Simulator",
    "Snapshot",
    "StableBaselinesEnv",
    "Structure",
    "Task",
    "Transitions",
    "TrueSimulator",
    "VariableGraph",
    "WorldState",
    "accept_changes",
    "check_assumptions",
    "check_method",
    "check_world",
    "collect",
    "counterfactual",
    "discover",
    "discover_by_tests",
    "discover_variables",
    "estimate_memory",
    "evaluate",
    "explain",
    "fit",
    "learn_online",
    "list_envs",
    "load",
    "load_dataset",
    "make",
    "record",
    "resume",
    "rollout",
    "run_episodes",
    "save_adjacency",
    "with_actions",
]

_LOADED_LATER = {
    "StableBaselinesEnv": "oocdm.learned.stable_baselines",
    "save_adjacency": "oocdm.report.adjacency",
}


def __getattr__(name: str) -> Any:
    if name not in _LOADED_LATER:
        raise AttributeError(f"module `oocdm` has no attribute `{name}`")
    return getattr(import_module(_LOADED_LATER[name]), name)
