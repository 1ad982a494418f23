"""Free functions on a model, its graph and data."""

from oocdm.inference.assumptions import Finding, check_assumptions
from oocdm.inference.dynamics import Dynamics, reaching, with_actions
from oocdm.inference.evaluate import Evaluation, FieldReport, Fitted, evaluate
from oocdm.inference.rollout import Rollout, rollout

__all__ = [
    "Dynamics",
    "Evaluation",
    "FieldReport",
    "Finding",
    "Fitted",
    "Rollout",
    "check_assumptions",
    "evaluate",
    "reaching",
    "rollout",
    "with_actions",
]
