"""Free functions on a model, its graph and data."""

from oocdm.inference.assumptions import Finding, check_assumptions
from oocdm.inference.evaluate import Evaluation, FieldReport, Fitted, evaluate

__all__ = ["Evaluation", "FieldReport", "Finding", "Fitted", "check_assumptions", "evaluate"]
