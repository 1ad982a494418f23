"""A method that another package adds: the example, installed as a user would install it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from oocdm.methods import METHODS

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_method"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the example is installed in."""
    target = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(target), str(EXAMPLE)]
    subprocess.run(command, check=True)
    return target


def run(site: Path, *arguments: str) -> Any:
    found = subprocess.run(
        [sys.executable, "-m", "oocdm", *arguments, "--json"],
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)


def test_the_example_works_on_the_command_line(site: Path, tmp_path: Path) -> None:
    names = [method["name"] for method in run(site, "methods")["methods"]]
    assert names == [*METHODS, "linear"]
    data, result = str(tmp_path / "data"), str(tmp_path / "run")
    run(site, "collect", "block", "--num-blocks", "2", "--steps", "300", "-o", data)
    quick = ["--iterations", "1", "--steps-per-iteration", "5", "--polish-steps", "5"]
    assert (
        run(site, "train", data, "--method", "linear", *quick, "-o", result)["method"] == "linear"
    )
    assert run(site, "eval", result, "--data", data)["transitions"] == 300
