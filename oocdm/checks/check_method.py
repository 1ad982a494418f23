"""Whether a method of one's own does all that is expected of one."""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from oocdm.checks.method_checks import (
    dataclass_problems,
    json_problems,
    known_problems,
    name_problems,
    penalty_problems,
    sentence,
    start_problems,
    term_problems,
)
from oocdm.checks.model_checks import (
    batch_problems,
    division_problems,
    exchange_problems,
    gradient_problems,
    parent_problems,
    prediction_problems,
    repetition_problems,
    same_predictions,
)
from oocdm.checks.small_data import small_data
from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Transitions
from oocdm.errors import ModelError, OocdmError
from oocdm.graph import Structure
from oocdm.inference.fitted import checked_data
from oocdm.methods import AbstractMethod, DataInquiry, Inquiry, LearningState, method_class
from oocdm.models.prepared import Prepared
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import Seed, checked
from oocdm.training.fit import fit, load
from oocdm.training.given import keep_given
from oocdm.training.result import FitResult
from oocdm.training.trainer import Trainer

NUM_GRAPHS = 3
BATCH = 12  # transitions that single predictions are compared on
QUICK = {"iterations": 2, "steps_per_iteration": 3, "polish_steps": 2, "patience": 2}
QUICK_BATCH = 64


@checked(ModelError)
def check_method(method: object, data: Dataset | None = None, seed: Seed = 0) -> list[str]:
    """What is wrong with a method, in plain words; an empty list means that all is well.

    `method` is a method, its class or its name. It is built, asked and trained for some steps on
    data that are small and generated, or on the first of your own. Predictions are compared with
    the schema and with each other: the same weights must give the same numbers, and under a graph
    nothing but parents may change one. What training relies on is put to the test: structures that
    keep what is given, the same weights from the same seed, runs that are read as they were saved.

    >>> check_method("oofull")
    []
    >>> from oocdm.methods import Oofull
    >>> class Forgetful(Oofull):
    ...     name = "forgetful"
    ...     def start(self, layout, known, testable):
    ...         return layout.structure(True), layout.structure(False, False)
    >>> print(*check_method(Forgetful()), sep="\\n")
    Forgetful: expected a frozen dataclass, got a class that is none itself. Write \
@dataclass(frozen=True) above it.
    Forgetful.start: expected the edges of a known graph and no others, got `Ball.x <- self.x`, \
which it does not have. Return layout.structure(known) where `known` is given.
    """
    data = small_data(seed) if data is None else checked_data("check_method", data)
    trial = _Trial(data, seed)
    with contextlib.suppress(_Stopped), torch.random.fork_rng(devices=[]), _quiet():
        trial.run(method)
    return list(trial.found)


class _Stopped(Exception):
    """What was found leaves nothing to go on with."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what training says: little data and a short time are not worth a word here."""
    logger = logging.getLogger("oocdm")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


class _Trial:
    """A method on its way through all checks, and what was found, each thing once."""

    method: AbstractMethod
    model: AbstractWorldModel
    batch: Transitions

    def __init__(self, data: Dataset, seed: int) -> None:
        self.data, self.seed, self.name = data, seed, ""
        self.found: dict[str, None] = {}

    def run(self, method: object) -> None:
        self.method = self._make(method)
        self.name = type(self.method).__name__
        self.must(name_problems(self.method))
        self.note(dataclass_problems(self.method))
        self.note(json_problems(self.method))
        self._ask("check_data", self.method.check_data, self.data)
        self._build()
        self._check_predictions()
        takes_graphs = self._check_start()
        if takes_graphs:
            self._check_graphs()
        self._check_objective()
        self._check_discovery()
        if not self.found:  # what is wrong already would be told again in other words
            self._check_training()

    # ---------------------------------------------------------------- noting

    def note(self, problems: Iterable[str]) -> bool:
        """Whether there were any problems."""
        problems = list(problems)
        self.found |= dict.fromkeys(problems)
        return bool(problems)

    def must(self, problems: Iterable[str]) -> None:
        if self.note(problems):
            raise _Stopped

    def _ask(self, what: str, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of the method says; an error is a finding after which nothing goes on."""
        try:
            return function(*arguments)
        except Exception as error:
            self.must([self._failed(what, error)])

    def _failed(self, what: str, error: Exception) -> str:
        said = "" if isinstance(error, OocdmError) else f"{type(error).__name__}: "
        return (
            f"{self.name}.{what}: expected it to run on {self.data!r}, got {said}{sentence(error)} "
            "Call it by itself to see where."
        )

    def _inspect(self, what: str, problems: Iterator[str]) -> bool:
        """Note problems of the model; an error on the way is one of them."""
        found: list[str] = []
        try:
            for problem in problems:
                found.append(f"{self.name}.{what}: {problem}")
        except Exception as error:
            found.append(self._failed(what, error))
        return self.note(found)

    # ---------------------------------------------------------------- what it says of itself

    def _make(self, method: object) -> AbstractMethod:
        if isinstance(method, str):
            chosen = method_class(method)
            self.name = chosen.__name__
            preset: AbstractMethod = self._ask("preset", chosen.preset, "default")
            return preset
        if isinstance(method, type) and issubclass(method, AbstractMethod):
            self.name = method.__name__
            missing = sorted(getattr(method, "__abstractmethods__", ()))
            if missing:
                self.must(
                    [
                        f"{self.name}: expected a class without abstract methods, got one that "
                        f"lacks {', '.join(f'`{each}`' for each in missing)}. Write them."
                    ]
                )
            made: AbstractMethod = self._ask("__init__", method)
            return made
        if not isinstance(method, AbstractMethod):
            self.must(
                [
                    "check_method: expected a method, its class or its name, got "
                    f"{type(method).__name__}. Subclass oocdm.AbstractMethod."
                ]
            )
        assert isinstance(method, AbstractMethod)
        return method

    # ---------------------------------------------------------------- the model

    def _build(self) -> None:
        one, other = (self._ask("build", self._new_model) for _ in range(2))
        if not isinstance(one, AbstractWorldModel):
            self.must(
                [
                    f"{self.name}.build: expected an AbstractWorldModel, got {type(one).__name__}. "
                    "Subclass it, or AbstractVariableModel for fixed objects."
                ]
            )
        if not list(one.parameters()):
            self.must(
                [
                    f"{self.name}.build: expected a model with parameters, got none. Register what "
                    "is learned as torch.nn.Parameter."
                ]
            )
        # From all over the data: static fields differ between episodes only.
        rows = np.linspace(0, len(self.data) - 1, BATCH).astype(int)
        self.model, self.batch = one, self.data.transitions(rows)
        ours, theirs = one.state_dict(), other.state_dict()
        if list(ours) != list(theirs) or any(not torch.equal(ours[n], theirs[n]) for n in ours):
            self.note(
                [
                    f"{self.name}.build: expected the same weights after torch.manual_seed, got "
                    "others. Draw them by torch alone."
                ]
            )
        if (one.counts is not None) != self.method.needs_fixed_objects:
            has = "knows no numbers" if one.counts is None else "knows the numbers"
            self.note(
                [
                    f"{self.name}.needs_fixed_objects: expected it to say whether the model has "
                    f"`counts`, got {self.method.needs_fixed_objects} and a model that {has} of "
                    "objects. Change one of them."
                ]
            )

    def _new_model(self) -> AbstractWorldModel:
        scales = Scales.measure(self.data.transitions())
        torch.manual_seed(self.seed)
        schema = self.method.predicted(self.data.schema)
        return self.method.build(schema, scales, self.data.max_counts)

    def _check_predictions(self) -> None:
        model, batch = self.model, self.batch
        if self._inspect("build", prediction_problems(model, batch)):
            raise _Stopped
        self._inspect("build", gradient_problems(model, batch))
        if self._inspect("build", repetition_problems(model, batch)):
            raise _Stopped
        if self._inspect("build", batch_problems(model, batch)):
            raise _Stopped
        if self.model.counts is None and not self.method.knows_objects:
            self._inspect("build", exchange_problems(model, batch))

    def _check_graphs(self) -> None:
        rng, layout = np.random.default_rng(self.seed), self.model.layout
        structures = [
            layout.structure(rng.random(layout.num_edges) < share)
            for share in np.linspace(0.2, 0.8, NUM_GRAPHS)
        ]
        for structure in structures:
            if self._inspect("build", parent_problems(self.model, self.batch, structure)):
                return
        self._inspect("build", division_problems(self.model, self.batch, structures))

    # ---------------------------------------------------------------- structures

    @property
    def _testable(self) -> np.ndarray:
        return self.model.edges.testable(self.data.max_counts, self.data.constants)

    def _check_start(self) -> bool:
        """Whether the method takes a known graph, as it should unless it refuses."""
        layout, testable = self.model.layout, self._testable
        free = self._started(self._ask("start", self.method.start, layout, None, testable))[1]
        impossible = layout.structure(free.edges & ~testable, False)
        if impossible.any():
            self.note(
                [
                    f"{self.name}.start: expected only edges to be free that can occur, got "
                    f"`{impossible.names[0]}`. Leave out what is not `testable`."
                ]
            )
        known = np.random.default_rng(self.seed).random(layout.num_edges) < 0.5
        try:
            given = self.method.start(layout, known, testable)
        except OocdmError:
            return False  # said to its user
        except Exception as error:
            self.must([self._failed("start", error)])
        self._inspect("start", known_problems(*self._started(given), known))
        return True

    def _started(self, given: Any) -> tuple[Structure, Structure]:
        if self._inspect("start", start_problems(given, self.model.layout)):
            raise _Stopped
        start, free = given
        return start, free

    def _partly_free(self) -> tuple[Structure, Structure]:
        """An estimate and what is free of it: less than the method asked for, as with priors."""
        layout, rng = self.model.layout, np.random.default_rng(self.seed + 1)
        start, free = self.method.start(layout, None, self._testable)
        some, turned = (Structure(layout, rng.random(len(layout)) < 0.5) for _ in range(2))
        return start ^ (turned & free & some), free & some

    # ---------------------------------------------------------------- learning

    def _check_objective(self) -> None:
        estimate, free = self._partly_free()
        nothing = self.model.layout.structure(False, False)
        for iteration in range(2):
            now = LearningState(self.model, estimate, free, nothing, iteration, iteration / 2)
            rng = np.random.default_rng(self.seed)
            terms = self._ask("objective", self.method.objective, now, rng)
            if self._inspect("objective", term_problems(terms, estimate, free)):
                raise _Stopped
            penalty = self._ask("penalty", self.method.penalty, now)
            if self._inspect("penalty", penalty_problems(penalty)):
                raise _Stopped

    def _check_discovery(self) -> None:
        estimate, free = self._partly_free()
        if free.edges.any():
            first = DataInquiry(self.data, free, self.seed)
            found = self._ask("discover_first", self.method.discover_first, first)
            self._check_found("discover_first", found, estimate, free)
        if free.any():
            inquiry = Inquiry(self.model, Prepared.of(self.model, self.data), estimate, free)
            found = self._ask("discover", self.method.discover, inquiry)
            self._check_found("discover", found, estimate, free)

    def _check_found(self, what: str, found: Any, estimate: Structure, free: Structure) -> None:
        try:
            if found is not None:
                testable = np.ones(len(free.edges), dtype=bool)
                keep_given(f"{self.name}.{what}", found, estimate, free, testable)
        except ModelError as error:  # says all by itself
            self.note([str(error)])

    # ---------------------------------------------------------------- training

    def _check_training(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            result: FitResult = self._ask("training", self._train, path)
            self.note(self._unlearned(result))
            back: FitResult = self._ask("loading", load, path, type(self.method))
        if not self._predicts_as(back.model, result):
            self.note(
                [
                    f"{self.name}: expected a run that is read to predict as it did, got other "
                    "numbers. Keep all that a prediction needs in parameters and buffers, or in "
                    "options."
                ]
            )
        again: FitResult = self._ask("training", self._train, None)
        if again.graph != result.graph or not self._predicts_as(again.model, result):
            self.note(
                [
                    f"{self.name}: expected the same seed to give the same run, got another. "
                    "Draw from the `rng` that `objective` is given, and keep nothing in the method."
                ]
            )

    def _train(self, folder: Path | None) -> FitResult:
        return fit(self.data, self._quick(), seed=self.seed, folder=folder)

    def _quick(self) -> AbstractMethod:
        """The method with a schedule that is soon over."""
        schedule = self.method.schedule
        sizes = {
            name: min(getattr(schedule, name), QUICK_BATCH)
            for name in ("batch_size", "polish_batch_size")
        }
        changes: dict[str, Any] = {**QUICK, **sizes}
        return replace(self.method, schedule=replace(schedule, **changes))

    def _unlearned(self, result: FitResult) -> Iterator[str]:
        losses = [row["loss"] for row in result.history if row["loss"] is not None]
        if not np.isfinite(losses).all():
            yield (
                f"{self.name}: expected finite losses, got {losses}. Bound what is divided by or "
                "exponentiated."
            )
        # Parameters, not predictions: these change with the least sigma, which is not learned.
        new = Trainer(self.data, self._quick(), self.seed).model.parameters()
        if all(torch.equal(a, b) for a, b in zip(new, result.learned.parameters(), strict=True)):
            yield (
                f"{self.name}: expected training to change parameters, got the same as before. "
                "Register what is learned as torch.nn.Parameter, and score it in `objective`."
            )

    def _predicts_as(self, model: AbstractWorldModel, result: FitResult) -> bool:
        """Whether a model predicts as that of a result does, under its graph."""
        structure = result.model.structure(result.prediction_graph)
        ours, theirs = (
            each.compile_for(structure)(self.batch.before) for each in (model, result.model)
        )
        return same_predictions(ours, theirs)
