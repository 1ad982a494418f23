"""Training: fit, resume, load, and the folder of a run."""

from oocdm.training.discover import discover, discover_variables
from oocdm.training.fit import estimate_memory, fit, load, resume
from oocdm.training.position import Callback, Progress
from oocdm.training.result import FitResult
from oocdm.training.trainer import Trainer

__all__ = [
    "Callback",
    "FitResult",
    "Progress",
    "Trainer",
    "discover",
    "discover_variables",
    "estimate_memory",
    "fit",
    "load",
    "resume",
]
