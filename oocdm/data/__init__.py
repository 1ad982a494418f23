"""Logged transitions of objects: batches, datasets, files and frames."""

from oocdm.data.dataset import Dataset, load_dataset
from oocdm.data.snapshot import Snapshot, Transitions

__all__ = ["Dataset", "Snapshot", "Transitions", "load_dataset"]
