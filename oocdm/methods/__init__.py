"""Methods: what is trained, on what objective, and how the graph is found."""

from oocdm.methods.dense import AbstractDenseMethod, AbstractDenseModel
from oocdm.methods.method import AbstractMethod, DataInquiry, Inquiry, LearningState, Schedule, Term
from oocdm.methods.oocdm import Oocdm
from oocdm.methods.oocdm_plus import OocdmPlus
from oocdm.methods.oofull import Oofull
from oocdm.methods.oofull_plus import OofullPlus
from oocdm.methods.registry import (
    METHODS,
    configured,
    make_method,
    method_class,
    method_from_json,
    method_names,
)
from oocdm.methods.variable_method import AbstractVariableMethod

__all__ = [
    "METHODS",
    "AbstractDenseMethod",
    "AbstractDenseModel",
    "AbstractMethod",
    "AbstractVariableMethod",
    "DataInquiry",
    "Inquiry",
    "LearningState",
    "Oocdm",
    "OocdmPlus",
    "Oofull",
    "OofullPlus",
    "Schedule",
    "Term",
    "configured",
    "make_method",
    "method_class",
    "method_from_json",
    "method_names",
]
