"""A method that another package adds: the example, installed as a user would install it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from oocdm.errors import ModelError
from oocdm.methods import METHODS, make_method, method_names, registry

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


# ---------------------------------------------------------------- packages that do not fit


def added(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    point = EntryPoint(name, value, registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])


def fails(message: str) -> Any:
    return pytest.raises(ModelError, match=f"^{re.escape(message)}")


def test_a_package_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, "lost", "no_such_module:Lost")
    assert method_names()[-1] == "lost"
    with fails("Method `lost` of an installed package cannot be loaded: ModuleNotFoundError"):
        make_method("lost")
    assert make_method("oocdm").name == "oocdm"  # others are not harmed


def test_a_package_that_adds_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, "other", "pathlib:Path")
    with fails("Method `other` of an installed package: expected a subclass of AbstractMethod"):
        make_method("other")


def test_names_that_differ_or_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, "perceptron", "oocdm.methods.mlp:Mlp")
    with fails("Method `perceptron` of an installed package: expected its entry point to have"):
        make_method("perceptron")
    added(monkeypatch, "nameless", "oocdm.methods.method:AbstractMethod")
    with fails("Method `nameless` of an installed package: expected its entry point to have"):
        make_method("nameless")
    added(monkeypatch, "mlp", "oocdm.methods.mlp:Mlp")
    assert method_names() == list(METHODS)
    with fails("Method `mlp`: an installed package adds one of that name, but the library has"):
        make_method("mlp")


def installed(folder: Path, package: str, method: str) -> None:
    """A package with nothing but the name of a method."""
    info = folder / f"{package}-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{method} = pathlib:Path\n")


def test_packages_that_add_the_same_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in ("first", "second"):
        installed(tmp_path, package, "corr")
    monkeypatch.syspath_prepend(tmp_path)
    assert method_names() == [*METHODS, "corr"]
    with pytest.raises(ModelError) as error:
        make_method("corr")
    said = str(error.value)
    assert sorted(re.findall("package `(.*?)`", said)) == ["first", "second"]
    assert said.startswith("Method `corr`: expected one package that adds it, got package `")
    assert said.endswith("`. Uninstall one, or give its method another name.")
    assert make_method("oocdm").name == "oocdm"
