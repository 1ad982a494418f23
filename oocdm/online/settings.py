"""What online learning was begun with: its `online.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from oocdm.errors import ModelError
from oocdm.files.reading import read_json
from oocdm.planning import Planner
from oocdm.reading import Count, Range, Seed, read
from oocdm.training.settings import differences

FORMAT = 1
# What may be otherwise when it goes on: it says nothing of how it goes on.
_FREE = ("threads", "notes")


@dataclass(frozen=True, kw_only=True)
class OnlineSettings:
    """All that the outcome depends on, as far as it can be written, and notes.

    Of a policy of the user's own it only says that there is one.
    """

    format: int = FORMAT
    world: str
    schema: dict[str, Any]
    task: list[str] | None  # what it reads
    planner: dict[str, Any] | None  # None: a policy of the user's own collects
    amounts: dict[str, Any]
    method: dict[str, Any]
    between: dict[str, Any] | None
    seed: Seed
    graph: dict[str, Any] | None
    priors: list[str]
    memory: Count
    threads: Annotated[int, Range(at_least=1, at_most=1024)]
    notes: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of them, as they are read again."""
        plain: dict[str, Any] = json.loads(
            json.dumps({f.name: getattr(self, f.name) for f in fields(self)})
        )
        return plain

    @staticmethod
    def read(path: Path) -> OnlineSettings:
        """Those of a file, which must all be there and nothing else."""
        found: OnlineSettings = read(
            OnlineSettings, read_json(path, ModelError), str(path), ModelError, complete=True
        )
        if found.format != FORMAT:
            raise ModelError(
                f"{path}: expected online learning of format {FORMAT}, got {found.format}: another "
                "version of oocdm wrote it; go on with that version."
            )
        return found

    def check_same(self, before: OnlineSettings, folder: Path) -> None:
        """Raise a `ModelError` if others than these were begun in a folder."""
        now, then = (
            {n: v for n, v in each.to_json().items() if n not in _FREE} for each in (self, before)
        )
        if changed := list(differences(then, now)):
            raise ModelError(
                f"learn_online: folder {folder} holds online learning that was begun otherwise: "
                f"{', and '.join(changed)}. Give the same call to go on with it, or another folder."
            )


def planner_to_json(planner: Planner) -> dict[str, Any]:
    """A planner's kind and its options.

    >>> from oocdm.planning import CEM
    >>> planner_to_json(CEM(horizon=3))["horizon"]
    3
    """
    return {"kind": type(planner).__name__, **asdict(planner)}
