from __future__ import annotations

import random
import sys

import numpy as np
import pytest
import torch

import oocdm
from oocdm.envs.walker import STRONG, WEAK, Collecting, PpoPolicy, WalkerWorld
from oocdm.errors import OocdmError

FEW = Collecting(every=100, practice=64, batch_size=32)


def test_the_paper_s_collectors():
    assert (WEAK.every, WEAK.practice) == (20_000, 2_048)
    assert (STRONG.every, STRONG.practice) == (10_000, 8_192)
    assert WEAK.batch_size == STRONG.batch_size == 128


def test_it_is_trained_along_the_way():
    practised = []
    policy = PpoPolicy(FEW, seed=1, on_practice=lambda: practised.append(policy.num_trainings))
    before = [p.clone() for p in policy._ppo.policy.parameters()]
    world, rng = WalkerWorld(), np.random.default_rng(0)
    state = world.reset(50, rng)
    torques = [policy(state, rng)["Joint"]["torque"] for _ in range(2)]
    assert policy.num_trainings == 0
    torques.append(policy(state, rng)["Joint"]["torque"])  # after 100 transitions
    assert policy.num_trainings == 1 and practised == [1] * 64
    assert any((p != q).any() for p, q in zip(before, policy._ppo.policy.parameters(), strict=True))
    found = np.concatenate(torques)
    assert found.dtype == np.float32 and found.shape == (150, 6) and np.abs(found).max() == 1.0
    # Random weights give a normal of sd 1 around 0, cut off at 1.
    assert (np.abs(found[:100]) == 1).mean() == pytest.approx(0.317, abs=0.06)


def test_policies_of_a_seed_are_the_same_whatever_they_acted_in():
    rng, state = np.random.default_rng(0), WalkerWorld().reset(4, np.random.default_rng(0))

    def trained(seed: int, env_seed: int) -> np.ndarray:
        policy = PpoPolicy(FEW, seed)
        oocdm.collect(oocdm.make("walker"), 201, env_seed, policy=policy, num_worlds=1)
        assert policy.num_trainings == 2
        return policy(state, np.random.default_rng(7))["Joint"]["torque"]

    one = trained(0, 1)
    torch.rand(3), np.random.rand(3), random.random(), rng.random()  # of others
    np.testing.assert_array_equal(one, trained(0, 2))
    assert (one != trained(1, 1)).any()


def test_random_numbers_of_others_are_left_alone():
    def numbers() -> list[float]:
        return [float(torch.rand(1)), np.random.rand(), random.random()]

    def seeded() -> None:
        torch.manual_seed(0), np.random.seed(0), random.seed(0)

    seeded()
    expected = numbers() + numbers()
    seeded()
    first = numbers()
    policy = PpoPolicy(Collecting(every=1, practice=64, batch_size=32))
    state = WalkerWorld().reset(1, np.random.default_rng(0))
    for _ in range(2):
        policy(state, np.random.default_rng(0))
    assert policy.num_trainings == 1
    assert first + numbers() == expected


def test_bad_options_are_refused():
    with pytest.raises(OocdmError, match="`every`: expected a whole number of at least 1, got 0"):
        Collecting(every=0, practice=64)
    with pytest.raises(OocdmError, match="seed"):
        PpoPolicy(FEW, seed=-1)


def test_without_stable_baselines_it_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(OocdmError, match=r'Install it by: pip install "oocdm\[walker\]"'):
        PpoPolicy()
