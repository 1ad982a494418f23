"""Writing files so that they are there as a whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is either there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not by `tempfile`, whose files nobody but their owner may read.
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, data: Any) -> None:
    """Write JSON atomically."""
    write_atomically(path, (json.dumps(data, indent=2) + "\n").encode())
