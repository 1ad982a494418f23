"""Causal world models of environments made of objects."""

from oocdm.data import AbstractWorld, Dataset, Snapshot, Transitions, collect, load_dataset
from oocdm.discovery import Priors
from oocdm.envs import list_envs, make
from oocdm.errors import DataError, GraphError, ModelError, OocdmError, PlanError, SchemaError
from oocdm.graph import ClassGraph, Edge, Evidence, VariableGraph
from oocdm.inference import (
    Counterfactual,
    Dynamics,
    Evaluation,
    Explanation,
    Finding,
    Rollout,
    check_assumptions,
    counterfactual,
    evaluate,
    explain,
    rollout,
)
from oocdm.methods import Oocdm, Oofull, Schedule
from oocdm.models.options import ModelOptions
from oocdm.planning import CEM, ICEM, MPC, MPPI, WorldEnv, WorldVectorEnv, run_episodes
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.training import FitResult, Progress, discover, discover_variables, fit, load, resume

__version__ = "0.1.0"

__all__ = [
    "CEM",
    "ICEM",
    "MPC",
    "MPPI",
    "AbstractWorld",
    "Boolean",
    "Categorical",
    "ClassGraph",
    "Counterfactual",
    "DataError",
    "Dataset",
    "Dynamics",
    "Edge",
    "Evaluation",
    "Evidence",
    "Explanation",
    "Finding",
    "FitResult",
    "GraphError",
    "Integer",
    "ModelError",
    "ModelOptions",
    "ObjectClass",
    "Oocdm",
    "OocdmError",
    "Oofull",
    "PlanError",
    "Priors",
    "Progress",
    "Real",
    "Rollout",
    "Schedule",
    "Schema",
    "SchemaError",
    "Snapshot",
    "Task",
    "Transitions",
    "VariableGraph",
    "WorldEnv",
    "WorldVectorEnv",
    "check_assumptions",
    "collect",
    "counterfactual",
    "discover",
    "discover_variables",
    "evaluate",
    "explain",
    "fit",
    "list_envs",
    "load",
    "load_dataset",
    "make",
    "resume",
    "rollout",
    "run_episodes",
]
