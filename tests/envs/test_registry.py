from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from oocdm.envs import (
    WalkerWorld,
    collect_walker,
    collector_of,
    list_envs,
    make,
    picture_of,
    register,
)
from oocdm.envs.gym_env import WorldGym
from oocdm.errors import OocdmError


def test_envs_are_listed_with_sizes_and_options():
    by_name = {info.name: info for info in list_envs()}
    assert list(by_name) == ["block", "asymblock", "mouse", "walker", "generated"]
    block, mouse = by_name["block"], by_name["mouse"]
    assert (block.gym_id, block.num_variables) == ("oocdm/Block-v0", 24)
    assert mouse.max_objects == {"Mouse": 1, "Food": 4, "Monster": 4, "Trap": 4}
    assert mouse.num_variables == 28
    asymblock, walker = by_name["asymblock"], by_name["walker"]
    assert (asymblock.gym_id, asymblock.num_variables) == ("oocdm/AsymBlock-v0", 40)
    assert asymblock.max_objects == {"Block": 5, "Total": 5}
    assert asymblock.options == block.options
    assert (walker.gym_id, walker.num_variables) == ("oocdm/Walker-v0", 23)
    assert walker.has_reward and walker.policies == ("random", "ppo")
    assert block.policies == ("random",)
    assert dict(block.options) == {
        "num_blocks": 5,
        "variant": "paper",
        "ood": False,
        "noise": 0.0,
        "max_episode_steps": 30,
    }
    assert all(info.description and "\n" not in info.description for info in by_name.values())


def test_make_and_gymnasium_make_give_the_same_environment():
    ours = make("block", num_blocks=3, variant="released", ood=True)
    theirs = gymnasium.make("oocdm/Block-v0", num_blocks=3, variant="released", ood=True).unwrapped
    assert isinstance(ours, WorldGym) and isinstance(theirs, WorldGym)
    assert ours.observation_space == theirs.observation_space
    assert vars(ours.world.numbers) == vars(theirs.world.numbers)
    assert theirs.world.ood
    again = ours.spec.make().unwrapped
    assert again.max_objects == {"Block": 3, "Total": 1}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "Blokc",
            {},
            "Unknown environment `Blokc`. Did you mean `block`? Known: block, asymblock, mouse, "
            "walker, generated.",
        ),
        (
            "block",
            {"num_block": 3},
            "Environment `block` has no option `num_block`. Did you mean `num_blocks`? Known: "
            "num_blocks, variant, ood, noise, max_episode_steps, seed, render_mode.",
        ),
    ],
)
def test_unknown_names_get_a_suggestion(name, options, message):
    with pytest.raises(OocdmError) as error:
        make(name, **options)
    assert str(error.value) == message


def test_unknown_options_are_refused_by_gymnasium_s_make_too():
    with pytest.raises(OocdmError, match="Did you mean `num_food`"):
        gymnasium.make("oocdm/Mouse-v0", num_foods=3)


def test_pictures_are_shown_as_fast_as_suits_the_world():
    fps = {name: make(name).metadata["render_fps"] for name in ("mouse", "walker")}
    assert fps == {"mouse": 8, "walker": 25}
    assert picture_of("walker").__name__ == "draw_walker"


def test_policies_of_an_environment():
    assert collector_of("walker", "ppo") is collect_walker
    for name, known in (("block", "random"), ("walker", "random, ppo")):
        with pytest.raises(OocdmError) as error:
            collector_of(name, "zzz")
        assert str(error.value) == f"Environment `{name}` has no policy `zzz`. Known: {known}."


def test_without_its_extra_the_walker_is_listed_but_not_made(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert "walker" in [info.name for info in list_envs()]
    with pytest.raises(OocdmError, match=r'MuJoCo is needed .* pip install "oocdm\[walker\]"'):
        make("walker")
    with pytest.raises(OocdmError, match="MuJoCo is needed"):
        WalkerWorld().reset(1, np.random.default_rng(0))


def test_registering_twice_is_silent():
    register()
    assert {"oocdm/Block-v0", "oocdm/Mouse-v0"} <= set(gymnasium.registry)


def test_importing_the_envs_registers_them():
    code = "import oocdm.envs, gymnasium; gymnasium.make('oocdm/Mouse-v0').reset(seed=0)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
