"""What the paper reports: means over its seeds, to stand beside ours."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=1)
def paper_figures() -> dict[str, Any]:
    """Figures by kind, environment and method; AILL also by the data it is on.

    >>> paper_figures()["graph_accuracy"]["block5"]["cdl"]
    97.5
    >>> paper_figures()["aill"]["block5"]["ood"]["oocdm"]
    13.5
    """
    figures: dict[str, Any] = json.loads(
        files("oocdm.bench").joinpath("paper_figures.json").read_text(encoding="utf-8")
    )
    return figures
