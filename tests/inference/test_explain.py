"""Explanations: reasons are parents whose value mattered, and they form chains."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from oocdm import (
    ClassGraph,
    DataError,
    Dataset,
    GraphError,
    ModelError,
    ModelOptions,
    Schedule,
    fit,
)
from oocdm.graph import Variable
from oocdm.inference import Explanation, explain
from oocdm.inference.explain import _Searcher
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from tests.inference.ragged import ragged, random_model


class Lamp(ObjectClass):
    """It is switched by its lever; the room is as bright as its lamps."""

    light = Real()
    lever = Categorical(["off", "on"], action=True)


class Room(ObjectClass):
    light = Real()


SCHEMA = Schema(Lamp, Room)
GRAPH = ClassGraph.parse(SCHEMA, ["Lamp.light <- self.lever", "Room.light <- Lamp[*].light"])


def rooms(episodes: int = 60, steps: int = 6) -> Dataset:
    rng = np.random.default_rng(0)
    lamps, dark = [], []
    for episode in range(episodes):
        light, bright = rng.integers(2, size=2).astype(float), 0.0
        for step in range(steps):
            lever = rng.integers(2, size=2)
            last = step == steps - 1
            for i in (0, 1):
                switch = None if last else ["off", "on"][lever[i]]
                lamps.append((episode, step, i, light[i], switch))
            dark.append((episode, step, 0, bright))
            bright, light = light.sum(), lever.astype(float)
    names = ["episode", "step", "object"]
    frames = {
        "Lamp": pd.DataFrame(lamps, columns=[*names, "light", "lever"]),
        "Room": pd.DataFrame(dark, columns=[*names, "light"]),
    }
    return Dataset.from_frames(frames, SCHEMA)


@pytest.fixture(scope="module")
def lamps() -> tuple[Any, Dataset]:
    data = rooms()
    return fitted(data, GRAPH), data


def fitted(data: Dataset, graph: ClassGraph) -> Any:
    schedule = Schedule(iterations=1, steps_per_iteration=1, polish_steps=250, learning_rate=5e-3)
    small = ModelOptions(encoding_dim=8, local_dim=8, message_dim=8, decoder_dim=8)
    return fit(data, graph=graph, schedule=schedule, model=small)


def test_reasons_are_the_values_that_mattered(lamps: tuple[Any, Dataset]) -> None:
    result, data = lamps
    why = explain(result, data, 0, 2, "Lamp[0].light")
    (reason,) = why.reasons
    assert str(reason.variable) == "Lamp[0].lever" and reason.nats > 1
    lever = data.transitions(slice(2, 3)).before["Lamp", "lever"][0, 0]
    assert reason.value == ["off", "on"][lever] and reason.because is None


def test_reasons_form_a_chain(lamps: tuple[Any, Dataset]) -> None:
    result, data = lamps
    why = explain(result, data, 0, 3, "Room[0].light")
    assert {str(r.variable) for r in why.reasons} == {"Lamp[0].light", "Lamp[1].light"}
    earlier = data.transitions(slice(2, 3))
    for reason in why.reasons:
        i = reason.variable.object
        has_changed = earlier.before["Lamp", "light"][0, i] != earlier.after["Lamp", "light"][0, i]
        assert (reason.because is not None) == bool(has_changed)
        if reason.because is not None:
            assert reason.because.step == 2
            assert [str(r.variable) for r in reason.because.reasons] == [f"Lamp[{i}].lever"]
    assert all(r.because is None for r in explain(result, data, 0, 3, "Room[0].light", 1).reasons)
    text = str(why)
    assert text.startswith("Room[0].light went from ") or text.startswith("Room[0].light stayed ")
    assert "\n  Lamp[0].light was " in text


def test_parents_that_are_rarely_there_are_compared_with_all_their_values() -> None:
    """Two ants among 3,000 steps: random steps would show none of them, or one."""
    data = ragged(lengths=(3000,), slots={"Ant": 1, "Rock": 1, "Nest": 1}, is_whole=True)
    rows = [7, 8, 2000, 2001]
    rare = np.zeros_like(data.present["Ant"])
    rare[rows] = True
    data = replace(
        data,
        present={**data.present, "Ant": rare},
        observed={**data.observed, "Ant": dict.fromkeys(data.observed["Ant"], rare)},
        values={
            **data.values,
            "Ant": {
                f: np.where(rare.reshape(-1, 1, *[1] * (v.ndim - 2)), v, 0).astype(v.dtype)
                for f, v in data.values["Ant"].items()
            },
        },
    )
    graph = ClassGraph.parse(data.schema, ["Nest.food <- self.food, Ant[*].x"])
    model = random_model(data)
    structures = model.structures(graph)
    searcher = _Searcher(model, graph, structures, data, np.random.default_rng(0))
    values = searcher._other_values(Variable("Ant", 0, "x"))
    assert set(values.tolist()) == set(data.values["Ant"]["x"][rows, 0].tolist())
    result = SimpleNamespace(model=random_model(data), graph=graph)
    explain(result, data, 0, 7, "Nest[0].food")


def test_no_parents_are_no_reason(lamps: tuple[Any, Dataset]) -> None:
    result, data = lamps
    alone = SimpleNamespace(model=result.model, graph=ClassGraph.empty(SCHEMA))
    why = explain(alone, data, 0, 2, "Lamp[0].light")
    assert why == Explanation(why.variable, 2, why.before, why.after, ())
    assert str(why).endswith(", for no reason that the graph knows")


def test_a_past_that_made_no_difference_is_no_reason() -> None:
    """Lamps do not depend on their past, though this graph lets them."""
    data = rooms()
    result = fitted(data, ClassGraph.parse(SCHEMA, ["Lamp.light <- self.light"]))
    why = explain(result, data, 0, 2, "Lamp[0].light")
    assert why.reasons == () and why.has_parents and not why.is_own_past
    assert str(why).endswith(" in step 2, for which none of its parents alone made a difference")
    assert repr(why) == "Explanation(Lamp[0].light in step 2, 0 reasons)"


def test_what_comes_of_its_own_past_has_a_reason() -> None:
    """Rooms are dark or bright for whole episodes here."""
    data = rooms()
    bright = (data.episode[:, None] % 2).astype(np.float32)
    data = replace(data, values={**data.values, "Room": {"light": bright}})
    result = fitted(data, ClassGraph.parse(SCHEMA, ["Room.light <- self.light"]))
    why = explain(result, data, 1, 2, "Room[0].light")
    assert why.reasons == () and why.is_own_past
    assert str(why) == "Room[0].light stayed 1 in step 2, which comes of its own previous value"


def test_parents_that_made_no_difference_are_no_reasons() -> None:
    why = Explanation(Variable("Lamp", 0, "light"), 2, "1", "1", (), has_parents=True)
    assert str(why) == (
        "Lamp[0].light stayed 1 in step 2, for which none of its parents alone made a difference"
    )


def test_truths_are_told_in_words() -> None:
    data = ragged(is_whole=True)
    result = SimpleNamespace(model=random_model(data), graph=ClassGraph.full(data.schema))
    why = explain(result, data, 0, 2, "Ant[0].awake")
    was, is_now = (
        bool(each["Ant", "awake"][0, 0])
        for each in (data.transitions(slice(2, 3)).before, data.transitions(slice(2, 3)).after)
    )
    assert (why.before, why.after) == (str(was), str(is_now))


def test_objects_may_be_named_as_they_were_logged(lamps: tuple[Any, Dataset]) -> None:
    result, data = lamps
    ids = np.array([["left", "right"]] * data.num_episodes, dtype=object)
    named = replace(data, object_ids={**data.object_ids, "Lamp": ids})
    by_name, by_place = (explain(result, named, 0, 2, f"Lamp[{i}].light") for i in ("right", 1))
    assert by_name == by_place


def test_bad_input_is_a_clear_error(lamps: tuple[Any, Dataset]) -> None:
    result, data = lamps
    with pytest.raises(GraphError, match=r"`Lamp\[0\].lever` is not predicted"):
        explain(result, data, 0, 2, "Lamp[0].lever")
    with pytest.raises(DataError, match="episode 0 has no transition at step 5"):
        explain(result, data, 0, 5, "Lamp[0].light")
    with pytest.raises(ModelError, match=r"^explain: `result`: .* Load it: oocdm\.load\("):
        explain("runs/x", data, 0, 2, "Lamp[0].light")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"^explain: `data`: .* Load it: oocdm\.load_dataset\("):
        explain(result, "data/x", 0, 2, "Lamp[0].light")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"`Lamp\[7\].light` has no value after this step"):
        explain(result, data, 0, 2, "Lamp[7].light")
