"""Training: fit, resume, load, and the folder of a run."""

from oocdm.training.discover import discover
from oocdm.training.fit import FitResult, fit, load, resume
from oocdm.training.trainer import Callback, Progress, Trainer

__all__ = ["Callback", "FitResult", "Progress", "Trainer", "discover", "fit", "load", "resume"]
