"""Free functions on a model, its graph and data."""

from oocdm.inference.assumptions import Finding, check_assumptions
from oocdm.inference.counterfactual import Counterfactual, counterfactual
from oocdm.inference.dynamics import Dynamics, reaching, with_actions
from oocdm.inference.evaluate import Evaluation, FieldReport, Fitted, evaluate
from oocdm.inference.rollout import Rollout, rollout

__all__ = [
    "Counterfactual",
    "Dynamics",
    "Evaluation",
    "FieldReport",
    "Finding",
    "Fitted",
    "Rollout",
    "check_assumptions",
    "counterfactual",
    "evaluate",
    "reaching",
    "rollout",
    "with_actions",
]
