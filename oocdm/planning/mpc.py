"""Model predictive control: plan, do the first action, look, plan again."""

from __future__ import annotations

from typing import Annotated, Any, final

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.errors import PlanError
from oocdm.inference import Fitted
from oocdm.inference.fitted import checked_result, checked_state
from oocdm.models.memory import DEFAULT_MEMORY, read_memory
from oocdm.planning.actions import Masks
from oocdm.planning.cem import CEM
from oocdm.planning.learned_simulator import LearnedSimulator
from oocdm.planning.planner import Planner
from oocdm.planning.simulator import Simulator
from oocdm.planning.warm import WarmStart
from oocdm.reading import Count, NotNegative, Seed, checked
from oocdm.task import Task

PlanSeed = Annotated[Seed, "The random numbers of all plans follow from it."]


@final
class MPC:
    """An agent that plans every step anew in the learned world, for many worlds side by side.

    `result` is a fit, or anything with its model and graph; the planner is a `CEM()` unless
    another is given. Only what can reach the fields that the task reads is simulated, which
    changes no action; `prune=False` simulates everything. Nor does it change any that what all
    tries of a plan share is simulated once; `cache=False` simulates it in each. With `caution`
    plans avoid what the model does not know (see `LearnedSimulator`). `memory`, in bytes or as
    `"4GiB"`, is what a plan may take: where all that is tried does not fit it is stepped in parts,
    and the first plan is refused with an estimate if nothing fits. Unless
    `warm_start` is False, each plan starts from the one before it in the same world. Each world
    has random numbers of its own, made from `seed` and its number, which start anew with every
    `reset`.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> planner = oocdm.CEM(horizon=3, iterations=2, samples=20, elites=5)
    >>> agent = MPC(result, env.task, planner)
    >>> agent.reset(num_worlds=2)
    >>> agent.act(data.transitions(slice(0, 2)).before)["Mouse"]["move"].shape
    torch.Size([2, 1])
    """

    @checked(PlanError)
    def __init__(
        self,
        result: Fitted,
        task: Task,
        planner: Planner | None = None,
        seed: PlanSeed = 0,
        warm_start: bool = True,
        prune: bool = True,
        cache: bool = True,
        caution: NotNegative = 0.0,
        memory: int | str = DEFAULT_MEMORY,
    ) -> None:
        checked_result("MPC", result)
        allowed = read_memory("MPC", memory, PlanError)
        chosen = _checked_planner(CEM() if planner is None else planner)
        simulator = LearnedSimulator(result, task, chosen.horizon if prune else None, caution)
        self._init(simulator, chosen, seed, warm_start, cache, allowed)

    @classmethod
    @checked(PlanError)
    def within(
        cls,
        simulator: Simulator,
        planner: Planner,
        seed: PlanSeed = 0,
        warm_start: bool = True,
        cache: bool = True,
        memory: int | str = DEFAULT_MEMORY,
    ) -> MPC:
        """The agent that plans in any other simulator, such as that of the true world.

        Only a `DivisibleSimulator` keeps within `memory`.

        >>> from oocdm.envs.mouse import MouseWorld
        >>> from oocdm.planning import TrueSimulator
        >>> agent = MPC.within(TrueSimulator(MouseWorld()), CEM(horizon=5))
        """
        agent = cls.__new__(cls)
        allowed = read_memory("MPC.within", memory, PlanError)
        agent._init(simulator, planner, seed, warm_start, cache, allowed)
        return agent

    def _init(
        self,
        simulator: Simulator,
        planner: Planner,
        seed: int,
        warm_start: bool,
        cache: bool,
        memory: int,
    ) -> None:
        self.simulator = simulator
        self.planner = _checked_planner(planner)
        self.seed = seed
        self.warm_start, self.cache, self.memory = warm_start, cache, memory
        self._generators: list[torch.Generator] = []
        # The latest plans of all worlds, each with the row of every world in it, -1 for none.
        self._plans: list[tuple[WarmStart, Tensor]] = []

    @checked(PlanError)
    def reset(self, num_worlds: Count) -> None:
        """Forget earlier plans: episodes start in so many worlds."""
        self._generators = [_generator(self.seed, world) for world in range(num_worlds)]
        self._plans = []

    def act(
        self, state: Snapshot, can_act: Masks | None = None, worlds: Tensor | None = None
    ) -> PerField:
        """Actions (batch, object, ...) for a state.

        Objects that do not act have 0 or, if they are present and that is not allowed, the allowed
        value nearest to it. `worlds` (batch,) says which of the worlds the rows are, so that those
        that ended can be left out, or worlds be acted in by turns; all in order if it is None.
        """
        checked_state("MPC.act", state, PlanError)
        all_worlds = torch.arange(len(self._generators))
        chosen = all_worlds if worlds is None else _as_row(worlds)
        self._check(chosen, state.batch_size)
        plan = self.planner.plan(
            self.simulator,
            state,
            can_act,
            [warm.select(rows[chosen]) for warm, rows in self._plans if (rows[chosen] >= 0).any()],
            generator=[self._generators[world] for world in chosen.tolist()],
            cache=self.cache,
            memory=self.memory,
        )
        if self.warm_start and plan.warm is not None:
            self._remember(plan.warm, chosen)
        return plan.actions

    def _remember(self, warm: WarmStart, worlds: Tensor) -> None:
        """Keep a plan of some worlds instead of the earlier ones of these worlds."""
        for _, rows in self._plans:
            rows[worlds] = -1
        self._plans = [(plan, rows) for plan, rows in self._plans if (rows >= 0).any()]
        own = torch.full((len(self._generators),), -1)
        own[worlds] = torch.arange(len(worlds))
        self._plans.append((warm, own))

    def _check(self, worlds: Tensor, batch_size: int) -> None:
        if len(self._generators) == 0:
            raise PlanError(
                "MPC.act: expected reset(num_worlds) before the first action, got none. Call it "
                "at the start of every batch of episodes."
            )
        if len(worlds) != batch_size:
            raise PlanError(
                f"MPC.act: expected a state of {len(worlds)} worlds, got {batch_size} rows. Name "
                "the worlds that are left in `worlds`, or call reset(num_worlds) for new ones."
            )
        known = len(self._generators)
        is_whole = worlds.dtype in (torch.int64, torch.int32)
        if (
            not is_whole
            or len(worlds.unique()) < len(worlds)
            or not ((worlds >= 0) & (worlds < known)).all()
        ):
            raise PlanError(
                f"MPC.act: `worlds`: expected different numbers from 0 to {known - 1}, as many "
                f"worlds as were reset, got {worlds.tolist()}. Give each row its world's number."
            )


def _as_row(worlds: Any) -> Tensor:
    """Numbers in a row; other things are an empty one, which is as wrong as they are."""
    try:
        row = torch.as_tensor(worlds).cpu()
    except (TypeError, ValueError, RuntimeError):
        row = torch.zeros(0)
    return row if row.ndim == 1 else torch.zeros(0)


def _checked_planner(planner: Planner) -> Planner:
    if not isinstance(planner, Planner):
        is_class = isinstance(planner, type)
        got = f"the class {planner.__name__}" if is_class else type(planner).__name__
        raise PlanError(
            f"MPC: `planner`: expected a planner such as oocdm.CEM(horizon=20), got {got}. Make "
            "one, with its options in parentheses."
        )
    return planner


def _generator(seed: int, world: int) -> torch.Generator:
    """Random numbers that depend on the seed and the number of the world only."""
    mixed = np.random.SeedSequence([seed, world]).generate_state(1, np.uint64)[0]
    return torch.Generator().manual_seed(int(mixed >> np.uint64(1)))
