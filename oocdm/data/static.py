"""Static values that are logged only now and then: known once, they are known in every step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oocdm.data.cells import Cells
from oocdm.data.log import Log


def fill_static(log: Log) -> dict[str, Cells]:
    """The cells of each class, with static values also in the steps that lack them.

    A value holds for its object in all steps of its episode, before and after. The log is left
    as it is, and what it says must not contradict itself.

    >>> import pandas as pd
    >>> from oocdm.data.frames import read_frames
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     mass = Real(static=True)
    >>> frame = pd.DataFrame({"episode": 0, "step": range(3), "object": 0, "x": 0.0,
    ...                       "mass": pd.array([None, 2.5, None], dtype="Float64")})
    >>> filled = fill_static(read_frames({"Ball": frame}, Schema(Ball)))["Ball"]
    >>> filled.values["mass"], filled.observed["mass"]
    (array([2.5, 2.5, 2.5], dtype=float32), array([ True,  True,  True]))
    """
    cells = dict(log.cells)
    for c, cls in log.schema.classes.items():
        for f in (name for name, field in cls.fields.items() if field.static):
            if not cells[c].observed[f].all():
                cells[c] = _filled(log, c, f, cells[c])
    return cells


def known_cells(log: Log, class_name: str, field_name: str) -> np.ndarray:
    """For each cell of a class, the first one in which its object has a value, (cell,); or -1."""
    known = np.flatnonzero(log.cells[class_name].observed[field_name])
    objects = log.objects_of(class_name)
    source = np.full(len(log.names[class_name][1]), -1)
    source[objects[known[::-1]]] = known[::-1]  # of several the last assignment stays: the first
    return source[objects]


def _filled(log: Log, c: str, f: str, cells: Cells) -> Cells:
    source = known_cells(log, c, f)
    lacking = np.flatnonzero(~cells.observed[f] & (source >= 0))
    values, known = cells.values[f].copy(), cells.observed[f].copy()
    values[lacking] = values[source[lacking]]
    known[lacking] = True
    return replace(cells, values={**cells.values, f: values}, observed={**cells.observed, f: known})
