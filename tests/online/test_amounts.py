"""How much is collected when, and how much is kept."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm import ModelError, collect
from oocdm.online.amounts import Amounts
from tests.online.toys import Carts


@pytest.mark.parametrize(
    ("amounts", "ends"),
    [
        (Amounts(steps=800), (100, 200, 400, 800)),
        (Amounts(steps=7), (1, 2, 4, 7)),
        (Amounts(steps=100, first=100), (100,)),
        (Amounts(steps=130, first=100), (100, 130)),
        (Amounts(steps=240, first=100), (100, 240)),  # 40 are less than half of the next round
        (Amounts(steps=260, first=100), (100, 200, 260)),
        (Amounts(steps=1000, first=100, growth=4.0), (100, 400, 1000)),
        (Amounts(steps=440, first=100, buffer=100), (100, 200, 300, 440)),
    ],
)
def test_rounds_grow(amounts: Amounts, ends: tuple[int, ...]) -> None:
    assert amounts.round_ends == ends


def test_parts_make_up_their_round() -> None:
    amounts = Amounts(steps=1000, first=95, num_worlds=2)
    for number, end in enumerate(amounts.round_ends):
        parts = amounts.parts(number, episode_steps=20)
        assert sum(parts) == end - (0, *amounts.round_ends)[number]
        assert max(parts) <= 40 and min(parts) >= max(parts) - 1


def test_a_round_has_two_parts_or_more() -> None:
    assert Amounts(steps=9, first=9).parts(0, episode_steps=20) == [4, 5]
    assert Amounts(steps=1).parts(0, episode_steps=20) == [1]


def test_oldest_episodes_go_first() -> None:
    data = collect(Carts(), steps=60, seed=0)
    kept = Amounts(steps=60, buffer=20).kept(data)
    assert 0 < len(kept) <= 20
    newest = data.cells["Cart"].values["x"][-len(kept.cells["Cart"].values["x"]) :]
    assert np.array_equal(kept.cells["Cart"].values["x"], newest)
    assert kept.episode_ids[0] == 0
    assert kept.episode[-1] == kept.num_episodes - 1


def test_the_last_two_episodes_are_kept_however_long() -> None:
    data = collect(Carts(), steps=60, seed=0)
    assert Amounts(steps=60, buffer=1).kept(data).num_episodes == 2


def test_all_is_kept_without_need() -> None:
    data = collect(Carts(), steps=60, seed=0)
    assert Amounts(steps=60).kept(data) is data
    assert Amounts(steps=60, buffer=60).kept(data) is data


def test_wrong_amounts() -> None:
    with pytest.raises(ModelError, match="`first`: expected at most `steps`, 10, got 11"):
        Amounts(steps=10, first=11)
    with pytest.raises(ModelError, match=r"`growth`: expected a number above 1, got 1\.0"):
        Amounts(steps=10, growth=1.0)
