"""Which undecided edges a predictor keeps: those that help it to predict, as far as is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from oocdm.discovery.gains import Gains, Stopping, element_gains
from oocdm.graph import Structure
from oocdm.models.prepared import Prepared
from oocdm.models.world_model import AbstractWorldModel

# What an edge must add to be kept: more than its standard error, and more nats than needless ones
# do (in generated worlds 95 % of them add less than 0.0008).
ERRORS, NATS = 1.0, 0.002


def is_plausible(gains: Gains) -> np.ndarray:
    """Which elements are better kept by a predictor, though nobody can be sure of them.

    For the data at hand any gain above 0 would do. But a needless edge costs little there and much
    elsewhere, so the gain must stand out from chance and from what needless edges add.

    >>> gains = Gains(np.array([0.02, 0.02, 0.001]), np.array([0.01, 0.03, 0.0]), np.full(3, 9))
    >>> is_plausible(gains).tolist()
    [True, False, False]
    """
    return gains.mean > np.maximum(ERRORS * gains.error, NATS)


def keep_plausible(
    model: AbstractWorldModel,
    data: Prepared,
    structure: Structure,
    undecided: Structure,
    resolution: Mapping[str, Tensor] | None,
    patience: int = Stopping.patience,
) -> Structure:
    """The structure with those of its undecided edges that are plausible in it.

    Of two edges that can stand in for each other neither adds much while both are there: in each
    pass every target drops the weaker half of those that are not plausible, and the others are
    measured again without them. In the end every kept edge is plausible in the structure itself.
    """
    flags = structure.flags.copy()
    asked = undecided.flags & flags
    gains, again = Gains.none(len(flags)), asked
    while again.any():
        at = Structure(structure.layout, flags)
        stopping = Stopping(np.full(len(flags), NATS), patience=patience)
        tested = Structure(structure.layout, again)
        found = element_gains(model, data, at, resolution, tested, stopping)
        gains = gains.replaced(found, again)
        weak = asked & flags & ~is_plausible(gains)
        again = np.zeros(len(flags), dtype=bool)
        for columns in structure.layout.by_target:
            here = columns[weak[columns]]
            if len(here):
                order = np.argsort(gains.mean[here], kind="stable")
                flags[here[order[: (len(here) + 1) // 2]]] = False
                again[columns] = asked[columns] & flags[columns]
    return Structure(structure.layout, flags)
