"""The worlds by name: `make("block")`, and their registration with Gymnasium."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium

from oocdm.data.dataset import Dataset
from oocdm.envs.asymblock import AsymBlockWorld
from oocdm.envs.block import BlockWorld
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.gym_env import Draw, WorldGym
from oocdm.envs.mouse import MouseWorld
from oocdm.envs.mouse_picture import draw_mouse_world
from oocdm.envs.walker import WalkerWorld, collect_walker
from oocdm.envs.walker.engine import check_mujoco
from oocdm.envs.walker.picture import draw_walker
from oocdm.errors import OocdmError, suggest
from oocdm.reading import known_name
from oocdm.worlds.world import AbstractWorld

RANDOM = "random"  # the policy that every environment has

Collector = Callable[..., Dataset]  # takes steps, seed, progress, and options of its own


def _needs_nothing() -> None:
    pass


@dataclass(frozen=True)
class _Entry:
    gym_id: str
    world: Callable[..., AbstractWorld]
    description: str
    has_reward: bool = False
    draw: Draw | None = None
    frames_a_second: int = 8
    check: Callable[[], None] = _needs_nothing  # raises if what it needs is not installed
    policies: Mapping[str, Collector] = field(default_factory=dict)  # that collect, beside random


_ENTRIES: dict[str, _Entry] = {
    "block": _Entry(
        "oocdm/Block-v0",
        BlockWorld,
        "Blocks with linear dynamics, and a Total that follows their maxima. No reward.",
    ),
    "asymblock": _Entry(
        "oocdm/AsymBlock-v0",
        AsymBlockWorld,
        "As block, with a Total for each block that follows the blocks up to it. No reward.",
    ),
    "mouse": _Entry(
        "oocdm/Mouse-v0",
        MouseWorld,
        "A mouse on a grid that looks for food among monsters and traps.",
        has_reward=True,
        draw=draw_mouse_world,
    ),
    "walker": _Entry(
        "oocdm/Walker-v0",
        WalkerWorld,
        "A robot with two legs, simulated by MuJoCo (extra oocdm[walker]). Its truth is unknown.",
        has_reward=True,
        draw=draw_walker,
        frames_a_second=25,  # a fifth of the robot's own speed
        check=check_mujoco,
        policies={"ppo": collect_walker},
    ),
    "generated": _Entry(
        "oocdm/Generated-v0",
        GeneratedWorld,
        "A random world of a family, drawn from world_seed, whose truth is known. No reward.",
    ),
}


@dataclass(frozen=True)
class EnvInfo:
    """What `list_envs` tells of an environment; sizes are those of its default options.

    >>> list_envs()[0].max_objects
    {'Block': 5, 'Total': 1}
    """

    name: str
    gym_id: str
    description: str
    has_reward: bool
    policies: Sequence[str]
    max_objects: Mapping[str, int]
    num_variables: int
    options: Mapping[str, Any]


def list_envs() -> list[EnvInfo]:
    """All environments with a line of description, their sizes and their options' defaults.

    >>> for info in list_envs():
    ...     print(info.name, info.num_variables)
    block 24
    asymblock 40
    mouse 28
    walker 23
    generated 21
    """
    listed = []
    for name, entry in _ENTRIES.items():
        world = entry.world()
        fields = {c: len(world.schema.fields(c)) for c in world.schema.classes}
        listed.append(
            EnvInfo(
                name=name,
                gym_id=entry.gym_id,
                description=entry.description,
                has_reward=entry.has_reward,
                policies=(RANDOM, *entry.policies),
                max_objects=dict(world.max_objects),
                num_variables=sum(n * fields[c] for c, n in world.max_objects.items()),
                options=_options(entry),
            )
        )
    return listed


def make(name: str, seed: int | None = None, **options: Any) -> WorldGym:
    """An environment by name; its options are those of its world, and `render_mode`.

    `seed` is that of the first `reset()`.

    >>> env = make("block", num_blocks=3, seed=0)
    >>> env.max_objects
    {'Block': 3, 'Total': 1}
    >>> make("blok")
    Traceback (most recent call last):
    ...
    oocdm.errors.OocdmError: Unknown environment `blok`. Did you mean `block`? Known: block, \
asymblock, mouse, walker, generated.
    """
    env = build(name, seed=seed, **options)
    # As gymnasium.make would do; without its wrappers, which hide `world` and `task`.
    env.spec = copy.deepcopy(gymnasium.spec(_ENTRIES[name].gym_id))
    env.spec.kwargs.update(options, seed=seed)
    return env


def build(
    name: str, seed: int | None = None, render_mode: str | None = None, **options: Any
) -> WorldGym:
    """What Gymnasium calls for the registered ids; use `make`.

    >>> build("mouse", num_food=6).max_objects["Food"]
    6
    """
    entry = _entry(name)
    known = _options(entry)
    for option in options:
        if option not in known:
            hint = suggest(option, [*known, "seed", "render_mode"])
            raise OocdmError(f"Environment `{name}` has no option `{option}`. {hint}")
    entry.check()
    return WorldGym(
        entry.world(**options),
        seed=seed,
        render_mode=render_mode,
        draw=entry.draw,
        frames_a_second=entry.frames_a_second,
    )


def picture_of(name: str) -> Draw | None:
    """What draws the states of an environment's world, if it has a picture.

    >>> picture_of("mouse").__name__, picture_of("block")
    ('draw_mouse_world', None)
    """
    return _entry(name).draw


def collector_of(name: str, policy: str) -> Collector:
    """What collects data of an environment under a policy that is not its random one.

    >>> collector_of("walker", "ppo").__name__
    'collect_walker'
    """
    known = _entry(name).policies
    if policy not in known:
        hint = suggest(policy, [RANDOM, *known])
        raise OocdmError(f"Environment `{name}` has no policy `{policy}`. {hint}")
    return known[policy]


def register() -> None:
    """Register all environments with Gymnasium; done when oocdm.envs is imported.

    The ids take the options of `make`. Gymnasium keeps `max_episode_steps` for a wrapper of its
    own, so `gymnasium.make` can shorten episodes with it, but not lengthen them.

    >>> env = gymnasium.make("oocdm/Block-v0", num_blocks=3)
    >>> env.unwrapped.max_objects
    {'Block': 3, 'Total': 1}
    """
    for name, entry in _ENTRIES.items():
        if entry.gym_id not in gymnasium.registry:
            gymnasium.register(
                id=entry.gym_id, entry_point=f"{__name__}:build", kwargs={"name": name}
            )


def _entry(name: str) -> _Entry:
    return _ENTRIES[known_name(name, _ENTRIES, "environment")]


def _options(entry: _Entry) -> dict[str, Any]:
    """The options of a world and their defaults."""
    return {p.name: p.default for p in inspect.signature(entry.world).parameters.values()}
