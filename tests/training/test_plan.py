"""How a fit is divided to stay within memory."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import oocdm
from oocdm.errors import ModelError
from oocdm.methods import make_method
from oocdm.models.memory import say_memory
from oocdm.training.trainer import LEAST_LEARNED, Trainer

QUICK = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
DATA = oocdm.collect(oocdm.make("block", num_blocks=3), steps=600, seed=0)


def trainer(memory: str | int, **schedule: int) -> Trainer:
    chosen = make_method("oocdm", schedule=replace(QUICK, **schedule))
    return Trainer(DATA, chosen, seed=0, memory=oocdm.models.memory.read_memory("test", memory))


def test_an_ordinary_world_is_not_divided(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "oocdm.training.trainer"):
        plan = trainer("4GiB").plan
    assert (plan.learning, plan.polishing) >= (480, 256)
    assert f"fit: about {say_memory(plan.estimate.total)} of memory: data" in caplog.text


def test_less_memory_means_smaller_parts_of_the_same_fit() -> None:
    whole, parts = trainer("4GiB"), trainer("118MiB")
    assert parts.plan.learning < 480 and parts.plan.estimate.total <= 118 * 2**20
    whole.run()
    parts.run()
    losses = [[row["loss"] for row in t.position.history] for t in (whole, parts)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


def test_a_world_that_cannot_be_divided_enough_is_refused_with_a_remedy() -> None:
    with pytest.raises(ModelError) as error:
        oocdm.fit(DATA, schedule=QUICK, memory="97MiB")
    text = str(error.value)
    assert text.startswith("fit: `memory`: expected at least ")
    assert "got 97 MiB. fit: about " in text
    assert text.endswith(
        "Give more, such as memory='1GiB', or leave out fields, categories or objects."
    )


@pytest.mark.parametrize(
    ("method", "options"),
    [("oocdm", {"model": {"pair_hidden": 2**16}}), ("mlp", {"width": 2**16})],
)
def test_a_network_that_no_memory_holds_is_not_made(method: str, options: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as error:
        oocdm.fit(DATA, method, schedule=QUICK, **options)
    assert str(error.value) == (
        "fit: `memory`: expected room for the network, got 4.0 GiB, which is less than its "
        "weights alone take. Give more, or make the sizes among the options of the method "
        f"`{method}` smaller."
    )


def test_sizes_beyond_all_sense_are_refused() -> None:
    for options in ({"num_graphs": 10**12}, {"model": {"pair_hidden": 10**12}}):
        with pytest.raises(ModelError, match="expected a whole number from 1 to 65536, got 1000"):
            oocdm.fit(DATA, schedule=QUICK, **options)


def test_the_estimate_can_be_asked_for() -> None:
    estimate = oocdm.estimate_memory(DATA, schedule=QUICK)
    assert set(estimate.working) == {"learning", "discovery", "polishing"}
    assert estimate == trainer("4GiB").plan.estimate
    long = replace(QUICK, iterations=2, steps_per_iteration=LEAST_LEARNED // 2)
    assert oocdm.estimate_memory(DATA, schedule=long).working["focus"] > 2**16
    assert "focus" not in oocdm.estimate_memory(DATA, schedule=long, focus=False).working
    assert "discovery" not in oocdm.estimate_memory(DATA, "oofull", schedule=QUICK).working


def test_the_memory_stays_with_the_run(tmp_path: Path) -> None:
    oocdm.fit(DATA, schedule=QUICK, memory="1GiB", folder=tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["memory"] == 2**30
