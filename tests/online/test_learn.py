"""`learn_online`: an ordinary fit in the end, the same bits after any interruption."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oocdm
from oocdm import DataError, ModelError, OnlineProgress, PlanError, learn_online
from oocdm.online import OnlineResult
from tests.online.toys import CALL, METHOD, PLANNER, QUICK, Carts, NoTask, assert_same_data
from tests.training.toys import Interrupt, assert_same


def timeless(result: OnlineResult) -> dict[str, Any]:
    rounds = [{**asdict(row), "seconds": 0} for row in result.history.rounds]
    return {"parts": list(map(asdict, result.history.parts)), "rounds": rounds}


def assert_same_learned(one: OnlineResult, other: OnlineResult) -> None:
    assert_same(one.result, other.result)
    assert_same_data(one.data, other.data)
    assert timeless(one) == timeless(other)


@pytest.fixture(scope="module")
def learned() -> OnlineResult:
    """Without a folder; not to be changed."""
    return learn_online(Carts(), **CALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished folder; not to be changed."""
    path = tmp_path_factory.mktemp("online") / "carts"
    learn_online(Carts(), folder=path, **CALL)
    return path


def test_history_tells_what_happened(learned: OnlineResult) -> None:
    parts, rounds = learned.history.parts, learned.history.rounds
    assert [(p.round, p.transitions) for p in parts] == [
        *((1, 12), (1, 24), (2, 36), (2, 48), (3, 72), (3, 96)),
    ]
    assert [(r.round, r.transitions, r.kept) for r in rounds] == [
        (1, 24, 24),
        (2, 48, 48),
        (3, 96, 96),
    ]
    assert parts[0].aill is None and parts[1].aill is None
    assert all(part.aill is not None and np.isfinite(part.aill) for part in parts[2:])
    assert all(part.reward < 0 for part in parts)  # the task's, which is not the world's
    assert set(rounds[-1].edges) == set(map(str, learned.result.graph.edges()))
    edges: set[str] = set()
    for row in rounds:
        edges = edges - set(row.removed) | set(row.added)
        assert edges == set(row.edges)


def test_it_ends_with_what_fit_learns_from_the_same_data(learned: OnlineResult) -> None:
    assert len(learned.data) == 96
    assert_same(learned.result, oocdm.fit(learned.data, METHOD, seed=3))
    agent = oocdm.MPC(learned.result, Carts.task, PLANNER)
    assert len(oocdm.run_episodes(Carts(), agent, episodes=2, max_steps=2).returns) == 2


def test_a_folder_changes_nothing_and_can_be_asked_again(
    learned: OnlineResult, folder: Path
) -> None:
    again = learn_online(Carts(), folder=folder, **CALL)
    assert_same_learned(learned, again)
    assert_same(learned.result, oocdm.load(folder / "final"))
    assert json.loads((folder / "history.json").read_text()) == again.history.to_json()
    found = [len(oocdm.load_dataset(each)) for each in sorted((folder / "data").iterdir())]
    assert found == [12, 12, 12, 12, 24, 24]
    assert sorted(each.name for each in (folder / "runs").iterdir()) == ["1", "2"]


class StopIn:
    """Interrupts when it is first told of collecting, or of a fit, in a round."""

    def __init__(self, round: int, is_fitting: bool) -> None:
        self.when = round, is_fitting

    def __call__(self, progress: OnlineProgress) -> None:
        if (progress.round, progress.fit is not None) == self.when:
            raise Interrupt


def test_it_goes_on_to_the_same_bits(learned: OnlineResult, tmp_path: Path) -> None:
    seen: list[OnlineProgress] = []
    path, moments = tmp_path / "carts", [(1, False), (1, True), (2, False), (3, True)]
    for moment in moments:
        with pytest.raises(Interrupt):
            learn_online(Carts(), folder=path, callback=StopIn(*moment), **CALL)
    with pytest.raises(ModelError, match="It holds online learning"):
        oocdm.load(path)
    again = learn_online(Carts(), folder=path, callback=seen.append, **CALL)
    assert_same_learned(learned, again)
    assert seen[-1].collected == seen[-1].steps == 96
    assert {p.round for p in seen} == {1, 2, 3} and any(p.fit is not None for p in seen)


def test_other_calls_do_not_go_on(folder: Path) -> None:
    with pytest.raises(ModelError, match="was begun otherwise: `seed` was 3 and is 4"):
        learn_online(Carts(), folder=folder, **{**CALL, "seed": 4})
    with pytest.raises(ModelError, match=r"`planner\.horizon` was 2 and is 3"):
        learn_online(Carts(), folder=folder, **{**CALL, "planner": replace(PLANNER, horizon=3)})
    with pytest.raises(ModelError, match="expected a new folder"):
        learn_online(Carts(), folder=folder / "data", **CALL)


def test_a_buffer_forgets_the_oldest() -> None:
    learned = learn_online(Carts(), **{**CALL, "steps": 72}, buffer=30)
    assert [(r.transitions, r.kept <= 30) for r in learned.history.rounds] == [
        (24, True),
        (48, True),
        (72, True),
    ]
    assert len(learned.data) == learned.history.rounds[-1].kept


# ---------------------------------------------------------------- a policy of one's own

POLICY: dict[str, Any] = {n: v for n, v in CALL.items() if n != "planner"} | {"steps": 48}


def stay(state: Any, rng: np.random.Generator) -> Any:
    return {"Cart": {"push": np.zeros(state.present["Cart"].shape)}}


def test_a_policy_acts_after_the_first_round() -> None:
    learned = learn_online(NoTask(), policy=stay, explore=0.0, **POLICY)
    push = learned.data.transitions().before["Cart.push"]
    assert (push[:24] != 0).all() and (push[24:] == 0).all()
    assert learned.history.parts[0].reward == 7  # without a task it is the world's


@pytest.mark.parametrize(
    ("push", "words"),
    [
        (np.zeros(3), r"an array of shape \(\d, 2\) \(world, object, ...\), got shape \(3,\)"),
        (np.nan, "a finite number from -1.0 to 1.0, got nan"),
        (2.0, "a finite number from -1.0 to 1.0, got 2.0"),
    ],
)
def test_a_broken_policy_loses_nothing(tmp_path: Path, push: Any, words: str) -> None:
    def broken(state: Any, rng: np.random.Generator) -> Any:
        there = state.present["Cart"].shape
        return {"Cart": {"push": push if np.ndim(push) else np.full(there, push)}}

    with pytest.raises(DataError, match=rf"the policy's actions for `Cart.push`: expected {words}"):
        learn_online(Carts(), policy=broken, folder=tmp_path, **POLICY)
    assert sorted(each.name for each in (tmp_path / "data").iterdir()) == ["1-1", "1-2"]
    assert (tmp_path / "runs" / "1" / "manifest.json").is_file()
    with pytest.raises(DataError, match=f"is in {tmp_path}: give the same call again to go on"):
        learn_online(Carts(), policy=broken, folder=tmp_path, **POLICY)
    if np.ndim(push):
        mended = learn_online(Carts(), policy=stay, folder=tmp_path, **POLICY)
        assert_same_learned(mended, learn_online(Carts(), policy=stay, **POLICY))


def test_between_is_the_schedule_of_all_fits_but_the_last(tmp_path: Path) -> None:
    between = replace(QUICK, polish_steps=1)
    learn_online(Carts(), policy=stay, between=between, folder=tmp_path, **POLICY)
    assert oocdm.load(tmp_path / "runs" / "1").method.schedule == between
    assert oocdm.load(tmp_path / "final").method.schedule == QUICK


def test_wrong_calls() -> None:
    with pytest.raises(PlanError, match="expected `policy` or `planner`, got both"):
        learn_online(Carts(), policy=stay, **CALL)
    with pytest.raises(PlanError, match="NoTask has no task to plan for"):
        learn_online(NoTask(), **CALL)
    with pytest.raises(ModelError, match=r"`task`: expected a Task .* or None, got 7\. Make one"):
        learn_online(Carts(), 7, **CALL)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match=r"`planner`: expected a planner such as .*, got 'cem'"):
        learn_online(Carts(), **{**CALL, "planner": "cem"})
    with pytest.raises(ModelError, match=r"expected an environment from oocdm\.make"):
        learn_online("mouse", **CALL)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"`explore`: expected a number from 0 to 1, got 1\.5"):
        learn_online(Carts(), explore=1.5, **CALL)
