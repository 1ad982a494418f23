"""Datasets that take long to make, kept in the user's cache folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from oocdm.data.dataset import Dataset, load_dataset
from oocdm.errors import OocdmError
from oocdm.files import write_json
from oocdm.files.cache import cache_folder, key_of

logger = logging.getLogger(__name__)


def cached_dataset(kind: str, settings: Mapping[str, Any], make: Callable[[], Dataset]) -> Dataset:
    """The dataset that follows from settings: read from the cache, or made and kept there.

    `settings` name all that the dataset depends on, versions of libraries included. Beside each
    dataset they stand as JSON. What cannot be kept is returned all the same, and what is damaged is
    made again.

    >>> import os, tempfile
    >>> import oocdm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     os.environ["OOCDM_CACHE"] = folder
    ...     make = lambda: oocdm.collect(oocdm.make("block"), steps=30)
    ...     first = cached_dataset("block", {"steps": 30}, make)
    ...     again = cached_dataset("block", {"steps": 30}, make)
    ...     del os.environ["OOCDM_CACHE"]
    >>> first is again, len(again)
    (False, 30)
    """
    folder = cache_folder() / kind / key_of(settings)
    if folder.is_dir():
        try:
            found = load_dataset(folder)
        except OocdmError as reason:
            logger.warning("Cache: %s It is made again.", reason)
        else:
            logger.info("Cache: read from %s", folder)
            return found
    made = make()
    _keep(made, settings, folder)
    return made


def _keep(data: Dataset, settings: Mapping[str, Any], folder: Path) -> None:
    try:
        write_json(folder.with_suffix(".json"), settings)
        data.save(folder, overwrite=True)
    except OocdmError as reason:
        logger.warning("Cache: the dataset is not kept. %s", reason)
    else:
        logger.info("Cache: written to %s", folder)
