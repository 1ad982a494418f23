"""Logs in which everything that may vary does: objects come and go, values are unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest
import torch

from oocdm.data import Dataset
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from oocdm.schema import Boolean, Categorical, Field, Integer, ObjectClass, Real, Schema

T = TypeVar("T")


class Ant(ObjectClass):
    x = Real()
    place = Real(low=-2.0, high=2.0, shape=(2,))
    level = Integer(2, 5)
    cell = Integer(0, 3, shape=(2,))
    steps = Integer()
    heading = Categorical(["north", "south", "west"])
    awake = Boolean()
    alive = Boolean(likelihood="normal")
    mass = Real(static=True)
    push = Real(action=True)


class Rock(ObjectClass):
    """Nothing of a rock is predicted."""

    size = Real(static=True)


class Nest(ObjectClass):
    food = Real(low=0.0)


SCHEMA = Schema(Ant, Rock, Nest)


def ragged(
    schema: Schema = SCHEMA,
    lengths: tuple[int, ...] = (6, 1, 9, 4, 8),
    slots: int | Mapping[str, int] = 4,
    seed: int = 0,
    is_whole: bool = False,
    chance: float = 0.8,
) -> Dataset:
    """A random log; with `is_whole` all objects are always there and all values known.

    With many slots and a small `chance` of an object to be there, batches have different widths.
    """
    rng = np.random.default_rng(seed)
    rows = sum(lengths)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    step = np.concatenate([np.arange(n) for n in lengths])
    if not is_whole:
        step = np.where((episode == 2) & (step >= 5), step + 3, step)  # a gap: no transition
    is_last = np.append(episode[1:] != episode[:-1], True)
    values: dict[str, dict[str, np.ndarray]] = {}
    present: dict[str, np.ndarray] = {}
    observed: dict[str, dict[str, np.ndarray]] = {}
    for c in schema.classes:
        num = slots if isinstance(slots, int) else slots[c]
        counts = rng.integers(min(1, num), num + 1, size=len(lengths))[episode]
        here = (np.arange(num) < counts[:, None]) & (rng.random((rows, num)) < chance)
        present[c] = np.ones_like(here) if is_whole else here
        values[c], observed[c] = {}, {}
        for f, field in schema.fields(c).items():
            known = present[c] & (is_whole | (rng.random((rows, num)) < 0.8))
            if field.action:
                known &= ~is_last[:, None]
            drawn = _draw(field, (len(lengths) if field.static else rows, num), rng)
            drawn = drawn[episode] if field.static else drawn
            mask = known.reshape(*known.shape, *[1] * (drawn.ndim - 2))
            values[c][f] = np.where(mask, drawn, 0).astype(field.dtype)
            observed[c][f] = known
    off = np.zeros(rows, dtype=bool)
    outcome = np.zeros(rows, dtype=np.float32)
    return Dataset(schema, values, present, observed, episode, step, outcome, off, off)


def _draw(field: Field, leading: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    shape = (*leading, *field.shape)
    if isinstance(field, Real):
        return rng.normal(size=shape).clip(field.low, field.high)
    low = -3 if field.low is None else int(field.low)
    high = 9 if field.high is None else int(field.high)
    return rng.integers(low, high + 1, size=shape)


def random_model(
    data: Dataset,
    preset: str = "default",
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    **options: Any,
) -> OocdmModel:
    """A model none of whose weights is zero, in units of the data."""
    torch.manual_seed(seed)
    chosen = replace(ModelOptions.preset(preset), **options)
    model = OocdmModel(data.schema, chosen, Scales.measure(data.transitions()))
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.normal_(std=0.2)
    return model.to(dtype)


def padded(data: Dataset, function: Callable[[Dataset], T]) -> T:
    """What a function finds in data whose batches are all padded to the same width."""
    assert len({data.transitions(slice(i, i + 1)).before.counts["Ant"] for i in range(9)}) > 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oocdm.data.dataset.ALWAYS_PADDED", 10**9)
        return function(data)
