"""Options of methods: types, ranges, parts."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from oocdm import (
    ModelError,
)
from oocdm.errors import OocdmError
from oocdm.methods import Oocdm, make_method
from oocdm.methods.cdl import Cdl
from oocdm.methods.gnn import Gnn, GnnWidths
from oocdm.models.head import HeadOptions


@pytest.mark.parametrize(
    ("name", "option", "value", "expected"),
    [
        ("grader", "alpha", 2.0, "a number between 0 and 1"),
        ("grader", "max_samples", 3, "a whole number of at least 20"),
        ("grader", "workers", 0, "a whole number of at least 1"),
        ("cdl", "encoding", -3, "a whole number of at least 1"),
        ("cdl", "max_scored", 0, "a whole number of at least 1"),
        ("cdl", "encoding", "wide", "a whole number or None"),
        ("cdl", "threshold", True, "a number or None"),
        ("cdl-a", "keys", 31, "an even number, since two heads share it"),
        ("cdl-a", "encoding", 25, "an even number, since two heads share it"),
        ("mlp", "width", 0, "a whole number of at least 1"),
        ("mlp", "width", 2.5, "a whole number or None"),
        ("ticsa", "sparsity", -1.0, "a number from 0 on"),
        ("gnn", "widths", 3, "a GnnWidths"),
    ],
)
def test_options_out_of_range(name: str, option: str, value: Any, expected: str) -> None:
    message = f"Method `{name}`: `{option}`: expected {expected}, got {value!r}."
    with pytest.raises(ModelError, match=re.escape(message)):
        make_method(name, **{option: value})


@pytest.mark.parametrize("name", ["oocdm", "cdl", "cdl-a"])
def test_a_threshold_that_is_no_number_is_refused_before_training(name: str) -> None:
    with pytest.raises(OocdmError, match=r"^threshold: expected a number of nats or None, got nan"):
        make_method(name, threshold=float("nan"))


def test_whole_numbers_are_numbers() -> None:
    method = make_method("ticsa", sparsity=2, width=np.int64(8))
    assert json.loads(json.dumps(method.to_json()))["width"] == 8


def test_a_mapping_changes_the_schedule_of_the_preset() -> None:
    own = make_method("cdl", "paper").schedule
    changed = make_method("cdl", "paper", schedule={"iterations": 3}).schedule
    assert changed == replace(own, iterations=3)
    with pytest.raises(ModelError, match=r"there is no `iteration`\. Did you mean `iterations`\?"):
        make_method("cdl", schedule={"iteration": 3})


def test_a_mapping_changes_parts_of_any_option() -> None:
    assert make_method("gnn", widths={"node": np.int64(16)}) == Gnn(widths=GnnWidths(node=16))
    method = make_method("cdl", "paper", head={"sigma_floor": 1})
    assert method == Cdl.preset(
        "paper", head=HeadOptions(predict_change=False, clamp_means=False, sigma_floor=1)
    )
    own = Oocdm.preset("paper")
    wide = make_method("oocdm", "paper", model={"decoder_dim": 64, "aggregators": ["sum"]})
    assert wide == replace(own, model=replace(own.model, decoder_dim=64, aggregators=("sum",)))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "gnn",
            {"widths": {"nodes": 16}},
            "Method `gnn`: `widths`: there is no `nodes`. Did you mean `node`? Known: node, ",
        ),
        (
            "gnn",
            {"widths": {"node": 0}},
            "Method `gnn`: `widths`: `node`: expected a whole number of at least 1, got 0.",
        ),
        (
            "gnn",
            {"widths": {"node": "wide"}},
            "Method `gnn`: `widths`: `node`: expected a whole number, got 'wide'.",
        ),
        (
            "cdl",
            {"head": {"predict_change": 1}},
            "Method `cdl`: `head`: `predict_change`: expected true or false, got 1.",
        ),
        ("oofull", {"model": {1: 2}}, "Method `oofull`: `model`: there is no `1`. Known: "),
        (
            "oofull",
            {"model": {"heads": 0}},
            "model: `heads`: expected a whole number of at least 1, got 0.",
        ),
    ],
)
def test_wrong_parts_of_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=f"^{re.escape(message)}"):
        make_method(name, **options)
