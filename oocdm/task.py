"""What an agent is asked to do: reward, termination, and which fields they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

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

    def check(self, schema: Schema) -> None:
        """Raise a `SchemaError` if `reads` names something the schema does not have."""
        for name in self.reads:
            class_name, _, field_name = name.partition(".")
            schema.field(class_name, field_name)
