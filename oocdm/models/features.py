"""Numbers that networks read and predict, made from snapshots once and then only indexed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.scales import ClassScales, as_numbers
from oocdm.schema import Field, Schema

PerClass = Mapping[str, Tensor]


@dataclass(frozen=True)
class Inputs:
    """What a network reads of a snapshot.

    `features[class]` (batch, object, field, input) are padded encoder inputs, `values[class]`
    (batch, object, target, component) the current values of the predicted fields, `known[class]`
    (batch, object, target) whether these are known, and `present[class]` (batch, object). What a
    part of a network reads beside that, and what needs no weights to be made, is in `extra`
    under the part's name and its classes.

    Of a class in `receivers` (batch, receiver) only the objects at these places are predicted; all
    of them are seen by others as ever.
    """

    features: PerClass
    values: PerClass
    known: PerClass
    present: PerClass
    extra: Mapping[tuple[str, ...], Tensor]
    receivers: PerClass = field(default_factory=dict)

    def map(self, change: Callable[[Tensor], Tensor]) -> Inputs:
        """The inputs with every tensor replaced by `change` of it."""
        return Inputs(
            {c: change(t) for c, t in self.features.items()},
            {c: change(t) for c, t in self.values.items()},
            {c: change(t) for c, t in self.known.items()},
            {c: change(t) for c, t in self.present.items()},
            {key: change(t) for key, t in self.extra.items()},
            {c: change(t) for c, t in self.receivers.items()},
        )

    def repeat(self, times: int) -> Inputs:
        """All of it so many times, one batch after the other."""
        return self.map(lambda t: t.repeat(times, *[1] * (t.ndim - 1)))

    def others(self, source: str, target: str) -> Tensor:
        """Which objects of a class others see: (batch, receiver or 1, source object)."""
        is_source = self.present[source].unsqueeze(1)
        if source == target:
            n = is_source.shape[2]
            is_other = ~torch.eye(n, dtype=torch.bool, device=is_source.device)
            places = self.receivers.get(target)
            is_source = is_source & (is_other if places is None else is_other[places])
        return is_source

    def received(self, c: str, of_objects: Tensor) -> Tensor:
        """Of a tensor (batch, object, ...) of a class, the rows of those that are predicted."""
        return at_places(of_objects, self.receivers[c]) if c in self.receivers else of_objects

    def for_all(self) -> Inputs:
        """The same, with all objects to be predicted."""
        return replace(self, receivers={}) if self.receivers else self

    @property
    def batch_size(self) -> int:
        """Number of worlds."""
        return next(iter(self.present.values())).shape[0]


@dataclass(frozen=True)
class Targets:
    """What a network predicts of the snapshot after a step.

    `values[class]` is (batch, object, target, component), `known[class]` (batch, object, target).
    """

    values: PerClass
    known: PerClass

    def map(self, change: Callable[[Tensor], Tensor]) -> Targets:
        """The targets with every tensor replaced by `change` of it."""
        return Targets(
            {c: change(t) for c, t in self.values.items()},
            {c: change(t) for c, t in self.known.items()},
        )

    def at(self, receivers: PerClass) -> Targets:
        """The targets of some objects only, (batch, receiver), of these classes."""

        def each(tensors: PerClass) -> PerClass:
            return {
                c: at_places(t, receivers[c]) if c in receivers else t for c, t in tensors.items()
            }

        return Targets(each(self.values), each(self.known))

    def repeat(self, times: Mapping[str, int]) -> Targets:
        """The targets of these classes, all of them so many times."""

        def each(tensors: PerClass) -> PerClass:
            return {c: tensors[c].repeat(n, *[1] * (tensors[c].ndim - 1)) for c, n in times.items()}

        return Targets(each(self.values), each(self.known))


def at_places(of_objects: Tensor, places: Tensor) -> Tensor:
    """Rows of a tensor (batch, object, ...) at places (batch, n) of each batch: (batch, n, ...).

    >>> at_places(torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[0, 2], [1, 1]]))
    tensor([[1, 3],
            [5, 5]])
    """
    index = places.view(*places.shape, *[1] * (of_objects.ndim - 2))
    return of_objects.gather(1, index.expand(-1, -1, *of_objects.shape[2:]))


def comparable(schema: Schema, source: str, target: str) -> list[str]:
    """Fields that a pair of classes have in common: same name, kind and shape."""
    ours, theirs = schema.fields(target), schema.fields(source)
    return [
        f
        for f, field in ours.items()
        if f in theirs and (theirs[f].kind, theirs[f].shape) == (field.kind, field.shape)
    ]


class Featuriser:
    """Turns snapshots into inputs and targets for one schema, in the units of a model's scales."""

    def __init__(
        self,
        schema: Schema,
        scales: Mapping[str, ClassScales],
        one_hot: bool,
        flag_unknown: bool = False,
    ) -> None:
        self.schema = schema
        self.scales = scales
        self.one_hot = one_hot  # whole numbers also as one-hot codes
        self.flag_unknown = flag_unknown  # one more number: 1 if the value is unknown
        fields = {c: list(schema.fields(c).values()) for c in schema.classes}
        self.raw_width = {c: max(f.size for f in fields[c]) for c in schema.classes}
        self.width = {c: max(self._width(f) for f in fields[c]) for c in schema.classes}
        self.components = {
            c: max([field.size for field in fields[c] if field.is_target], default=1)
            for c in schema.classes
        }

    def _width(self, field: Field) -> int:
        numbers = field.size if field.is_numeric else 0
        codes = field.size * field.num_codes if self._has_codes(field) else 0
        return numbers + codes + (1 if self.flag_unknown else 0)

    def _has_codes(self, field: Field) -> bool:
        return field.is_coded and (self.one_hot or not field.is_numeric)

    def field_width(self, class_name: str, field_name: str) -> int:
        """Number of encoder inputs of one field."""
        return self._width(self.schema.field(class_name, field_name))

    # ---------------------------------------------------------------- making

    def inputs(self, before: Snapshot, dtype: torch.dtype) -> Inputs:
        """Inputs of a snapshot; unknown values and padding are zero."""
        features, values, known = {}, {}, {}
        for c in self.schema.classes:
            rows = [self._encode(before, c, f, dtype) for f in self.schema.fields(c)]
            features[c] = torch.stack([_pad(r, self.width[c]) for r in rows], dim=2)
            values[c] = self._stack_targets(before, c, dtype)
            flags = [is_known(before, c, v) for v in self.schema.targets(c)]
            known[c] = _stack_flags(flags, before.present[c])
        return Inputs(features, values, known, dict(before.present), {})

    def targets(self, transitions: Transitions, dtype: torch.dtype) -> Targets:
        """Targets of a batch of transitions."""
        known = {}
        for c in self.schema.classes:
            flags = [transitions.known(c, v) for v in self.schema.targets(c)]
            known[c] = _stack_flags(flags, transitions.counted(c))
        values = {c: self._stack_targets(transitions.after, c, dtype) for c in self.schema.classes}
        return Targets(values, known)

    def encode(self, c: str, f: str, value: Tensor, dtype: torch.dtype) -> Tensor:
        """Encoder inputs of known values of a field: (..., object, *shape) to (..., object, n)."""
        field = self.schema.field(c, f)
        parts = []
        if field.is_numeric:
            numbers = as_numbers(field, value, dtype)
            mean, sd = self.scales[c].of_value(f)
            parts.append((numbers - mean) / sd)
        if self._has_codes(field):
            codes = field.to_codes(value.long()).unsqueeze(-1)
            zeros = torch.zeros(
                *codes.shape[:-1], field.num_codes, dtype=dtype, device=codes.device
            )
            parts.append(zeros.scatter_(-1, codes, 1.0).flatten(2))
        return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]

    def _encode(self, before: Snapshot, c: str, f: str, dtype: torch.dtype) -> Tensor:
        known = is_known(before, c, f).unsqueeze(-1)
        encoded = torch.where(known, self.encode(c, f, before.values[c][f], dtype), 0.0)
        if not self.flag_unknown:
            return encoded
        is_unknown = before.present[c].unsqueeze(-1) & ~known
        return torch.cat([encoded, is_unknown.to(dtype)], dim=-1)

    def _stack_targets(self, snapshot: Snapshot, c: str, dtype: torch.dtype) -> Tensor:
        width = self.components[c]
        rows = [
            _pad(as_numbers(self.schema.field(c, v), snapshot.values[c][v], dtype), width)
            for v in self.schema.targets(c)
        ]
        present = snapshot.present[c]
        return (
            torch.stack(rows, 2)
            if rows
            else torch.zeros(*present.shape, 0, width, dtype=dtype, device=present.device)
        )


def are_equal(ours: Tensor, theirs: Tensor) -> Tensor:
    """Whether attributes of objects equal those of others: (batch, object, other object)."""
    same = ours[:, :, None] == theirs[:, None]
    return same.flatten(3).all(-1) if same.ndim > 3 else same


def is_known(snapshot: Snapshot, c: str, f: str) -> Tensor:
    """Which values of a field are known: (batch, object)."""
    return snapshot.present[c] & snapshot.observed[c][f]


def _stack_flags(flags: list[Tensor], like: Tensor) -> Tensor:
    """Flags of several fields, (batch, object, field), also if there is no field."""
    return torch.stack(flags, 2) if flags else like.new_zeros(*like.shape, 0)


def _pad(values: Tensor, width: int) -> Tensor:
    return functional.pad(values, (0, width - values.shape[-1]))
