"""Logged transitions of objects: batches, datasets, files, frames and collection."""

from oocdm.data.collect import collect
from oocdm.data.dataset import Dataset, load_dataset
from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.data.world import AbstractWorld, WorldState

__all__ = [
    "AbstractWorld",
    "Dataset",
    "Snapshot",
    "Transitions",
    "WorldState",
    "collect",
    "load_dataset",
]
