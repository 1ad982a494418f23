"""The learned world, one step at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.data.values import as_floats, check_allowed
from oocdm.errors import ModelError
from oocdm.graph import ClassGraph
from oocdm.graph.class_graph import GivenGraph
from oocdm.inference.fitted import (
    Fitted,
    checked_result,
    checked_state,
    prediction_graph,
    predictor,
)
from oocdm.inference.random_numbers import Part, RandomNumbers
from oocdm.inference.reach import reached, reaching
from oocdm.inference.shelf import Shelf
from oocdm.models.allocator import keep_freed_memory
from oocdm.models.copies import DoubtfulPredictor
from oocdm.models.prediction import Predictions
from oocdm.models.world_model import AbstractPredictor
from oocdm.reading import Count, checked
from oocdm.schema import Field

GIVEN_ACTIONS = 'Give them as {"Ball": {"push": values}}.'
_HORIZON = "It is how many steps are simulated."

FieldName = tuple[str, str]


class Dynamics:
    """Steps many worlds as a fitted model believes that they go on.

    With `reads`, fields such as `Mouse.hunger`, only those fields are simulated that can reach
    them under the graph within `horizon` steps; all others stay as they are, and what is read
    comes out the same. Static fields, and which objects are present, never change, and what is
    unknown of a field that stays as it is stays unknown. With `doubts` steps are drawn from wider
    distributions where the copies of the model disagree; that takes as many times as long.

    >>> import oocdm
    >>> env = oocdm.make("block", num_blocks=2)
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> before = data.transitions(slice(0, 5)).before
    >>> Dynamics(result).step(before)["Block.s1"].shape
    torch.Size([5, 2])
    >>> Dynamics(result, reads=["Total.s1"], horizon=1).simulated
    ('Total.s1',)
    >>> Dynamics(result, reads=["Total.s1"], horizon=2).simulated
    ('Block.s1', 'Total.s1')
    """

    @checked(ModelError)
    def __init__(
        self,
        result: Fitted,
        reads: str | Iterable[str] | None = None,
        horizon: Annotated[Count, _HORIZON] | None = None,
        graph: GivenGraph | None = None,
        doubts: bool = False,
    ) -> None:
        keep_freed_memory()
        checked_result("Dynamics", result)
        reads = None if reads is None else tuple([reads] if isinstance(reads, str) else reads)
        self._made_of = (result, reads, horizon, graph, doubts)
        model, graph = result.model, prediction_graph(result, graph)
        self.schema = model.schema
        self.device = model.device
        self._fields = [
            (c, f)
            for c in self.schema.classes
            for f, field in self.schema.fields(c).items()
            if not field.action
        ]
        targets = [(c, v) for c in self.schema.classes for v in self.schema.targets(c)]
        if reads is not None:
            if not isinstance(graph, ClassGraph):
                raise ModelError(
                    "Dynamics: expected a class graph to choose fields by, got a variable graph. "
                    "Leave `reads` out."
                )
            needed = reaching(graph, reads, horizon)
            targets = [(c, v) for c, v in targets if f"{c}.{v}" in needed]
            into = [edge for edge in graph.edges() if edge.target in needed]
            graph = ClassGraph.of_edges(self.schema, into)
        self._graph, self._predictor = graph, predictor(result, graph, doubts)
        self._result = result
        self._targets = set(targets)
        self.simulated = tuple(f"{c}.{v}" for c, v in targets)
        self._random_numbers = self.random_numbers()

    def __deepcopy__(self, memo: object) -> Dynamics:
        return self  # nothing in it changes, so copies of worlds share it

    def __reduce__(self) -> tuple[Any, ...]:
        return Dynamics, self._made_of

    @torch.no_grad()
    def predict(self, before: Snapshot) -> Predictions:
        """Distributions of the next state; those of fields not simulated mean nothing."""
        return self._predictor(before)

    @cached_property
    def _doubtful(self) -> AbstractPredictor:
        return predictor(self._result, self._graph, doubts=True)

    def doubt(self, before: Snapshot) -> Tensor | None:
        """How unsure copies of the model are of the next state, (batch,); None if there are none.

        In usual changes of the fields that are simulated, on average; 0 where data were.
        """
        if not isinstance(self._doubtful, DoubtfulPredictor):
            return None
        return self._doubtful.doubt(before.to(self.device), self.simulated).to(before.device)

    def random_numbers(self, shelf: Shelf | None = None) -> RandomNumbers:
        """What draws the fields, as `step` does; it may keep its noise on a shelf."""
        return RandomNumbers(len(self._fields), shelf)

    @cached_property
    def unreached(self) -> list[list[FieldName]]:
        """The simulated fields that no action reaches, after no step, after one, and so on.

        The last of them are those of all later steps as well. Under a graph of single variables
        fields differ from object to object: nothing is told.
        """
        if not isinstance(self._graph, ClassGraph):
            return [[]]
        return [
            [(c, f) for c, f in self._fields if (c, f) in self._targets and f"{c}.{f}" not in names]
            for names in reached(self._graph)
        ]

    @checked(ModelError)
    def step(self, before: Snapshot, seed: int | None = None) -> Snapshot:
        """The next state from states and actions: drawn, or without a seed the most likely.

        Each field has random numbers of its own, so that leaving fields out changes nothing
        that is read. The next state is on the device of the state that is given.
        """
        return self.step_beside(before, seed, {}, self._random_numbers)

    @torch.no_grad()
    def step_beside(
        self,
        before: Snapshot,
        seed: int | None,
        known: Mapping[FieldName, Tensor],
        numbers: RandomNumbers,
        part: Part | None = None,
    ) -> Snapshot:
        """`step` with given random numbers, where what some fields become is `known` already.

        The rows may be a `part` of those that the random numbers are for.
        """
        if checked_state("Dynamics.step", before, ModelError).schema is not self.schema:
            self._check(before, with_actions=False)
        try:
            if before.device == self.device:
                return self._step(before, seed, known, numbers, part)
            here = before.to(self.device)
            return self._step(here, seed, known, numbers, part).to(before.device)
        except (KeyError, IndexError, RuntimeError):
            # Not before every step, which would cost a planner time.
            self._check(before, with_actions=True)
            raise

    def _check(self, before: Snapshot, with_actions: bool) -> None:
        before.check("Dynamics.step", self.schema, "model", ModelError, with_actions)

    def _step(
        self,
        before: Snapshot,
        seed: int | None,
        known: Mapping[FieldName, Tensor],
        numbers: RandomNumbers,
        part: Part | None,
    ) -> Snapshot:
        is_all_known = before.is_all_known
        predictions = self._predictor.each(before)
        absent = cache(before.absent)  # asked once a class
        values: dict[str, dict[str, Tensor]] = {c: {} for c in self.schema.classes}
        observed: dict[str, dict[str, Tensor]] = {c: {} for c in self.schema.classes}
        for i, (c, f) in enumerate(self._fields):
            now = before.values[c][f]
            # What is simulated is known. The very tensor `present` says so at no cost.
            observed[c][f] = before.present[c]
            if (c, f) not in self._targets:
                values[c][f] = now
                if not is_all_known:
                    observed[c][f] = before.observed[c][f]
            elif (c, f) in known:
                values[c][f] = known[c, f]
            else:
                new = predictions[c, f]
                drawn = new.mode() if seed is None else numbers.draw(new, seed, i, part)
                values[c][f] = _blank(drawn.reshape(now.shape).to(now.dtype), absent(c))
        return Snapshot(self.schema, values, before.present, observed)


def _blank(values: Tensor, absent: Tensor | None) -> Tensor:
    """Values with 0 for rows that are no objects, as snapshots hold them; None if all are."""
    if absent is None:
        return values
    return values.masked_fill(absent.reshape(*absent.shape, *[1] * (values.ndim - 2)), 0)


@checked(ModelError)
def with_actions(
    state: Snapshot, actions: Annotated[Mapping[str, Mapping[str, Any]], GIVEN_ACTIONS]
) -> Snapshot:
    """A state together with the actions taken in it, which must be complete.

    They are tensors, arrays or lists of values that their fields allow. What is said for absent
    objects becomes 0.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     push = Real(action=True)
    >>> world = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 2)}})
    >>> with_actions(world, {"Ball": {"push": [[1, 1]]}})["Ball.push"]
    tensor([[1., 1.]])
    """
    checked_state("with_actions", state, ModelError)
    checked: dict[str, dict[str, Tensor]] = {}
    for c, present in state.present.items():
        for f, field in state.schema.fields(c).items():
            if not field.action:
                continue
            where, expected = f"Action `{c}.{f}`", (*present.shape, *field.shape)
            value = action_tensor(where, field, actions.get(c, {}).get(f), present.device)
            if value is None or tuple(value.shape) != expected:
                got = "none" if value is None else f"shape {tuple(value.shape)}"
                raise ModelError(
                    f"{where}: expected values of shape {expected} (world, object, ...), got {got}."
                )
            check_allowed(where, field, value.detach()[present].cpu().numpy(), ModelError)
            checked.setdefault(c, {})[f] = _blank(value, ~present)
    return state.joined(checked)


def action_tensor(
    where: str, field: Field, given: Any, device: torch.device | str = "cpu"
) -> Tensor | None:
    """Actions of a field as a tensor; arrays and lists become one, tensors and None stay.

    >>> from oocdm.schema import Real
    >>> action_tensor("Action `Ball.push`", Real(action=True), [[1, 1]])
    tensor([[1., 1.]])
    """
    if given is None or isinstance(given, Tensor):
        return given
    try:
        numbers = as_floats(np.array(given))  # a copy, which is the tensor's own
    except (TypeError, ValueError):
        raise ModelError(
            f"{where}: expected a tensor, an array or lists of equal lengths, all of numbers, got "
            f"{type(given).__name__}. Give categories by their numbers."
        ) from None
    # Whole numbers stay as they are given, so that 3.7 can be refused.
    is_whole = bool((numbers == np.round(numbers)).all())
    dtype = torch.float32 if field.is_real else torch.int64 if is_whole else torch.float64
    return torch.from_numpy(numbers).to(device=device, dtype=dtype)
