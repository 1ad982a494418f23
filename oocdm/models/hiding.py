"""Prediction under a graph over single variables.

A network reads a class graph. What that lets a target see, but the variable graph does not, is
hidden from it as if it had not been observed; targets from which the same is hidden share a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from oocdm.data.snapshot import PerField, Snapshot
from oocdm.errors import GraphError, ModelError
from oocdm.graph import ClassGraph, VariableGraph
from oocdm.models.prediction import ClassPrediction, Predictions, WidePart
from oocdm.schema import Schema


@dataclass(frozen=True)
class Pass:
    """One look at the world: what is hidden, and which targets are predicted from it."""

    hidden: PerField  # [class][field]: (1, object)
    predicted: Mapping[str, Tensor]  # [class]: (object, target)


@dataclass(frozen=True)
class HidingPlan:
    """How to predict under a variable graph with a network that reads class graphs.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> grounded = ClassGraph.full(Schema(Ball)).ground({"Ball": 2})
    >>> len(HidingPlan.of(Schema(Ball), grounded).passes)
    1
    >>> rows = ["Ball[0].x <- Ball[0].x", "Ball[1].x <- Ball[0].x, Ball[1].x"]
    >>> some = VariableGraph.parse(grounded.inputs, grounded.outputs, rows)
    >>> len(HidingPlan.of(Schema(Ball), some).passes)
    2
    """

    # The smallest one that covers the variable graph. Of a grounded class graph it is that one,
    # less the edges that cannot occur among so many objects.
    graph: ClassGraph
    counts: Mapping[str, int]
    passes: tuple[Pass, ...]

    @staticmethod
    def of(schema: Schema, graph: VariableGraph) -> HidingPlan:
        """The plan for one graph; it must be over all variables of its objects."""
        cover = ClassGraph.covering(schema, graph)
        counts = {c: graph.counts.get(c, 0) for c in schema.classes}
        grounded = cover.ground(counts)
        _check_variables(graph, grounded)
        hidden = grounded.matrix & ~graph.matrix
        groups: dict[bytes, list[int]] = {}
        for i, column in enumerate(hidden.T):
            groups.setdefault(column.tobytes(), []).append(i)
        passes = []
        for outputs in groups.values() or [[]]:  # without any target, one pass that hides nothing
            chosen = np.isin(np.arange(len(graph.outputs)), outputs)
            column = hidden[:, outputs[0]] if outputs else np.zeros(len(graph.inputs), dtype=bool)
            passes.append(Pass(hiding(schema, counts, column), _by_target(schema, counts, chosen)))
        return HidingPlan(cover, counts, tuple(passes))

    def predict(self, before: Snapshot, predict: Callable[[Snapshot], Predictions]) -> Predictions:
        """What `predict` says of each target when it sees only that target's parents."""
        self._check_counts(before)
        device = next(iter(before.present.values())).device
        found: Predictions | None = None
        for each in self.passes:
            seen = before
            if each.hidden:
                masks = {c: {f: m.to(device) for f, m in h.items()} for c, h in each.hidden.items()}
                seen = before.hide(masks)
            new = predict(seen)
            found = new if found is None else _choose(each.predicted, new, found)
        assert found is not None  # there is always a pass
        return found

    def _check_counts(self, before: Snapshot) -> None:
        for c, expected in self.counts.items():
            if before.counts[c] != expected:
                raise ModelError(
                    f"Class `{c}`: expected {expected} objects, as in the variable graph, got "
                    f"{before.counts[c]}. A variable graph is for fixed numbers of objects: "
                    "predict with a class graph, or discover one for these numbers."
                )


def hiding(schema: Schema, counts: Mapping[str, int], flags: np.ndarray) -> PerField:
    """Masks for `Snapshot.hide` from a flag for each variable, in the order of grounded graphs."""
    masks: dict[str, dict[str, Tensor]] = {}
    for c, block in _blocks(counts, {c: len(schema.fields(c)) for c in counts}, flags).items():
        for f, column in zip(schema.fields(c), block.T, strict=True):
            if column.any():
                masks.setdefault(c, {})[f] = torch.as_tensor(column[None].copy())
    return masks


def _by_target(
    schema: Schema, counts: Mapping[str, int], flags: np.ndarray
) -> Mapping[str, Tensor]:
    blocks = _blocks(counts, {c: len(schema.targets(c)) for c in counts}, flags)
    return {c: torch.as_tensor(block.copy()) for c, block in blocks.items()}


def _blocks(
    counts: Mapping[str, int], widths: Mapping[str, int], flags: np.ndarray
) -> dict[str, np.ndarray]:
    """A row of flags for all variables, cut into classes: (object, field) each."""
    blocks, start = {}, 0
    for c, num in counts.items():
        stop = start + num * widths[c]
        blocks[c] = flags[start:stop].reshape(num, widths[c])
        start = stop
    return blocks


def _choose(where: Mapping[str, Tensor], new: Predictions, old: Predictions) -> Predictions:
    """New predictions of some targets, old ones of the others."""
    classes = {}
    for c, ours in new.classes.items():
        theirs, here = old.classes[c], where[c].to(ours.mean.device)
        columns = {v: here[:, i] for i, v in enumerate(new.schema.targets(c))}
        wide = None
        if ours.wide is not None and theirs.wide is not None:  # as it is in all passes or in none
            wide = WidePart(
                torch.where(here.unsqueeze(-1), ours.wide.mean, theirs.wide.mean),
                torch.where(here.unsqueeze(-1), ours.wide.sigma, theirs.wide.sigma),
                torch.where(here.unsqueeze(-1), ours.wide.chance, theirs.wide.chance),
                ours.wide.is_mixture,
            )
        classes[c] = ClassPrediction(
            torch.where(here.unsqueeze(-1), ours.mean, theirs.mean),
            torch.where(here.unsqueeze(-1), ours.sigma, theirs.sigma),
            {
                v: torch.where(columns[v][:, None, None], logits, theirs.logits[v])
                for v, logits in ours.logits.items()
            },
            wide,
        )
    return Predictions(new.schema, classes)


def _check_variables(graph: VariableGraph, grounded: VariableGraph) -> None:
    for name in ("inputs", "outputs"):
        ours, theirs = getattr(graph, name), getattr(grounded, name)
        if ours != theirs:
            odd = next(iter([v for v in theirs if v not in ours]), None)
            what = "another order" if odd is None else f"none called `{odd}`"
            raise GraphError(
                f"VariableGraph.{name}: expected all variables of its objects in the order of "
                f"`ClassGraph.ground`, got {what}. Start from a grounded class graph."
            )
