"""The rooms of the package and the direction of their imports (docs/architecture.md)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from PIL import Image

from docs.draw_rooms import PICTURE, PLACES, arrows, content
from docs.rooms import PACKAGE, ROOMS, imports, imports_between_rooms, modules, room

STRANGERS = {"discovery", "planning"}
MAY_IMPORT_ENVS = {"envs", "__init__", "bench", "cli"}
VAGUE_NAMES = {"utils", "util", "common", "core", "base", "helpers", "helper", "misc"}

# Modules without a test file of their own, by reason.
MISSING = {
    # Verbs and options of the command line: tests/cli runs them as people do, verb by verb.
    "cli/data",
    "cli/demo",
    "cli/env_options",
    "cli/output",
    "cli/planner_options",
    "cli/runs",
    "cli/shared_options",
    "cli/training",
    # Only wiring of fits: test_returns and test_planning of tests/bench run them.
    "bench/mouse",
    # A protocol, without a line that runs.
    "planning/simulator",
}

# Each rule lists what breaks it.


def unknown_rooms(package: Path) -> list[str]:
    return sorted({room(module) for module in modules(package)} - set(ROOMS))


def downward_imports(package: Path) -> list[str]:
    order = {name: i for i, name in enumerate(ROOMS)}
    return [
        str(found)
        for found, here, there in imports_between_rooms(package)
        if order.get(there, len(ROOMS)) >= order.get(here, len(ROOMS))
    ]


def imports_between_strangers(package: Path) -> list[str]:
    return [
        str(found)
        for found, here, there in imports_between_rooms(package)
        if {here, there} == STRANGERS
    ]


def imports_of_envs(package: Path) -> list[str]:
    return [
        str(found)
        for found, here, there in imports_between_rooms(package)
        if there == "envs" and here not in MAY_IMPORT_ENVS
    ]


def star_imports(package: Path) -> list[str]:
    return [str(found) for found in imports(package) if found.is_star]


def torch_in_schema(package: Path) -> list[str]:
    return [
        str(found)
        for found in imports(package)
        if room(found.source) == "schema" and found.target.split(".")[0] == "torch"
    ]


def vague_names(package: Path) -> list[str]:
    return [m for m in modules(package) if not VAGUE_NAMES.isdisjoint(m.split("."))]


def cycles(package: Path) -> list[str]:
    graph: dict[str, set[str]] = {module: set() for module in modules(package)}
    for found in imports(package):
        if found.target in graph:
            graph[found.source].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


def modules_without_tests(package: Path) -> list[str]:
    """Modules whose place in tests/ is empty, such as tests/data/test_log.py of data/log."""
    found = []
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package).with_suffix("")
        test = package.parent / "tests" / place.with_name(f"test_{place.name}.py")
        if not place.name.startswith("__") and not test.is_file():
            found.append(place.as_posix())
    return found


def untested_modules(package: Path) -> list[str]:
    return [name for name in modules_without_tests(package) if name not in MISSING]


Rule = Callable[[Path], list[str]]
RULES: tuple[Rule, ...] = (
    unknown_rooms,
    downward_imports,
    imports_between_strangers,
    imports_of_envs,
    star_imports,
    torch_in_schema,
    vague_names,
    cycles,
    untested_modules,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_package_keeps_the_rule(rule: Rule) -> None:
    assert rule(PACKAGE) == []


BROKEN: list[tuple[Rule, dict[str, str], list[str]]] = [
    (unknown_rooms, {"attic/__init__.py": ""}, ["attic"]),
    (
        downward_imports,
        {"schema.py": "from oocdm.graph import Edge", "graph.py": "from oocdm.schema import Field"},
        ["oocdm.schema:1 imports oocdm.graph"],
    ),
    (
        downward_imports,
        {"data/files.py": "def f():\n    from oocdm import cli", "cli.py": ""},
        ["oocdm.data.files:2 imports oocdm.cli"],
    ),
    (
        downward_imports,
        {"task.py": "if TYPE_CHECKING:\n    import oocdm.models.fast"},
        ["oocdm.task:2 imports oocdm.models.fast"],
    ),
    (
        downward_imports,
        {"data/files.py": "from ..training import fit", "data/__init__.py": "from .. import cli"},
        ["oocdm.data:1 imports oocdm", "oocdm.data.files:1 imports oocdm.training"],
    ),
    (downward_imports, {"methods/cdl.py": "import oocdm"}, ["oocdm.methods.cdl:1 imports oocdm"]),
    (
        imports_between_strangers,
        {"planning/mpc.py": "from oocdm.discovery.cmi import score"},
        ["oocdm.planning.mpc:1 imports oocdm.discovery.cmi"],
    ),
    (
        imports_of_envs,
        {"training/fit.py": "from oocdm.envs import make", "cli.py": "import oocdm.envs"},
        ["oocdm.training.fit:1 imports oocdm.envs"],
    ),
    (star_imports, {"graph.py": "from numpy import *"}, ["oocdm.graph:1 imports numpy"]),
    (torch_in_schema, {"schema.py": "import torch.nn"}, ["oocdm.schema:1 imports torch.nn"]),
    (vague_names, {"data/utils.py": ""}, ["oocdm.data.utils"]),
    (
        cycles,
        {"data/a.py": "from oocdm.data.b import x", "data/b.py": "from . import a"},
        ["oocdm.data.a <- oocdm.data.b <- oocdm.data.a"],
    ),
    (
        cycles,
        {"data/__init__.py": "from .a import x", "data/a.py": "from oocdm.data import y"},
        ["oocdm.data <- oocdm.data.a <- oocdm.data"],
    ),
    (
        untested_modules,
        {
            **{"data/__init__.py": "", "data/attic.py": "", "data/cellar.py": ""},
            **{"__main__.py": "", "../tests/data/test_cellar.py": ""},
        },
        ["data/attic"],
    ),
]


@pytest.mark.parametrize(("rule", "files", "expected"), BROKEN)
def test_rule_finds_what_breaks_it(
    rule: Rule, files: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    for name, text in files.items():
        path = tmp_path / "oocdm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert rule(tmp_path / "oocdm") == expected


def test_no_exception_is_needless() -> None:
    assert MISSING - set(modules_without_tests(PACKAGE)) == set()


# ---------------------------------------------------------------- the picture


def test_picture_shows_the_rooms_and_imports_of_the_code() -> None:
    with Image.open(PICTURE) as picture:
        shown = json.loads(picture.info["Description"])
    assert shown == content(PACKAGE), "Draw it again: python -m docs.draw_rooms"
    assert set(PLACES) == set(ROOMS)
    assert all(PLACES[here][1] > PLACES[there][1] for here, there in arrows(PACKAGE))


def test_picture_can_be_drawn(tmp_path: Path) -> None:
    path = tmp_path / "rooms.png"
    command = [sys.executable, "-m", "docs.draw_rooms", str(path)]
    subprocess.run(command, cwd=PACKAGE.parent, check=True)
    with Image.open(path) as picture:
        assert json.loads(picture.info["Description"]) == content(PACKAGE)


def test_arrows_leave_out_what_follows_from_others(tmp_path: Path) -> None:
    for name, text in {
        "errors.py": "",
        "schema.py": "import oocdm.errors",
        "graph.py": "import oocdm.errors, oocdm.schema",
    }.items():
        path = tmp_path / "oocdm" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert arrows(tmp_path / "oocdm") == [("schema", "errors"), ("graph", "schema")]
