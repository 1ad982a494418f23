"""Methods: what is trained, on what objective, and how the graph is found."""

from oocdm.methods.method import AbstractMethod, Schedule, Standing, Term
from oocdm.methods.oocdm import Oocdm
from oocdm.methods.oofull import Oofull
from oocdm.methods.registry import METHODS, make_method, method_from_json

__all__ = [
    "METHODS",
    "AbstractMethod",
    "Oocdm",
    "Oofull",
    "Schedule",
    "Standing",
    "Term",
    "make_method",
    "method_from_json",
]
