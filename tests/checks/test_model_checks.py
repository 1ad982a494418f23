"""What a model predicts, checked thing by thing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from oocdm.checks.model_checks import (
    batch_problems,
    division_problems,
    exchange_problems,
    gradient_problems,
    ground,
    parent_problems,
    prediction_problems,
    repetition_problems,
    same_predictions,
)
from oocdm.graph import Structure
from oocdm.methods import AbstractMethod
from oocdm.models.world_model import AbstractWorldModel
from tests.checks.toys import (
    BATCH,
    Lines,
    SharedToy,
    Toy,
    broken,
    built,
    predicting,
    with_absent_balls,
    with_class,
    with_mean,
    with_model,
)

TOYS: list[Any] = [Toy, SharedToy]


def some_structures(model: AbstractWorldModel) -> list[Structure]:
    rng, layout = np.random.default_rng(0), model.layout
    return [layout.structure(rng.random(layout.num_edges) < share) for share in (0.2, 0.5, 0.8)]


# ---------------------------------------------------------------- models without mistakes


@pytest.mark.parametrize("toy", TOYS)
@pytest.mark.parametrize(
    "check", [prediction_problems, gradient_problems, repetition_problems, batch_problems]
)
def test_toys_have_no_problems(toy: type[AbstractMethod], check: Callable[..., Any]) -> None:
    assert list(check(built(toy()), BATCH)) == []


@pytest.mark.parametrize("toy", TOYS)
def test_toys_keep_to_graphs(toy: type[AbstractMethod]) -> None:
    model = built(toy())
    structures = some_structures(model)
    assert list(division_problems(model, BATCH, structures)) == []
    for structure in (*structures, model.layout.structure(False), model.layout.structure(True)):
        assert list(parent_problems(model, BATCH, structure)) == []


def test_objects_that_are_not_always_there() -> None:
    model, data = built(SharedToy()), with_absent_balls().transitions(slice(0, 300, 25))
    assert not bool(data.before.present["Ball"].all())
    assert list(exchange_problems(model, BATCH)) == list(exchange_problems(model, data)) == []
    assert list(parent_problems(model, data, some_structures(model)[0])) == []


# ---------------------------------------------------------------- shapes and numbers


@pytest.mark.parametrize(
    ("c", "change", "expected"),
    [
        (
            "Ball",
            {"mean": lambda p: p.mean[:, :1]},
            "`mean` of class `Ball` of shape (12, 2, 2, 2)",
        ),
        ("Ball", {"sigma": lambda p: p.sigma[0]}, "`sigma` of class `Ball` of shape (12, 2, 2, 2)"),
        (
            "Lamp",
            {"logits": lambda p: {**p.logits, "colour": p.logits["colour"][..., :2]}},
            "`logits['colour']` of class `Lamp` of shape (12, 1, 1, 3), got shape (12, 1, 1, 2).",
        ),
        (
            "Lamp",
            {"logits": lambda p: {"lit": p.logits["lit"]} if "lit" in p.logits else {}},
            "`logits['colour']` of class `Lamp` of shape (12, 1, 1, 3), got none.",
        ),
        (
            "Lamp",
            {"logits": lambda p: {v: logits / 0 for v, logits in p.logits.items()}},
            "finite numbers, got ",
        ),
        ("Ball", {"sigma": lambda p: p.sigma * 0}, "positive standard deviations, got others in"),
        ("Ball", {"mean": lambda p: p.mean + np.inf}, "finite numbers, got inf in `mean` of class"),
    ],
)
def test_shapes_and_numbers(c: str, change: dict[str, Any], expected: str) -> None:
    def apply(found: Any, _: Any) -> Any:
        return replace(found, **{name: call(found) for name, call in change.items()})

    told = list(prediction_problems(built(predicting(with_class(c, apply))), BATCH))
    assert told and all(text.startswith("expected ") for text in told)
    assert told[0].startswith(f"expected {expected}")


def test_a_class_that_is_not_predicted() -> None:
    def drop(found: Any, _: Any) -> Any:
        return type(found)(found.schema, {"Ball": found.classes["Ball"]})

    assert list(prediction_problems(built(predicting(drop)), BATCH)) == [
        "expected predictions of class `Lamp`, got none. It has fields that change."
    ]


@pytest.mark.parametrize("forward", [lambda *_: None, lambda *_: (1,), lambda *_: (1, 2)])
def test_calls_that_return_no_predictions(forward: Any) -> None:
    (told,) = prediction_problems(built(with_model(forward=forward)), BATCH)
    assert told.startswith("expected one Predictions for each set of structures, two in a tuple, ")


def test_gradients() -> None:
    model = built(predicting(lambda found, _: found.map(lambda tensor: tensor.detach())))
    (told,) = gradient_problems(model, BATCH)
    assert told.startswith("expected predictions with gradients to the parameters, got none.")


# ---------------------------------------------------------------- the same numbers


def test_predictions_that_are_drawn() -> None:
    model = built(predicting(with_mean("Ball", lambda mean, _: mean + torch.randn(()))))
    (told,) = repetition_problems(model, BATCH)
    assert told.startswith("expected the same numbers from the same inputs and weights, got other")


def test_predictions_that_remember() -> None:
    calls: list[int] = []

    def count(mean: torch.Tensor, _: Any) -> torch.Tensor:
        calls.append(1)
        return mean + len(calls)

    assert len(list(repetition_problems(built(predicting(with_mean("Ball", count))), BATCH))) == 1


def test_rows_that_are_normalised_together() -> None:
    model = built(predicting(with_mean("Ball", lambda mean, _: mean - mean.mean(0))))
    (told,) = batch_problems(model, BATCH)
    assert told.startswith("expected rows of a batch to be predicted independently, got other num")


def test_rows_of_structures_in_another_order() -> None:
    def backwards(self: Any, encoded: Any, masks: torch.Tensor) -> torch.Tensor:
        return Lines.predict(self, encoded, masks.flip(0))

    model = built(with_model(predict=backwards))
    (told,) = division_problems(model, BATCH, some_structures(model))
    assert "got other predictions for the samples of row 0 than under it alone. Repeat" in told


def test_compiled_models_that_differ() -> None:
    class Careless(Lines):
        def compile_for(self, graph: Any) -> Any:
            return super().compile_for(self.layout.structure(True))

    model = built(broken(kind=Careless))
    (told,) = division_problems(model, BATCH, some_structures(model))
    assert told.startswith("expected `compile_for` to predict as a call does, got other numbers.")


def test_same_predictions() -> None:
    one, other, third = built(Toy()), built(Toy()), built(Toy(), seed=1)
    found = [
        each.compile_for(each.layout.structure(True))(BATCH.before) for each in (one, other, third)
    ]
    assert same_predictions(found[0], found[1]) and not same_predictions(found[0], found[2])


# ---------------------------------------------------------------- parents


@pytest.mark.parametrize("toy", TOYS)
def test_every_edge_that_leaks_is_found(toy: type[AbstractMethod]) -> None:
    """A model that always uses the full graph, under graphs that lack one edge each."""

    def full(self: Any, inputs: Any, *structures: torch.Tensor) -> Any:
        return toy.kind.forward(self, inputs, *map(torch.ones_like, structures))  # type: ignore[attr-defined]

    model = built(with_model(toy, forward=full))  # type: ignore[arg-type]
    testable = model.edges.testable(BATCH.before.counts)
    for i in np.flatnonzero(testable):
        structure = model.layout.structure(np.arange(len(testable)) != i)
        (told,) = parent_problems(model, BATCH, structure)
        assert told.startswith("expected predictions that depend on parents alone, got one of `")
        target, source = (
            model.layout.names[i].replace("self", model.layout.names[i][:4]).split(" <- ")
        )
        assert f"`{target[:4]}[" in told and f".{target.split('.')[1]}` that changes with" in told
        assert f".{source.split('.')[1]}`, which the graph does not have" in told


def test_graphs_between_variables() -> None:
    for toy in TOYS:
        model = built(toy())
        full = ground(model.layout.structure(True).graph, BATCH.before)
        assert full.inputs[0] == "Ball[0].x" and full.matrix.all()


# ---------------------------------------------------------------- objects


def test_objects_that_are_told_apart() -> None:
    """One finding: that there may be fewer follows."""
    table = torch.arange(2.0).view(2, 1, 1)
    model = built(predicting(with_mean("Ball", lambda mean, _: mean + table), SharedToy))
    (told,) = exchange_problems(model, BATCH)
    assert told.startswith("expected objects of class `Ball` to be interchangeable, got other pre")


def test_numbers_of_objects_that_are_fixed() -> None:
    def refuse(mean: torch.Tensor, _: Any) -> torch.Tensor:
        if mean.shape[1] != 2:
            raise ValueError("two balls are needed")
        return mean

    (told,) = exchange_problems(built(predicting(with_mean("Ball", refuse), SharedToy)), BATCH)
    assert told == (
        "expected any number of objects of class `Ball`, but with 1 in place of 2: got ValueError: "
        "two balls are needed. Share weights among objects, sum over others also if there are "
        "none, or set needs_fixed_objects = True."
    )
