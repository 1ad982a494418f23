"""Tasks: what they read, and how they are called."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest
import torch

from oocdm import Boolean, ObjectClass, PlanError, Real, Schema, SchemaError, Snapshot, Task


class Mouse(ObjectClass):
    hunger = Real()
    alive = Boolean()
    move = Real(action=True)


SCHEMA = Schema(Mouse)


def task(*reads: str) -> Task:
    return Task(
        reward=lambda before, after: (after["Mouse", "hunger"] - before["Mouse", "hunger"]).sum(1),
        terminated=lambda after: after["Mouse", "hunger"].amax(1) > 9,
        reads=list(reads),
    )


def test_what_a_task_reads_is_kept_as_a_tuple() -> None:
    assert task("Mouse.hunger", "Mouse.alive").reads == ("Mouse.hunger", "Mouse.alive")


def test_a_task_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        task().reads = ("Mouse.alive",)  # type: ignore[misc]


def test_the_callables_take_batches_and_give_one_value_a_row() -> None:
    before, after = (
        Snapshot.of(SCHEMA, {"Mouse": {"hunger": hunger, "alive": torch.ones(2, 3).long()}})
        for hunger in (torch.zeros(2, 3), torch.tensor([[1.0, 2, 3], [4, 5, 10]]))
    )
    chosen = task("Mouse.hunger")
    assert chosen.reward(before, after).tolist() == [6.0, 19.0]
    assert chosen.terminated(after).tolist() == [False, True]


def test_what_is_read_must_be_named() -> None:
    values = {"hunger": torch.zeros(2, 3), "alive": torch.ones(2, 3).long()}
    batch = Snapshot.of(SCHEMA, {"Mouse": values})
    task("Mouse.hunger", "Mouse.alive").check_reads(batch, batch)  # more than needed is fine
    message = (
        "Task: reward or termination read Mouse.hunger, which `reads` does not name; it has "
        "Mouse.alive. Add what is missing."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        task("Mouse.alive").check_reads(batch, batch)


def batch() -> Snapshot:
    return Snapshot.of(
        SCHEMA, {"Mouse": {"hunger": torch.zeros(2, 3), "alive": torch.ones(2, 3).long()}}
    )


@pytest.mark.parametrize(
    ("reward", "read"),
    [
        (lambda before, after: after.values["Mouse"]["hunger"].sum(1), "Mouse.hunger"),
        (lambda before, after: after.values["Mouse"].get("hunger").sum(1), "Mouse.hunger"),
        (
            lambda before, after: sum(v.sum(1) for v in after.values["Mouse"].values()),
            "Mouse.alive, Mouse.hunger",
        ),
    ],
)
def test_values_that_are_not_indexed_are_seen_too(reward: Any, read: str) -> None:
    def never(after: Any) -> Any:
        return torch.zeros(after.batch_size, dtype=torch.bool)

    with pytest.raises(PlanError, match=f"^Task: reward or termination read {re.escape(read)}, "):
        Task(reward, never, []).check_reads(batch(), batch())
    Task(reward, never, ["Mouse.hunger", "Mouse.alive"]).check_reads(batch(), batch())


@pytest.mark.parametrize("key", ["Mouse.hunger", ("Mouse", "hunger")])
def test_a_field_has_the_same_name_in_batches_and_in_reads(key: Any) -> None:
    def reward(before: Any, after: Any) -> Any:
        return after[key].sum(1)

    Task(reward, reads="Mouse.hunger").check_reads(batch(), batch())
    with pytest.raises(PlanError, match=r"read Mouse\.hunger, which `reads` does not name"):
        Task(reward, reads="Mouse.alive").check_reads(batch(), batch())


def test_what_cannot_be_seen_is_refused() -> None:
    chosen = Task(
        lambda before, after: after.map(torch.clone)["Mouse", "hunger"].sum(1),
        lambda after: after["Mouse", "alive"].all(1),
        ["Mouse.alive"],
    )
    message = (
        'Task: expected reward and termination to look at batch["Class.field"], or at schema, '
        "present, observed, batch_size, counts, device, is_all_known, got `map`, of which nobody "
        'knows what it reads. Index what is needed, as in after["Mouse.hunger"].'
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        chosen.check_reads(batch(), batch())


def test_what_is_no_value_may_be_looked_at() -> None:
    def reward(before: Any, after: Any) -> Any:
        assert after.schema is SCHEMA and after.counts == {"Mouse": 3}
        shown = after.present["Mouse"] & after.observed["Mouse"]["hunger"]
        return shown.sum(1) + torch.zeros(after.batch_size)

    Task(reward, lambda after: after.present["Mouse"].any(1), []).check_reads(batch(), batch())


def test_a_single_field_may_be_named_as_it_is() -> None:
    chosen = Task(lambda before, after: None, lambda after: None, "Mouse.hunger")
    assert chosen.reads == ("Mouse.hunger",)
    chosen.check(SCHEMA)


def test_check_accepts_state_and_action_fields() -> None:
    task("Mouse.hunger", "Mouse.move").check(SCHEMA)
    task().check(SCHEMA)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Mose.hunger", "Unknown class `Mose`. Did you mean `Mouse`? Known: Mouse."),
        (
            "Mouse.hungry",
            "Unknown field `Mouse.hungry`. Did you mean `hunger`? Known: hunger, alive, move.",
        ),
        (
            "Mouse",
            "Field name: expected `Class.field`, such as `Mouse.hunger`, got 'Mouse'. Did you mean "
            "`Mouse.move`? Known: Mouse.hunger, Mouse.alive, Mouse.move.",
        ),
    ],
)
def test_check_names_what_the_schema_does_not_have(name: str, message: str) -> None:
    with pytest.raises(SchemaError, match=f"^{re.escape(message)}$"):
        task("Mouse.hunger", name).check(SCHEMA)


# ---------------------------------------------------------------- absent objects


def some_absent(hunger: float = 5.0) -> Snapshot:
    """Two worlds, the second of which lacks the last of three mice."""
    here = torch.tensor([[True, True, True], [True, True, False]])
    values = {"hunger": hunger * here, "alive": here.long(), "move": 1.0 * here}
    return Snapshot.of(SCHEMA, {"Mouse": values}, {"Mouse": here})


def told(task: Task, caplog: pytest.LogCaptureFixture) -> list[str]:
    task.check_absent(some_absent(), some_absent())
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("reward", "terminated"),
    [
        (
            lambda b, a: (
                (a["Mouse", "hunger"] * a.present["Mouse"]).sum(1) / a.present["Mouse"].sum(1)
            ),
            lambda a: ((a["Mouse", "hunger"] < 0.1) & a.present["Mouse"]).any(1),
        ),
        (
            lambda b, a: a["Mouse", "hunger"].where(a.present["Mouse"], torch.inf).amin(1),
            lambda a: (a["Mouse", "alive"].bool() | ~a.present["Mouse"]).all(1),
        ),
        (
            lambda b, a: a["Mouse", "hunger"][:, 0] - b["Mouse", "hunger"][:, 1],
            lambda a: a["Mouse", "alive"][:, 0] == 0,
        ),
        # Rows of zeros do not matter to a sum.
        (lambda b, a: a["Mouse", "hunger"].sum(1), lambda a: (a["Mouse", "hunger"] > 9).any(1)),
        (lambda b, a: a["Mouse", "hunger"][:, 2], lambda a: (a["Mouse", "hunger"] > 9).any(1)),
        # Of what is no value a row others tell.
        (lambda b, a: a["Mouse", "hunger"], lambda a: False),
    ],
)
def test_tasks_that_mask_are_fine(
    reward: Any, terminated: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert told(Task(reward, terminated), caplog) == []


@pytest.mark.parametrize(
    ("task", "who"),
    [
        (Task(lambda b, a: a["Mouse", "hunger"].mean(1), reads="Mouse.hunger"), "reward counts"),
        (
            Task(
                lambda b, a: a["Mouse", "hunger"].sum(1), lambda a: (a["Mouse", "alive"] < 1).any(1)
            ),
            "termination counts",
        ),
        (
            Task(
                lambda b, a: -b["Mouse", "move"].square().mean(1),
                lambda a: (a["Mouse", "hunger"] < 0.1).any(1),
            ),
            "reward and termination count",
        ),
    ],
)
def test_tasks_that_count_absent_objects_are_told_of(
    task: Task, who: str, caplog: pytest.LogCaptureFixture
) -> None:
    (message,) = told(task, caplog)
    assert message.startswith(f"Task: {who} rows that are no objects: worlds with fewer objects of")
    assert '(after["Mouse.hunger"] * after.present["Mouse"]).sum(1)' in message
    assert told(task, caplog) == [message]  # once


def test_a_state_in_which_they_happen_not_to_count_does_not_settle_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """That some mouse is hungry hides that an absent one would count as such."""
    chosen = Task(
        lambda b, a: b["Mouse", "hunger"][:, 0], lambda a: (a["Mouse", "hunger"] < 1).any(1)
    )
    hungry = some_absent(hunger=0.5)
    chosen.check_absent(hungry, hungry)
    assert not caplog.records
    assert len(told(chosen, caplog)) == 1


def test_it_is_not_tried_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[int] = []
    chosen = Task(lambda b, a: calls.append(1) or a["Mouse", "hunger"][:, 0])
    for _ in range(20):
        chosen.check_absent(some_absent(), some_absent())
    assert len(calls) == 5 * 2


def test_nothing_is_tried_where_all_are_present(caplog: pytest.LogCaptureFixture) -> None:
    calls = []
    chosen = Task(lambda b, a: calls.append(1) or a["Mouse", "hunger"].mean(1))
    chosen.check_absent(batch(), batch())
    assert not calls and told(chosen, caplog) != []  # but later, when some are absent


# ---------------------------------------------------------------- ends, and what is no function


def test_a_task_need_not_end() -> None:
    endless = Task(lambda before, after: after["Mouse", "hunger"].sum(1), reads="Mouse.hunger")
    ended = endless.terminated(batch())
    assert ended.dtype == torch.bool and ended.tolist() == [False, False]
    endless.check_reads(batch(), batch())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (1.0,),
            "Task: `reward`: expected a function of (before, after), got float. Give one, such as "
            "lambda before, after: ..., and the fields that it looks at as reads=[...].",
        ),
        (
            (lambda before, after: after, ["Mouse.hunger"]),
            "Task: `terminated`: expected a function of (after), got list. Give one, such as "
            "lambda after: ..., and the fields that it looks at as reads=[...].",
        ),
    ],
)
def test_functions_are_functions(arguments: Any, message: str) -> None:
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        Task(*arguments)


def test_a_task_written_for_many_rows_is_not_refused(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever happens without the rows that are no objects, with them it works."""
    chosen = Task(
        reward=lambda before, after: functools.reduce(
            torch.minimum, after["Mouse", "hunger"].unbind(1)
        ),
        reads=["Mouse.hunger"],
    )
    values = {"hunger": torch.zeros(1, 2), "alive": torch.ones(1, 2).long()}
    nobody = Snapshot.of(SCHEMA, {"Mouse": values}, {"Mouse": torch.zeros(1, 2, dtype=torch.bool)})
    chosen.check_absent(nobody, nobody)
    assert caplog.text == ""
