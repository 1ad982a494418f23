"""Where files stand that can be made again."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VARIABLE = "OOCDM_CACHE"  # of the environment: the folder itself
KEY_LENGTH = 32


def cache_folder() -> Path:
    """The folder for what can be made again, which need not be there yet.

    It is what the environment variable OOCDM_CACHE says, else `oocdm` in XDG_CACHE_HOME, else
    `~/.cache/oocdm`.

    >>> cache_folder().is_absolute()
    True
    """
    if own := os.environ.get(VARIABLE):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # As the standard has it, a relative path there counts as none.
    return (Path(shared) if os.path.isabs(shared) else Path.home() / ".cache") / "oocdm"


def key_of(settings: Mapping[str, Any]) -> str:
    """A name for what follows from settings, which are ready for JSON: equal ones have the same.

    >>> key_of({"steps": 10, "seed": 0}) == key_of({"seed": 0, "steps": 10})
    True
    """
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]
