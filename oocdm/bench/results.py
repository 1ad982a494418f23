"""Results in a folder, one JSON file each: what is there already is read, not measured again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oocdm.training.run import write_json

Result = dict[str, Any]


def recall(folder: str | Path | None, name: str, measure: Callable[[], Result]) -> Result:
    """The result of that name: read from the folder, or measured and written there.

    >>> recall(None, "answer", lambda: {"answer": 42})
    {'answer': 42}
    """
    if folder is None:
        return measure()
    path = Path(folder) / f"{name}.json"
    if path.is_file():
        found: Result = json.loads(path.read_text())
        return found
    result = measure()
    write_json(path, result)
    return result
