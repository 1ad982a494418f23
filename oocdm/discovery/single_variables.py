"""Which single variables cause which, where objects of one class may differ.

A variable is hidden from the network as if it had not been observed. Its gain for a target variable
is the log-likelihood of the target with it less that without it, all else as the class graph has
it; one pass over the data gives the gains of one variable for all targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Snapshot
from oocdm.discovery.gains import CHUNK, Gains, OnSettled, Tally
from oocdm.discovery.rule import Rule
from oocdm.discovery.same_objects import check_same_objects
from oocdm.graph import ClassGraph, Evidence, Variable, VariableEdges, VariableGraph
from oocdm.models.features import Targets
from oocdm.models.hiding import hiding
from oocdm.models.memory import rows_at_once
from oocdm.models.world_model import AbstractWorldModel

LIMIT = 0.05  # nats: a network is less exact about what it rarely saw hidden


@torch.no_grad()
def discover_variables(
    model: AbstractWorldModel,
    data: Dataset,
    graph: ClassGraph,
    rule: Rule,
    resolution: Mapping[str, Tensor] | None = None,
    on_settled: OnSettled | None = None,
) -> Evidence:
    """Test every edge between single variables that a class graph allows.

    Edges that the class graph does not have are "no" without a test; what the data never show is
    "untestable". For data with the same objects in every step, that the model was not fitted on.
    `resolution` blurs the scores (see `AbstractWorldModel.resolution`); `on_settled` is told how
    many edges are tested.

    >>> from oocdm.worlds import collect
    >>> from oocdm.envs.block import BlockWorld
    >>> from oocdm.models.oocdm.model import OocdmModel
    >>> from oocdm.models.oocdm.options import ModelOptions
    >>> data = collect(BlockWorld(num_blocks=2), steps=40, seed=0)
    >>> model = OocdmModel(data.schema, ModelOptions())
    >>> alone = ClassGraph.parse(data.schema, ["Block.s1 <- self.s1"])
    >>> found = discover_variables(model, data, alone, Rule())
    >>> [row["edge"] for row in found.rows() if row["score"] is not None]
    ['Block[0].s1 <- Block[0].s1', 'Block[1].s1 <- Block[1].s1']
    """
    data.check_schema(model.schema, "the model")
    advice = "Edges between classes need no fixed objects: use `discover`."
    check_same_objects(data, "discover_variables", advice)
    counts = data.transitions(slice(0, 1)).before.counts  # as all others, with the same objects
    edges, allowed = VariableEdges(data.schema, counts), graph.ground(counts)
    is_input, is_output = (_ever_known(data, allowed, is_after) for is_after in (False, True))
    tested = allowed.matrix & is_input[:, None] & is_output
    gains = _gains(data, tested, _Scorer(model, graph, resolution), on_settled)
    is_tested = tested.ravel()
    rule = rule.within(LIMIT)
    evidence = rule.evidence(edges, gains, rule.is_found(gains, is_tested), is_tested)
    return evidence.with_rejected(~allowed.mask)


@dataclass(frozen=True)
class _Chunk:
    """Some transitions, and their scores with nothing hidden."""

    before: Snapshot
    targets: Targets
    group: np.ndarray  # (batch,): which episode, or stretch of one
    scores: Tensor  # (batch, output)
    known: Tensor  # (batch, output)


class _Scorer:
    """Log-likelihoods of target variables under a class graph."""

    def __init__(
        self, model: AbstractWorldModel, graph: ClassGraph, resolution: Mapping[str, Tensor] | None
    ) -> None:
        self.model, self.resolution = model, resolution
        self.predict = model.compile_for(graph)

    def chunks(self, data: Dataset) -> list[_Chunk]:
        """All transitions, few at a time."""
        group, chunks = data.clusters, []
        most = min(CHUNK, len(data))
        one = data.transitions(slice(0, 1)).to(self.model.device)  # others have the same objects
        before, targets = one.before, self.model.targets(one)

        def score(num: int) -> None:
            some = before.map(lambda t: t.expand(num, *t.shape[1:]))
            self.scores(some, targets.repeat(dict.fromkeys(targets.known, num)))

        size = rows_at_once(score, most)
        for start in range(0, len(data), size):
            rows = slice(start, start + size)
            transitions = data.transitions(rows).to(self.model.device)
            before, targets = transitions.before, self.model.targets(transitions)
            known = self._side_by_side(targets.known)
            chunks.append(_Chunk(before, targets, group[rows], self.scores(before, targets), known))
        return chunks

    def scores(self, before: Snapshot, targets: Targets) -> Tensor:
        """(batch, output), as variable graphs order them."""
        return self._side_by_side(self.predict(before).log_prob(targets, self.resolution))

    def without(self, chunk: _Chunk, hidden: np.ndarray) -> Tensor:
        """Scores with some variables hidden; `hidden` has a flag for each input."""
        masks = hiding(chunk.before.schema, chunk.before.counts, hidden)
        masks = {
            c: {f: mask.to(self.model.device) for f, mask in fields.items()}
            for c, fields in masks.items()
        }
        return self.scores(chunk.before.hide(masks), chunk.targets)

    def _side_by_side(self, per_class: Mapping[str, Tensor]) -> Tensor:
        return torch.cat([each.flatten(1) for each in per_class.values()], dim=1)


def _gains(
    data: Dataset, tested: np.ndarray, scorer: _Scorer, on_settled: OnSettled | None
) -> Gains:
    """What the tested inputs (input, output) add: one number for each pair, row after row."""
    size, total = tested.size, int(tested.sum())
    gains = Gains.none(size)
    at = np.arange(size).reshape(tested.shape)
    chunks = scorer.chunks(data) if total else []
    for i in np.flatnonzero(tested.any(1)):
        tally = Tally(at[i][:, None], np.ones(size, dtype=bool))
        for chunk in chunks:
            without = scorer.without(chunk, np.arange(len(at)) == i)
            both = torch.cat([chunk.scores, without])
            tally.add(np.zeros(1, dtype=int), both, chunk.known, chunk.group)
        tally.write(tested.ravel(), gains)
        if on_settled is not None:
            on_settled(int(tested[: i + 1].sum()), total)
    return gains


def _ever_known(data: Dataset, graph: VariableGraph, is_after: bool) -> np.ndarray:
    """Which inputs (outputs, with `is_after`) have a value in any transition."""
    rows = data.starts + is_after
    names = (Variable.parse(name) for name in (graph.outputs if is_after else graph.inputs))
    return np.array([data.observed[c][f][rows, i].any() for c, i, f in names], dtype=bool)
