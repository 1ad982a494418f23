"""Discovery with a trained model: edges between single variables where objects differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oocdm import (
    AbstractWorld,
    Boolean,
    ClassGraph,
    DataError,
    FitResult,
    ModelError,
    ObjectClass,
    Oocdm,
    Oofull,
    Real,
    Schedule,
    Schema,
    VariableGraph,
    collect,
    discover,
    discover_variables,
    evaluate,
    fit,
)
from oocdm.errors import OocdmError
from oocdm.worlds.world import WorldState
from tests.inference.ragged import ragged


class Ball(ObjectClass):
    x = Real()
    follows = Boolean(static=True)


class Leader(ObjectClass):
    x = Real()


FOLLOWS = np.array([1, 0, 1, 0])


class Followers(AbstractWorld):
    """Four balls, of which two follow a leader who goes anywhere."""

    schema = Schema(Ball, Leader)
    max_episode_steps = 20
    max_objects = {"Ball": 4, "Leader": 1}  # noqa: RUF012

    def reset(self, num_worlds: int, rng: np.random.Generator) -> WorldState:
        return self._state(rng.normal(size=(num_worlds, 4)), rng)

    def random_actions(self, state: WorldState, rng: np.random.Generator) -> Any:
        return {"Ball": {}, "Leader": {}}

    def step(
        self, state: WorldState, actions: Any, rng: np.random.Generator
    ) -> tuple[WorldState, np.ndarray, np.ndarray]:
        ball, leader = state.values["Ball"]["x"], state.values["Leader"]["x"]
        noise = rng.normal(size=ball.shape, scale=0.1)
        reward = np.zeros(len(ball))
        return self._state(0.6 * ball + 0.8 * FOLLOWS * leader + noise, rng), reward, reward > 0

    def _state(self, ball: np.ndarray, rng: np.random.Generator) -> WorldState:
        leader = rng.normal(size=(len(ball), 1))
        follows = np.broadcast_to(FOLLOWS, ball.shape)
        values = {"Ball": {"x": ball, "follows": follows}, "Leader": {"x": leader}}
        present = {c: np.ones_like(v["x"], dtype=bool) for c, v in values.items()}
        return WorldState(values, present)


# The edge from the leader is there for all balls or for none. It is given because nobody ever
# changes here, so that the others betray who follows: their field can stand in for one's own.
GRAPH = ClassGraph.parse(Followers.schema, ["Ball.x <- self.x, self.follows, Leader[*].x"])
TRUE_ROWS = [
    "Ball[0].x <- Ball[0].x, Ball[0].follows, Leader[0].x",
    "Ball[1].x <- Ball[1].x, Ball[1].follows",
    "Ball[2].x <- Ball[2].x, Ball[2].follows, Leader[0].x",
    "Ball[3].x <- Ball[3].x, Ball[3].follows",
    "Leader[0].x <- (nothing)",
]


def test_only_some_balls_follow_the_leader() -> None:
    schedule = Schedule(
        iterations=1, steps_per_iteration=200, polish_steps=0, batch_size=128, resolution=0.2
    )
    method = Oocdm(schedule=schedule, num_graphs=8, hide_variables=0.2)
    result = fit(collect(Followers(), 4000, seed=0), method, seed=0, graph=GRAPH)
    other = collect(Followers(), 1000, seed=1)
    found = discover_variables(result, other)

    assert str(found.graph).splitlines() == TRUE_ROWS
    grounded = GRAPH.ground(other.max_counts)
    true = VariableGraph.parse(grounded.inputs, grounded.outputs, TRUE_ROWS)
    assert found.roc_auc(true) == 1.0
    # None of the decisions was close.
    tested = ~np.isnan(found.score)
    assert tested.sum() == 12
    is_true = found.edges.mask(true)
    assert found.low[is_true].min() > 0.2
    assert found.high[tested & ~is_true].max() < 0.03
    # Nothing is lost by not looking at what does not matter.
    aill = {graph: evaluate(result, other, graph=graph).aill for graph in (GRAPH, found.graph)}
    assert aill[found.graph] > aill[GRAPH] - 0.05


QUICK = Schedule(iterations=1, steps_per_iteration=1, polish_steps=1, batch_size=16)


@pytest.fixture(scope="module")
def quick() -> FitResult:
    data = collect(Followers(), 100, seed=0)
    return fit(data, Oocdm(schedule=QUICK, num_graphs=4, max_scored=40), graph=GRAPH)


def test_a_threshold_takes_the_place_of_tests(quick: FitResult) -> None:
    data = collect(Followers(), 100, seed=1)
    everything = discover_variables(quick, data, threshold=-1e9).graph
    assert everything == GRAPH.ground(data.max_counts)
    nothing = discover_variables(quick, data, threshold=1e9)
    assert not nothing.edges.mask(nothing.graph).any()


def test_the_network_before_polishing_is_asked_about_the_first_transitions(
    quick: FitResult,
) -> None:
    data = collect(Followers(), 100, seed=1)
    found, first = (discover_variables(quick, each) for each in (data, data.head(40)))
    np.testing.assert_array_equal(found.score, first.score)
    assert found.score.shape == (9 * 5,)


def test_what_is_no_run_no_data_and_no_threshold(quick: FitResult) -> None:
    data: Any = collect(Followers(), 100, seed=1)
    for ask in (discover, discover_variables):
        name = ask.__name__
        with pytest.raises(ModelError, match=rf"^{name}: `result`: expected a fitted result, got "):
            ask("runs/x", data)  # type: ignore[operator]
        with pytest.raises(DataError, match=rf"^{name}: `data`: expected an oocdm\.Dataset, got "):
            ask(quick, "data/x")  # type: ignore[operator]
        for threshold in (float("nan"), "0.1"):
            message = rf"^{name}: `threshold`: expected a (finite )?number"
            with pytest.raises(OocdmError, match=message):
                ask(quick, data, threshold)  # type: ignore[operator]


def test_errors(quick: FitResult) -> None:
    data = collect(Followers(), 100, seed=1)
    full = fit(data, Oofull(schedule=QUICK))
    with pytest.raises(
        ModelError,
        match=r"expected a run of a method that can hide variables, such as `oocdm`, got `oofull`",
    ):
        discover_variables(full, data)
    with pytest.raises(ModelError, match=r"^Method `oofull` has no threshold\.$"):
        discover_variables(full, data, threshold=0.1)
    with pytest.raises(DataError, match=r"^This dataset does not fit the model"):
        discover_variables(quick, ragged())
