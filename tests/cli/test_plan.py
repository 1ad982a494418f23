"""`oocdm plan` acts with a run, tells what it earned, and draws the first episode."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner, Result

import oocdm as package
from oocdm.cli import app
from oocdm.cli.planner_options import PlannerOptions
from oocdm.envs.mouse_picture import draw_mouse_world
from oocdm.planning import RandomAgent, TrueSimulator

Oocdm = Callable[..., Result]
Answer = Callable[..., dict[str, Any]]
Error = Callable[..., str]

CHEAP = (
    *("--horizon", "3", "--samples", "10", "--iterations", "2", "--elites", "4"),
    *("--episodes", "2", "--steps", "4"),
)


@pytest.fixture(scope="session")
def learned(
    mouse: Path, quick: list[str], oocdm: Oocdm, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A run on Mouse that learned next to nothing; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "mouse"
    oocdm("train", mouse, "-o", folder, *quick)
    return folder


def test_it_does_what_the_library_does(learned: Path, answer: Answer) -> None:
    told = answer("plan", learned, "--env", "mouse", *CHEAP, "--seed", "3", "--ood")
    env = package.make("mouse", ood=True)
    planner = package.CEM(horizon=3, samples=10, iterations=2, elites=4)
    assert env.task is not None
    agent = package.MPC(package.load(learned), env.task, planner, seed=3)
    found = package.run_episodes(env.world, agent, episodes=2, seed=3, max_steps=4)
    expected = found.to_json() | {"ms_a_step": told["ms_a_step"]}
    assert {name: told[name] for name in expected} == expected
    assert told["ms_a_step"] > 0 and told["seconds"] > 0
    assert {name: told[name] for name in ("run", "env", "options", "seed", "episodes")} == {
        "run": str(learned),
        "env": "mouse",
        "options": {"ood": True},
        "seed": 3,
        "episodes": 2,
    }
    assert told["planner"] == {
        "name": "cem",
        "horizon": 3,
        "iterations": 2,
        "samples": 10,
        "futures": 1,
        "discount": 0.95,
        "stop_at_termination": True,
        "refresh": 0.5,
        "elites": 4,
        "smoothing": 0.0,
    }
    assert (told["warm_start"], told["max_steps"]) == (True, 4)
    assert (told["compared"], told["picture"]) == ({}, None)


def test_floor_and_ceiling(learned: Path, oocdm: Oocdm, answer: Answer) -> None:
    words = ("plan", learned, "--env", "mouse", *CHEAP, "--compare")
    told = answer(*words)["compared"]
    world = package.make("mouse").world
    planner = package.CEM(horizon=3, samples=10, iterations=2, elites=4)
    for name, agent in {
        "random policy": RandomAgent(world),
        "true dynamics": package.MPC.within(TrueSimulator(world), planner),
    }.items():
        expected = package.run_episodes(world, agent, episodes=2, max_steps=4)
        assert told[name]["returns"] == expected.returns.tolist()
    result = oocdm(*words)
    assert result.stderr == ""
    head, _, *rows = result.stdout.rstrip().splitlines()
    assert head.split("  ")[0].strip() == "acting with"
    for row, name in zip(rows, ("learned model", "random policy", "true dynamics"), strict=True):
        assert row.strip().startswith(name)
        assert " ± " in row and "4 (4 to 4)" in row


def test_the_paper_s_algorithm(learned: Path, answer: Answer) -> None:
    told = answer("plan", learned, "--env", "mouse", *CHEAP, "--paper")
    assert told["warm_start"] is False
    assert told["planner"]["stop_at_termination"] is False


def test_numbers_of_objects_may_differ_from_those_learned(learned: Path, answer: Answer) -> None:
    told = answer("plan", learned, "--env", "mouse", *CHEAP, "--num-food", "0-6")
    assert told["options"] == {"num_food": [0, 6]}
    assert len(told["returns"]) == 2


@pytest.mark.parametrize("name", ["cem", "icem", "mppi"])
def test_planners_have_their_own_defaults(name: str) -> None:
    defaults = {"cem": package.CEM(), "icem": package.ICEM(), "mppi": package.MPPI()}
    assert PlannerOptions(planner=name).make() == defaults[name]


def test_the_first_episode_is_drawn(
    learned: Path, oocdm: Oocdm, answer: Answer, tmp_path: Path
) -> None:
    words = ("plan", learned, "--env", "mouse", *CHEAP, "--render", tmp_path / "episode.gif")
    said = oocdm(*words).stdout
    assert said.endswith(f"\nThe first episode is drawn in {tmp_path / 'episode.gif'}\n")
    with Image.open(tmp_path / "episode.gif") as found:
        frames = []
        for i in range(found.n_frames):
            found.seek(i)
            frames.append(np.asarray(found.convert("RGB")))
    assert len(frames) == 5  # the start, and four steps
    start = package.make("mouse").world.reset(2, np.random.default_rng(0))
    expected = draw_mouse_world(start)
    boards = [frame[: len(expected)].astype(int) for frame in frames]
    assert np.abs(boards[0] - expected).max() < 40  # a GIF has fewer colours
    assert np.abs(boards[0] - expected).mean() < 1
    assert all((before != after).any() for before, after in pairwise(boards))
    assert answer(*words)["picture"] == str(tmp_path / "episode.gif")
    assert [path.name for path in tmp_path.iterdir()] == ["episode.gif"]


# ---------------------------------------------------------------- mistakes


MISTAKES: dict[str, tuple[list[str], str]] = {
    "planner": (
        ["--planner", "cme"],
        "Unknown planner `cme`. Did you mean `cem`? Known: cem, icem, mppi.",
    ),
    "paper": (
        ["--planner", "icem", "--paper"],
        "Option --paper: expected the planner cem, which is the paper's, got icem. Leave out one "
        "of the two.",
    ),
    "elites": (
        ["--samples", "10", "--elites", "11"],
        "CEM: `elites`: expected at most `samples`, 10, got 11. They are the best of the samples: "
        "lower `elites` or raise `samples`.",
    ),
    "no elites": (
        ["--planner", "mppi", "--elites", "5"],
        "Option --elites: expected none, since mppi learns from all sequences, got 5. Leave it "
        "out, or choose cem or icem.",
    ),
    "no memory": (
        ["--memory", "much"],
        "MPC: `memory`: expected a number of bytes, or words such as '4GiB', got 'much'.",
    ),
    "too little memory": (
        ["--memory", "50MiB"],
        "plan: `memory`: expected at least 108 MiB, got 50 MiB. plan: about 108 MiB of memory: seq",
    ),
    "option": (
        ["--num-blocks", "2"],
        "Environment `mouse` has no option `num_blocks`.",
    ),
    "suffix": (
        ["--render", "episode.png"],
        "`episode.png`: expected a file name that ends in .gif.",
    ),
    "folder": (
        ["--render", "nowhere/episode.gif"],
        "`nowhere/episode.gif`: expected a folder that exists, got `nowhere`. Create it first.",
    ),
}


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(options: list[str], message: str, learned: Path, error: Error) -> None:
    said = error("plan", learned, "--env", "mouse", *options)
    assert said.startswith(f"Error: {message}")


def test_an_environment_that_the_run_has_not_learned(learned: Path, error: Error) -> None:
    said = error("plan", learned, "--env", "block")
    assert said == (
        f"Error: Environment `block` does not fit run {learned}. First difference, environment "
        "against run: classes ['Block', 'Total'] against ['Mouse', 'Food', 'Monster', 'Trap']. "
        "Name the environment, with the options, that the run has learned.\n"
    )
    said = error("plan", learned, "--env", "mous")
    assert said.startswith("Error: Unknown environment `mous`. Did you mean `mouse`?")


def test_an_environment_without_a_reward(finished: Path, error: Error) -> None:
    assert error("plan", finished, "--env", "block", "--num-blocks", "2") == (
        "Error: Environment `block` has no reward, so there is nothing to plan for. Choose one "
        "that has: mouse, walker. Or plan from Python with a task of your own: "
        "oocdm.MPC(result, oocdm.Task(...)).\n"
    )


def test_an_environment_without_a_picture(finished: Path, error: Error, tmp_path: Path) -> None:
    said = error("plan", finished, "--env", "block", "--render", tmp_path / "episode.gif")
    assert said == (
        "Error: Option --render: environment `block` has no picture. Leave the option out.\n"
    )


def test_a_run_that_is_not_there(tmp_path: Path, error: Error) -> None:
    said = error("plan", tmp_path / "none", "--env", "mouse")
    assert f"Run folder {tmp_path / 'none'}: expected a file config.json, got no such" in said


def test_an_interruption_leaves_nothing(
    learned: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stop(*_: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(package, "run_episodes", stop)
    words = ["plan", learned, "--env", "mouse", "--render", tmp_path / "episode.gif"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted.\n")
    assert list(tmp_path.iterdir()) == []
