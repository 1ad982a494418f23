"""What an agent is asked to do: reward, termination, and which fields they read."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from oocdm.errors import PlanError
from oocdm.reading import read
from oocdm.schema import FieldKey, Schema

logger = logging.getLogger(__name__)

LOOKS = 5  # states with absent objects that are tried: in a single one they may happen not to count

# Both take batches that are indexed as batch["Mouse.hunger"] and return one value a row.
Reward = Callable[[Any, Any], Any]
Termination = Callable[[Any], Any]


def never(after: Any) -> Any:
    """The termination of tasks that do not end."""
    return torch.zeros(after.batch_size, dtype=torch.bool, device=after.device)


@dataclass(frozen=True)
class Task:
    """Reward and termination of a task as functions of batches of objects.

    `reward(state_and_action, next_state)` gives one number a row, `terminated(next_state)`
    one boolean a row, and without it the task never ends; `reads` names the fields they look at,
    as `Class.field`; a single one may be given as it is. Batches are indexed by the same names.
    Worlds with fewer objects than others have rows of zeros that are no objects: `present` of a
    batch tells which are.

    >>> task = Task(
    ...     reward=lambda before, after: (after["Ball.x"] * after.present["Ball"]).sum(1),
    ...     terminated=lambda after: ((after["Ball.x"] > 9) & after.present["Ball"]).any(1),
    ...     reads=["Ball.x"],
    ... )
    >>> task.reads
    ('Ball.x',)
    """

    reward: Reward
    terminated: Termination = never
    reads: Sequence[str] = ()
    # How often was looked whether the absent objects of a class count.
    _looks: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, arguments in (("reward", "before, after"), ("terminated", "after")):
            if not callable(getattr(self, name)):
                raise PlanError(
                    f"Task: `{name}`: expected a function of ({arguments}), got "
                    f"{type(getattr(self, name)).__name__}. Give one, such as "
                    f"lambda {arguments}: ..., and the fields that it looks at as reads=[...]."
                )
        given = [self.reads] if isinstance(self.reads, str) else self.reads
        reads = read(tuple[str, ...], given, "Task: `reads`", PlanError)
        object.__setattr__(self, "reads", reads)

    def check_reads(self, before: Any, after: Any) -> None:
        """Raise a `PlanError` if reward or termination look at a field that `reads` lacks.

        They are called once with these batches. What a planner leaves out of a simulation, since
        nobody reads it, must not be read.
        """
        seen = _Recorder(before), _Recorder(after)
        self.reward(*seen)
        self.terminated(seen[1])
        self._check_seen(seen)

    def watched_reward(self, before: Any, after: Any) -> Any:
        """The reward, or a `PlanError` if it looked at a field that `reads` lacks."""
        seen = _Recorder(before), _Recorder(after)
        reward = self.reward(*seen)
        self._check_seen(seen)
        return reward

    def watched_end(self, after: Any) -> Any:
        """The termination, or a `PlanError` if it looked at a field that `reads` lacks."""
        seen = _Recorder(after)
        ended = self.terminated(seen)
        self._check_seen([seen])
        return ended

    def _check_seen(self, batches: Sequence[_Recorder]) -> None:
        missing = sorted(set().union(*(batch.names for batch in batches)) - set(self.reads))
        if missing:
            raise PlanError(
                f"Task: reward or termination read {', '.join(missing)}, which `reads` does not "
                f"name; it has {', '.join(self.reads) or 'nothing'}. Add what is missing."
            )

    def check_absent(self, before: Any, after: Any) -> None:
        """Log a warning if reward or termination count rows that are no objects.

        Such rows hold 0, which a mean or a minimum counts. Both functions are called again for a
        world without its rows of a class that are no objects. That is done for the first few
        states that have any, and there is one warning a class.
        """
        for c, present in before.present.items():
            if self._looks[c] == LOOKS or bool(present.all()):
                continue
            there = present | after.present[c]
            if bool(there.all()):
                continue
            self._looks[c] += 1
            world = int((~there.all(1)).int().argmax())
            if who := self._counting(_row(before, world), _row(after, world), c, there[world]):
                self._looks[c] = LOOKS
                _warn(before.schema, c, who, self.reads)

    def _counting(self, before: Any, after: Any, c: str, there: torch.Tensor) -> list[str]:
        """Which functions give something else for a world without rows that are no objects."""
        less_before, less_after = (_only(each, c, there) for each in (before, after))
        try:
            found = {
                "reward": (self.reward(before, after), self.reward(less_before, less_after)),
                "termination": (self.terminated(after), self.terminated(less_after)),
            }
        except Exception:
            return []  # it is written for so many rows; what else is wrong with it, its use tells
        return [name for name, (one, other) in found.items() if _differ(one, other)]

    def check(self, schema: Schema) -> None:
        """Raise a `SchemaError` if `reads` names something the schema does not have."""
        for name in self.reads:
            schema.split(name)


# What may be asked of a batch beside its values.
_OPEN = ("schema", "present", "observed", "batch_size", "counts", "device", "is_all_known")


class _Recorder:
    """A batch that remembers which fields were looked at."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.names: set[str] = set()

    def __getitem__(self, key: FieldKey) -> Any:
        self.names.add(".".join(self._batch.schema.split(key)))
        return self._batch[key]

    @property
    def values(self) -> Mapping[str, Mapping[str, Any]]:
        return {c: _RecordedFields(self, c, fields) for c, fields in self._batch.values.items()}

    def __getattr__(self, name: str) -> Any:
        if name not in _OPEN:
            raise PlanError(
                f'Task: expected reward and termination to look at batch["Class.field"], or at '
                f"{', '.join(_OPEN)}, got `{name}`, of which nobody knows what it reads. Index "
                f"what is needed, as in {example(self._batch.schema)}."
            )
        return getattr(self._batch, name)


class _RecordedFields(Mapping[str, Any]):
    """The fields of one class of a recorder's batch; what is taken is recorded."""

    def __init__(self, recorder: _Recorder, class_name: str, fields: Mapping[str, Any]) -> None:
        self._recorder, self._class_name, self._fields = recorder, class_name, fields

    def __getitem__(self, name: str) -> Any:
        self._recorder.names.add(f"{self._class_name}.{name}")
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)


def example(schema: Schema, reads: Sequence[str] = ()) -> str:
    """How a task looks at a field of a schema, one of those that it reads if there are any.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Car(ObjectClass):
    ...     place = Real(shape=(2,))
    ...     v = Real()
    >>> example(Schema(Car))
    'after["Car.v"]'
    """
    fields = {f"{c}.{f}": field for c in schema.classes for f, field in schema.fields(c).items()}
    names = sorted(fields, key=lambda name: name not in reads)  # those that are read come first
    states = [name for name in names if not fields[name].action]
    plain = [name for name in states if fields[name].shape == ()]
    return f'after["{(plain or states)[0]}"]'


def _row(batch: Any, world: int) -> Any:
    return batch.map(lambda tensor: tensor[world : world + 1])


def _only(batch: Any, c: str, there: torch.Tensor) -> Any:
    """A batch with only some of the rows of a class."""
    values, observed = (
        {**fields, c: {f: tensor[:, there] for f, tensor in fields[c].items()}}
        for fields in (batch.values, batch.observed)
    )
    present = {**batch.present, c: batch.present[c][:, there]}
    return replace(batch, values=values, present=present, observed=observed)


def _differ(one: Any, other: Any) -> bool:
    """Whether two answers are not the same; of what is no answer others tell."""
    if not all(isinstance(each, torch.Tensor) and each.shape == (1,) for each in (one, other)):
        return False
    return not torch.allclose(one.double(), other.double(), rtol=1e-4, equal_nan=True)


def _warn(schema: Schema, c: str, who: list[str], reads: Sequence[str]) -> None:
    """Say which functions count rows of a class that are no objects, and how they would not."""
    own = [f for f in schema.fields(c) if f"{c}.{f}" in reads] or list(schema.fields(c))
    batch = "before" if schema.field(c, own[0]).action else "after"
    value, mask = f'{batch}["{c}.{own[0]}"]', f'{batch}.present["{c}"]'
    logger.warning(
        "Task: %s count%s rows that are no objects: worlds with fewer objects of class `%s` are "
        "filled up with zeros. Let only objects count, as in (%s * %s).sum(1) or "
        "((%s > 1) & %s).any(1).",
        *(" and ".join(who), "" if len(who) > 1 else "s", c, value, mask, value, mask),
    )
