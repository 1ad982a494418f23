"""Free functions on a model, its graph and data."""

from oocdm.inference.evaluate import Evaluation, FieldReport, Fitted, evaluate

__all__ = ["Evaluation", "FieldReport", "Fitted", "evaluate"]
