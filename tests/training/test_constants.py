"""Fields with a single value in the whole log: nothing can be learned of them, and it is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from oocdm import (
    Boolean,
    Categorical,
    Dataset,
    ModelError,
    ObjectClass,
    Real,
    Schedule,
    Schema,
    discover,
    evaluate,
    fit,
    load,
)
from oocdm.graph import ClassEdges
from oocdm.inference.seen import Seen


class Ball(ObjectClass):
    x, height = Real(), Real()
    colour = Categorical(["red", "green"])
    is_over = Boolean()
    push = Real(action=True)


CONSTANT = ("Ball.height", "Ball.colour")


def log(height: float = 3.0, last: bool = True) -> Dataset:
    """Pushed balls; `is_over` is true after the last step alone."""
    rng, rows = np.random.default_rng(0), []
    for episode in range(12):
        x = rng.normal()
        for step in range(6):
            is_last = step == 5
            push = None if is_last else rng.normal()
            row = {"episode": episode, "step": step, "object": 0, "x": x, "height": height}
            rows.append({**row, "colour": "red", "is_over": is_last and last, "push": push})
            x = 0.9 * x + 0.3 * (push or 0.0)
    return Dataset.from_frames({"Ball": pd.DataFrame(rows)}, Schema(Ball))


QUICK = Schedule(iterations=1, steps_per_iteration=3, polish_steps=2)


@pytest.fixture(scope="module")
def result():
    return fit(log(), seed=0, schedule=QUICK)


def test_what_changes_in_the_last_step_alone_is_not_constant() -> None:
    assert log().constants == CONSTANT
    assert log(last=False).constants == (*CONSTANT, "Ball.is_over")


def test_a_value_that_is_known_once_is_not_called_constant() -> None:
    frame = pd.DataFrame({"episode": 0, "step": [0, 1], "object": 0, "x": [1.0, None]})
    frame["x"] = frame["x"].convert_dtypes()
    assert Dataset.from_frames({"Ball": frame.assign(**OTHERS)}, Schema(Ball)).constants == (
        "Ball.is_over",
    )


OTHERS = {"height": [1.0, 2.0], "colour": ["red", "green"], "is_over": False, "push": [0.5, None]}


def test_no_edge_that_begins_or_ends_there_can_be_tested(result) -> None:
    touching = np.array(
        [e.cause in CONSTANT or e.target in CONSTANT for e in ClassEdges.of(result.schema).edges]
    )
    assert (result.evidence.decision[touching] == "untestable").all()
    assert not result.graph.mask[touching].any()
    others = result.evidence.decision[~touching]
    assert {"untestable"} != set(others)


def test_a_fit_says_so(caplog: pytest.LogCaptureFixture) -> None:
    fit(log(), seed=0, schedule=QUICK)
    assert "single value in the whole log: Ball.height, Ball.colour." in caplog.text


def test_a_required_edge_stays() -> None:
    found = fit(log(), priors=["Ball.height <- self.height"], schedule=QUICK)
    assert "Ball.height <- self.height" in map(str, found.graph.edges())


def test_they_are_no_part_of_aill(result) -> None:
    report = evaluate(result, log())
    chosen = [f for name, f in report.fields.items() if name not in CONSTANT]
    assert report.aill == pytest.approx(sum(f.log_likelihood or 0.0 for f in chosen))
    assert [name for name, f in report.fields.items() if f.is_constant] == list(CONSTANT)
    assert str(report).count("not in AILL: a single value in training") == 2


def test_other_values_in_other_data_are_told(result) -> None:
    report = evaluate(result, log(height=5.0))
    assert any("Ball.height" in note for note in report.outside)


def test_discovery_in_data_where_a_field_does_not_vary_leaves_it_open(result) -> None:
    data = log(last=False)
    found = discover(result, data).evidence["Ball.is_over <- self.is_over"]
    assert found.decision == "untestable"


def test_it_is_kept_with_a_run(result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.seen is not None and again.seen.constants == CONSTANT
    assert evaluate(again, log()).aill == evaluate(result, log()).aill


def test_what_cannot_be_constant_is_refused(result) -> None:
    rows = result.seen.to_json()
    rows["Ball.x"]["is_constant"] = True
    with pytest.raises(ModelError, match="expected a single value of what is constant"):
        Seen.from_json(result.schema, rows, "seen.json")
