"""The verb that lists methods."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from typer.testing import Result

from oocdm.methods import METHODS, registry


def test_methods_with_what_they_take(answer: Callable[..., dict[str, Any]]) -> None:
    listed = {each["name"]: each for each in answer("methods")["methods"]}
    assert list(listed) == list(METHODS)
    objects = [listed[name]["objects"] for name in ("oocdm", "oocdm+", "mlp")]
    assert objects == ["any", "any, by name", "fixed"]
    assert (
        listed["mlp"]["description"] == "One perceptron from all variables to all; finds no graph."
    )


def test_a_broken_package_does_not_hide_the_others(
    monkeypatch: pytest.MonkeyPatch,
    oocdm: Callable[..., Result],
    answer: Callable[..., dict[str, Any]],
) -> None:
    lost = EntryPoint("lost", "no_such_module:Lost", registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [lost])
    *others, last = answer("methods")["methods"]
    assert [each["name"] for each in others] == list(METHODS)
    assert (last["name"], last["objects"]) == ("lost", "unknown")
    assert last["description"].startswith("Method `lost` of an installed package cannot be loaded:")
    assert "lost" in oocdm("methods").stdout
