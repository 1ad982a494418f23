"""Many learned worlds side by side: what the learned Gymnasium environments are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np
import torch

from oocdm.data.dataset import Dataset
from oocdm.data.log import Arrays
from oocdm.data.snapshot import Snapshot
from oocdm.data.values import read_value
from oocdm.errors import PlanError
from oocdm.inference import Fitted, with_actions
from oocdm.inference.fitted import check_fit, checked_result
from oocdm.learned.attributes import Attribute
from oocdm.learned.counts import Counted, Counts
from oocdm.learned.holds import Holds, with_value
from oocdm.learned.starts import Start, Starts
from oocdm.planning.learned_simulator import LearnedSimulator
from oocdm.planning.outcomes import checked_end, checked_reward
from oocdm.reading import Count
from oocdm.schema import Schema
from oocdm.task import Task
from oocdm.worlds.convert import to_snapshot, to_world_state
from oocdm.worlds.spaces import Observation, observation_of
from oocdm.worlds.world import WorldState

EpisodeSteps = Annotated[Count, "Episodes are cut after so many steps."]


@dataclass(frozen=True)
class Outcomes:
    """What a step brought each world: reward, and whether its episode ended or was cut.

    >>> Outcomes(np.array([1.5]), np.array([False]), np.array([True])).ended
    array([ True])
    """

    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray

    @property
    def ended(self) -> np.ndarray:
        """Which episodes are over, for either reason."""
        over: np.ndarray = self.terminated | self.truncated
        return over


@final
class LearnedWorlds:
    """Steps a batch of learned worlds in one call of the model; arguments as for `LearnedEnv`.

    Each world has a random generator of its own, from which its starting states come.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> counts = {"Mouse": 1, "Food": 3, "Monster": 2, "Trap": 0}
    >>> worlds = LearnedWorlds(result, env.task, counts, start=data)
    >>> worlds.begin([np.random.default_rng(seed) for seed in range(5)])
    >>> worlds.step({"Mouse": {"move": np.zeros((5, 1), int)}}).reward.shape
    (5,)
    """

    def __init__(
        self,
        result: Fitted,
        task: Task,
        counts: Counted,
        start: Start | None = None,
        max_episode_steps: int = 100,
        sample: bool = True,
    ) -> None:
        self._limit = max_episode_steps
        checked_result("LearnedEnv", result)
        self._simulator = LearnedSimulator(result, task)
        given = Counts.of(result.model.schema, counts)
        given.check_fit(result)
        if isinstance(start, Dataset):
            check_fit("LearnedEnv", result, start)
        self._starts = Starts(result.model, given, start)
        self._device = result.model.device
        self._sample = sample
        self._rngs: list[np.random.Generator] = []
        self._num_steps = np.zeros(0, int)
        self._holds = Holds()
        self._state: Snapshot | None = None

    @property
    def schema(self) -> Schema:
        """The classes and fields of the worlds."""
        return self._simulator.schema

    @property
    def task(self) -> Task:
        """Reward and termination."""
        return self._simulator.task

    @property
    def max_objects(self) -> dict[str, int]:
        """The number of rows of each class."""
        return self._starts.counts.max_objects

    @property
    def state(self) -> Snapshot:
        """The worlds as they are."""
        if self._state is None:
            raise PlanError("This environment has no state yet. Call reset() first.")
        return self._state

    @property
    def present(self) -> dict[str, np.ndarray]:
        """Which rows are objects, (world, object) booleans a class."""
        return {c: present.cpu().numpy() for c, present in self.state.present.items()}

    def begin(self, rngs: Sequence[np.random.Generator]) -> None:
        """Start an episode in as many worlds as there are generators."""
        self._rngs = list(rngs)
        self._num_steps = np.zeros(len(rngs), int)
        self._holds = Holds()
        self._state = self._new_states(range(len(rngs)))

    def restart(
        self, worlds: np.ndarray, rngs: Sequence[np.random.Generator] | None = None
    ) -> None:
        """Start new episodes in some worlds, (world,) booleans; nothing is held in them then.

        The generators of all worlds stay the same unless others are given.
        """
        self._rngs = self._rngs if rngs is None else list(rngs)
        rows = np.flatnonzero(worlds)
        if len(rows) == 0:
            return
        state, new = self.state, self._new_states(rows)
        index = torch.from_numpy(rows).to(self._device)
        self._num_steps[rows] = 0
        self._holds.clear(torch.from_numpy(worlds).to(self._device))
        values = {
            c: {f: v.index_copy(0, index, new[c, f]) for f, v in fields.items()}
            for c, fields in state.values.items()
        }
        present = {c: p.index_copy(0, index, new.present[c]) for c, p in state.present.items()}
        self._state = Snapshot.of(self.schema, values, present)

    def _new_states(self, worlds: Sequence[int] | np.ndarray) -> Snapshot:
        drawn = [self._starts.draw(self._rngs[world]) for world in worlds]
        values = {
            c: {f: np.concatenate([d.values[c][f] for d in drawn]) for f in fields}
            for c, fields in drawn[0].values.items()
        }
        present = {c: np.concatenate([d.present[c] for d in drawn]) for c in values}
        return to_snapshot(self.schema, WorldState(values, present)).to(self._device)

    def observe(self) -> Observation:
        """What is seen of all worlds, (world, object, ...) a field."""
        return observation_of(self.schema, to_world_state(self.state))

    def observe_one(self, world: int) -> Observation:
        """What is seen of one world, (object, ...) a field."""
        return observation_of(self.schema, to_world_state(self.state).select(world))

    def step(self, actions: Arrays, running: np.ndarray | None = None) -> Outcomes:
        """One step of all worlds, with checked actions (world, object, ...) a field.

        Outcomes of worlds that are not `running`, (world,) booleans, mean nothing.
        """
        state, num = self.state, len(self._rngs)
        is_running = np.ones(num, bool) if running is None else running
        chosen = {
            c: {f: torch.from_numpy(v).to(self._device) for f, v in fields.items()}
            for c, fields in actions.items()
        }
        before = with_actions(state, chosen)
        after = self._holds.apply(self._simulator.step(before, self._draw_seed(is_running)))
        self._state = after
        self._num_steps += 1
        mask = torch.from_numpy(is_running).to(self._device)
        simulator = self._simulator
        reward = checked_reward(simulator, simulator.reward(before, after), mask)
        ended = checked_end(simulator, simulator.terminated(after), num)
        return Outcomes(
            reward.double().cpu().numpy(), ended.cpu().numpy(), self._num_steps >= self._limit
        )

    def _draw_seed(self, is_running: np.ndarray) -> int | None:
        """The seed of a step, from the generators of the worlds that take it."""
        if not self._sample:
            return None
        running = np.flatnonzero(is_running)
        return sum(int(self._rngs[world].integers(2**62)) for world in running) % 2**62

    def do(self, name: str, value: Any, hold: bool, worlds: Sequence[int] | None) -> None:
        """Set an attribute, and with `hold` keep it so; see `LearnedEnv.do`."""
        attribute = Attribute.parse("do", self.schema, name)
        c, _, f = attribute
        places = attribute.places("do", self.state, worlds)
        read = read_value(f"do `{attribute}`", self.schema.field(c, f), value, PlanError)
        tensor = torch.from_numpy(read).to(self._device)
        self._state = with_value(self.state, c, f, places, tensor)
        self._holds.release(c, f, places)
        if hold:
            self._holds.hold(c, f, places, tensor)

    def undo(self, name: str, worlds: Sequence[int] | None) -> None:
        """Let go of an attribute that is held."""
        attribute = Attribute.parse("undo", self.schema, name)
        c, _, f = attribute
        if not self._holds.release(c, f, attribute.places("undo", self.state, worlds)):
            raise PlanError(
                f"undo `{attribute}`: expected an attribute that is held, got one that is not. "
                f"Held: {', '.join(self._holds.names()) or 'nothing'}."
            )
