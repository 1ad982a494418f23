"""Figures of others, to stand beside ours: what the paper reports, what its program does."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any


@lru_cache(maxsize=1)
def paper_figures() -> dict[str, Any]:
    """The paper's means over its seeds by kind, environment and method; AILL also by its data.

    >>> paper_figures()["graph_accuracy"]["block5"]["cdl"]
    97.5
    >>> paper_figures()["aill"]["block5"]["ood"]["oocdm"]
    13.5
    """
    return _read("paper_figures.json")


@lru_cache(maxsize=1)
def authors_curves() -> dict[str, Any]:
    """What the authors' published program reached step by step, by environment.

    They are measured with that program, are not in the paper, and say where they are from.

    >>> authors_curves()["block5"]["curves"][0]["rows"][1]
    {'steps': 2000, 'wrong': 14, 'aill_id': 5.9, 'aill_ood': 3.2}
    """
    return _read("authors_curves.json")


def _read(name: str) -> dict[str, Any]:
    text = files("oocdm.bench").joinpath(name).read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
