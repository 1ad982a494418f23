"""The rooms of the package and the direction of their imports (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "oocdm"

# A room imports only rooms before it. `__init__` is the public surface, `import oocdm`.
ROOMS = (
    *("errors", "files", "schema", "graph", "task", "data", "worlds", "envs"),
    *("models", "inference", "discovery", "planning", "learned", "methods", "training", "report"),
    *("__init__", "bench", "cli", "__main__"),
)
STRANGERS = {"discovery", "planning"}
MAY_IMPORT_ENVS = {"envs", "__init__", "bench", "cli"}
VAGUE_NAMES = {"utils", "util", "common", "core", "base", "helpers", "helper", "misc"}


@dataclass(frozen=True)
class Import:
    """One import statement's target, wherever in the file it stands."""

    source: str
    line: int
    target: str
    is_star: bool = False

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def modules(package: Path) -> dict[str, Path]:
    """Dotted names of all modules; a folder's `__init__` has the folder's name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(package: Path) -> Iterator[Import]:
    """Every import in the package, those in functions and under TYPE_CHECKING included."""
    known = modules(package)
    for source, path in known.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield Import(source, node.lineno, alias.name)
            elif isinstance(node, ast.ImportFrom):
                origin = absolute(node, source, is_folder=path.name == "__init__.py")
                for alias in node.names:
                    submodule = f"{origin}.{alias.name}"
                    target = submodule if submodule in known else origin
                    yield Import(source, node.lineno, target, is_star=alias.name == "*")


def absolute(node: ast.ImportFrom, source: str, is_folder: bool) -> str:
    """The module that a `from` statement names, relative ones resolved."""
    if node.level == 0:
        return node.module or ""
    parts = source.split(".")
    parent = parts[: len(parts) - node.level + is_folder]
    return ".".join([*parent, *([node.module] if node.module else [])])


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports_between_rooms(package: Path) -> Iterator[tuple[Import, str, str]]:
    for found in imports(package):
        here, there = room(found.source), room(found.target)
        if found.target.split(".")[0] == package.name and here != there:
            yield found, here, there


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
