"""What an agent is asked to do: reward, termination, and which fields they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oocdm.errors import PlanError
from oocdm.schema import Schema

# Both take batches that are indexed as batch["Mouse", "hunger"] and return one value a row.
Reward = Callable[[Any, Any], Any]
Termination = Callable[[Any], Any]


@dataclass(frozen=True)
class Task:
    """Reward and termination of a task as functions of batches of objects.

    `reward(state_and_action, next_state)` gives one number a row, `terminated(next_state)`
    one boolean a row; `reads` names the fields they look at, as `Class.field`; a single one may
    be given as it is.

    >>> task = Task(
    ...     reward=lambda before, after: after["Ball", "x"].sum(1),
    ...     terminated=lambda after: after["Ball", "x"].amax(1) > 9,
    ...     reads=["Ball.x"],
    ... )
    >>> task.reads
    ('Ball.x',)
    """

    reward: Reward
    terminated: Termination
    reads: Sequence[str]

    def __post_init__(self) -> None:
        reads = (self.reads,) if isinstance(self.reads, str) else tuple(self.reads)
        object.__setattr__(self, "reads", reads)

    def check_reads(self, before: Any, after: Any) -> None:
        """Raise a `PlanError` if reward or termination look at a field that `reads` lacks.

        They are called once with these batches. What a planner leaves out of a simulation, since
        nobody reads it, must not be read.
        """
        seen = _Recorder(before), _Recorder(after)
        self.reward(*seen)
        self.terminated(seen[1])
        missing = sorted((seen[0].names | seen[1].names) - set(self.reads))
        if missing:
            raise PlanError(
                f"Task: reward or termination read {', '.join(missing)}, which `reads` does not "
                f"name; it has {', '.join(self.reads) or 'nothing'}. Add what is missing."
            )

    def check(self, schema: Schema) -> None:
        """Raise a `SchemaError` if `reads` names something the schema does not have."""
        for name in self.reads:
            class_name, _, field_name = name.partition(".")
            schema.field(class_name, field_name)


# What may be asked of a batch beside its values.
_OPEN = ("schema", "present", "observed", "batch_size", "counts", "device", "is_all_known")


class _Recorder:
    """A batch that remembers which fields were looked at."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.names: set[str] = set()

    def __getitem__(self, key: tuple[str, str]) -> Any:
        self.names.add(".".join(key))
        return self._batch[key]

    @property
    def values(self) -> Mapping[str, Mapping[str, Any]]:
        return {c: _RecordedFields(self, c, fields) for c, fields in self._batch.values.items()}

    def __getattr__(self, name: str) -> Any:
        if name not in _OPEN:
            raise PlanError(
                f"Task: expected reward and termination to look at batch[class, field], or at "
                f"{', '.join(_OPEN)}, got `{name}`, of which nobody knows what it reads. Index "
                "what is needed, as in after['Mouse', 'health']."
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
