"""Free functions on a model, its graph and data."""

from oocdm.inference.assumptions import Finding, check_assumptions
from oocdm.inference.counterfactual import Counterfactual, counterfactual
from oocdm.inference.dynamics import Dynamics, with_actions
from oocdm.inference.evaluate import Evaluation, FieldReport, evaluate
from oocdm.inference.explain import Explanation, Reason, explain
from oocdm.inference.fitted import Fitted
from oocdm.inference.reach import reached, reaching
from oocdm.inference.rollout import Rollout, rollout
from oocdm.inference.seen import Seen, SeenField

__all__ = [
    "Counterfactual",
    "Dynamics",
    "Evaluation",
    "Explanation",
    "FieldReport",
    "Finding",
    "Fitted",
    "Reason",
    "Rollout",
    "Seen",
    "SeenField",
    "check_assumptions",
    "counterfactual",
    "evaluate",
    "explain",
    "reached",
    "reaching",
    "rollout",
    "with_actions",
]
