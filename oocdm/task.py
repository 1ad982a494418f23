"""What an agent is asked to do: reward, termination, and which fields they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    one boolean a row; `reads` names the fields they look at, as `Class.field`.

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
        object.__setattr__(self, "reads", tuple(self.reads))

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


class _Recorder:
    """A batch that remembers which fields were looked at."""

    def __init__(self, batch: Any) -> None:
        self._batch = batch
        self.names: set[str] = set()

    def __getitem__(self, key: tuple[str, str]) -> Any:
        self.names.add(".".join(key))
        return self._batch[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)
