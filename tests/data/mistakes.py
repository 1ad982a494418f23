"""What the data room says about bad input."""

from __future__ import annotations

import re
from typing import Any

import pytest

from oocdm.errors import DataError


def fails(message: str) -> Any:
    """Expects a `DataError` whose text starts with the message."""
    return pytest.raises(DataError, match=f"^{re.escape(message)}")
