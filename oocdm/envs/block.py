"""Block: objects with linear dynamics, and a Total that follows their maxima."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oocdm.data.log import Arrays
from oocdm.envs.option_checks import check_choice, check_count, check_scale
from oocdm.envs.padding import present_rows, zero_absent
from oocdm.graph import ClassGraph
from oocdm.reading import read
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.task import Task
from oocdm.worlds.world import AbstractWorld, WorldState

STATES = ("s1", "s2", "s3")
NOISE_SD = 0.01  # of the transition, on each state of a Block and on Total.t
LIMIT = 1000.0  # an episode ends when an attribute leaves [-LIMIT, LIMIT]
MAX_RANDOM_BLOCKS = 8  # without a fixed number, an episode has 1 to 8 blocks


class Block(ObjectClass):
    """One block: three states and a push.

    >>> Block.targets()
    ('s1', 's2', 's3')
    """

    s1 = Real()
    s2 = Real()
    s3 = Real()
    a = Real(action=True)


class Total(ObjectClass):
    """What sums up blocks, with a clock: one object for all in Block, one for each in AsymBlock.

    >>> Total.targets()
    ('s1', 's2', 's3', 't')
    """

    s1 = Real()
    s2 = Real()
    s3 = Real()
    t = Real()


SCHEMA = Schema(Block, Total)
TRUE_GRAPH = ClassGraph.parse(
    SCHEMA,
    [
        "Block.s1 <- self.s1, self.a",
        "Block.s2 <- self.s1, self.s2",
        "Block.s3 <- self.s2, self.s3, self.a",
        "Total.s1 <- self.s1, Block[*].s1",
        "Total.s2 <- self.s2, Block[*].s2",
        "Total.s3 <- self.s3, Block[*].s3",
        "Total.t <- self.t",
    ],
)


@dataclass(frozen=True)
class BlockNumbers:
    """The numbers in which the paper and the authors' released settings differ.

    >>> VARIANTS["released"].push
    -0.2
    """

    push: float  # coefficient of tanh(a) on s1'
    start: tuple[tuple[float, float], ...]  # mean and sd of s1, s2, s3, in distribution
    start_ood: tuple[tuple[float, float], ...]  # the same, out of distribution
    total_sd: float  # of Total's s1, s2, s3 at the start; t starts at 0


VARIANTS = {
    "paper": BlockNumbers(
        push=-0.3,
        start=((1.0, 0.5), (0.0, 1.0), (0.0, 1.0)),
        start_ood=((0.5, 0.5), (0.0, 2.0), (0.0, 2.0)),
        total_sd=0.01,
    ),
    "released": BlockNumbers(
        push=-0.2,
        start=((1.0, 1.0), (0.0, 1.0), (0.0, 1.0)),
        start_ood=((0.0, 1.0), (1.0, 2.0), (0.0, 2.0)),
        total_sd=0.0,
    ),
}


class AbstractBlocks(AbstractWorld):
    """Worlds of blocks: all but how many Totals there are, and what each of them follows."""

    def __init__(
        self,
        *,
        num_blocks: int | None = 5,
        variant: str = "paper",
        ood: bool = False,
        noise: float = 0.0,
        max_episode_steps: int = 30,
    ) -> None:
        if num_blocks is not None:
            check_count("num_blocks", num_blocks, low=1)
        self.numbers = check_choice("variant", variant, VARIANTS)
        self.noise = check_scale("noise", noise)
        self.max_episode_steps = check_count("max_episode_steps", max_episode_steps, low=1)
        self.num_blocks = num_blocks
        self.variant = variant
        self.ood = read(bool, ood, "Option `ood`")
        self.schema = SCHEMA
        self.true_graph = TRUE_GRAPH
        self.task = Task(reward=_no_reward, terminated=_has_escaped, reads=READS)
        most = num_blocks or MAX_RANDOM_BLOCKS
        totals = self._totals(np.ones((1, most), dtype=bool)).shape[1]
        self.max_objects = {"Block": most, "Total": totals}

    @abstractmethod
    def _totals(self, blocks: np.ndarray) -> np.ndarray:
        """Which Totals there are (world, total) beside the blocks of a mask (world, block)."""

    @abstractmethod
    def _followed(self, values: np.ndarray, present: np.ndarray) -> np.ndarray:
        """What each Total follows (world, total), of one state of all blocks (world, block)."""

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        """Start episodes: blocks and Totals are normal, clocks are 0."""
        shape = (num_worlds, self.max_objects["Block"])
        present = np.ones(shape, dtype=bool)
        if self.num_blocks is None:
            present = present_rows(rng.integers(1, shape[1] + 1, size=num_worlds), shape[1])
        start = self.numbers.start_ood if self.ood else self.numbers.start
        block = {
            name: mean + sd * _normal(shape, rng)
            for name, (mean, sd) in zip(STATES, start, strict=True)
        }
        totals = self._totals(present)
        total = {name: self.numbers.total_sd * _normal(totals.shape, rng) for name in STATES}
        total["t"] = np.zeros(totals.shape, dtype=np.float32)
        return WorldState(
            {"Block": zero_absent(block, present), "Total": zero_absent(total, totals)},
            {"Block": present, "Total": totals},
        )

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """Pushes a ~ N(0, 1)."""
        present = state.present["Block"]
        return {"Block": zero_absent({"a": _normal(present.shape, rng)}, present)}

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        """One step of every world; the reward is 0."""
        block, total = state.values["Block"], state.values["Total"]
        present = state.present["Block"]
        s1, s2, s3 = (block[name] for name in STATES)
        push = np.tanh(actions["Block"]["a"])
        jitter = NOISE_SD * _normal((3, *push.shape), rng)
        next_block = {
            "s1": s1 + self.numbers.push * push + jitter[0],
            "s2": 0.5 * s1 + s2 + jitter[1],
            "s3": 0.25 * s2 + 0.75 * s3 + push + jitter[2],
        }
        next_total = {
            name: 0.5 * total[name] + 0.5 * self._followed(block[name], present) for name in STATES
        }
        next_total["t"] = total["t"] + 1.0 + NOISE_SD * _normal(total["t"].shape, rng)
        values = {
            "Block": zero_absent(next_block, present),
            "Total": zero_absent(next_total, state.present["Total"]),
        }
        terminated = _any_beyond([v for fields in values.values() for v in fields.values()])
        reward = np.zeros(len(present), dtype=np.float32)
        return WorldState(values, state.present), reward, terminated

    def observe(self, state: WorldState, rng: np.random.Generator) -> WorldState:
        """The state with normal noise on every attribute, if the world has any."""
        if not self.noise:
            return state
        noisy = {
            name: {f: v + self.noise * _normal(v.shape, rng) for f, v in fields.items()}
            for name, fields in state.values.items()
        }
        values = {name: zero_absent(fields, state.present[name]) for name, fields in noisy.items()}
        return WorldState(values, state.present)


class BlockWorld(AbstractBlocks):
    """Blocks with linear dynamics, and one Total whose states follow the largest block.

    Every block moves on its own, with noise of sd 0.01 on each state:

        s1' = s1 + c tanh(a)        c = -0.3 (paper) or -0.2 (released)
        s2' = 0.5 s1 + s2
        s3' = 0.25 s2 + 0.75 s3 + tanh(a)

    The Total halves the way to the largest block, `s' = (s + max s of the blocks) / 2`,
    without noise; its clock is `t' = t + 1` with noise of sd 0.01. The random policy draws
    a ~ N(0, 1). An episode is cut after `max_episode_steps`, and ends early when an attribute
    leaves [-1000, 1000]. There is no reward.

    Options: `num_blocks` (None draws 1 to 8 an episode), `variant` ("paper" or "released"),
    `ood` (start out of distribution), `noise` (sd added to every observed state attribute;
    the world itself stays exact; the noisy experiment has 0.01).

    >>> world = BlockWorld(num_blocks=2)
    >>> rng = np.random.default_rng(0)
    >>> state = world.reset(1000, rng)
    >>> state, reward, terminated = world.step(state, world.random_actions(state, rng), rng)
    >>> state.values["Block"]["s1"].shape
    (1000, 2)
    """

    def _totals(self, blocks: np.ndarray) -> np.ndarray:
        return np.ones((len(blocks), 1), dtype=bool)

    def _followed(self, values: np.ndarray, present: np.ndarray) -> np.ndarray:
        # Absent rows hold 0, which would win against negative blocks. (A world has few blocks,
        # so comparing column by column is several times faster than reducing a short axis.)
        among = without_absent(values, present)
        largest = among[:, 0]
        for column in range(1, among.shape[1]):
            largest = np.maximum(largest, among[:, column])
        return largest[:, None]


def _normal(shape: Sequence[int], rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(tuple(shape), dtype=np.float32)


def without_absent(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """The values of blocks with those that are absent below all others.

    >>> without_absent(np.array([[-1.0, 0.0]]), np.array([[True, False]]))
    array([[ -1., -inf]])
    """
    return values if present.all() else np.where(present, values, np.float32(-np.inf))


# What follows works on NumPy arrays and on tensors alike, so that the world and its task
# cannot disagree.
READS = tuple(f"{c}.{f}" for c in SCHEMA.classes for f in SCHEMA.targets(c))


def _any_beyond(fields: Iterable[Any]) -> Any:
    escaped: Any = False
    for values in fields:
        escaped = (abs(values) > LIMIT).any(1) | escaped
    return escaped


def _has_escaped(after: Any) -> Any:
    return _any_beyond(after[name] for name in READS)


def _no_reward(before: Any, after: Any) -> Any:
    return 0.0 * after["Total.t"][:, 0]
