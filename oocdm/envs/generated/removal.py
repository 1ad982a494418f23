"""A source as one would guess it from everything else that is logged at that step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oocdm.envs.generated.source import Source, read
from oocdm.schema import Field, Schema
from oocdm.worlds.world import WorldState

MAX_ROWS = 6000  # that a regression is fitted on
RIDGE = 1e-3  # per row, of standardised features


@dataclass(frozen=True)
class Removal:
    """Draws of a source given all else, for the moments of `before`.

    `drawn` has the draws on its first axis, then the axes of what mechanisms are shown;
    `features` is what a target's object knows without the source: (world, object, feature), in
    moments to fit on and in those of `before`.
    """

    source: Source
    before: WorldState
    drawn: np.ndarray
    fit: WorldState
    features: tuple[np.ndarray, np.ndarray]
    num_waves: int


def remove(
    schema: Schema,
    fit: WorldState,
    before: WorldState,
    source: Source,
    target_class: str,
    num_draws: int,
    rng: np.random.Generator,
    num_waves: int,
) -> Removal:
    """Draw a source given the rest: a regression on it, learned from `fit`, and its residuals.

    Numbers are predicted by ridge regression on the other fields of both objects, on means over
    others, on their squares, and on `num_waves` random functions of them; residuals come from
    another moment, all those of one object together. Categories are drawn with the odds that the
    regression gives.
    """
    field = schema.field(source.class_name, source.field_name)
    both = [_given(schema, moments, source, target_class) for moments in (fit, before)]
    counted = [read(moments, source, target_class)[1] for moments in (fit, before)]
    shown = read(fit, source, target_class)[0]
    model = Regression(both[0][counted[0]], _codes(field, shown)[counted[0]], num_waves, rng)
    guess = model.predict(both[1])
    if field.num_codes:
        drawn = np.stack([_draw_codes(field, guess, rng) for _ in range(num_draws)])
    else:
        rest = _codes(field, shown) - model.predict(both[0])
        rest = _filled(rest, counted[0], rng)
        numbers = len(guess)
        drawn = np.stack(
            [guess + rest[rng.integers(len(rest), size=numbers)] for _ in range(num_draws)]
        )
        drawn = drawn if field.shape else drawn[..., 0]
        drawn = drawn.astype(np.float32) if field.is_real else np.rint(np.maximum(drawn, 0))
        drawn = field.clip(drawn).astype(field.dtype)
    local = source if source.is_local else None
    features = tuple(_of_object(schema, m, target_class, local, source) for m in (fit, before))
    return Removal(source, before, drawn, fit, (features[0], features[1]), num_waves)


def _filled(rest: np.ndarray, counted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Residuals, with some of others in rows that hold no object."""
    known = rest[counted]
    missing = ~counted
    rest = rest.copy()
    rest[missing] = known[rng.integers(len(known), size=int(missing.sum()))]
    return rest


def _draw_codes(field: Field, guess: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    odds = np.clip(guess, 1e-3, 1)
    odds = np.concatenate([np.clip(1 - odds.sum(-1, keepdims=True), 1e-3, 1), odds], -1)
    below = (odds / odds.sum(-1, keepdims=True)).cumsum(-1)[..., :-1]
    drawn: np.ndarray = (rng.random(below.shape[:-1])[..., None] >= below).sum(-1)
    return drawn


# ---------------------------------------------------------------- regression


class Regression:
    """Ridge regression on features, their squares and some random functions of them.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 1))
    >>> model = Regression(x, x**2, num_waves=0, rng=rng)
    >>> bool(abs(model.predict(np.array([[1.5]]))[0, 0] - 2.25) < 0.02)
    True
    """

    def __init__(
        self, features: np.ndarray, values: np.ndarray, num_waves: int, rng: np.random.Generator
    ) -> None:
        some = rng.permutation(len(features))[:MAX_ROWS]
        features, values = features[some], values[some]
        self._middle, self._spread = features.mean(0), features.std(0)
        self._used = self._spread > 1e-6
        width = int(self._used.sum())
        self._waves = rng.normal(size=(width, num_waves)) / np.sqrt(max(width, 1)) * 1.5
        self._phase = rng.uniform(-2, 2, size=num_waves)
        rows = self._expand(features)
        self._mean = values.mean(0)
        gram = rows.T @ rows + RIDGE * len(rows) * np.eye(rows.shape[1])
        self._weights = np.linalg.solve(gram, rows.T @ (values - self._mean))

    def predict(self, features: np.ndarray) -> np.ndarray:
        """The values that go with features, on the last axis."""
        rows = self._expand(features.reshape(-1, features.shape[-1]))
        found = rows @ self._weights + self._mean
        return np.asarray(found.reshape(*features.shape[:-1], -1))

    def _expand(self, features: np.ndarray) -> np.ndarray:
        scaled = ((features - self._middle) / np.where(self._used, self._spread, 1))[:, self._used]
        scaled = np.clip(scaled, -5, 5)
        waves = np.tanh(scaled @ self._waves + self._phase)
        return np.concatenate([scaled, scaled**2 - 1, waves], -1)


# ---------------------------------------------------------------- features


def _given(schema: Schema, state: WorldState, source: Source, target_class: str) -> np.ndarray:
    """All that is known of a source's object and of the target's, without the source itself."""
    if source.is_local:
        return _of_object(schema, state, target_class, source, source)
    here = _of_object(schema, state, target_class, None, source)
    there = _own(schema, state, source.class_name, skip=source.field_name)
    rows, others = here.shape[1], there.shape[1]
    here = np.broadcast_to(here[:, :, None], (len(here), rows, others, here.shape[-1]))
    there = np.broadcast_to(there[:, None], (len(there), rows, others, there.shape[-1]))
    return np.concatenate([here, there], -1)


def _of_object(
    schema: Schema, state: WorldState, c: str, local: Source | None, removed: Source
) -> np.ndarray:
    """Own fields but a local source, and means over others of all fields but a global source."""
    present = state.present[c]
    columns = [_own(schema, state, c, skip=None if local is None else local.field_name)]
    for d in schema.classes:
        is_from = not removed.is_local and d == removed.class_name
        columns += _means(schema, state, c, d, skip=removed.field_name if is_from else None)
    shape = present.shape
    return np.concatenate([np.broadcast_to(v, (*shape, v.shape[-1])) for v in columns], -1)


def _means(
    schema: Schema, state: WorldState, c: str, d: str, skip: str | None
) -> Iterator[np.ndarray]:
    """Means over the objects of a class, and of squares; without the object itself."""
    present = state.present[d][..., None]
    values = _own(schema, state, d, skip) * present
    number = present.sum(1, keepdims=True).astype(np.float64)
    same = c == d
    number = number - present if same else number
    for power in (values, values**2):
        total = power.sum(1, keepdims=True)
        total = total - power if same else total
        yield total / np.maximum(number, 1)
    yield number


def _own(schema: Schema, state: WorldState, c: str, skip: str | None) -> np.ndarray:
    """The fields of a class as numbers, (world, object, number)."""
    columns = [
        _codes(field, state.values[c][f]) for f, field in schema.fields(c).items() if f != skip
    ]
    return np.concatenate([*columns, np.zeros((*state.present[c].shape, 0))], -1)


def _codes(field: Field, values: np.ndarray) -> np.ndarray:
    """Values as numbers on a last axis; of categories, whether it is each one but the first."""
    if field.num_codes:
        return np.asarray(values[..., None] == np.arange(1, field.num_codes), np.float64)
    numbers = np.asarray(values, np.float64)
    return numbers if field.shape else numbers[..., None]
