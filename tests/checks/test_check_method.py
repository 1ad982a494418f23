"""A method of one's own, broken in one way at a time: each is told, and nothing else."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import oocdm
from oocdm import check_method
from oocdm.discovery import Discovery
from oocdm.errors import DataError, GraphError, ModelError
from oocdm.graph import ClassEdges, Evidence, Layout
from oocdm.methods import METHODS, AbstractMethod, Oofull, Term, make_method
from oocdm.models import Setting
from oocdm.models.head import HeadOptions
from tests.checks.toys import (
    DATA,
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

FEW_TESTS: dict[str, dict[str, Any]] = {"grader": {"max_samples": 60, "workers": 1}}


def told(method: object, **options: Any) -> str:
    """The only finding."""
    found = check_method(method, **options)
    assert len(found) == 1, found
    return found[0]


# ---------------------------------------------------------------- methods without mistakes


# The independence tests of `grader` take long: once is enough.
SHIPPED = [(name, p) for name in METHODS for p in ("default", "paper")]
SHIPPED.remove(("grader", "paper"))


@pytest.mark.parametrize(("name", "preset"), SHIPPED)
def test_methods_of_the_library(name: str, preset: str) -> None:
    assert check_method(make_method(name, preset, **FEW_TESTS.get(name, {}))) == []


@pytest.mark.parametrize("method", [Toy, SharedToy()])
def test_toys_without_mistakes(method: object) -> None:
    assert check_method(method) == []


def test_data_of_ones_own() -> None:
    """Also few: rows are taken more than once rather than too few of them."""
    own = oocdm.collect(oocdm.make("block", num_blocks=2), steps=7, seed=0)
    quick = Oofull.preset("paper")
    assert check_method(quick, own) == check_method(Toy(schedule=quick.schedule), own) == []


def test_numbers_of_objects_that_vary() -> None:
    own = with_absent_balls()
    assert {tuple(row) for row in own.present["Ball"]} == {(True, True), (True, False)}
    assert check_method(SharedToy, own) == []
    assert told(Toy(), data=own).startswith("Toy.check_data: expected it to run on Dataset(16 epi")


def test_nothing_is_left_behind() -> None:
    torch.manual_seed(0)
    before, level = torch.get_rng_state(), logging.getLogger("oocdm").level
    check_method(Toy)
    check_method(broken(objective=lambda *_: 1 / 0))
    assert torch.equal(torch.get_rng_state(), before)
    assert logging.getLogger("oocdm").level == level


# ---------------------------------------------------------------- what is given


class Unfinished(AbstractMethod):
    name = "unfinished"


@dataclass(frozen=True)
class Demanding(Toy):
    name: ClassVar[str] = "demanding"

    def __post_init__(self) -> None:
        raise ModelError("Demanding: expected a width.")


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (3, "check_method: expected a method, its class or its name, got int. Subclass oocdm."),
        (dict, "check_method: expected a method, its class or its name, got type. Subclass oocdm."),
        (
            Unfinished,
            "Unfinished: expected a class without abstract methods, got one that lacks `build`, "
            "`preset`. Write them.",
        ),
        (
            Demanding,
            "Demanding.__init__: expected it to run on Dataset(16 episodes, 304 transitions; Ball: "
            "2 objects, Lamp: 1 object), got Demanding: expected a width. Call it by itself to see "
            "where.",
        ),
    ],
)
def test_what_is_no_method(method: object, expected: str) -> None:
    assert told(method).startswith(expected)


def test_arguments_that_are_refused() -> None:
    with pytest.raises(ModelError, match=r"^Unknown method `ooful`"):
        check_method("ooful")
    with pytest.raises(DataError, match=r"^check_method: `data`: expected an oocdm\.Dataset, got"):
        check_method("oofull", [1, 2])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"^check_method: `seed`: expected"):
        check_method("oofull", seed=-1)


def test_a_preset_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "demanding", Demanding)
    assert told("demanding").startswith("Demanding.preset: expected it to run on Dataset(")


# ---------------------------------------------------------------- what it says of itself


class Bare(Toy):
    name = "bare"


@dataclass(frozen=True)
class Unwritable(Toy):
    name: ClassVar[str] = "unwritable"
    fields: frozenset[str] = frozenset({"x"})


@dataclass(frozen=True)
class Losing(Toy):
    name: ClassVar[str] = "losing"
    widths: Any = (3, 4)  # JSON has lists


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (broken(name="oofull"), "Broken.name: expected a name of its own, got `oofull`, that of"),
        (broken(name=""), "Broken.name: expected a text that runs are known by, got ''."),
        (Bare(), "Bare: expected a frozen dataclass, got a class that is none itself. Write @dat"),
        (Unwritable(), "Unwritable.to_json: expected options that JSON can hold, got TypeError: "),
        (Losing(), "Losing.from_json: expected the method back that `to_json` wrote, got Losing("),
    ],
)
def test_names_and_options(method: AbstractMethod, expected: str) -> None:
    assert told(method).startswith(expected)


# ---------------------------------------------------------------- the model


def test_data_that_a_method_refuses() -> None:
    def refuse(self: Any, data: oocdm.Dataset) -> None:
        raise DataError("expected one object.")

    expected = f"Broken.check_data: expected it to run on {DATA!r}, got expected one object. Call "
    assert told(broken(check_data=refuse)).startswith(expected)


def test_build_returns_no_model() -> None:
    expected = "Broken.build: expected an AbstractWorldModel, got Linear. Subclass it, or Abstract"
    assert told(broken(build=lambda *_: torch.nn.Linear(2, 2))).startswith(expected)


def test_build_fails() -> None:
    """An error without a full stop gets one."""
    expected = f"Broken.build: expected it to run on {DATA!r}, got ZeroDivisionError: division by "
    assert told(broken(build=lambda *_: 1 / 0)) == (
        f"{expected}zero. Call it by itself to see where."
    )


def test_build_is_not_seeded() -> None:
    rng = np.random.default_rng(0)

    def init(self: Any, setting: Any) -> None:
        Lines.__init__(self, setting)
        self.map.weight.data.fill_(rng.normal())

    assert told(with_model(__init__=init)) == (
        "Broken.build: expected the same weights after torch.manual_seed, got others. Draw them by "
        "torch alone."
    )


def test_a_model_without_parameters() -> None:
    def init(self: Any, setting: Any) -> None:
        Lines.__init__(self, setting)
        self.map.requires_grad_(False)
        weight, bias = self.map.weight.data, self.map.bias.data
        del self.map
        self.map = lambda x: torch.baddbmm(bias, x, weight)

    expected = "Broken.build: expected a model with parameters, got none. Register what is learned"
    assert told(with_model(__init__=init)).startswith(expected)


@pytest.mark.parametrize(("toy", "is_fixed"), [(Toy, False), (SharedToy, True)])
def test_fixed_objects(toy: type[AbstractMethod], is_fixed: bool) -> None:
    has = "no numbers" if is_fixed else "the numbers"
    assert told(broken(toy, needs_fixed_objects=is_fixed)) == (
        "Broken.needs_fixed_objects: expected it to say whether the model has `counts`, got "
        f"{is_fixed} and a model that knows {has} of objects. Change one of them."
    )


def first_row_for_all(self: Any, encoded: Any, masks: torch.Tensor) -> Any:
    return Lines.predict(self, encoded, masks[:1])


class Careless(Lines):
    """Under a graph it is compiled for the full one."""

    def compile_for(self, graph: Any) -> Any:
        return super().compile_for(self.layout.structure(True))


def draw(mean: torch.Tensor, _: Any) -> torch.Tensor:
    return mean + torch.randn(())


def power(inputs: Any) -> torch.Tensor:
    """The static field of the lamp, with the axes of means."""
    found: torch.Tensor = inputs.features["Lamp"][:, :1, -1:, :1]
    return found


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (
            predicting(with_mean("Ball", lambda m, _: m * np.nan)),
            "expected finite numbers, got nan",
        ),
        (predicting(with_mean("Ball", lambda m, _: m[:, 0])), "expected `mean` of class `Ball` of"),
        (
            predicting(with_class("Ball", lambda p, _: replace(p, sigma=-p.sigma))),
            "expected positive standard deviations, got others in `sigma` of class `Ball`.",
        ),
        (predicting(lambda found, _: None), "expected one Predictions for each set of structures"),
        (
            predicting(lambda found, _: found.map(lambda tensor: tensor.detach())),
            "expected predictions with gradients to the parameters, got none. Compute with tensors",
        ),
        (predicting(with_mean("Ball", draw)), "expected the same numbers from the same inputs and"),
        (
            predicting(with_mean("Ball", lambda m, i: m + i.values["Lamp"].mean())),
            "expected rows of a batch to be predicted independently, got other numbers for",
        ),
        (
            predicting(with_mean("Ball", lambda m, i: m + i.values["Lamp"].mean(2, True))),
            "expected predictions that depend on parents alone, got one of `Ball[",
        ),
        (
            predicting(with_mean("Ball", lambda m, i: m + power(i))),
            "expected predictions that depend on parents alone, got one of `Ball[0].place` that "
            "changes with `Lamp[0].power`, which",
        ),
        (
            predicting(
                with_mean("Ball", lambda m, _: m + torch.arange(2.0).view(2, 1, 1)), SharedToy
            ),
            "expected objects of class `Ball` to be interchangeable, got other predictions when",
        ),
        (
            predicting(with_mean("Ball", lambda m, _: m + torch.zeros(2, 1, 1)), SharedToy),
            "expected any number of objects of class `Ball`, but with 1 in place of 2: expected "
            "`mean` of class `Ball` of shape (12, 1, 2, 2), got shape (12, 2, 2, 2). Share weights",
        ),
        (with_model(predict=first_row_for_all), "expected rows of structures to divide the batch"),
        (broken(kind=Careless), "expected `compile_for` to predict as a call does, got other"),
    ],
)
def test_predictions(method: AbstractMethod, expected: str) -> None:
    assert told(method).startswith(f"Broken.build: {expected}")


def test_a_sum_over_no_other_objects() -> None:
    """A mean over none is no number."""

    def add_mean_of_others(mean: torch.Tensor, inputs: Any) -> torch.Tensor:
        x = inputs.values["Ball"][:, :, :1, :1]
        return mean + 0 * (x.sum(1, keepdim=True) - x) / (x.shape[1] - 1)

    assert told(predicting(with_mean("Ball", add_mean_of_others), SharedToy)).startswith(
        "Broken.build: expected any number of objects of class `Ball`, but with 1 in place of 2: "
        "expected finite numbers, got nan in `mean` of class `Ball`. Bound what"
    )


def test_gradients_that_are_no_numbers() -> None:
    def root_of_nothing(self: Any, encoded: Any, masks: torch.Tensor) -> Any:
        return Lines.predict(self, encoded, masks) + (0 * self.map.bias[0, 0, 0]).sqrt()

    assert told(with_model(predict=root_of_nothing)) == (
        "Broken.build: expected finite gradients, got nan in that of `map.bias`. Bound what is "
        "divided by, and avoid roots of 0."
    )


# ---------------------------------------------------------------- structures


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (
            lambda self, layout, known, testable: layout.structure(True),
            "expected two Structures, what is in and what is free, got Structure. Return layout",
        ),
        (
            lambda self, layout, known, testable: (built(SharedToy()).layout.structure(True),) * 2,
            "expected Structures of the layout that it was given, got those of another. Return",
        ),
        (
            lambda self, layout, known, testable: Toy().start(layout, None, testable),
            "expected the edges of a known graph and no others, got `Ball[0].",
        ),
        (
            lambda self, layout, known, testable: (
                Toy().start(layout, known, testable)[0],
                layout.structure(testable if known is None else known),
            ),
            "expected no edge of a known graph to be free, got `Ball[0].",
        ),
        (
            lambda *_: 1 / 0,
            "expected it to run on Dataset(16 episodes, 304 transitions; Ball: 2 ob",
        ),
    ],
)
def test_starts(start: Any, expected: str) -> None:
    found = check_method(broken(start=start))
    assert found[0].startswith(f"Broken.start: {expected}")


def test_a_known_graph_that_fails() -> None:
    def start(self: Any, layout: Layout, known: Any, testable: Any) -> Any:
        return Toy.start(self, layout, None if known is None else known + "x", testable)

    assert told(broken(start=start)).startswith("Broken.start: expected it to run on Dataset(16 ")


def start_without_graph(self: Any, layout: Layout, known: Any, testable: Any) -> Any:
    if known is not None:
        raise GraphError("Leave the graph out.")
    return Toy.start(self, layout, known, testable)


def test_a_known_graph_may_be_refused() -> None:
    assert check_method(broken(start=start_without_graph)) == []


def test_edges_that_cannot_occur() -> None:
    """The only lamp has no others."""

    def start(self: Any, layout: Layout, known: Any, testable: Any) -> Any:
        given = SharedToy().start(layout, known, testable)
        return given if known is not None else (layout.structure(True), layout.structure(True))

    assert told(broken(SharedToy, start=start)).startswith(
        "Broken.start: expected only edges to be free that can occur, got `Lamp.colour <- Lamp[*]."
    )


# ---------------------------------------------------------------- learning


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            {"objective": lambda self, now, rng: [Term(1.0, ~now.estimate.flags[None])]},
            "objective: expected what is not free as the estimate has it, got `Ball[0].",
        ),
        (
            {"objective": lambda self, now, rng: [Term(1.0, now.estimate.flags)]},
            "objective: expected structures as rows of 54 flags, the length of the layout, got sha",
        ),
        ({"objective": lambda *_: []}, "objective: expected a list of Terms, got a list of 0: not"),
        ({"objective": lambda *_: 1 / 0}, "objective: expected it to run on Dataset(16 episodes, "),
        (
            {"penalty": lambda self, now: torch.ones(3)},
            "penalty: expected a tensor without axes or None, got a tensor of shape (3,). Sum it",
        ),
        (
            {"penalty": lambda self, now: 0.1},
            "penalty: expected a tensor without axes or None, got float. Sum it up: penalty.sum().",
        ),
        (
            {"penalty": lambda self, now: torch.tensor(np.nan)},
            "penalty: expected a finite number, got nan. Bound what is divided by.",
        ),
    ],
)
def test_what_is_learned(members: dict[str, Any], expected: str) -> None:
    assert told(broken(**members)).startswith(f"Broken.{expected}")


# ---------------------------------------------------------------- discovery


def other_layout(self: Any, inquiry: Any) -> Discovery:
    edges = ClassEdges.of(DATA.schema)
    return Discovery(Layout(edges).structure(True), Evidence.nothing(edges))


def contradictory(self: Any, inquiry: Any) -> Discovery:
    layout = inquiry.free.layout
    yes = np.ones(layout.num_edges, dtype=bool)
    return Discovery(layout.structure(False), Evidence.of_test(layout.edges, yes, yes, yes))


@pytest.mark.parametrize("function", ["discover_first", "discover"])
@pytest.mark.parametrize(
    ("discover", "expected"),
    [
        (
            other_layout,
            "expected a Structure of the layout that it was given, Layout(54 elements",
        ),
        (lambda *_: 3, "expected a Discovery or None, got int. Return Discovery(structure, evid"),
        (
            contradictory,
            "expected every edge that the evidence decides for in the structure, got `",
        ),
        (
            lambda *_: 1 / 0,
            "expected it to run on Dataset(16 episodes, 304 transitions; Ball: 2 ob",
        ),
    ],
)
def test_discoveries(function: str, discover: Any, expected: str) -> None:
    assert told(broken(**{function: discover})).startswith(f"Broken.{function}: {expected}")


# ---------------------------------------------------------------- training


def test_what_is_kept_beside_the_parameters() -> None:
    class Shifted(Lines):
        shift = 0.0

        def measure(self, data: Any) -> None:
            self.shift = float(data.after["Ball.x"].std())

        def predict(self, encoded: Any, masks: torch.Tensor) -> torch.Tensor:
            return super().predict(encoded, masks) + self.shift

    assert told(broken(kind=Shifted)) == (
        "Broken: expected a run that is read to predict as it did, got other numbers. Keep all "
        "that a prediction needs in parameters and buffers, or in options."
    )


AGAIN = (
    "Broken: expected the same seed to give the same run, got another. Draw from the `rng` that "
    "`objective` is given, and keep nothing in the method."
)


def test_an_objective_that_is_not_seeded() -> None:
    rng = np.random.default_rng(0)

    def objective(self: Any, now: Any, _: Any) -> list[Term]:
        return [Term(rng.uniform(0.5, 1.0), now.estimate.flags[None])]

    assert told(broken(objective=objective)) == AGAIN


def test_a_discovery_that_is_not_seeded() -> None:
    """The weights of a network that reads everything do not tell: graphs are compared, too."""
    rng = np.random.default_rng(0)

    class Dense(Lines):
        def __init__(self, setting: Setting) -> None:
            super().__init__(replace(setting, head=HeadOptions(predict_change=False)))

        def predict(self, encoded: Any, masks: torch.Tensor) -> torch.Tensor:
            return super().predict(encoded, torch.ones_like(masks))

    def discover(self: Any, inquiry: Any) -> Discovery:
        layout = inquiry.free.layout
        yes, no = (np.full(layout.num_edges, flag) for flag in (True, False))
        evidence = Evidence.of_test(layout.edges, yes, rng.random(layout.num_edges) < 0.5, no)
        return Discovery(layout.structure(evidence.is_in), evidence)

    members = {"kind": Dense, "discover": discover, "start": start_without_graph}
    assert told(broken(**members)) == AGAIN


def test_an_objective_that_teaches_nothing() -> None:
    def objective(self: Any, now: Any, rng: Any) -> list[Term]:
        return [Term(0.0, now.estimate.flags[None])]

    assert told(broken(objective=objective)) == (
        "Broken: expected training to change parameters, got the same as before. Register what is "
        "learned as torch.nn.Parameter, and score it in `objective`."
    )


def test_losses_that_are_no_numbers() -> None:
    def penalty(self: Any, now: Any) -> torch.Tensor | None:
        return torch.tensor(np.inf) if now.share > 0.6 else None

    assert told(broken(penalty=penalty)).startswith("Broken: expected finite losses, got [")


def test_a_run_that_cannot_be_trained() -> None:
    def penalty(self: Any, now: Any) -> torch.Tensor | None:
        if now.share > 0.6:
            raise ValueError("too late")
        return None

    assert told(broken(penalty=penalty)).startswith(
        f"Broken.training: expected it to run on {DATA!r}, got ValueError: too late. Call it by"
    )


def test_a_run_that_cannot_be_read() -> None:
    def build(self: Any, schema: Any, scales: Any, counts: Any = None) -> Any:
        if float(scales.fields["Ball", "x"].value_sd) == 1.0:
            raise ValueError("these are no units")
        return Toy.build(self, schema, scales, counts)

    assert told(broken(build=build)).startswith(
        f"Broken.loading: expected it to run on {DATA!r}, got ValueError: these are no units. Call"
    )


# ---------------------------------------------------------------- more than one mistake


def test_findings_are_told_together() -> None:
    method = type("Twice", (Bare,), {"name": "twice", "penalty": lambda self, now: 3.0})()
    assert [text.split(": ")[0] for text in check_method(method)] == ["Twice", "Twice.penalty"]
