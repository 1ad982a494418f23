"""What parts and rounds tell."""

from __future__ import annotations

import numpy as np
import pytest

from oocdm import Dataset, collect, evaluate, fit
from oocdm.online import History, Part, Round
from tests.online.toys import METHOD, Carts, NoTask


@pytest.fixture(scope="module")
def data() -> Dataset:
    return collect(Carts(), steps=40, seed=0, num_worlds=7)


def test_a_part_counts_whole_episodes(data: Dataset) -> None:
    part = Part.of(1, 40, data, Carts(), Carts.task, None)
    after = data.transitions().after["Cart.x"].abs().sum(1).numpy()
    assert part.reward == pytest.approx(-after.mean())
    returns = np.bincount(data.episode_of, -after)
    lengths = np.bincount(data.episode_of)
    ended = np.bincount(data.episode_of, data.terminated[data.starts]) > 0
    whole = (lengths == 6) | ended
    assert not whole.all()
    assert part.episodes == whole.sum()
    assert part.mean_return == pytest.approx(returns[whole].mean())
    assert Part.of(1, 40, data, NoTask(), None, None).reward == 7


def test_a_part_without_whole_episodes_has_no_return() -> None:
    data = collect(Carts(), steps=3, seed=0, num_worlds=1)
    part = Part.of(1, 3, data, Carts(), Carts.task, None)
    assert (part.episodes, part.mean_return) == (0, None)


def test_aill_is_that_of_the_model_so_far(data: Dataset) -> None:
    model = fit(data, METHOD)
    new = collect(Carts(), steps=20, seed=1)
    part = Part.of(2, 60, new, Carts(), Carts.task, model)
    assert part.aill == evaluate(model, new).aill


def test_history_is_ready_for_json() -> None:
    done = Round.of(1, 9, 8, {"b", "a"}, None, False, 1.5)
    part = Part(1, 9, 0, None, 0.0, None)
    told = History((part,), (done,)).to_json()
    assert told["rounds"] == [
        {
            **{"round": 1, "transitions": 9, "kept": 8, "edges": ["a", "b"], "added": ["a", "b"]},
            **{"removed": [], "settled": False, "seconds": 1.5},
        }
    ]
    assert told["parts"][0]["mean_return"] is None
