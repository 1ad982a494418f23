"""Logging environments of other people."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oocdm
from oocdm.errors import DataError
from oocdm.schema import ObjectClass, Real, Schema
from oocdm.worlds import record
from tests.worlds.harbours import (
    SCHEMA,
    Harbour,
    ParallelHarbour,
    Tug,
    changed,
    read_harbour,
    read_pull,
)


def log(steps: int = 6, **options: Any) -> oocdm.Dataset:
    return record(
        Harbour(), read_harbour, schema=SCHEMA, steps=steps, read_action=read_pull, **options
    )


def test_objects_come_and_go_with_their_fields() -> None:
    data = log()
    assert len(data) == 6 and data.num_episodes == 2
    assert data.episode.tolist() == [0] * 5 + [1] * 3
    assert data.step.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    names = data.objects_in(0, "Boat")
    swan, bull = (data.present["Boat"][:, names[name]] for name in ("swan", "bull"))
    assert swan[:5].tolist() == [True, True, True, False, False] and bull.all()
    place = data.values["Boat"]["place"][:, names["bull"]]
    speed = data.values["Tug"]["speed"][:, 0]
    assert place[:, 0].tolist() == data.step.tolist()
    assert place[:, 1] == pytest.approx(speed)
    assert data.values["Boat"]["kind"][0, names["bull"]] == 1
    assert data.values["Boat"]["empty"][:5, names["bull"]].tolist() == [0, 0, 1, 1, 1]
    starts = data.starts
    pull = data.values["Tug"]["pull"][starts, 0]
    assert speed[starts + 1] == pytest.approx(speed[starts] + pull, abs=1e-6)
    assert data.objects_in(0, "Tug") == {7: 0}


def test_episodes_end_as_they_did_and_the_last_one_is_cut() -> None:
    data = log()
    assert data.terminated.tolist() == [False] * 3 + [True] + [False] * 4
    assert data.truncated.tolist() == [False] * 6 + [True, False]
    assert data.reward[data.starts].tolist() == [1.5] * 6
    whole = log(steps=4)
    assert whole.terminated.any() and not whole.truncated.any()
    cut = record(Harbour(is_cut=True), read_harbour, schema=SCHEMA, steps=8, read_action=read_pull)
    assert not cut.terminated.any() and cut.truncated.sum() == 2


def test_the_seed_decides() -> None:
    def speeds(seed: int) -> list[float]:
        return np.asarray(log(seed=seed).values["Tug"]["speed"]).ravel().tolist()

    assert speeds(3) == speeds(3) != speeds(4)


def test_a_policy_sees_what_is_observed() -> None:
    seen: list[tuple[Any, float]] = []

    def policy(observation: Any, rng: np.random.Generator) -> Any:
        action = np.array([rng.uniform(-0.5, 0.5)])
        seen.append((observation[0], action[0]))
        return action

    data = log(policy=policy)
    logged = [data.values["Tug"][f][data.starts, 0] for f in ("speed", "pull")]
    assert [list(pair) for pair in seen] == [
        pytest.approx(pair) for pair in zip(*logged, strict=True)
    ]


def test_agents_are_logged_until_the_last_one_is_gone() -> None:
    data = record(
        ParallelHarbour(),
        lambda env: read_harbour(env.harbour),
        schema=SCHEMA,
        steps=8,
        read_action=lambda action: read_pull(sum(action.values()) / 2),
    )
    assert data.num_episodes == 2 and data.terminated.sum() == 2 and not data.truncated.any()
    assert data.reward[data.starts[:4]].tolist() == [3.0, 3.0, 1.5, 1.5]
    speed, pull = (data.values["Tug"][f][:, 0] for f in ("speed", "pull"))
    assert speed[data.starts + 1] == pytest.approx(speed[data.starts] + pull[data.starts], abs=1e-6)


def test_values_may_be_missing() -> None:
    def hide(found: dict[str, Any]) -> None:
        found["Boat"]["bull"]["place"] = None

    data = record(Harbour(), changed(hide), schema=SCHEMA, steps=4, read_action=read_pull)
    bull, swan = (data.objects_in(0, "Boat")[name] for name in ("bull", "swan"))
    assert not data.observed["Boat"]["place"][:, bull].any()
    assert data.observed["Boat"]["place"][:3, swan].all()


def test_a_schema_without_actions_needs_no_function_for_them() -> None:
    class Tide(ObjectClass):
        level = Real()

    schema = Schema(Tide)
    told: list[tuple[int, int]] = []
    data = record(
        Harbour(),
        lambda env: {"Tide": {0: {"level": env.speed}}},
        schema=schema,
        steps=2,
        progress=lambda *counts: told.append(counts),
    )
    assert len(data) == 2 and told == [(1, 2), (2, 2)]
    with pytest.raises(DataError, match="expected no function, since the schema has no actions"):
        record(Harbour(), read_harbour, schema=schema, steps=2, read_action=read_pull)


def test_all_that_is_wrong_is_told_at_once() -> None:
    def spoil(found: dict[str, Any]) -> None:
        found["Boat"]["bull"] = {"place": [1.0], "empty": 2, "colour": "red"}
        found["Tug"] = {7: {"speed": float("nan"), "pull": 0.0}}
        found["Boot"] = {}

    with pytest.raises(DataError) as error:
        record(Harbour(), changed(spoil), schema=SCHEMA, steps=4, read_action=read_pull)
    start = "record: read_objects, episode 0, step 0: "
    assert str(error.value).splitlines() == [
        start + "`Boat['bull']`: expected its states and static fields place, empty, kind, got "
        "`colour`, which the schema does not have.",
        start + "`Boat['bull']`: field `place`: expected a value of shape (2,), got [1.0].",
        start + "`Boat['bull']`: field `empty`: expected a whole number from 0 to 1, got 2. The "
        "schema declares what the field allows.",
        start + "`Boat['bull']`: field `kind` is missing. If its value is unknown, return None.",
        start + "`Tug[7]`: expected its states and static fields speed, got `pull`, an action, "
        "which `read_action` returns.",
        start
        + "`Tug[7]`: field `speed`: expected a finite number, got nan. The schema declares what "
        "the field allows.",
        start + "unknown class `Boot`. Did you mean `Boat`? Known: Boat, Tug.",
    ]


def test_long_lists_of_mistakes_are_cut() -> None:
    def crowd(found: dict[str, Any]) -> None:
        found["Boat"] = {i: {} for i in range(30)}

    with pytest.raises(DataError) as error:
        record(Harbour(), changed(crowd), schema=SCHEMA, steps=4, read_action=read_pull)
    lines = str(error.value).splitlines()
    assert len(lines) == 21 and lines[-1].endswith("... and 70 more")


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ([], "step 0: expected a mapping {class: {object: {field: value}}}, got []."),
        ({"Tug": [{}]}, "class `Tug`: expected a mapping from names of objects to their fields,"),
        ({"Tug": {7: 1.0}}, "`Tug[7]`: expected a mapping from its fields to their values, got"),
        (
            {"Tug": {1.5: {}}},
            "class `Tug`: expected objects named by strings or whole numbers, got",
        ),
    ],
)
def test_other_forms_are_refused(returned: Any, expected: str) -> None:
    with pytest.raises(DataError) as error:
        record(Harbour(), lambda env: returned, schema=SCHEMA, steps=4, read_action=read_pull)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("acts", "expected"),
    [
        ({}, "`Tug[7]`: expected its actions pull, got nothing of it. Return something for each"),
        ({"Tug": {8: {"pull": 0.0}}}, "`Tug[8]`: expected an object that is there at this step"),
        (
            {"Tug": {7: {"pull": 3.0}}},
            "field `pull`: expected a finite number from -1.0 to 1.0, got 3.0",
        ),
        ({"Tug": {7: {"speed": 0.0}}}, "got `speed`, which is a state."),
        ({"Boat": {"bull": {"x": 0.0}}}, "expected its actions (it has none), got `x`, which the"),
    ],
)
def test_wrong_actions_are_told(acts: Any, expected: str) -> None:
    with pytest.raises(DataError) as error:
        record(Harbour(), read_harbour, schema=SCHEMA, steps=4, read_action=lambda action: acts)
    assert str(error.value).startswith("record: read_action, episode 0, step 0: ")
    assert expected in str(error.value)


def test_arguments_are_checked() -> None:
    with pytest.raises(DataError, match=r"`read_action`: the schema has actions, Tug\.pull: exp"):
        record(Harbour(), read_harbour, schema=SCHEMA, steps=4)
    with pytest.raises(DataError, match=r"`schema`: expected .*Write oocdm\.Schema\(\.\.\.\)"):
        record(Harbour(), read_harbour, schema=Tug, steps=4)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="`steps`: expected a whole number of at least 1, got 0"):
        log(steps=0)
    with pytest.raises(DataError, match=r"`env`: expected a gymnasium\.Env or a parallel env"):
        record(object(), read_harbour, schema=SCHEMA, steps=4, read_action=read_pull)
