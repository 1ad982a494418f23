"""Names that must be known ones."""

from __future__ import annotations

from typing import Any

import pytest

from oocdm.errors import PlanError
from oocdm.reading import known_name


@pytest.mark.parametrize("name", [None, 3, [], {}, b"?", "x" * 10**6, float("nan")])
def test_anything_else_is_refused_in_short_words(name: Any) -> None:
    with pytest.raises(PlanError, match=r"^Unknown planner `.{1,120}`\. Known: cem, icem\.$"):
        known_name(name, ("cem", "icem"), "planner", PlanError)
