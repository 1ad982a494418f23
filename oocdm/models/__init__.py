"""World models: their interface, and what networks of one's own are made from."""

from oocdm.models.variable_model import AbstractVariableModel, Encoded, Setting, Stack
from oocdm.models.world_model import AbstractPredictor, AbstractWorldModel

__all__ = [
    "AbstractPredictor",
    "AbstractVariableModel",
    "AbstractWorldModel",
    "Encoded",
    "Setting",
    "Stack",
]
