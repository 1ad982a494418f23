"""Causal world models of environments made of objects."""

from oocdm.data import Dataset, Snapshot, Transitions, load_dataset
from oocdm.envs import list_envs, make
from oocdm.errors import DataError, GraphError, ModelError, OocdmError, PlanError, SchemaError
from oocdm.graph import ClassGraph, Edge, Evidence, Priors, VariableGraph
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
from oocdm.learned import LearnedEnv, LearnedVectorEnv
from oocdm.methods import Oocdm, Oofull, Schedule
from oocdm.models.oocdm.options import ModelOptions
from oocdm.planning import CEM, ICEM, MPC, MPPI, run_episodes
from oocdm.schema import Boolean, Categorical, Integer, ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.training import FitResult, Progress, discover, discover_variables, fit, load, resume
from oocdm.worlds import AbstractWorld, check_world, collect

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
    "LearnedEnv",
    "LearnedVectorEnv",
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
    "check_assumptions",
    "check_world",
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
