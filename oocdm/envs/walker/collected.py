"""Data of the walker, collected by a policy that learns, and kept for the next time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib.metadata import version

from oocdm.data.cache import cached_dataset
from oocdm.data.dataset import Dataset
from oocdm.envs.walker.collector import STRONG, WEAK, Collecting, PpoPolicy
from oocdm.envs.walker.engine import check_mujoco
from oocdm.envs.walker.world import WalkerWorld
from oocdm.errors import DataError
from oocdm.reading import Count, Seed, checked
from oocdm.worlds import collect

# One more whenever the same settings and versions give other data: old ones are then not read.
EDITION = 1
LIBRARIES = ("gymnasium", "mujoco", "numpy", "stable-baselines3", "torch")

Progress = Callable[[int, int], None]


@checked(DataError)
def collect_walker(
    steps: Count,
    seed: Seed = 0,
    ood: bool = False,
    policy_seed: Seed | None = None,
    collecting: Collecting | None = None,
    progress: Progress | None = None,
    cache: bool = True,
) -> Dataset:
    """Log exactly `steps` transitions of the walker under a policy that PPO trains along the way.

    As in the paper the policy stays weak: 2,048 steps of training after every 20,000 transitions.
    With `ood` it becomes stronger: 8,192 steps after every 10,000. `collecting` says it otherwise.
    `seed` is that of the episodes, `policy_seed` that of weights and training, equal to `seed`
    unless given: data of other episodes with the same `policy_seed` have the same distribution.

    With `cache` the dataset is kept in the user's cache folder (`oocdm.files.cache.cache_folder`),
    and read from there when the same is asked for again. `progress` is called with the steps so far
    and their number, those of training among them.

    >>> few = Collecting(every=100, practice=64, batch_size=32)
    >>> collect_walker(250, collecting=few, cache=False)
    Dataset(1 episode, 250 transitions; Joint: 6 objects, Top: 1 object)
    """
    check_mujoco()
    chosen = collecting or (STRONG if ood else WEAK)
    own = seed if policy_seed is None else policy_seed
    settings = {
        "edition": EDITION,
        "steps": steps,
        "seed": seed,
        "policy_seed": own,
        "collecting": asdict(chosen),
        "versions": {name: version(name) for name in LIBRARIES},
    }
    make = partial(_collect, steps, seed, own, chosen, progress)
    return cached_dataset("walker", settings, make) if cache else make()


def _collect(
    steps: int, seed: int, policy_seed: int, collecting: Collecting, progress: Progress | None
) -> Dataset:
    world = WalkerWorld()
    num_trainings = (steps - 1) // collecting.every
    total = steps + num_trainings * collecting.practice
    collected = practised = 0

    def tell() -> None:
        if progress is not None:
            progress(min(collected + practised, total), total)

    def on_collect(done: int, _: int) -> None:
        nonlocal collected
        collected = done
        tell()

    def on_practice() -> None:
        nonlocal practised
        practised += 1
        tell()

    policy = PpoPolicy(collecting, policy_seed, on_practice)
    # So many episodes side by side that trainings fall between them.
    num_worlds = max(collecting.every // world.max_episode_steps, 1)
    return collect(world, steps, seed, policy, num_worlds, on_collect)
