"""The parts that make features for a predictor; a new one is a line here."""

from oocdm.models.oocdm.parts.attention import Attention
from oocdm.models.oocdm.parts.extremes import Extremes
from oocdm.models.oocdm.parts.local import Local
from oocdm.models.oocdm.parts.messages import Messages
from oocdm.models.oocdm.parts.open_extremes import OpenExtremes
from oocdm.models.oocdm.parts.pairs import Pairs
from oocdm.models.oocdm.parts.part import AbstractPart

# In the order of their features.
PARTS: list[type[AbstractPart]] = [
    Local,
    Attention,
    Messages,
    Extremes,
    OpenExtremes,
    Pairs,
]
