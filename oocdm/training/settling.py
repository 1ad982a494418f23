"""Whether the decisions on edges have settled, and how long learning may go on until they have."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oocdm.graph import Evidence
from oocdm.methods.method import AbstractMethod

EDGES_PER_ITERATION = 10  # edges for which learning may go on for one more iteration
MOST_NAMED = 5  # edges that a warning names


def most_iterations(method: AbstractMethod, num_edges: int, is_timed: bool) -> float:
    """How many iterations of learning there may be, for so many edges that are to be decided.

    Every target's edges must stay as they are for learning to have settled, so the last of them
    takes the longer the more there are. Limited time is a limit of its own.

    >>> from oocdm import Oocdm, Schedule
    >>> most_iterations(Oocdm(), 240, is_timed=False), most_iterations(Oocdm(), 240, is_timed=True)
    (34.0, inf)
    >>> most_iterations(Oocdm(schedule=Schedule(iterations=6)), 240, is_timed=True)
    6.0
    """
    planned = float(method.schedule.planned_iterations)
    if not method.goes_on or num_edges == 0:
        return planned
    return math.inf if is_timed else planned + num_edges // EDGES_PER_ITERATION


def what_is_open(found: Sequence[np.ndarray], evidence: Evidence, patience: int) -> str:
    """The edges that came or went in the last iterations, and the undecided ones, in words.

    >>> from oocdm.graph import ClassEdges
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> edges, yes = ClassEdges.of(Schema(Ball)), np.array([True, True])
    >>> evidence = Evidence.of_test(edges, yes, yes, ~yes)
    >>> what_is_open([yes, np.array([True, False])], evidence, patience=3)
    'still open were `Ball.x <- Ball[*].x`'
    """
    recent = np.array(found[-(patience + 1) :])
    is_open = evidence.decision == "undecided"
    if len(recent):
        is_open |= (recent != recent[-1]).any(0)
    names = [f"`{evidence.edges.names[i]}`" for i in np.flatnonzero(is_open)]
    if not names:
        return "the graph was not looked at often enough to tell"
    more = len(names) - MOST_NAMED
    return f"still open were {', '.join(names[:MOST_NAMED])}" + (
        f" and {more} more" if more > 0 else ""
    )
