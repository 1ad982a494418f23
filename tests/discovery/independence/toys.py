"""Small logs for tests of independence."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from oocdm.data import Dataset
from oocdm.graph import ClassGraph
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from tests.models.strategies import random_values, schemas

EVERYTHING = 10**9


class Ball(ObjectClass):
    u = Real()
    v = Real()


class Rock(ObjectClass):
    kind = Categorical(3)
    w = Real(shape=(2,))


BALLS = Schema(Ball)


def dataset(schema: Schema, values: dict[str, dict[str, np.ndarray]]) -> Dataset:
    """Episodes of one transition, all values known: values are (2 * transition, object, ...)."""
    rows = len(next(iter(values["Ball" if "Ball" in values else "A"].values())))
    is_last = np.arange(rows) % 2 == 1
    observed: dict[str, dict[str, np.ndarray]] = {}
    present = {}
    for c, fields in values.items():
        present[c] = np.ones(next(iter(fields.values())).shape[:2], dtype=bool)
        observed[c] = {}
        for f, column in fields.items():
            field = schema.field(c, f)
            known = present[c] & ~(field.action & is_last)[:, None]
            column = np.repeat(column[::2], 2, axis=0) if field.static else column.copy()
            column[~known] = 0
            fields[f], observed[c][f] = column.astype(field.dtype), known
    return Dataset(
        schema,
        values,
        present,
        observed,
        episode=np.arange(rows) // 2,
        step=np.arange(rows) % 2,
        reward=np.zeros(rows, np.float32),
        terminated=np.zeros(rows, bool),
        truncated=np.zeros(rows, bool),
    )


def random_dataset(schema: Schema, counts: dict[str, int], seed: int, rows: int = 8) -> Dataset:
    rng = np.random.default_rng(seed)
    return dataset(
        schema,
        {
            c: {
                f: random_values(field, (rows, num), rng).numpy()
                for f, field in schema.fields(c).items()
            }
            for c, num in counts.items()
        },
    )


def linear_world(num: int = 400) -> Dataset:
    """Two balls: u keeps most of itself, v follows its own u and that of the other ball."""
    rng = np.random.default_rng(0)
    u, v, new_u, new_v = rng.normal(size=(4, num, 2))
    values = {
        "u": np.stack([u, 0.9 * u + 0.3 * new_u], axis=1).reshape(-1, 2),
        "v": np.stack([v, u + 0.7 * u[:, ::-1] + 0.3 * new_v], axis=1).reshape(-1, 2),
    }
    return dataset(BALLS, {"Ball": values})


LINEAR = ClassGraph.parse(BALLS, ["Ball.u <- self.u", "Ball.v <- self.u, Ball[*].u"])


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Schema, dict[str, int], int]:
    schema = draw(schemas())
    counts = {c: draw(st.integers(1 if c == "A" else 0, 3)) for c in schema.classes}
    return schema, counts, draw(st.integers(0, 2**20))
