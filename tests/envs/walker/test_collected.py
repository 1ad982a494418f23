from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import oocdm
from oocdm.envs.walker import Collecting, collect_walker, collected
from oocdm.errors import DataError, OocdmError

FEW = Collecting(every=500, practice=64, batch_size=32)


def angles(data: oocdm.Dataset) -> np.ndarray:
    return data.values["Joint"]["angle"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OOCDM_CACHE", str(tmp_path))
    return tmp_path


def test_data_are_collected_once(cache: Path, monkeypatch: pytest.MonkeyPatch):
    told: list[tuple[int, int]] = []
    data = collect_walker(700, 1, collecting=FEW, progress=lambda *said: told.append(said))
    assert (len(data), data.num_episodes) == (700, 2)
    assert np.abs(data.values["Joint"]["torque"]).max() == 1.0
    # 700 transitions, and a training of 64 steps after the first 500.
    assert told[-1] == (764, 764) and told == sorted(told)
    assert (500, 764) in told and (501, 764) in told

    def fail(*_: object) -> None:
        pytest.fail("collected again")

    monkeypatch.setattr(collected, "_collect", fail)
    again = collect_walker(700, 1, collecting=FEW)
    np.testing.assert_array_equal(angles(again), angles(data))
    np.testing.assert_array_equal(again.reward, data.reward)
    assert len(list(cache.glob("walker/*.json"))) == 1


def test_other_seeds_of_episodes_have_the_same_policy():
    one = collect_walker(60, 1, collecting=FEW, cache=False)
    other = collect_walker(60, 2, policy_seed=1, collecting=FEW, cache=False)
    stranger = collect_walker(60, 1, policy_seed=2, collecting=FEW, cache=False)
    assert (angles(one) != angles(other)).any()
    start = (angles(each)[0] for each in (one, stranger))
    np.testing.assert_array_equal(*start)
    assert (angles(one)[1] != angles(stranger)[1]).any()


def test_settings_name_all_that_data_depend_on(cache: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[dict[str, object]] = []
    monkeypatch.setattr(
        collected, "cached_dataset", lambda kind, settings, _: asked.append(settings)
    )
    collect_walker(60, 1)
    collect_walker(60, 1, ood=True, policy_seed=3)
    weak, strong = asked
    assert weak == {
        "edition": 1,
        "steps": 60,
        "seed": 1,
        "policy_seed": 1,
        "collecting": {"every": 20_000, "practice": 2_048, "batch_size": 128},
        "versions": weak["versions"],
    }
    assert set(weak["versions"]) == {"gymnasium", "mujoco", "numpy", "stable-baselines3", "torch"}
    assert strong["policy_seed"] == 3
    assert strong["collecting"] == {"every": 10_000, "practice": 8_192, "batch_size": 128}


def test_bad_input_is_told_before_anything_is_collected(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(DataError, match="`steps`"):
        collect_walker(0)
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(OocdmError, match=r'pip install "oocdm\[walker\]"'):
        collect_walker(10)
