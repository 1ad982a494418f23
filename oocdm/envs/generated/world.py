"""Generated: random worlds of objects whose true graphs are known, to test discovery on."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.data.log import Arrays
from oocdm.envs.generated.blueprint import Blueprint, Distributions, edge_of
from oocdm.envs.generated.families import FAMILIES
from oocdm.envs.generated.mixed import draw_mixed
from oocdm.envs.generated.pilot import is_jittered, run_pilot
from oocdm.envs.generated.truth import BLUR, Truth, score_truth
from oocdm.envs.generated.worth import FULL, Effort, Worth, edge_worth
from oocdm.envs.option_checks import check_choice, check_count
from oocdm.errors import OocdmError
from oocdm.graph import Edge
from oocdm.reading import Seed, read
from oocdm.worlds.world import AbstractWorld, WorldState

MIXED = "mixed"


class GeneratedWorld(AbstractWorld):
    """A random world of some classes, drawn from `world_seed`, with its true graph.

    `family` says what happens in it:

    - "mixed": sums, gates, largest values, counts and categories; two to `max_classes` classes
      with two to `max_fields` fields and one to four objects each (see `draw_mixed`);
    - "neighbours": velocities follow a mean over those within a radius;
    - "forces": inverse-square forces between objects with charges;
    - "following": an object follows the nearest other one in a direction;
    - "weak": booleans and categories with causes that shift chances a little;
    - "counts": whole numbers with Poisson noise;
    - "products": values times values, gains by category;
    - "jumps": sums with rare jumps;
    - "vectors": vectors that turn, attract each other and add up;
    - "large": three to four classes of up to five fields, with mechanisms of all kinds.

    Real fields start around 0 and stay bounded; with `ood=True` episodes start beyond the usual
    values. Actions are uniform, there is no reward, and an episode lasts `max_episode_steps`.
    More options: `varying` (an episode draws the number of objects of each class, from 1 on) and
    `decoys` (the world has a field that resembles a cause and causes nothing); None leaves it to
    the seed.

    The world knows the truth: `true_graph`, the `distribution` of every next value, the
    log-likelihood of logged steps (`truth`), and what each edge is worth (`worths`).

    >>> world = GeneratedWorld(world_seed=4)
    >>> print(world.describe())
    2 A, 3 B
    A.x1' = 0.66 self.x1 + 0.30 count(A[*].a is 2) + N(0, sd 0.021) (a decoy of x2)
    A.x2' = 0.66 self.x2 + 0.30 count(A[*].a is 2)
    B.x1' = 0.51 self.x1 + 0.48 count(A[*].x2 > 0.40) + N(0, sd 0.032)
    >>> print(world.true_graph)
    A.x1 <- self.x1, A[*].a
    A.x2 <- self.x2, A[*].a
    B.x1 <- self.x1, A[*].x2
    """

    def __init__(
        self,
        *,
        world_seed: int = 0,
        family: str = MIXED,
        ood: bool = False,
        varying: bool | None = None,
        decoys: bool | None = None,
        max_classes: int | None = None,
        max_fields: int | None = None,
        max_episode_steps: int = 30,
    ) -> None:
        self.world_seed, self.ood = read(Seed, world_seed, "Option `world_seed`"), ood
        self.max_episode_steps = check_count("max_episode_steps", max_episode_steps, low=1)
        self.family = family
        if family == MIXED:
            classes = 2 if max_classes is None else check_count("max_classes", max_classes, low=2)
            fields = 3 if max_fields is None else check_count("max_fields", max_fields, low=2)
            coins = np.random.default_rng(self.world_seed).random(2)
            self.varying = bool(coins[0] < 0.4) if varying is None else varying
            self.decoys = bool(coins[1] < 0.6) if decoys is None else decoys
            drawn = draw_mixed(self.world_seed, self.varying, self.decoys, classes, fields)
        else:
            check_choice("family", family, dict.fromkeys([MIXED, *FAMILIES]))
            _refuse_sizes(family, max_classes, max_fields)
            seed = (self.world_seed, zlib.crc32(family.encode()))
            self.varying = _coin(seed) if varying is None else varying
            self.decoys = decoys is not False
            drawn = _draw(family, seed, self.varying, self.decoys)
        self._blueprint: Blueprint = drawn
        self.schema, self.max_objects = drawn.schema, drawn.max_objects
        self.mechanisms, self.true_graph = drawn.mechanisms, drawn.graph
        self._worths: dict[tuple[Edge, Effort], Worth] = {}

    def describe(self) -> str:
        """The numbers of objects and the mechanisms in words, one a line."""
        few = "1 to " if self.varying else ""
        numbers = ", ".join(f"{few}{n} {name}" for name, n in self.max_objects.items())
        return "\n".join([numbers, *map(str, self.mechanisms)])

    # ---------------------------------------------------------------- steps

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        """Start episodes: everything is uniform, but decoys are close to what they resemble."""
        return self._blueprint.reset(num_worlds, rng, self.ood)

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Arrays:
        """Uniform actions."""
        return self._blueprint.random_actions(state, rng)

    def step(
        self, state: WorldState, actions: Arrays, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        """One step of every world; the reward is 0."""
        after = self._blueprint.step(state, actions, rng)
        reward = np.zeros(len(next(iter(state.present.values()))), dtype=np.float32)
        return after, reward, reward > 0

    # ---------------------------------------------------------------- the truth

    def distribution(self, state: WorldState, actions: Arrays) -> Distributions:
        """The true distribution of every next value, by class and field.

        Each has `log_prob(values, blur)`, the log-density of every number if normal noise of
        standard deviation `blur` was added to it, and `sample(rng)`.

        >>> world = GeneratedWorld(world_seed=4)
        >>> state = world.reset(5, np.random.default_rng(0))
        >>> actions = world.random_actions(state, np.random.default_rng(1))
        >>> world.distribution(state, actions)["A"]["x1"].mean.shape
        (5, 2)
        """
        return self._blueprint.distribution(state, actions)

    @cached_property
    def blur(self) -> Mapping[tuple[str, str], np.ndarray]:
        """By class and field, the sd of the jitter of targets: 1 % of the usual change.

        It is that of episodes that start in distribution, whatever `ood` says. Fields that are
        choices have none.
        """
        pilot = run_pilot(self._blueprint, 200, 30, [self.world_seed, 1])
        return {
            (c, f): BLUR * pilot.usual_change(c, f)
            for c in self.schema.classes
            for f in self.schema.targets(c)
            if is_jittered(self.schema.field(c, f))
        }

    def truth(self, data: Dataset, seed: int = 0) -> Truth:
        """The true log-likelihood of logged steps of this world, with targets jittered by `blur`.

        >>> import oocdm
        >>> world = GeneratedWorld(world_seed=4)
        >>> truth = world.truth(oocdm.collect(world, steps=1000, seed=0))
        >>> {name: round(nats, 1) for name, nats in truth.log_likelihood.items()}
        {'A.x1': 2.4, 'A.x2': 5.0, 'B.x1': 2.0}
        """
        if data.schema != self.schema:
            raise OocdmError(
                "GeneratedWorld.truth: expected steps of this very world, got data whose schema "
                f"differs in {self.schema.difference(data.schema)}."
            )
        return score_truth(self._blueprint, self.blur, data, seed)

    def worths(
        self, edges: Iterable[Edge] | None = None, effort: Effort = FULL
    ) -> dict[Edge, Worth]:
        """What edges of the true graph are worth, all of them unless some are given.

        That is the true log-likelihood less that of the best predictor without the edge, in nats
        per number of the target, by simulation; `edge_worth` tells how, and what its limits are.
        It takes some seconds, and is done once for an edge.

        >>> world = GeneratedWorld(world_seed=4)
        >>> edge = Edge("A", "x2", "B", "x1", is_local=False)
        >>> 0.1 < world.worths([edge])[edge].nats < 0.4
        True
        """
        wanted = list(self._blueprint.graph.edges()) if edges is None else list(edges)
        missing = [edge for edge in wanted if (edge, effort) not in self._worths]
        found = {edge_of(s, m): (m, s) for m in self.mechanisms for s in m.sources}
        for edge in missing:
            if edge not in found:
                raise OocdmError(
                    f"GeneratedWorld.worths: expected edges of the true graph, got `{edge}`."
                )
        pilot = None
        for edge in missing:
            pilot = pilot or run_pilot(self._blueprint, 600, 30, [self.world_seed, 2])
            mechanism, source = found[edge]
            rng = np.random.default_rng([self.world_seed, zlib.crc32(str(edge).encode())])
            blur = self.blur.get(mechanism.own[:2], 0.0)
            self._worths[edge, effort] = edge_worth(
                self._blueprint, mechanism, source, pilot, blur, rng, effort
            )
        return {edge: self._worths[edge, effort] for edge in wanted}


@lru_cache(maxsize=32)  # it takes a second, and worlds are often made in and out of distribution
def _draw(family: str, seed: tuple[int, int], varying: bool, decoys: bool) -> Blueprint:
    return FAMILIES[family](seed, varying, decoys)


def _coin(seed: Sequence[int]) -> bool:
    return bool(np.random.default_rng(seed).random() < 0.4)


def _refuse_sizes(family: str, max_classes: int | None, max_fields: int | None) -> None:
    """Families other than the mixed one draw their sizes themselves."""
    for option, value in (("max_classes", max_classes), ("max_fields", max_fields)):
        if value is not None:
            raise OocdmError(
                f"Option `{option}`: expected it only with family 'mixed', got {value} with "
                f"{family!r}, which draws its own sizes. Leave it out, or use family 'large'."
            )
