"""What a run was begun with: its `config.json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from oocdm.errors import ModelError, short
from oocdm.files import Contents
from oocdm.files.reading import parse_json
from oocdm.models.memory import DEFAULT_MEMORY
from oocdm.reading import Count, Range, Seed, read
from oocdm.training.given import holdings

CONFIG = "config.json"
ONLINE, FINAL = "online.json", "final"  # of online learning: its settings, and the run at its end
FORMAT = 5  # of the files of a run
# What may change while a run is interrupted: it says nothing of how the run goes on.
_FREE = ("data", "notes")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All that a run depends on beside its data, and the notes of whoever began it."""

    format: int = FORMAT
    method: dict[str, Any]
    seed: Seed
    priors: list[str] | None = None
    known_graph: dict[str, Any] | None = None
    objects: dict[str, list[str]] | None = None
    counts: dict[str, Annotated[int, Range(at_least=0)]] | None = None
    max_seconds: Annotated[float, Range(at_least=0)] | None = None
    memory: Count = DEFAULT_MEMORY
    threads: Annotated[int, Range(at_least=1, at_most=1024)] | None = None  # of torch
    data: str | None = None  # the folder of the dataset
    data_checksum: int | None = None
    notes: dict[str, Any] = field(default_factory=dict)  # a user's own

    def to_json(self) -> dict[str, Any]:
        """All of them, JSON-ready."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @property
    def binding(self) -> dict[str, Any]:
        """Those that must stay as they are for the run to go on."""
        return {name: value for name, value in self.to_json().items() if name not in _FREE}

    @staticmethod
    def read(contents: Contents) -> Settings:
        """The settings of a run, all of which must be there and nothing else."""
        data, where = read_part(contents, CONFIG), contents.folder / CONFIG
        number = data.get("format") if isinstance(data, dict) else None
        if type(number) is not int or number != FORMAT:
            raise ModelError(
                f"Run {contents.folder}: expected a run of format {FORMAT}, got {short(number)}: "
                "another version of oocdm wrote it; read it with that version, or fit its data "
                "again."
            )
        settings: Settings = read(Settings, data, str(where), ModelError, complete=True)
        return settings


def read_part(contents: Contents, name: str) -> Any:
    """What a file of a run holds as JSON, with a clear error if it is missing or broken."""
    _check_has(contents, name)
    return contents.read_json(name)


def _check_has(contents: Contents, name: str) -> None:
    if not contents.has(name):
        folder = contents.folder
        was_begun = folder.is_dir() and not holdings(folder)
        advice = " Nothing was done there yet: give the same command again." if was_begun else ""
        if (folder / ONLINE).is_file():
            advice = (
                f" It holds online learning: once that is finished, its run is {folder / FINAL}."
            )
        got = "a folder without it" if folder.is_dir() else "no such folder"
        raise ModelError(
            f"Run folder {folder}: expected a file {name}, got {got}. Give a folder that "
            f"`oocdm train -o FOLDER` or `fit(..., folder=...)` has written.{advice}"
        )


def check_as_before(before: Any, now: Any, path: Path) -> None:
    """Raise a `ModelError` unless a file of a run says what it said when the run was begun.

    Going on with other settings would give a run that is neither of the ones nor of the others.

    >>> check_as_before({"seed": 0}, {"seed": 1}, Path("config.json"))
    Traceback (most recent call last):
    ...
    oocdm.errors.ModelError: config.json: expected the settings that the run was begun with, but \
`seed` was 0 and is 1. Put them back, or fit anew with the new ones.
    """
    changed = list(differences(before, now))
    if changed:
        raise ModelError(
            f"{path}: expected the settings that the run was begun with, but "
            f"{', and '.join(changed)}. Put them back, or fit anew with the new ones."
        )


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """In words, each setting that is not as it was.

    >>> list(differences({"seed": 0, "method": {"alpha": 1}}, {"seed": 0, "method": {"alpha": 2}}))
    ['`method.alpha` was 1 and is 2']
    """
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for name in (*before, *(name for name in now if name not in before)):
            inside = f"{place}.{name}" if place else str(name)
            yield from differences(before.get(name), now.get(name), inside)
    elif before != now:
        yield f"`{place}` was {short(before)} and is {short(now)}"


def read_notes(who: str, notes: Mapping[str, Any] | None) -> dict[str, Any]:
    """A user's notes as a run keeps them, or a `ModelError` that names the call."""
    try:
        content = json.dumps(dict(notes or {}), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelError(
            f"{who}: `notes`: expected a mapping that JSON can hold, got {short(notes)}: {error}."
        ) from None
    found: dict[str, Any] = parse_json(content, Path("notes"), ModelError)  # as it will be read
    return found
