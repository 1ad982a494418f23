"""`oocdm train --online` learns in an environment, and `resume` goes on with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import oocdm as package
from oocdm.cli import app
from tests.training.toys import assert_same

Oocdm = Callable[..., Result]
Answer = Callable[..., dict[str, Any]]
Error = Callable[..., str]

FEW = (
    *("--steps", "40", "--first", "20", "--num-worlds", "2"),
    *("--horizon", "2", "--samples", "6", "--elites", "2", "--planner-iterations", "1"),
)


@pytest.fixture(scope="module")
def learned(
    answer: Answer, quick: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """A finished folder, not to be changed, and what was told of it."""
    folder = tmp_path_factory.mktemp("online") / "mouse"
    words = ("--num-food", "1-2", "--seed", "2", "-o", folder)
    return folder, answer("train", "--online", "mouse", *words, *FEW, *quick)


def test_it_does_what_the_library_does(learned: tuple[Path, dict[str, Any]]) -> None:
    folder, told = learned
    expected = package.learn_online(
        package.make("mouse", num_food=(1, 2)),
        steps=40,
        first=20,
        num_worlds=2,
        planner=package.CEM(horizon=2, samples=6, elites=2, iterations=1),
        seed=2,
        schedule=package.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2),
    )
    assert_same(package.load(folder / "final"), expected.result)
    assert told["parts"] == expected.history.to_json()["parts"]
    assert told["online"] == str(folder) and told["run"] == str(folder / "final")
    assert [row["transitions"] for row in told["rounds"]] == [20, 40]
    assert (folder / "online.png").is_file() and (folder / "final" / "graph.png").is_file()


def test_resume_goes_on(
    learned: tuple[Path, dict[str, Any]], answer: Answer, tmp_path: Path
) -> None:
    folder = tmp_path / "mouse"
    shutil.copytree(learned[0], folder)
    shutil.rmtree(folder / "final")
    shutil.rmtree(folder / "data" / "2-1")
    assert answer("resume", folder)["parts"] == learned[1]["parts"]
    assert_same(package.load(folder / "final"), package.load(learned[0] / "final"))


def test_an_interruption_tells_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, quick: list[str], tmp_path: Path
) -> None:
    def interrupt(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("oocdm.online.learn.fit", interrupt)
    folder = tmp_path / "mouse"
    words = ["train", "--online", "mouse", *FEW, *quick, "-o", str(folder)]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 130
    assert found.stderr == f"Interrupted. Go on with: oocdm resume {folder}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "expected the folder of a dataset, or the name of an environment with --online, got"),
        (("data", "--online", "mouse"), "with --online, got both"),
        (("data", "--steps", "9"), "Option --steps: only learning in an environment uses it"),
        (("data", "--num-food", "9"), "Option --num-food: only learning in an environment uses it"),
        (("--online", "mouse", "--minutes", "1"), "Option --minutes: learning in an environment"),
        (("--online", "mose"), "Did you mean `mouse`?"),
        (
            ("--online", "block"),
            "Environment `block` has no reward, so there is nothing to plan for",
        ),
        (("--online", "mouse", "--planner", "cems"), "Unknown planner `cems`"),
        (("--online", "mouse", "--growth", "1"), "`growth`: expected a number above 1, got 1.0"),
    ],
)
def test_bad_input(words: tuple[str, ...], message: str, error: Error, tmp_path: Path) -> None:
    assert message in error("train", *words, "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_what_the_library_began_goes_on_there(
    learned: tuple[Path, dict[str, Any]], error: Error, tmp_path: Path
) -> None:
    settings = json.loads((learned[0] / "online.json").read_text())
    (tmp_path / "online.json").write_text(json.dumps({**settings, "notes": {}}))
    assert "was not begun by `oocdm train --online`" in error("resume", tmp_path)
    said = error("resume", tmp_path, "--data", tmp_path)
    assert "holds online learning, which has its data" in said
