"""A dataset of balls, and ways to spoil it."""

from __future__ import annotations

import dataclasses

import numpy as np

from oocdm.data import Dataset
from oocdm.schema import ObjectClass, Real, Schema


class Ball(ObjectClass):
    x = Real(high=9)
    mass = Real(static=True)
    push = Real(action=True)


SCHEMA = Schema(Ball)


def make(lengths=(3, 2), num_objects=2, **changes):
    """A dataset of balls whose `x` is the number of the row; `changes` replace arrays."""
    rows = sum(lengths)
    on = np.ones((rows, num_objects), dtype=bool)
    last = np.cumsum(lengths, dtype=int) - 1
    push = np.ones((rows, num_objects), dtype=np.float32)
    push[last] = 0
    can_act = on.copy()
    can_act[last] = False
    x = np.broadcast_to(np.arange(rows, dtype=np.float32)[:, None] / 100, on.shape)
    arrays = {
        "values": {"Ball": {"x": x, "mass": np.ones(on.shape, np.float32), "push": push}},
        "present": {"Ball": on},
        "observed": {"Ball": {"x": on, "mass": on, "push": can_act}},
        "episode": np.repeat(np.arange(len(lengths)), np.array(lengths, int)),
        "step": np.concatenate([np.arange(n) for n in (0, *lengths)]),
        "reward": np.zeros(rows, np.float32),
        "terminated": np.zeros(rows, bool),
        "truncated": np.zeros(rows, bool),
    }
    return Dataset(SCHEMA, **{**arrays, **changes})


def edited(data, field, where, value):
    """The dataset with one entry of a field changed."""
    values = {"Ball": {f: v.copy() for f, v in data.values["Ball"].items()}}
    values["Ball"][field][where] = value
    return dataclasses.replace(data, values=values)
