"""What training is given, checked: folders to write to, data to go on with, what was found."""

from __future__ import annotations

import os
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery
from oocdm.errors import FileError, ModelError
from oocdm.files.lock import LOCK
from oocdm.files.os_errors import told_as
from oocdm.files.temporaries import is_temporary
from oocdm.graph import Evidence, Structure


def check_new(who: str, folder: str | Path) -> None:
    """Raise a `ModelError` if a run would mix with what a folder holds already.

    >>> check_new("fit", "/")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    oocdm.errors.ModelError: fit: expected a new folder, got /, which holds ... Choose another.
    """
    if not str(folder):
        raise ModelError(f"{who}: `folder`: expected the path of a folder, got ''.")
    found = holdings(Path(folder))
    if "config.json" in found:
        raise ModelError(
            f"{who}: folder {folder} holds a run already. Choose another folder, or go on with "
            f"that run if it was interrupted: oocdm.resume or `oocdm resume {folder}`."
        )
    if found:
        raise ModelError(
            f"{who}: expected a new folder, got {folder}, which holds {found[0]}. Choose another."
        )


def holdings(path: Path) -> list[str]:
    """What a folder holds, less what a run leaves that was ended while it was begun.

    >>> holdings(Path("runs/new"))
    []
    """
    with told_as(FileError, path, "read"):
        if not path.is_dir():
            return [path.name] if os.path.lexists(path) else []
        names = sorted(entry.name for entry in path.iterdir())
    return [name for name in names if name not in ("schema.json", LOCK) and not is_temporary(name)]


def checksum(data: Dataset) -> int:
    """A number that other data hardly have.

    >>> import oocdm
    >>> one, other = (oocdm.collect(oocdm.make("block"), 60, seed=seed) for seed in (0, 1))
    >>> checksum(one) == checksum(one), checksum(one) == checksum(other)
    (True, False)
    """
    arrays = [data.starts, data.episode_of]
    for cells in data.cells.values():
        arrays += [cells.places.counts, cells.places.place]
        arrays += [*cells.observed.values(), *cells.values.values()]
    found = 0
    for array in arrays:
        found = zlib.crc32(array.tobytes(), found)
    return found


def keep_given(
    who: str, found: Discovery, estimate: Structure, free: Structure, testable: np.ndarray
) -> Discovery:
    """What a method found, with everything that is not free as the estimate has it.

    A known graph and priors hold whatever a method says. Anything but a structure of the same
    layout, and evidence that agrees with it, raises a `ModelError` that starts with `who`.

    >>> from oocdm.graph import ClassEdges, Evidence, Layout
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> layout = Layout(ClassEdges.of(Schema(Ball)))
    >>> said = Discovery(layout.structure(True), Evidence.nothing(layout.edges))
    >>> free = layout.structure(np.array([True, False]))
    >>> can_occur = np.array([True, True])
    >>> keep_given("discover", said, layout.structure(False), free, can_occur).structure.names
    ['Ball.x <- self.x']
    """
    if not isinstance(found, Discovery):
        raise ModelError(
            f"{who}: expected a Discovery or None, got {type(found).__name__}. Return "
            "Discovery(structure, evidence)."
        )
    said = found.structure
    if not isinstance(said, Structure) or said.layout != estimate.layout:
        got = repr(said) if isinstance(said, Structure) else type(said).__name__
        raise ModelError(
            f"{who}: expected a Structure of the layout that it was given, "
            f"{estimate.layout!r}, got {got}. Make one: estimate.with_edges(...)."
        )
    if not isinstance(found.evidence, Evidence) or found.evidence.edges != said.layout.edges:
        raise ModelError(
            f"{who}: expected Evidence of the edges of the layout, got {found.evidence!r}. Make "
            "one: Evidence.of_test(layout.edges, ...)."
        )
    structure, evidence = said.where(free, estimate), found.evidence.only(free.edges)
    missing = structure.layout.structure(evidence.is_in, False) - structure
    if missing.any():
        raise ModelError(
            f"{who}: expected every edge that the evidence decides for in the structure, got "
            f"`{missing.names[0]}` outside. Make them agree: structure.with_edges(evidence.is_in)."
        )
    evidence = with_given(evidence, structure, free, testable)
    return replace(found, structure=structure, evidence=evidence)


def with_given(
    evidence: Evidence, structure: Structure, free: Structure, testable: np.ndarray
) -> Evidence:
    """Evidence with the decisions that discovery did not make: what was not free was given.

    Edges that are in the structure were required. Of the others those that can occur were
    forbidden.
    """
    is_given, is_in = ~free.edges, structure.edges
    return evidence.with_given(is_given & is_in, is_given & ~is_in & testable)
