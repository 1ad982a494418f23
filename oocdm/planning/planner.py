"""What all planners share: their options, one call, and what comes out of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.errors import PlanError, short
from oocdm.inference.fitted import checked_state
from oocdm.models.allocator import Ceiling, resident_memory
from oocdm.models.memory import DEFAULT_MEMORY, read_memory
from oocdm.planning.actions import ActionVariables, Masks
from oocdm.planning.beliefs import Belief
from oocdm.planning.discounting import discounted_returns
from oocdm.planning.noise import Generators, draw_noise, draw_seed, generators_of
from oocdm.planning.portions import Division, Effort, divide
from oocdm.planning.simulator import DivisibleSimulator, Simulator
from oocdm.planning.warm import WarmStart
from oocdm.reading import Count, Probability, check_fields, checked, read


@dataclass(frozen=True)
class Plan:
    """What to do now, and what is known for the next plan.

    `actions[class][field]` is (batch, object, ...), for objects that do not act 0 or, if they are
    present and that is not allowed, the allowed value nearest to it; `value` (batch,) is the
    return that the chosen sequences had in the simulator; `warm` is where the next plan may start
    from.

    >>> Plan({"Ball": {"push": torch.zeros(1, 3)}}, torch.zeros(1), None).value
    tensor([0.])
    """

    actions: PerField
    value: Tensor
    warm: WarmStart | None


@dataclass(frozen=True)
class Found:
    """The outcome of a search: a sequence (horizon, variable), its value (batch,), and the rest.

    `belief` and `elites` (sample, horizon, variable) are what the next search may start from.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 3)}})
    >>> start = Belief.initial(ActionVariables.of(state), horizon=2)
    >>> Found(torch.zeros(2, 3), torch.zeros(1), start, torch.zeros(5, 2, 3)).belief.horizon
    2
    """

    sequence: Tensor
    value: Tensor
    belief: Belief
    elites: Tensor


@dataclass(frozen=True)
class Problem:
    """One call of a planner: where sequences start, how they are drawn and what they earn.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> class Pushing:
    ...     schema = Schema(Ball)
    ...     def step(self, before, seed):
    ...         x = before["Ball.x"] + before["Ball.push"]
    ...         return Snapshot.of(self.schema, {"Ball": {"x": x}}, before.present)
    ...     def reward(self, before, after):
    ...         return after["Ball.x"].sum(1)
    ...     def terminated(self, after):
    ...         return after["Ball.x"].amax(1) > 9
    >>> state = Snapshot.of(Pushing.schema, {"Ball": {"x": torch.zeros(1, 1)}})
    >>> start = Belief.initial(ActionVariables.of(state), horizon=2)
    >>> problem = Problem(Pushing(), state, start, [torch.Generator()], 1.0, True, (), 0)
    >>> sequences = problem.sample(start, samples=5)
    >>> problem.best(sequences, problem.returns(sequences), count=2).shape
    torch.Size([2, 2, 1])
    """

    simulator: Simulator
    state: Snapshot
    start: Belief
    generators: list[torch.Generator]
    discount: float
    stop_at_termination: bool
    warm: Sequence[WarmStart]
    seed: int
    futures: int = 1
    division: Division | None = None

    @property
    def variables(self) -> ActionVariables:
        """What is to be chosen."""
        return self.start.variables

    def sample(self, belief: Belief, samples: int, colour: Tensor | None = None) -> Tensor:
        """Sequences (sample, horizon, variable) drawn from a belief."""
        noise = draw_noise(self.variables, samples, belief.horizon, self.generators, colour)
        return belief.sample(noise)

    def returns(self, sequences: Tensor) -> Tensor:
        """What sequences earn in each world, (sample, batch): the mean of their futures."""
        tries = self.futures * len(sequences)
        # Nobody keeps the states in between, so they need not record what happens to them.
        with torch.inference_mode():
            rows = tries * self.state.batch_size
            if self.division is None or self.division.at_once >= rows:
                start = self.state.map(lambda t: t.repeat(tries, *[1] * (t.ndim - 1)))
                returns = self._earned(self.simulator, start, sequences.repeat(self.futures, 1, 1))
            else:
                returns = self._in_parts(self.division, sequences, rows)
        return returns.view(self.futures, len(sequences), -1).mean(0).clone()

    def _in_parts(self, division: Division, sequences: Tensor, rows: int) -> Tensor:
        """What each row earns, one a try and world, some of them at once."""
        earned, ceiling = [], Ceiling.above(resident_memory(), division.estimate.total)
        for part in division.parts(rows):
            earned.append(self._earned_in(part, sequences, rows))
            ceiling.hold()
        return torch.cat(earned)

    def _earned_in(self, part: range, sequences: Tensor, rows: int) -> Tensor:
        assert isinstance(self.simulator, DivisibleSimulator)
        batch, device = self.state.batch_size, self.state.device
        worlds = torch.arange(part.start, part.stop, device=device) % batch
        tries = torch.arange(part.start // batch, part[-1] // batch + 1, device=device)
        return self._earned(
            self.simulator.part(part.start, rows),
            self.state.map(lambda tensor: tensor[worlds]),
            sequences[tries % len(sequences)],
            part.start % batch,
        )

    def _earned(
        self, simulator: Simulator, start: Snapshot, sequences: Tensor, skipped: int = 0
    ) -> Tensor:
        return discounted_returns(
            simulator,
            start,
            self.variables,
            sequences,
            self.discount,
            self.stop_at_termination,
            self.seed,
            skipped,
        )

    def best(self, sequences: Tensor, returns: Tensor, count: int) -> Tensor:
        """The `count` best sequences of each world, best first."""
        # Stable, so that equal returns are ordered alike in every batch.
        order = returns.argsort(dim=0, descending=True, stable=True)[:count]
        index = order[:, self.variables.world].unsqueeze(1)
        return sequences.gather(0, index.expand(-1, sequences.shape[1], -1))


Elites = Annotated[Count, "It is how many of the sequences shape the next iteration."]


@dataclass(frozen=True, kw_only=True)
class Planner(ABC):
    """An optimiser of action sequences of fixed length in a simulator.

    `horizon` is how many steps it looks ahead, `iterations` how often it samples, `samples` how
    many sequences a world. Each sequence is tried in so many `futures`, whose mean return counts:
    with one, as in the paper, a sequence may look good by luck where the world is random. Rewards
    are discounted by `discount` a step and, unless `stop_at_termination` is False, end with the
    episode. A plan that starts from an earlier one keeps its means, but not its certainty: numbers
    get their initial spread, choices a share `refresh` of equal probabilities.

    >>> from oocdm.planning import CEM
    >>> CEM(horizon=10, samples=0)
    Traceback (most recent call last):
    ...
    oocdm.errors.PlanError: CEM: `samples`: expected a whole number of at least 1, got 0. ...
    """

    horizon: Annotated[Count, "It is how many steps the planner looks ahead."] = 20
    iterations: Annotated[Count, "It is how often the planner samples."] = 5
    samples: Annotated[Count, "It is how many sequences are tried a world and iteration."] = 500
    futures: Annotated[Count, "It is in how many futures each sequence is tried."] = 1
    discount: Annotated[Probability, "It is what a reward is worth if it comes one step later."] = (
        0.95
    )
    stop_at_termination: bool = True
    refresh: Annotated[
        Probability, "It is how much of an earlier plan's certainty is forgotten."
    ] = 0.5

    def __post_init__(self) -> None:
        check_fields(self, error=PlanError)
        self._check_options()

    @property
    def _most_sequences(self) -> int:
        """How many sequences are tried at once at most."""
        return self.samples

    def _check_options(self) -> None:  # noqa: B027, nothing to refuse by default
        """Raise a `PlanError` if the planner's own options do not go together."""

    @abstractmethod
    def _search(self, problem: Problem) -> Found:
        """Look for the sequence of greatest return."""

    @checked(PlanError)
    @torch.no_grad()
    def plan(
        self,
        simulator: Simulator,
        state: Snapshot,
        can_act: Masks | None = None,
        warm: WarmStart | Sequence[WarmStart] | None = None,
        *,
        generator: Generators,
        cache: bool = True,
        memory: int | str = DEFAULT_MEMORY,
    ) -> Plan:
        """Plan for a batch of worlds, each on its own.

        `can_act` (batch, object) a class leaves out objects that are present but cannot act;
        `warm` is that of the plan one step earlier, or several, each of which knows other worlds
        of the batch. `generator` is one for each world, or a single one that seeds them: equal
        seeds give equal plans, whatever else is in the batch as long as the simulator is not
        random. What is random is drawn for the batch as a whole, for each sample on its own and
        alike in every iteration. Actions are on the device of the state. With `cache`, a simulator
        that can do so keeps what all tries share until the plan is made, which changes no plan.
        One that can step tries in parts stays within `memory`, in bytes or as `"4GiB"`.
        """
        allowed = read_memory("plan", memory, PlanError)
        if not (hasattr(simulator, "schema") and hasattr(simulator, "step")):
            raise PlanError(
                f"plan: `simulator`: expected one such as oocdm.LearnedSimulator(result, task), "
                f"got {short(simulator)}."
            )
        self._check_horizon(simulator)
        _check_state(simulator, state)
        home = state.device
        device = getattr(simulator, "device", home)
        state = state if device == home else state.to(device)
        variables = ActionVariables.of(state, can_act, getattr(simulator, "action_size", None))
        initial = Belief.initial(variables, self.horizon)
        given = [warm] if isinstance(warm, WarmStart) else warm
        earlier: list[WarmStart] = (
            read(list[WarmStart] | None, given, "plan: `warm`", PlanError) or []
        )
        start = initial
        for each in earlier:
            start = each.belief_for(start)
        if earlier:
            start = start.widen(initial, self.refresh)
        generators = generators_of(generator, state.batch_size)
        seed = draw_seed(generators)
        division = None
        if isinstance(simulator, DivisibleSimulator):
            effort = Effort(self._most_sequences, self.futures, cache)
            division = divide(simulator, state, start, effort, seed, allowed)
            simulator = simulator.begin_plan(seed, division.room)
        elif cache and hasattr(simulator, "begin_plan"):
            simulator = simulator.begin_plan(seed)
        problem = Problem(
            simulator,
            state,
            start,
            generators,
            self.discount,
            self.stop_at_termination,
            earlier,
            seed,
            self.futures,
            division,
        )
        found = self._search(problem)
        decoded = variables.decode(found.sequence[:1])
        actions = {c: {f: v.to(home) for f, v in fields.items()} for c, fields in decoded.items()}
        elites = found.elites.clone()  # no view, which would keep all that were tried
        return Plan(actions, found.value, WarmStart(variables.grids, found.belief, elites))

    # ---------------------------------------------------------------- checks of options

    def _check_elites(self, elites: int) -> None:
        if elites > self.samples:
            raise PlanError(
                f"{type(self).__name__}: `elites`: expected at most `samples`, {self.samples}, got "
                f"{elites}. They are the best of the samples: lower `elites` or raise `samples`."
            )

    def _check_horizon(self, simulator: Simulator) -> None:
        limit = getattr(simulator, "horizon", None)
        if limit is not None and self.horizon > limit:
            raise PlanError(
                f"plan: expected a horizon of at most {limit} steps, for which the simulator was "
                f"made, got {self.horizon}. Make the simulator with horizon={self.horizon}, or "
                "without one."
            )


def _check_state(simulator: Simulator, state: Snapshot) -> None:
    checked_state("plan", state, PlanError)
    state.check("plan", simulator.schema, "simulator", PlanError)
    if state.batch_size == 0:
        raise PlanError(
            "plan: expected a state of at least one world, got 0 rows. Leave the call out when "
            "every world has ended."
        )
