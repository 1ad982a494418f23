"""Steps of fields that were drawn before: from the same parents, with the same random numbers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import torch
from torch import Tensor

from oocdm.data.derived import version_of
from oocdm.data.snapshot import Snapshot
from oocdm.graph import ClassGraph

FieldName = tuple[str, str]


class RememberedSteps:
    """Remembers what fields became, for as long as nobody can tell the difference.

    A planner tries many sequences of actions from one state. What the actions have not reached
    goes on alike in all of them: with the same parents, the very tensors and not changed since,
    and the same seed it need not be drawn again. The latest `kept` steps of a field are kept.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> steps = RememberedSteps(env.true_graph, kept=20)
    >>> before = oocdm.collect(env, steps=10, seed=0).transitions(slice(0, 1)).before
    >>> state = before.map(torch.clone)  # tensors of its own, which nobody else changes
    >>> first = steps.next_value("Food", "amount", state, 7, lambda: torch.ones(1, 1))
    >>> first is steps.next_value("Food", "amount", state, 7, lambda: torch.ones(1, 1))
    True
    """

    def __init__(self, graph: ClassGraph, kept: int) -> None:
        self._parents: dict[FieldName, list[FieldName]] = {}
        for edge in graph.edges():
            source = (edge.source_class, edge.source_field)
            self._parents.setdefault((edge.target_class, edge.target_field), []).append(source)
        self._capacity = kept * sum(len(graph.schema.targets(c)) for c in graph.schema.classes)
        self._kept: OrderedDict[tuple[str, str, int, torch.dtype], _Step] = OrderedDict()

    def next_value(
        self, c: str, f: str, before: Snapshot, seed: int, draw: Callable[[], Tensor]
    ) -> Tensor:
        """What a field becomes: remembered, or drawn and then remembered."""
        parents = self._parents.get((c, f), [])
        read = [before.values[k][g] for k, g in parents]
        # What was made in inference mode is of this try alone, and does not tell changes.
        if any(tensor.is_inference() for tensor in read):
            return draw()
        read += [before.present[c], *(before.present[k] for k, _ in parents)]
        key = (c, f, seed, before.values[c][f].dtype)
        known = self._kept.get(key)
        if known is not None and known.is_of(read):
            return known.value
        # A tensor of its own outside inference mode, which tells whether it was changed.
        with torch.inference_mode(False), torch.no_grad():
            value = draw()
        self._kept[key] = _Step(read, value)
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
        return value


class _Step:
    """What was drawn, and from what."""

    def __init__(self, read: list[Tensor], value: Tensor) -> None:
        self._read, self.value = read, value
        self._versions = self._versions_now()

    def is_of(self, read: list[Tensor]) -> bool:
        """Whether the same tensors are read, and neither they nor the value have changed."""
        is_same = all(a is b for a, b in zip(self._read, read, strict=True))
        return is_same and None not in self._versions and self._versions == self._versions_now()

    def _versions_now(self) -> list[int | None]:
        return [version_of(tensor) for tensor in (*self._read, self.value)]
