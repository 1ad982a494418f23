"""The rooms of the package and the imports between them, read from the code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "oocdm"

# A room imports only rooms before it. `__init__` is the public surface, `import oocdm`.
ROOMS = (
    *("interruption", "errors", "reading", "files", "schema"),
    *("graph", "task", "data", "worlds", "envs"),
    *("models", "inference", "discovery", "planning", "learned", "methods", "training"),
    *("online", "checks", "report"),
    *("__init__", "bench", "cli", "__main__"),
)


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
    """The room that a module is in."""
    return module.split(".")[1] if "." in module else "__init__"


def imports_between_rooms(package: Path) -> Iterator[tuple[Import, str, str]]:
    """Every import of another room, with the two rooms: who imports, and what."""
    for found in imports(package):
        here, there = room(found.source), room(found.target)
        if found.target.split(".")[0] == package.name and here != there:
            yield found, here, there
