"""What a method is: a network, an objective and a rule of discovery."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery, OnSettled
from oocdm.errors import GraphError, ModelError
from oocdm.graph import Evidence, Graph, Layout, Priors, Structure
from oocdm.models.prepared import Prepared
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import Count, CountOrZero, NotNegative, Positive, Range, check_fields, read
from oocdm.schema import Schema

PLANNED_ITERATIONS = 10  # of learning, where a schedule gives none


@dataclass(frozen=True)
class Term:
    """One term of an objective: a weight, and the structures that the batch is divided among.

    Structures that are learned by gradients are a tensor, and may lie between 0 and 1.
    """

    weight: float
    structures: np.ndarray | Tensor


@dataclass(frozen=True)
class Schedule:
    """How a method is trained: `iterations` of `steps_per_iteration`, then `polish_steps`.

    Learning has settled, and ends, when the graph has not changed for `patience` iterations. At
    most there are so many `iterations`; if none are given, 10, after which a method that tests
    edges goes on while they have not settled: for one more iteration for every ten edges that it
    decides, or for as long as limited time allows. Learning rates fall over the first ones.
    Polishing fits the discovered structure alone. Scores are blurred by `resolution`, a fraction of
    the spread of each field's change, which polishing lowers to `final_resolution`; 0 means no
    blur.

    >>> Schedule().planned_iterations, Schedule(iterations=3).planned_iterations
    (10, 3)
    """

    iterations: Count | None = None
    steps_per_iteration: Count = 400
    polish_steps: CountOrZero = 3000
    patience: CountOrZero = 3
    batch_size: Count = 512
    polish_batch_size: Count = 256
    # Learned on from other episodes: where they disagree, intervals widen.
    copies: Annotated[int, Range(at_least=0, at_most=64)] = 4
    optimiser: Literal["eigen-adam", "adam"] = "eigen-adam"
    warm_up: CountOrZero = (
        100  # first steps of a phase, at most a twentieth of it, that are smaller
    )
    learning_rate: Positive = 2e-3
    final_learning_rate: Positive = 2e-4
    max_gradient_norm: Positive = 5.0
    resolution: NotNegative = 0.1
    final_resolution: NotNegative = 0.003
    held_out: Annotated[float, Range(at_least=0, below=1)] = 0.2
    targets_per_class: Count = 64  # objects scored in each transition, drawn where there are more

    def __post_init__(self) -> None:
        check_fields(self, "schedule", ModelError)

    @property
    def planned_iterations(self) -> int:
        """The iterations over which learning rates fall."""
        return PLANNED_ITERATIONS if self.iterations is None else self.iterations

    @property
    def planned_steps(self) -> int:
        """The steps of all planned iterations."""
        return self.planned_iterations * self.steps_per_iteration


@dataclass(frozen=True)
class LearningState:
    """Where learning stands when a batch is drawn."""

    model: AbstractWorldModel
    estimate: Structure  # that discovery found last
    free: Structure  # elements that discovery may change
    contested: Structure  # elements whose place in the estimate is not clear yet
    iteration: int
    share: float = 0.0  # of the learning that is over


@dataclass(frozen=True)
class Inquiry:
    """What a discovery asks a trained model about."""

    model: AbstractWorldModel
    data: Prepared
    estimate: Structure  # that it starts from
    free: Structure  # elements that it may change
    weights: np.ndarray | None = None  # how readily edges are believed beforehand, 1 on average
    on_settled: OnSettled | None = None  # told how many edges are settled
    before: AbstractWorldModel | None = None  # the model at the last look, while it is learning
    limits: np.ndarray | None = None  # nats that useless edges may add, once that is known


@dataclass(frozen=True)
class DataInquiry:
    """What a discovery that needs no model asks data about."""

    data: Dataset
    free: Structure  # edges that are asked about
    seed: int
    weights: np.ndarray | None = None  # how readily edges are believed beforehand, 1 on average
    on_settled: OnSettled | None = None  # told how many edges are settled
    max_seconds: float | None = None  # that it may take, if time is limited


@dataclass(frozen=True)
class AbstractMethod(ABC):
    """A method that `fit` can train: a frozen dataclass whose fields are its options.

    Their types are checked; ranges may stand beside them, such as `Annotated[int, Range(above=0)]`.
    """

    name: ClassVar[str]
    # Whether it knows objects one by one, so that their numbers must stay the same.
    needs_fixed_objects: ClassVar[bool] = False
    # Probability that a single variable is hidden from a training sample.
    hide_variables: ClassVar[float] = 0.0

    schedule: Schedule = field(default_factory=Schedule)
    # Of every field that may have it, whatever the schema says; None: as the schema says.
    likelihood: Literal["auto", "normal", "mixture", "categorical"] | None = None

    def __post_init__(self) -> None:
        check_fields(self, _who(type(self)), ModelError)

    @abstractmethod
    def build(
        self, schema: Schema, scales: Scales, counts: Mapping[str, int] | None = None
    ) -> AbstractWorldModel:
        """A new model with random weights; `counts` are the numbers of objects, if fixed."""

    @property
    def knows_objects(self) -> bool:
        """Whether it knows objects one by one, so that it must stay the same which is which."""
        return self.needs_fixed_objects

    def predicted(self, schema: Schema) -> Schema:
        """The schema with the likelihoods that the method has its model predict with."""
        return schema if self.likelihood is None else schema.with_likelihood(self.likelihood)

    def check_data(self, data: Dataset) -> None:  # noqa: B027, nothing to refuse by default
        """Raise a `DataError` if the method cannot learn from such data."""

    @property
    def weighs_beliefs(self) -> bool:
        """Whether it makes a difference to its discovery how probable an edge is beforehand."""
        return False

    def check_priors(self, priors: Priors) -> None:
        """Raise a `GraphError` if the method cannot use what is known beforehand."""
        if priors.is_soft and not self.weighs_beliefs:
            raise GraphError(
                f"Method `{self.name}` cannot use soft priors, such as `?0.2`, as it is set: it "
                "compares edges with a fixed price or threshold, or does not discover. Leave "
                "those rows out, or choose a method that tests edges, such as `oocdm` without "
                "a threshold."
            )

    def start(
        self, layout: Layout, known: np.ndarray | None, testable: np.ndarray
    ) -> tuple[Structure, Structure]:
        """The structure that training starts from, and which elements of it discovery may change.

        `known` are the edges that a user gave, if any; `testable` those that can occur. By default
        all that can occur are there and free, and nothing is if they were given.
        """
        if known is not None:
            return layout.structure(known), layout.structure(False, False)
        return layout.structure(testable), layout.structure(testable)

    def discover_first(self, inquiry: DataInquiry) -> Discovery | None:
        """A structure from the data alone, before any training; None if the method needs a model.

        What it says of edges that are not free does not count.
        """
        return None

    def objective(self, now: LearningState, rng: np.random.Generator) -> list[Term]:
        """What one batch is scored under, by default the estimate.

        Rows of structures divide the batch evenly.
        """
        return [Term(1.0, now.estimate.flags[None])]

    def penalty(self, now: LearningState) -> Tensor | None:
        """What is added to the loss while learning, if anything."""
        return None

    def discover(self, inquiry: Inquiry) -> Discovery | None:
        """A new structure from the trained model, or None if the method does not discover.

        What it says of elements that are not free does not count.
        """
        return None

    @property
    def focuses(self) -> bool:
        """Whether targets of its models are learned alone where that pays."""
        return False

    @property
    def confirms(self) -> bool:
        """Whether doubtful edges are learned both with and without them before they are claimed."""
        return False

    @property
    def goes_on(self) -> bool:
        """Whether it learns on after the planned iterations while its edges have not settled."""
        return False

    def keep_plausible(self, inquiry: Inquiry) -> Structure:
        """What the predictor keeps of the undecided edges, which are those that are free.

        None of them by default, so that it predicts with what is in the graph and nothing else.
        """
        return inquiry.estimate - inquiry.free

    def discover_variables(
        self, model: AbstractWorldModel, graph: Graph, data: Dataset, on_settled: OnSettled | None
    ) -> Evidence:
        """Which edges of a graph hold between single variables, by the trained model."""
        raise ModelError(
            "discover_variables: expected a run of a method that can hide variables, such as "
            f"`oocdm`, got `{self.name}`."
        )

    def after_training(self) -> Self:
        """The method as it asks a network that will not learn any more."""
        return self

    def with_threshold(self, threshold: float) -> Self:
        """The method with another threshold for edges, if it has one."""
        raise ModelError(f"Method `{self.name}` has no threshold.")

    def to_json(self) -> dict[str, Any]:
        """All options of the method with its name, JSON-ready."""
        return {"name": self.name, **asdict(self)}

    @classmethod
    def from_json(cls, options: dict[str, Any]) -> Self:
        """Read back what `to_json` wrote, less the name."""
        found: Self = read(cls, options, _who(cls), ModelError, complete=True)
        return found

    @classmethod
    @abstractmethod
    def preset(cls, name: str, **options: Any) -> Self:
        """The method with the options of a preset, "default" or "paper", and others."""


def _who(method: type[AbstractMethod]) -> str:
    return f"Method `{getattr(method, 'name', method.__name__)}`"
