"""The families of generated worlds, each with its mechanisms: `FAMILIES` by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from oocdm.envs.generated.blueprint import Blueprint
from oocdm.envs.generated.families.counts import Queues
from oocdm.envs.generated.families.following import Following
from oocdm.envs.generated.families.forces import Forces
from oocdm.envs.generated.families.jumps import Jumps
from oocdm.envs.generated.families.large import Large
from oocdm.envs.generated.families.neighbours import Neighbours
from oocdm.envs.generated.families.products import Products
from oocdm.envs.generated.families.vectors import Vectors
from oocdm.envs.generated.families.weak import draw_weak
from oocdm.envs.generated.settle import settle

# What draws a world of a family from a seed; with numbers that vary or not, with decoys or not.
FAMILIES: Mapping[str, Callable[[Sequence[int], bool, bool], Blueprint]] = {
    "neighbours": partial(settle, Neighbours),
    "forces": partial(settle, Forces),
    "following": partial(settle, Following),
    "weak": draw_weak,
    "counts": partial(settle, Queues),
    "products": partial(settle, Products),
    "jumps": partial(settle, Jumps),
    "vectors": partial(settle, Vectors),
    "large": partial(settle, Large),
}
