"""What a method is: its schedule, and what it does unless it says otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import oocdm
from oocdm.data.dataset import Dataset
from oocdm.errors import GraphError, ModelError
from oocdm.graph import Priors
from oocdm.methods import AbstractMethod, DataInquiry, Inquiry, LearningState, Schedule
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.scales import Scales
from oocdm.schema import Schema

DATA: Dataset = oocdm.collect(oocdm.make("block", num_blocks=1), steps=200, seed=0)
MODEL = OocdmModel(DATA.schema, ModelOptions())
LAYOUT = MODEL.layout
TESTABLE = LAYOUT.edges.testable(DATA.max_counts)
QUICK = Schedule(1, 2, 2, batch_size=32)


@dataclass(frozen=True)
class Least(AbstractMethod):
    """No more than must be said."""

    name: ClassVar[str] = "least"

    def build(
        self, schema: Schema, scales: Scales, counts: Mapping[str, int] | None = None
    ) -> OocdmModel:
        return OocdmModel(schema, ModelOptions(), scales)

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        return cls(**options)


def test_by_default_all_that_can_occur_is_there_and_free() -> None:
    assert not TESTABLE.all()
    start, free = Least().start(LAYOUT, None, TESTABLE)
    assert start == free == LAYOUT.structure(TESTABLE)
    known = np.random.default_rng(0).random(len(TESTABLE)) < 0.5
    start, free = Least().start(LAYOUT, known, TESTABLE)
    assert start == LAYOUT.structure(known) and not free.any()


def test_by_default_a_batch_is_scored_under_the_estimate() -> None:
    estimate = LAYOUT.structure(TESTABLE, False)
    now = LearningState(MODEL, estimate, estimate, estimate, 0)
    (term,) = Least().objective(now, np.random.default_rng(0))
    assert term.weight == 1.0 and np.array_equal(term.structures, estimate.flags[None])
    assert Least().penalty(now) is None


def test_by_default_nothing_is_discovered() -> None:
    everything = LAYOUT.structure(True)
    assert Least().discover_first(DataInquiry(DATA, everything, 0)) is None
    assert Least().discover(Inquiry(MODEL, None, everything, everything)) is None  # type: ignore[arg-type]
    assert Least().after_training() == Least()
    message = (
        r"^discover_variables: expected a run of a method that can hide variables, such as "
        r"`oocdm`, got `least`\.$"
    )
    with pytest.raises(ModelError, match=message):
        Least().discover_variables(MODEL, everything.graph, DATA, None)
    with pytest.raises(ModelError, match=r"^Method `least` has no threshold\.$"):
        Least().with_threshold(0.3)


def test_the_graph_of_a_method_that_discovers_nothing_is_what_it_started_from() -> None:
    result = oocdm.fit(DATA, Least(schedule=QUICK))
    assert result.graph == LAYOUT.edges.graph(TESTABLE) == result.evidence.graph
    assert set(result.evidence.decision[TESTABLE]) == {"required"}
    assert set(result.evidence.decision[~TESTABLE]) == {"untestable"}
    with pytest.raises(ModelError, match=r"^Method `least` does not discover a graph\.$"):
        oocdm.discover(result, DATA)


def test_soft_priors_need_a_method_that_weighs_them() -> None:
    with pytest.raises(
        GraphError, match=r"^Method `least` cannot use soft priors, such as `\?0\.2`"
    ):
        Least().check_priors(Priors.of(DATA.schema, ["Block.s1 <- ?0.2 self.a"]))
    Least().check_priors(Priors.of(DATA.schema, ["Block.s1 <- !self.a"]))


def test_json() -> None:
    method = Least(schedule=Schedule(iterations=3, resolution=0.2))
    options = json.loads(json.dumps(method.to_json()))
    assert options.pop("name") == "least"
    assert Least.from_json(options) == method


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("iterations", 0, "a whole number of at least 1"),
        ("batch_size", 2.5, "a whole number of at least 1"),
        ("polish_steps", -1, "a whole number of at least 0"),
        ("learning_rate", 0.0, "a number above 0"),
        ("max_gradient_norm", float("inf"), "a finite number above 0"),
        ("resolution", -0.1, "a number of at least 0"),
        ("final_resolution", True, "a number of at least 0"),
        ("held_out", 1.0, "a number of at least 0 and below 1"),
    ],
)
def test_schedules_that_mean_nothing(option: str, value: Any, expected: str) -> None:
    with pytest.raises(
        ModelError, match=f"^schedule: `{option}`: expected {expected}, got {value!r}"
    ):
        Schedule(**{option: value})
