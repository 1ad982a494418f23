"""Little data with fields of all kinds, to try a method on."""

from __future__ import annotations

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.schema import Boolean, Categorical, ObjectClass, Real, Schema


def small_data(seed: int) -> Dataset:
    """A few hundred transitions of balls that are pushed, and of a lamp that they warm.

    >>> small_data(seed=0)
    Dataset(16 episodes, 304 transitions; Ball: 2 objects, Lamp: 1 object)
    """

    class Ball(ObjectClass):
        x = Real()
        place = Real(shape=(2,))
        push = Real(action=True)

    class Lamp(ObjectClass):
        colour = Categorical(3)
        lit = Boolean()
        power = Real(static=True)

    rng, episodes, length, balls = np.random.default_rng(seed), 16, 20, 2
    shape = (episodes, length)
    x, push, noise = rng.normal(size=(3, *shape, balls))
    place = rng.normal(size=(*shape, balls, 2))
    colour, lit = rng.integers(3, size=(*shape, 1)), np.zeros((*shape, 1), dtype=int)
    for t in range(length - 1):
        x[:, t + 1] = 0.8 * x[:, t] + push[:, t] + 0.1 * noise[:, t]
        place[:, t + 1] = 0.9 * place[:, t] + 0.2 * x[:, t][..., None]
        lit[:, t + 1, 0] = x[:, t].sum(1) > 0
    push[:, -1] = 0.0  # the last step of an episode has no action
    power = np.repeat(rng.normal(size=(episodes, 1, 1)), length, axis=1)
    schema = Schema(Ball, Lamp)
    arrays = {"Ball": {"x": x, "place": place, "push": push}}
    arrays["Lamp"] = {"colour": colour, "lit": lit, "power": power}
    values = {
        c: {
            f: array.reshape(-1, *array.shape[2:]).astype(schema.field(c, f).dtype)
            for f, array in fields.items()
        }
        for c, fields in arrays.items()
    }
    steps, step = episodes * length, np.tile(np.arange(length), episodes)
    present = {"Ball": np.ones((steps, balls), bool), "Lamp": np.ones((steps, 1), bool)}
    observed = {c: {f: present[c].copy() for f in fields} for c, fields in values.items()}
    observed["Ball"]["push"][step == length - 1] = False
    off = np.zeros(steps, dtype=bool)
    episode, reward = np.repeat(np.arange(episodes), length), np.zeros(steps, np.float32)
    return Dataset(schema, values, present, observed, episode, step, reward, off, off)
