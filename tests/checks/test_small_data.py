"""The data that methods are tried on."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm.checks.small_data import small_data
from oocdm.training.given import checksum
from tests.checks.toys import DATA


def test_data_follow_the_seed() -> None:
    assert checksum(small_data(0)) == checksum(DATA) != checksum(small_data(1))


def test_there_are_fields_of_all_kinds() -> None:
    fields = [DATA.schema.field(c, f) for c in DATA.schema.classes for f in DATA.schema.fields(c)]
    assert {field.likelihood for field in fields if field.is_target} == {"auto", "categorical"}
    assert {field.role for field in fields} == {"state", "action", "static"}
    assert {field.shape for field in fields} == {(), (2,)}
    # One class has objects that can change places, another a single one.
    assert dict(DATA.max_counts) == {"Ball": 2, "Lamp": 1}


@pytest.mark.parametrize("seed", range(5))
def test_every_value_varies(seed: int) -> None:
    """Where one did not, nobody would see that a prediction depends on it."""
    data = small_data(seed)
    for c in data.schema.classes:
        for f, values in data.values[c].items():
            for i in range(values.shape[1]):
                assert len(np.unique(values[:, i])) > 1, (c, f, i)


def test_only_last_actions_are_unknown() -> None:
    for c in DATA.schema.classes:
        for f, is_known in DATA.observed[c].items():
            expected = ~DATA.is_last if f == "push" else np.ones(len(DATA.is_last), dtype=bool)
            assert np.array_equal(is_known, np.broadcast_to(expected[:, None], is_known.shape))


def test_steps_follow_the_law() -> None:
    now, then = DATA.starts, DATA.starts + 1
    ball, lamp = DATA.values["Ball"], DATA.values["Lamp"]
    noise = ball["x"][then] - 0.8 * ball["x"][now] - ball["push"][now]
    assert abs(noise.std() - 0.1) < 0.01
    place = 0.9 * ball["place"][now] + 0.2 * ball["x"][now][..., None]
    assert np.allclose(ball["place"][then], place, atol=1e-5)
    assert np.array_equal(lamp["lit"][then, 0], ball["x"][now].sum(1) > 0)
    assert np.array_equal(lamp["power"][then], lamp["power"][now])
