"""Counterfactuals: the noise of what was logged is kept, and only descendants change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import oocdm
from oocdm import ClassGraph, DataError, ModelError, Snapshot
from oocdm.graph import Variable
from oocdm.inference import Counterfactual, counterfactual
from oocdm.inference.counterfactual import Change
from oocdm.models.mixture_field import MixtureField
from oocdm.models.prediction import CategoricalField, log_floored_softmax
from oocdm.schema import Boolean, Categorical, ObjectClass, Real, Schema
from tests.inference.ragged import padded, ragged, random_model

DATA = ragged()
RESULT = SimpleNamespace(model=random_model(DATA), graph=ClassGraph.full(DATA.schema))
WHOLE = ragged(is_whole=True)


@pytest.mark.parametrize("episode", [0, 2, 3])
def test_doing_nothing_changes_nothing(episode: int) -> None:
    first = int(DATA.step[DATA.starts][DATA.episode_of == episode][0])
    found = counterfactual(RESULT, DATA, episode, first, do={})
    assert len(found.steps) > 1 and str(found) == "nothing would have changed"
    for actual, imagined in zip(found.actual, found.imagined, strict=True):
        known = actual.observed["Ant"]["x"]
        torch.testing.assert_close(imagined["Ant", "x"][known], actual["Ant", "x"][known])
        known = actual.observed["Ant"]["heading"]
        assert torch.equal(imagined["Ant", "heading"][known], actual["Ant", "heading"][known])


def test_only_descendants_change() -> None:
    graph = ClassGraph.parse(WHOLE.schema, ["Ant.x <- self.x, self.push", "Nest.food <- Ant[*].x"])
    result = SimpleNamespace(model=random_model(WHOLE), graph=graph)
    do = {"Ant[1].push": 3.0}
    found = counterfactual(result, WHOLE, 0, 0, do, horizon=3)
    changed = {(c.step, str(c.variable)) for c in found.changes()}
    assert {(1, "Ant[1].x"), (2, "Ant[1].x"), (3, "Ant[1].x")} <= changed
    names = {name for _, name in changed}
    assert names <= {"Ant[1].x", *(f"Nest[{i}].food" for i in range(4))}
    assert all(step > 1 for step, name in changed if name.startswith("Nest"))


@pytest.mark.parametrize("mixes", [False, True])
def test_the_noise_of_what_was_logged_is_kept(mixes: bool) -> None:
    """Of mixtures it tells the part that the value came of, too, which is drawn."""
    model = random_model(WHOLE)
    if not mixes:
        model.heads["Ant"].choose(torch.zeros_like(model.heads["Ant"].is_mixture))
    result = SimpleNamespace(model=model, graph=ClassGraph.full(WHOLE.schema))
    predict, kinds = model.compile_for(result.graph), set()
    for row in range(len(WHOLE)):
        episode, step = int(WHOLE.episode_of[row]), int(WHOLE.step[WHOLE.starts[row]])
        found = counterfactual(result, WHOLE, episode, step, {"Ant[0].push": 2.0}, horizon=1)
        logged = WHOLE.transitions(slice(row, row + 1))
        push = logged.before["Ant", "push"].clone()
        push[0, 0] = 2.0
        ant = {**logged.before.values["Ant"], "push": push}
        other = replace(logged.before, values={**logged.before.values, "Ant": ant})
        was, would = (predict(each)["Ant", "x"] for each in (logged.before, other))
        value, imagined = logged.after["Ant", "x"], found.imagined[0]["Ant", "x"]
        if mixes:
            kinds |= set(moved(was, would, value, imagined))
        else:
            z = (value - was.mean) / was.sigma
            torch.testing.assert_close(imagined, (would.mean + would.sigma * z).float())
        assert not torch.allclose(imagined[0, 0], value[0, 0])
    assert not mixes or {("narrow", "narrow"), ("wide", "wide")} <= kinds


def moved(
    was: MixtureField, would: MixtureField, value: torch.Tensor, found: torch.Tensor
) -> Iterator[tuple[str, str]]:
    """From which part to which every value moved; each as far from the mean in sigmas as it was."""
    names = ("narrow", "wide")
    for place in np.ndindex(*found.shape):
        fits = set()
        for first, second in product(names, names):
            one, other = getattr(was, first), getattr(would, second)
            z = (value[place] - one.mean[place]) / one.sigma[place]
            expected = float(other.mean[place] + other.sigma[place] * z)
            if float(found[place]) == pytest.approx(expected, rel=1e-5, abs=1e-5):
                fits.add((first, second))
        # What came of the wide part still does if this has become more likely, and vice versa.
        grows = bool(would.chance[place] >= was.chance[place])
        fits.discard(("wide", "narrow") if grows else ("narrow", "wide"))
        assert fits, f"{place}: {float(found[place])}"
        if len(fits) == 1:
            yield fits.pop()


def test_holding_goes_on() -> None:
    result = SimpleNamespace(model=random_model(WHOLE), graph=ClassGraph.full(WHOLE.schema))
    once, held = (
        counterfactual(result, WHOLE, 2, 0, {"Ant[0].push": 2.0}, hold=hold)
        for hold in (False, True)
    )
    assert torch.equal(once.imagined[0]["Ant", "x"], held.imagined[0]["Ant", "x"])
    assert not torch.equal(once.imagined[1]["Ant", "x"], held.imagined[1]["Ant", "x"])


def test_what_was_not_logged_can_be_set() -> None:
    logged = DATA.transitions().before
    there, known = logged.present["Ant"], logged.observed["Ant"]["push"]
    row, i = (int(k) for k in (there & ~known).nonzero()[0])
    episode, step = int(DATA.episode_of[row]), int(DATA.step[DATA.starts[row]])
    found = [
        counterfactual(RESULT, DATA, episode, step, {f"Ant[{i}].push": push}, horizon=1)
        for push in (2.0, 9.0)
    ]
    assert not torch.equal(found[0].imagined[0]["Ant", "x"], found[1].imagined[0]["Ant", "x"])


def test_a_static_field_keeps_what_it_is_set_to() -> None:
    result = SimpleNamespace(model=random_model(WHOLE), graph=ClassGraph.full(WHOLE.schema))
    once, held = (
        counterfactual(result, WHOLE, 2, 0, {"Ant[0].mass": 5.0}, hold=hold)
        for hold in (False, True)
    )
    for i, imagined in enumerate(once.imagined):
        assert imagined["Ant", "mass"][0, 0] == 5.0
        assert torch.equal(imagined["Ant", "x"], held.imagined[i]["Ant", "x"])
    assert {c.step for c in once.changes() if str(c.variable) == "Ant[0].mass"} == set(once.steps)


def test_an_object_that_leaves_is_no_longer_held() -> None:
    logged = DATA.transitions()
    here = logged.before.present["Ant"]
    # An ant that is there at some step and gone in the next one of the same episode.
    goes_on = np.diff(DATA.starts) == 1
    leaves = here[:-1] & ~here[1:] & torch.from_numpy(goes_on).unsqueeze(1)
    row, i = (int(k) for k in leaves.nonzero()[0])
    episode, step = int(DATA.episode_of[row]), int(DATA.step[DATA.starts[row]])
    do = {f"Ant[{i}].push": 2.0, f"Ant[{i}].mass": 3.0}
    found = counterfactual(RESULT, DATA, episode, step, do, hold=True)
    assert len(found.steps) > 1
    for actual, imagined in zip(found.actual, found.imagined, strict=True):
        is_here = bool(actual.present["Ant"][0, i])
        assert imagined["Ant", "mass"][0, i] == (3.0 if is_here else 0.0)
        assert bool(imagined.observed["Ant"]["mass"][0, i]) == is_here
    with pytest.raises(ModelError, match=rf"expected an object that is there at step {step + 1}, "):
        counterfactual(RESULT, DATA, episode, step + 1, do)


def test_noise_of_a_choice_gives_that_choice_back() -> None:
    logits = torch.randn(400, 3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    field = CategoricalField(Categorical(5), log_floored_softmax(logits))
    drawn = field.sample(torch.Generator().manual_seed(1))
    noise = field.noise_of(drawn, torch.Generator().manual_seed(2))
    assert torch.equal(field.with_noise(noise), drawn)
    # Noise of drawn values is plain Gumbel noise: under another prediction it draws from that.
    other = CategoricalField(Categorical(5), log_floored_softmax(torch.zeros(400, 3, 5)))
    share = torch.bincount(other.with_noise(noise).flatten(), minlength=5) / 1200
    assert (share - 0.2).abs().max() < 5 * (0.16 / 1200) ** 0.5


@pytest.mark.parametrize(
    ("do", "message"),
    [
        (
            {"Ant[9].push": 1.0},
            "do `Ant[9].push`: expected an object that is there at step 0, got Ant[9], which is "
            "not. There are: Ant[0], Ant[1], Ant[2], Ant[3].",
        ),
        ({"Ant[0].place": 1.0}, "do `Ant[0].place`: expected a value of shape (2,), got 1.0."),
        (
            {"Ant[0].level": 9},
            "do `Ant[0].level`: expected a whole number from 2 to 5, got 9. The schema declares "
            "what the field allows.",
        ),
        (
            {"Ant[0].heading": "nord"},
            "do `Ant[0].heading`: unknown value 'nord'. Did you mean `north`? "
            "Known: north, south, west.",
        ),
    ],
)
def test_what_cannot_be_done_is_an_error(do: dict[str, Any], message: str) -> None:
    result = SimpleNamespace(model=random_model(WHOLE), graph=ClassGraph.full(WHOLE.schema))
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        counterfactual(result, WHOLE, 0, 0, do)


def test_where_there_is_nothing_logged_is_an_error() -> None:
    with pytest.raises(DataError, match="the dataset has no episode 77"):
        counterfactual(RESULT, DATA, 77, 0, {})
    with pytest.raises(DataError, match="episode 0 has no transition at step 5"):
        counterfactual(RESULT, DATA, 0, 5, {})


@pytest.mark.parametrize("horizon", [0, -1, 1.5])
def test_a_horizon_is_a_whole_number(horizon: Any) -> None:
    kind = "" if type(horizon) is int else " or None"
    message = (
        f"counterfactual: `horizon`: expected a whole number of at least 1{kind}, got {horizon}. "
        "It is how many steps the answer has."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        counterfactual(RESULT, DATA, 0, 0, {}, horizon=horizon)


def test_a_state_that_is_held_stays_in_what_is_told() -> None:
    result = SimpleNamespace(model=random_model(WHOLE), graph=ClassGraph.full(WHOLE.schema))
    held = counterfactual(result, WHOLE, 2, 0, {"Ant[0].x": 5.0}, hold=True)
    assert [float(imagined["Ant", "x"][0, 0]) for imagined in held.imagined] == [5.0] * len(
        held.steps
    )
    once = counterfactual(result, WHOLE, 2, 0, {"Ant[0].x": 5.0})
    assert 5.0 not in [float(imagined["Ant", "x"][0, 0]) for imagined in once.imagined]


class Lamp(ObjectClass):
    x = Real()
    place = Real(shape=(2,))
    phase = Categorical(["red", "green"])
    on = Boolean()


def lamp(x: float, place: list[float], phase: int, on: int) -> Snapshot:
    values = {"x": x, "place": place, "phase": phase, "on": on}
    return Snapshot.of(Schema(Lamp), {"Lamp": {f: torch.tensor([[v]]) for f, v in values.items()}})


def changes(spread: float, was: Snapshot, would: Snapshot) -> list[str]:
    spreads = {"Lamp.x": torch.tensor([spread]), "Lamp.place": torch.full((2,), spread)}
    return str(Counterfactual((7,), (was,), (would,), spreads)).splitlines()


def test_changes_are_told_in_the_words_of_their_field() -> None:
    was, would = lamp(1.0, [0.0, 0.0], 0, 1), lamp(2.0, [0.0, 3.0], 1, 0)
    assert changes(1.0, was, would) == [
        "step 7: Lamp[0].x would have been 2, not 1",
        "step 7: Lamp[0].place would have been (0, 3), not (0, 0)",
        "step 7: Lamp[0].phase would have been green, not red",
        "step 7: Lamp[0].on would have been False, not True",
    ]


def test_a_change_is_judged_by_the_spread_of_its_field() -> None:
    was, would = lamp(0.0, [0.0, 0.0], 0, 0), lamp(0.0002, [0.0, 0.0002], 0, 0)
    assert changes(6.0, was, would) == ["nothing would have changed"]
    assert len(changes(0.01, was, would)) == 2
    # Of large numbers single precision keeps about seven digits, whatever their spread.
    was, would = lamp(1e6, [0.0, 0.0], 0, 0), lamp(1e6 + 1, [0.0, 0.0], 0, 0)
    assert changes(1e-3, was, would) == ["nothing would have changed"]


def test_numbers_that_differ_are_written_differently() -> None:
    was, would = lamp(11.362, [5.0, 5.0], 0, 0), lamp(11.364, [5.0, 5.0002], 0, 0)
    assert changes(0.01, was, would) == [
        "step 7: Lamp[0].x would have been 11.364, not 11.362",
        "step 7: Lamp[0].place would have been (5, 5.0002), not (5, 5)",
    ]


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_spreads_are_those_of_training_or_of_the_data(preset: str) -> None:
    result = SimpleNamespace(model=random_model(WHOLE, preset), graph=ClassGraph.full(WHOLE.schema))
    found = counterfactual(result, WHOLE, 0, 0, {}, horizon=1)
    expected = WHOLE.values["Ant"]["place"].std((0, 1))
    np.testing.assert_allclose(found.spreads["Ant.place"], expected, rtol=0.2)
    assert "Ant.level" not in found.spreads and "Ant.mass" in found.spreads


def test_objects_may_be_named_as_they_were_logged() -> None:
    result = SimpleNamespace(model=random_model(WHOLE), graph=ClassGraph.full(WHOLE.schema))
    ids = np.array([["a", "b", "c", "d"]] * 5, dtype=object)
    named = replace(WHOLE, object_ids={**WHOLE.object_ids, "Ant": ids})
    by_name = counterfactual(result, named, 0, 0, {"Ant[c].push": 3.0}, horizon=1)
    by_place = counterfactual(result, named, 0, 0, {"Ant[2].push": 3.0}, horizon=1)
    assert by_name.changes() and str(by_name) == str(by_place)
    message = (
        "do `Ant[e].push`: episode 0 has no object that was logged as `e`. Known: a, b, c, d. Or "
        "give its place, as in `Ant[0]`; data.object_ids['Ant'] says who stands where."
    )
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        counterfactual(result, named, 0, 0, {"Ant[e].push": 3.0})


def test_numbers_are_places_also_where_objects_were_logged_with_numbers() -> None:
    result = SimpleNamespace(model=random_model(WHOLE), graph=ClassGraph.full(WHOLE.schema))
    ids = np.array([[10, 11, 12, 13]] * 5)
    numbered = replace(WHOLE, object_ids={**WHOLE.object_ids, "Ant": ids})
    message = (
        "There are: Ant[0], Ant[1], Ant[2], Ant[3]. Objects are numbered by place: what was logged "
        "as 12 is Ant[2]."
    )
    with pytest.raises(ModelError, match=f"{re.escape(message)}$"):
        counterfactual(result, numbered, 0, 0, {"Ant[12].push": 3.0})


def test_what_is_no_result_or_dataset_is_refused() -> None:
    with pytest.raises(ModelError, match=r"^counterfactual: `result`: .* Load it: oocdm\.load\("):
        counterfactual("runs/x", DATA, 0, 0, {})  # type: ignore[arg-type]
    with pytest.raises(
        DataError, match=r"^counterfactual: `data`: .* Load it: oocdm\.load_dataset"
    ):
        counterfactual(RESULT, "data/x", 0, 0, {})  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^counterfactual: `do`: expected a mapping, got 'x'"):
        counterfactual(RESULT, DATA, 0, 0, "x")  # type: ignore[arg-type]


def test_it_shows_in_a_line() -> None:
    assert repr(counterfactual(RESULT, DATA, 0, 0, {}, horizon=2)) == (
        "Counterfactual(2 steps, 0 changes)"
    )


def test_batches_of_different_widths_change_nothing() -> None:
    data = ragged(slots=30, chance=0.15)
    result = SimpleNamespace(model=random_model(data), graph=ClassGraph.full(data.schema))
    first = int(np.flatnonzero(data.present["Ant"][0])[0])

    def ask(data: Any) -> Counterfactual:
        return counterfactual(result, data, 0, 0, {f"Ant[{first}].push": 2.0})

    found, expected = ask(data), padded(data, ask)
    assert len(found.changes()) > 0
    assert [str(c.variable) for c in found.changes()] == [
        str(c.variable) for c in expected.changes()
    ]
    for own, wide in zip(found.imagined, expected.imagined, strict=True):
        num = own.counts["Ant"]
        torch.testing.assert_close(own["Ant", "x"], wide["Ant", "x"][:, :num])


# ---------------------------------------------------------------- doubts


def test_copies_of_the_model_answer_too() -> None:
    """Each with its own noise, so that without a change they all say what was logged."""
    env = oocdm.make("block", num_blocks=2)
    data = oocdm.collect(env, steps=300, seed=0)
    quick = oocdm.Schedule(iterations=1, steps_per_iteration=5, polish_steps=50)
    result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    same = counterfactual(result, data, 0, 3, do={}, horizon=3)
    assert len(same.others) == 4 and not same.changes()
    answer = counterfactual(result, data, 0, 3, do={"Block[0].a": 2.0}, horizon=3)
    alone = counterfactual(result, data, 0, 3, do={"Block[0].a": 2.0}, horizon=3, doubts=False)
    assert [str(c.variable) for c in answer.changes()] == [str(c.variable) for c in alone.changes()]
    assert all(c.doubt == 0 for c in alone.changes()) and not alone.others
    for change in answer.changes():
        c, j, f = change.variable
        i = answer.steps.index(change.step)
        each = [float(states[i][c, f][0, j]) - change.imagined for states in answer.others]
        assert change.doubt == pytest.approx(float(np.sqrt(np.mean(np.square(each)))), rel=1e-4)
    assert any(c.doubt > 0 for c in answer.changes())


def test_doubts_are_told_where_they_matter() -> None:
    kind, variable = oocdm.Categorical(["red", "green"]), Variable("Lamp", 0, "colour")
    change = Change(2, variable, 0, 1, kind, doubt=0.25)
    assert str(change).endswith(
        "would have been green (but not by 25 % of the model's copies), not red"
    )
    number = Change(2, Variable("Ball", 0, "x"), 1.0, 2.0, doubt=0.09)
    assert "give or take" not in str(number)
    assert "(give or take 0.11)" in str(replace(number, doubt=0.11))
