"""Why a variable came out as it did: the chain of edges and values that led to it, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Snapshot
from oocdm.errors import DataError, GraphError, ModelError
from oocdm.graph import ClassGraph, Variable
from oocdm.inference.fitted import Fitted, checked_data, checked_result, prediction_graph
from oocdm.inference.names import place_hint, read_variable
from oocdm.inference.words import counted, in_words
from oocdm.models.world_model import AbstractWorldModel
from oocdm.reading import Count, Seed, checked

NUM_OTHERS = 64  # values that a parent is imagined to have had instead
MIN_NATS, MIN_SHARE = 0.1, 0.05  # what a reason must be worth, also of the strongest
RESOLUTION = 0.1  # outcomes are seen with a blur of so much of the spread of their change


@dataclass(frozen=True)
class Reason:
    """A parent whose value made an outcome likely, and why it had that value.

    `nats` is how much less likely the outcome would have been with other values of the parent.
    """

    variable: Variable
    value: str
    nats: float
    because: Explanation | None = None


@dataclass(frozen=True, repr=False)
class Explanation:
    """A change of a variable in one step and its reasons, the strongest first; prints as text.

    `is_own_past` says whether its own value before the step made the outcome likely, `has_parents`
    whether the graph gives it any parent that was there and known.

    >>> why = Explanation(Variable("Light", 0, "timer"), 4, "0", "1", (), is_own_past=True)
    >>> why
    Explanation(Light[0].timer in step 4, 0 reasons)
    >>> print(why)
    Light[0].timer went from 0 to 1 in step 4, which comes of its own previous value
    """

    variable: Variable
    step: int
    before: str
    after: str
    reasons: tuple[Reason, ...]
    is_own_past: bool = False
    has_parents: bool = False

    def __repr__(self) -> str:
        where = f"{self.variable} in step {self.step}"
        return f"Explanation({where}, {counted(len(self.reasons), 'reason')})"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        stayed = self.before == self.after
        what = f"stayed {self.after}" if stayed else f"went from {self.before} to {self.after}"
        ending = " because" if self.reasons else f", {self._without_reasons()}"
        yield f"{self.variable} {what} in step {self.step}{ending}"
        for reason in self.reasons:
            yield f"  {reason.variable} was {reason.value} ({reason.nats:.1f} nats)"
            if reason.because is not None:
                yield from (f"    {line}" for line in reason.because._lines())

    def _without_reasons(self) -> str:
        if self.is_own_past:
            return "which comes of its own previous value"
        if self.has_parents:
            return "for which none of its parents alone made a difference"
        return "for no reason that the graph knows"


@checked(ModelError)
def explain(
    result: Fitted,
    data: Dataset,
    episode: int,
    step: int,
    variable: str,
    depth: Annotated[Count, "It is how many steps back."] = 3,
    seed: Seed = 0,
) -> Explanation:
    """Why a variable, such as `Mouse[0].health`, changed as it did in one step of an episode.

    Each parent that the graph gives it is imagined with values that it has elsewhere in the data.
    If the outcome would have been much less likely then, the value is a reason for it. Reasons
    that changed just before are explained in turn, `depth` steps back at most. The value of the
    variable itself before the step is no reason for its change; where nothing else is one, the
    answer says whether it comes of that. Objects are numbered by their place in the
    episode, or named as they were logged: `Light[L0].timer`.

    >>> import oocdm
    >>> env = oocdm.make("block", num_blocks=2)
    >>> data = oocdm.collect(env, steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, graph=env.true_graph, schedule=quick)
    >>> why = explain(result, data, episode=0, step=5, variable="Block[0].s1")
    >>> why.step, str(why.variable)
    (5, 'Block[0].s1')
    """
    checked_result("explain", result)
    data = checked_data("explain", data)
    graph = result.graph
    if not isinstance(graph, ClassGraph):
        raise GraphError("explain: expected a class graph, got a variable graph.")
    data.check_schema(result.model.schema, "the model")
    asked = read_variable("explain", variable, data, episode)
    if not data.schema.field(asked.class_name, asked.field_name).is_target:
        raise GraphError(f"explain: `{variable}` is not predicted, so nothing causes it.")
    # What is no cause by the graph is no reason, even if it helps to predict.
    structures = result.model.structures(prediction_graph(result))
    searcher = _Searcher(result.model, graph, structures, data, np.random.default_rng(seed))
    return searcher.explain(searcher.row(episode, step), asked, depth)


class _Searcher:
    """Looks for reasons in one dataset."""

    def __init__(
        self,
        model: AbstractWorldModel,
        graph: ClassGraph,
        structures: Tensor,
        data: Dataset,
        rng: np.random.Generator,
    ) -> None:
        self.model, self.graph, self.data, self.rng = model, graph, data, rng
        self.structures = structures
        self.resolution = model.resolution(RESOLUTION)
        self._values: dict[tuple[str, str], np.ndarray] = {}

    def row(self, episode: int, step: int) -> int:
        """The transition at a step of an episode."""
        data = self.data
        found = (data.episode_of == episode) & (data.step[data.starts] == step)
        if not found.any():
            raise DataError(f"explain: episode {episode} has no transition at step {step}.")
        return int(found.argmax())

    def explain(self, row: int, variable: Variable, depth: int) -> Explanation:
        """The reasons of one change, and theirs."""
        logged = self.data.transitions(slice(row, row + 1))
        c, i, f = variable
        if i >= logged.before.present[c].shape[1] or not bool(logged.known(c, f)[0, i]):
            hint = place_hint(self.data, variable, int(self.data.episode_of[row]))
            raise DataError(f"explain: `{variable}` has no value after this step.{hint}")
        reasons = []
        parents = list(self._parents(row, variable))
        others = [parent for parent in parents if parent != variable]
        known = dict(self._worth(row, variable, [*others, variable][: len(parents)]))
        own = known.pop(variable, 0.0)
        worth = list(known.items())
        for parent, nats in worth:
            if nats >= max(MIN_NATS, MIN_SHARE * worth[0][1]):
                because = self._origin(row, parent, depth)
                reasons.append(Reason(parent, self._words(logged.before, parent), nats, because))
        return Explanation(
            variable,
            int(self.data.step[self.data.starts[row]]),
            self._words(logged.before, variable),
            self._words(logged.after, variable),
            tuple(reasons),
            is_own_past=own >= MIN_NATS,
            has_parents=bool(parents),
        )

    def _origin(self, row: int, parent: Variable, depth: int) -> Explanation | None:
        """Why a parent had its value, if that just changed."""
        c, i, f = parent
        data = self.data
        if depth <= 1 or row == 0 or not data.schema.field(c, f).is_target:
            return None
        if data.starts[row - 1] + 1 != data.starts[row]:
            return None  # the episode begins here
        earlier = data.transitions(slice(row - 1, row))
        if not bool(earlier.known(c, f)[0, i]):
            return None
        if torch.equal(earlier.before[c, f][0, i], earlier.after[c, f][0, i]):
            return None
        return self.explain(row - 1, parent, depth - 1)

    @torch.no_grad()
    def _worth(
        self, row: int, variable: Variable, parents: list[Variable]
    ) -> list[tuple[Variable, float]]:
        """What each parent's value was worth to the outcome, in nats, the most first."""
        c, i, f = variable
        if not parents:
            return []
        transitions = self.data.transitions(np.full(1 + len(parents) * NUM_OTHERS, row))
        before = transitions.before.map(torch.clone)
        for k, parent in enumerate(parents):
            rows = slice(1 + k * NUM_OTHERS, 1 + (k + 1) * NUM_OTHERS)
            before.values[parent.class_name][parent.field_name][rows, parent.object] = (
                self._other_values(parent)
            )
        inputs = self.model.inputs(before.to(self.model.device))
        targets = self.model.targets(transitions.to(self.model.device))
        (found,) = self.model(inputs, self.structures)
        scores = found.log_prob(targets, self.resolution)[c]
        score = scores[:, i, self.data.schema.targets(c).index(f)].double()
        worth = score[0] - score[1:].unflatten(0, (len(parents), NUM_OTHERS)).mean(1)
        order = worth.argsort(descending=True).tolist()
        return [(parents[k], float(worth[k])) for k in order]

    def _parents(self, row: int, variable: Variable) -> Iterator[Variable]:
        """The variables that the graph lets it see, of objects that are there and known."""
        before = self.data.transitions(slice(row, row + 1)).before
        for edge in self.graph.edges(f"{variable.class_name}.{variable.field_name}"):
            c, f = edge.source_class, edge.source_field
            for j in np.flatnonzero(before.observed[c][f][0].numpy()).tolist():
                is_self = (c, j) == variable[:2]
                if is_self == edge.is_local:
                    yield Variable(c, j, f)

    def _other_values(self, parent: Variable) -> Tensor:
        """Values that a field has elsewhere in the data."""
        c, _, f = parent
        known = self._known_values(c, f)
        return torch.as_tensor(known[self.rng.integers(len(known), size=NUM_OTHERS)])

    def _known_values(self, c: str, f: str) -> np.ndarray:
        """The values of a field that are known before a step, (value, *shape)."""
        if (c, f) not in self._values:
            cells = self.data.cells[c]
            pick = cells.places.take(self.data.starts)[1]
            self._values[c, f] = pick(cells.values[f])[pick(cells.observed[f])]
        return self._values[c, f]

    def _words(self, snapshot: Snapshot, variable: Variable) -> str:
        c, i, f = variable
        if not bool(snapshot.observed[c][f][0, i]):
            return "unknown"
        return in_words(self.data.schema.field(c, f), snapshot[c, f][0, i].tolist())
