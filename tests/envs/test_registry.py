from __future__ import annotations

import subprocess
import sys

import gymnasium
import pytest

from oocdm.envs import list_envs, make, register
from oocdm.envs.gym_env import WorldGym
from oocdm.errors import OocdmError


def test_envs_are_listed_with_sizes_and_options():
    by_name = {info.name: info for info in list_envs()}
    assert list(by_name) == ["block", "mouse", "generated"]
    block, mouse = by_name["block"], by_name["mouse"]
    assert (block.gym_id, block.num_variables) == ("oocdm/Block-v0", 24)
    assert mouse.max_objects == {"Mouse": 1, "Food": 4, "Monster": 4, "Trap": 4}
    assert mouse.num_variables == 28
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
            "Unknown environment `Blokc`. Did you mean `block`? Known: block, mouse, generated.",
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


def test_registering_twice_is_silent():
    register()
    assert {"oocdm/Block-v0", "oocdm/Mouse-v0"} <= set(gymnasium.registry)


def test_importing_the_envs_registers_them():
    code = "import oocdm.envs, gymnasium; gymnasium.make('oocdm/Mouse-v0').reset(seed=0)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=60)
