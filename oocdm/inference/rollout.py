"""What may happen: many futures of a state under given actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.data.values import check_allowed
from oocdm.errors import ModelError, suggest
from oocdm.graph.class_graph import GivenGraph
from oocdm.inference.dynamics import GIVEN_ACTIONS, Dynamics, action_tensor, with_actions
from oocdm.inference.fitted import Fitted, checked_result, checked_state
from oocdm.inference.seen import Seen, seen_by
from oocdm.inference.words import counted
from oocdm.models.memory import rows_at_once
from oocdm.reading import Count, Seed, checked, read
from oocdm.schema import Field, Schema

_STEPS = "So many are drawn."


@dataclass(frozen=True, repr=False)
class Rollout:
    """Futures drawn from a model: `states` after each step, futures of a world side by side.

    Its methods take a field as `mean("Block.s1")` or as `mean("Block", "s1")`.

    >>> Rollout((), num_worlds=1, samples=20)
    Rollout(0 steps, 1 world, 20 samples)
    """

    states: tuple[Snapshot, ...]
    num_worlds: int
    samples: int
    seen: Seen | None = None  # in training
    given: tuple[str, ...] = ()  # what of the start and the actions lies outside of it

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        steps, worlds = counted(len(self), "step"), counted(self.num_worlds, "world")
        return f"Rollout({steps}, {worlds}, {counted(self.samples, 'sample')})"

    def __str__(self) -> str:
        return "\n".join([repr(self), *self.outside])

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """What lies outside of what was seen in training, in words.

        Of the start, of the actions, and of each field after the step in which it is the most.
        There the futures are guesses, whatever their intervals say.
        """
        if self.seen is None:
            return ()
        worst: dict[str, tuple[int, np.ndarray]] = {}
        for step, state in enumerate(self.states, 1):
            for name, found in self.seen.count(state).items():
                is_state = self._field((name,)).is_target
                if is_state and (name not in worst or found[0] > worst[name][1][0]):
                    worst[name] = step, found
        drawn = (
            note
            for name, (step, found) in worst.items()
            for note in self.seen.notes({name: found}, f" after {counted(step, 'step')}")
        )
        return (*self.given, *drawn)

    def values(self, *name: str) -> Tensor:
        """Drawn values of a field: (step, world, sample, object, ...)."""
        steps = torch.stack([state[_one(name)] for state in self.states])
        return steps.unflatten(1, (self.num_worlds, self.samples))

    def mean(self, *name: str) -> Tensor:
        """The mean over the futures: (step, world, object, ...)."""
        return self._ordered("mean", name).mean(2)

    def interval(self, *name: str, share: float = 0.9) -> tuple[Tensor, Tensor]:
        """Lower and upper ends of where a share of the futures lies: (step, world, object, ...)."""
        values = self._ordered("interval", name)
        if not isinstance(share, int | float) or not 0 < share < 1:
            raise ModelError(f"interval: expected a share between 0 and 1, got {share!r}.")
        tail = (1 - share) / 2
        return values.quantile(tail, dim=2), values.quantile(1 - tail, dim=2)

    def probabilities(self, *name: str) -> Tensor:
        """How many of the futures have each value of a choice: (step, world, object, value)."""
        values, field = self.values(*name), self._field(name)
        if not field.num_codes or field.shape:
            raise ModelError(
                f"probabilities: expected a field with one of few values, such as a category, got "
                f"`{'.'.join(name)}`. Use mean() and interval()."
            )
        known = field.from_codes(torch.arange(field.num_codes, device=values.device))
        return (values.unsqueeze(-1) == known).double().mean(2)

    def _field(self, name: tuple[str, ...]) -> Field:
        schema = self.states[0].schema
        return schema.field(*schema.split(_one(name)))

    def _ordered(self, what: str, name: tuple[str, ...]) -> Tensor:
        """Drawn values of a field whose values have an order."""
        values = self.values(*name)
        if not self._field(name).is_numeric:
            raise ModelError(
                f"{what}: expected a field of numbers, got `{'.'.join(name)}`, whose values have "
                "no order. Use probabilities()."
            )
        return values.double()


def _one(name: tuple[str, ...]) -> str:
    """A field's name, given as one or as that of its class and its own."""
    return ".".join(map(str, name))


@checked(ModelError)
def rollout(
    result: Fitted,
    state: Snapshot,
    actions: Annotated[Mapping[str, Mapping[str, Any]], GIVEN_ACTIONS] | None = None,
    samples: Annotated[Count, "So many futures are drawn."] = 100,
    seed: Seed = 0,
    steps: Annotated[Count, _STEPS] | None = None,
    graph: GivenGraph | None = None,
    doubts: bool = True,
) -> Rollout:
    """Draw futures of each world of a batch under given actions.

    `actions[class][field]` is (step, world, object, ...), a tensor, an array or lists; its length
    is that of the rollout. Where nothing can be chosen, `steps` says how long it is. `graph` is one
    to predict with in place of the result's own. Futures spread further where copies of the model
    disagree more than usual, unless `doubts` is False: that takes a fraction of the time. The
    rollout's `outside` says what of the start,
    the actions and the futures was hardly seen in training.

    >>> import oocdm
    >>> env = oocdm.make("block", num_blocks=2)
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> state = data.transitions(slice(0, 1)).before
    >>> futures = rollout(result, state, {"Block": {"a": torch.zeros(8, 1, 2)}}, samples=20)
    >>> low, high = futures.interval("Total.s1")
    >>> low.shape
    torch.Size([8, 1, 1])
    """
    dynamics = Dynamics(checked_result("rollout", result), graph=graph, doubts=doubts)
    device = dynamics.device
    checked_state("rollout", state, ModelError)
    state.check("rollout", dynamics.schema, "model", ModelError)
    num_steps, by_step = _read_actions(state, {} if actions is None else actions, steps)
    states = _drawn(dynamics, state.to(device), by_step, num_steps, samples, seed)
    seen = seen_by(result)
    given = () if seen is None else tuple(_outside(seen, state, by_step))
    return Rollout(states, state.batch_size, samples, seen, given)


def _drawn(
    dynamics: Dynamics,
    start: Snapshot,
    actions: Mapping[str, Mapping[str, Tensor]],
    num_steps: int,
    samples: int,
    seed: int,
) -> tuple[Snapshot, ...]:
    """States after each step, futures of a world side by side, drawn as many at once as fit."""
    generator = torch.Generator().manual_seed(seed)
    futures = torch.arange(start.batch_size, device=start.device).repeat_interleave(samples)

    def act(now: Snapshot, worlds: Tensor, step: int) -> Snapshot:
        chosen: PerField = {
            c: {f: each[step].to(start.device)[worlds] for f, each in fields.items()}
            for c, fields in actions.items()
        }
        return with_actions(now, chosen)

    def draw(worlds: Tensor) -> list[Snapshot]:
        now, states = start.map(lambda tensor: tensor[worlds]), []
        for step in range(num_steps):
            drawn = int(torch.randint(2**62, (), generator=generator))
            now = dynamics.step(act(now, worlds, step), drawn)
            states.append(now)
        return states

    def first(num: int) -> Snapshot:
        some = futures[:num]
        return dynamics.step(act(start.map(lambda tensor: tensor[some]), some, 0), seed)

    at_once = rows_at_once(first, len(futures)) if len(futures) else 1
    parts = [draw(worlds) for worlds in futures.split(at_once)]
    return tuple(map(_joined, zip(*parts, strict=True)))


def _joined(parts: Sequence[Snapshot]) -> Snapshot:
    """The worlds of several snapshots, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def cat(fields: Sequence[PerField]) -> PerField:
        return {
            c: {f: torch.cat([each[c][f] for each in fields]) for f in names}
            for c, names in fields[0].items()
        }

    present = {c: torch.cat([part.present[c] for part in parts]) for c in first.present}
    values, observed = cat([p.values for p in parts]), cat([p.observed for p in parts])
    return Snapshot(first.schema, values, present, observed)


def _outside(
    seen: Seen, state: Snapshot, actions: Mapping[str, Mapping[str, Tensor]]
) -> Iterator[str]:
    """What of a start, and of the actions that follow, was hardly seen."""
    is_state = {
        name: found
        for name, found in seen.count(state).items()
        if not state.schema.field(*state.schema.split(name)).action
    }
    yield from seen.notes(is_state, " at the start")
    for c, fields in actions.items():
        present = state.present[c].cpu()
        for f, values in fields.items():
            is_out = seen.is_outside(f"{c}.{f}", values) & present
            counts = np.array([int(is_out.sum()), int(present.sum()) * len(values)])
            yield from seen.notes({f"{c}.{f}": counts}, " among the actions")


def _read_actions(
    state: Snapshot, actions: Mapping[str, Mapping[str, Any]], steps: int | None
) -> tuple[int, dict[str, dict[str, Tensor]]]:
    """The number of steps, and actions for all of them that the schema allows."""
    schema = state.schema
    _check_names(schema, actions)
    given = {
        (c, f): action_tensor(f"Action `{c}.{f}`", schema.field(c, f), each)
        for c, fields in actions.items()
        for f, each in fields.items()
    }
    lengths = {len(each) if each.ndim else 0 for each in given.values() if each is not None}
    if steps is not None:
        lengths.add(steps)
    if len(lengths) != 1:
        raise ModelError(
            "rollout: expected actions for the same number of steps in every field, and `steps` "
            f"to be that or left out, got {sorted(lengths) or 'neither'}. Without action fields, "
            "say `steps`."
        )
    where, (num_steps,) = "rollout: steps of the actions", lengths
    read(Annotated[Count, _STEPS], num_steps, where, ModelError)
    chosen: dict[str, dict[str, Tensor]] = {}
    for c in schema.classes:
        for f, field in schema.fields(c).items():
            if field.action:
                where, each = f"Action `{c}.{f}`", given.get((c, f))
                values = _read_action(where, field, each, num_steps, state.present[c])
                chosen.setdefault(c, {})[f] = values
    return num_steps, chosen


def _check_names(schema: Schema, actions: Mapping[str, Mapping[str, Any]]) -> None:
    for c, fields in actions.items():
        known = [f for f, field in schema.fields(c).items() if field.action]
        for f in fields:
            if f not in known:
                raise ModelError(f"rollout: unknown action `{c}.{f}`. {suggest(f, known)}")


def _read_action(
    where: str, field: Field, given: Tensor | None, num_steps: int, present: Tensor
) -> Tensor:
    """The actions of one field, which are all there and allowed."""
    expected = (num_steps, *present.shape, *field.shape)
    if given is None or tuple(given.shape) != expected:
        got = "none" if given is None else f"shape {tuple(given.shape)}"
        raise ModelError(
            f"{where}: expected values of shape {expected} (step, world, object, ...), got {got}."
        )
    # What is said of absent objects does not matter.
    numbers = given.detach().cpu().numpy()[:, present.cpu().numpy()]
    check_allowed(where, field, numbers.reshape(-1, *field.shape), ModelError)
    return given if field.is_real else given.long()
