"""Edge scores and the rules that turn them into a graph."""

from oocdm.discovery.decide import Discovery, discover_around, discover_leave_one_out
from oocdm.discovery.scores import StructureParts, part_values, resolution_of, score_neighbours

__all__ = [
    "Discovery",
    "StructureParts",
    "discover_around",
    "discover_leave_one_out",
    "part_values",
    "resolution_of",
    "score_neighbours",
]
