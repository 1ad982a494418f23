"""A small dataset and a quick run, made through the command line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oocdm.cli import app

QUICK = ["--iterations", "1", "--steps-per-iteration", "2", "--polish-steps", "2"]


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def call_well(*words: str | Path) -> Result:
    result = call(*words)
    if result.exception is not None:
        raise AssertionError(result.output) from result.exception
    return result


@pytest.fixture(scope="session")
def oocdm() -> Callable[..., Result]:
    """Runs a command that must succeed."""
    return call_well


@pytest.fixture(scope="session")
def answer() -> Callable[..., dict[str, Any]]:
    """Runs a command with --json; it prints one JSON object and nothing else."""

    def run(*words: str | Path) -> dict[str, Any]:
        result = call_well(*words, "--json")
        assert result.stderr == ""
        assert result.stdout.count("\n") == 1
        return dict(json.loads(result.stdout))

    return run


@pytest.fixture(scope="session")
def error() -> Callable[..., str]:
    """Runs a command that must fail as a user's mistake does; returns the message."""

    def run(*words: str | Path) -> str:
        result = call(*words)
        assert isinstance(result.exception, SystemExit), result.exception
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert "Traceback" not in result.stderr
        return result.stderr

    return run


@pytest.fixture(scope="session")
def quick() -> list[str]:
    """Options that make `train` a matter of a second."""
    return QUICK


@pytest.fixture(scope="session")
def block(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of Block; not to be changed."""
    folder = tmp_path_factory.mktemp("data") / "block2"
    call_well("collect", "block", "--num-blocks", "2", "--steps", "300", "-o", folder)
    return folder


@pytest.fixture(scope="session")
def mouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of Mouse; not to be changed."""
    folder = tmp_path_factory.mktemp("data") / "mouse"
    call_well("collect", "mouse", "--num-food", "1-2", "--steps", "50", "-o", folder)
    return folder


@pytest.fixture(scope="session")
def finished(block: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on `block`; not to be changed."""
    folder = tmp_path_factory.mktemp("runs") / "block2"
    call_well("train", block, "-o", folder, *QUICK)
    return folder


@pytest.fixture
def my_block(block: Path, tmp_path: Path) -> Path:
    """A copy of `block` to spoil."""
    return Path(shutil.copytree(block, tmp_path / "data"))


@pytest.fixture
def my_run(finished: Path, tmp_path: Path) -> Path:
    """A copy of `finished` to spoil."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture(scope="session")
def stopped(block: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was interrupted after its first checkpoint; not to be changed."""

    def stop(*args: Any) -> None:
        raise KeyboardInterrupt

    folder = tmp_path_factory.mktemp("runs") / "stopped"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("oocdm.training.trainer.Trainer._polish_round", stop)
        result = call("train", block, "-o", folder, *QUICK)
    assert result.exit_code == 130
    assert result.stderr == f"Interrupted. Go on with: oocdm resume {folder}\n"
    return folder


@pytest.fixture
def interrupted(stopped: Path, tmp_path: Path) -> Path:
    """A copy of `stopped` to go on with."""
    return Path(shutil.copytree(stopped, tmp_path / "interrupted"))
