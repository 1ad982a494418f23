"""What training is given, checked: folders to write to, data to go on with, what was found."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery
from oocdm.errors import ModelError


def check_new(who: str, folder: str | Path) -> None:
    """Raise a `ModelError` if a run would mix with what a folder holds already.

    >>> check_new("fit", "runs/new")
    """
    path = Path(folder)
    if path.is_dir():
        # A run that was interrupted while it was begun has no more than its schema.
        found = sorted({entry.name for entry in path.iterdir()} - {"schema.json"})
    else:
        found = [path.name] if path.exists() else []
    if "config.json" in found:
        raise ModelError(
            f"{who}: folder {folder} holds a run already. Choose another folder, or go on with "
            f"that run if it was interrupted: oocdm.resume or `oocdm resume {folder}`."
        )
    if found:
        raise ModelError(
            f"{who}: expected a new folder, got {folder}, which holds {found[0]}. Choose another."
        )


def checksum(data: Dataset) -> int:
    """A number that other data hardly have.

    >>> import oocdm
    >>> one, other = (oocdm.collect(oocdm.make("block"), 60, seed=seed) for seed in (0, 1))
    >>> checksum(one) == checksum(one), checksum(one) == checksum(other)
    (True, False)
    """
    arrays = [data.starts, data.episode_of]
    for c in data.schema.classes:
        arrays.append(data.present[c])
        for f in data.schema.fields(c):
            arrays += [data.observed[c][f], data.values[c][f]]
    found = 0
    for array in arrays:
        found = zlib.crc32(array.tobytes(), found)
    return found


def keep_given(who: str, found: Discovery, estimate: np.ndarray, free: np.ndarray) -> Discovery:
    """What a method found, with everything that is not free as the estimate has it.

    A known graph and priors hold whatever a method says. Before training it may say something of
    edges alone. A structure of another size raises a `ModelError` that starts with `who`.

    >>> from oocdm.graph import ClassEdges, Evidence
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> said = Discovery(np.array([True, True]), Evidence.nothing(ClassEdges.of(Schema(Ball))))
    >>> keep_given("discover", said, np.zeros(2, bool), np.array([True, False])).structure
    array([ True, False])
    """
    said, num_edges = np.asarray(found.structure), len(found.evidence.edges)
    if said.dtype != bool or said.shape not in ((num_edges,), estimate.shape):
        raise ModelError(
            f"{who}: expected a structure of {len(estimate)} booleans, the first {num_edges} for "
            f"the possible edges, got {said.dtype} of shape {said.shape}."
        )
    structure = estimate.copy()
    structure[: len(said)] = np.where(free[: len(said)], said, estimate[: len(said)])
    return replace(found, structure=structure)
