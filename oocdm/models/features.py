"""Numbers that networks read and predict, made from snapshots once and then only indexed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.scales import Scales, as_numbers, measure_fields, moments
from oocdm.schema import Field, Schema

PerClass = Mapping[str, Tensor]


@dataclass(frozen=True)
class Inputs:
    """What a network reads of a snapshot.

    `features[class]` (batch, object, field, input) are padded encoder inputs, `values[class]`
    (batch, object, target, component) the current values of the predicted fields, `known[class]`
    (batch, object, target) whether these are known, `extremes[class]` (batch, object, column) the
    largest and smallest values among the other objects, `equal[source, class]` (batch, object,
    source object, pair) whether discrete attributes of two objects agree, and `present[class]`
    (batch, object).
    """

    features: PerClass
    values: PerClass
    known: PerClass
    extremes: PerClass
    equal: Mapping[tuple[str, str], Tensor]
    present: PerClass

    def map(self, change: Callable[[Tensor], Tensor]) -> Inputs:
        """The inputs with every tensor replaced by `change` of it."""
        return Inputs(
            {c: change(t) for c, t in self.features.items()},
            {c: change(t) for c, t in self.values.items()},
            {c: change(t) for c, t in self.known.items()},
            {c: change(t) for c, t in self.extremes.items()},
            {pair: change(t) for pair, t in self.equal.items()},
            {c: change(t) for c, t in self.present.items()},
        )

    def repeat(self, times: int) -> Inputs:
        """All of it so many times, one batch after the other."""
        return self.map(lambda t: t.repeat(times, *[1] * (t.ndim - 1)))

    def others(self, source: str, target: str) -> Tensor:
        """Which objects of a class others see: (batch, object or 1, source object)."""
        is_source = self.present[source].unsqueeze(1)
        if source == target:
            n = is_source.shape[2]
            is_source = is_source & ~torch.eye(n, dtype=torch.bool, device=is_source.device)
        return is_source

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

    def repeat(self, times: Mapping[str, int]) -> Targets:
        """The targets of these classes, all of them so many times."""

        def each(tensors: PerClass) -> PerClass:
            return {c: tensors[c].repeat(n, *[1] * (tensors[c].ndim - 1)) for c, n in times.items()}

        return Targets(each(self.values), each(self.known))


@dataclass(frozen=True)
class ExtremeColumn:
    """One column of `Inputs.extremes`: a component of a source field, alone or less one's own.

    The column may enter a prediction only if the global edge from the source field is in the
    graph and, for a difference, also the local edge from the own field of the same name.
    """

    source_class: str
    source_field: str
    component: int
    is_difference: bool
    is_max: bool


def is_discrete(field: Field) -> bool:
    """Whether values are whole numbers from a list, short if they have an order: one-hot codes."""
    return field.is_coded


def is_numeric(field: Field) -> bool:
    """Whether values can be ordered and subtracted."""
    return field.is_numeric


def comparable(schema: Schema, source: str, target: str) -> list[str]:
    """Fields that a pair of classes have in common: same name, kind and shape."""
    ours, theirs = schema.fields(target), schema.fields(source)
    return [
        f
        for f, field in ours.items()
        if f in theirs and (theirs[f].kind, theirs[f].shape) == (field.kind, field.shape)
    ]


class Featuriser:
    """Turns snapshots into inputs and targets for one schema."""

    def __init__(
        self, schema: Schema, scales: Scales, enrich: bool, flag_unknown: bool = False
    ) -> None:
        self.schema = schema
        self.scales = scales
        self.enrich = enrich  # whole numbers also as one-hot codes; extremes; equalities
        self.flag_unknown = flag_unknown  # one more number: 1 if the value is unknown
        fields = {c: list(schema.fields(c).values()) for c in schema.classes}
        self.raw_width = {c: max(f.size for f in fields[c]) for c in schema.classes}
        self.width = {c: max(self._width(f) for f in fields[c]) for c in schema.classes}
        self.components = {
            c: max([schema.field(c, v).size for v in schema.targets(c)], default=1)
            for c in schema.classes
        }
        self.extreme_columns = {
            c: self._extreme_columns(c) if enrich else [] for c in schema.classes
        }
        self.equal_fields = {
            (k, c): [f for f in comparable(schema, k, c) if is_discrete(schema.field(c, f))]
            if enrich
            else []
            for k in schema.classes
            for c in schema.classes
        }

    @staticmethod
    def measure(data: Transitions) -> Scales:
        """Measure the scales of a dataset."""
        scales = Scales(measure_fields(data), {})
        plain = Featuriser(data.schema, scales, enrich=True)
        extremes = {}
        for c in data.schema.classes:
            columns = plain._extremes(data.before, c, torch.float64)
            mean, sd = moments(columns[data.before.present[c]], columns.shape[-1])
            extremes[c] = torch.stack([mean, torch.where(sd > 0, sd, torch.ones(()))])
        return replace(scales, extremes=extremes)

    def _width(self, field: Field) -> int:
        numbers = field.size if is_numeric(field) else 0
        has_codes = is_discrete(field) and (self.enrich or not is_numeric(field))
        codes = field.size * (field.num_values or 0) if has_codes else 0
        return numbers + codes + (1 if self.flag_unknown else 0)

    def field_width(self, class_name: str, field_name: str) -> int:
        """Number of encoder inputs of one field."""
        return self._width(self.schema.field(class_name, field_name))

    def _extreme_columns(self, c: str) -> list[ExtremeColumn]:
        return [
            ExtremeColumn(k, f, i, is_difference, is_max)
            for k in self.schema.classes
            for f, field in self.schema.fields(k).items()
            if is_numeric(field)
            for is_difference in ((False, True) if f in comparable(self.schema, k, c) else (False,))
            for is_max in (True, False)
            for i in range(field.size)
        ]

    # ---------------------------------------------------------------- making

    def inputs(self, before: Snapshot, dtype: torch.dtype) -> Inputs:
        """Inputs of a snapshot; unknown values and padding are zero."""
        features, values, known, extremes, equal = {}, {}, {}, {}, {}
        for c in self.schema.classes:
            rows = [self._encode(before, c, f, dtype) for f in self.schema.fields(c)]
            features[c] = torch.stack([_pad(r, self.width[c]) for r in rows], dim=2)
            values[c] = self._stack_targets(before, c, dtype)
            flags = [_known(before, c, v) for v in self.schema.targets(c)]
            known[c] = _stack_flags(flags, before.present[c])
            extremes[c] = self._extremes(before, c, dtype)
            for k in self.schema.classes:
                if self.equal_fields[k, c]:
                    equal[k, c] = self._equal(before, k, c, dtype)
        return Inputs(features, values, known, extremes, equal, dict(before.present))

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
        field, scale = self.schema.field(c, f), self.scales.fields[c, f]
        parts = []
        if is_numeric(field):
            numbers = as_numbers(field, value, dtype)
            mean, sd = (t.to(numbers) for t in (scale.value_mean, scale.value_sd))
            parts.append((numbers - mean) / sd)
        if is_discrete(field) and (self.enrich or not is_numeric(field)):
            index = (value.long() - int(field.low or 0)).clamp(0, (field.num_values or 1) - 1)
            code = functional.one_hot(index, field.num_values or 1).to(dtype)
            parts.append(code.flatten(2))
        return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]

    def _encode(self, before: Snapshot, c: str, f: str, dtype: torch.dtype) -> Tensor:
        known = _known(before, c, f).unsqueeze(-1)
        encoded = torch.where(known, self.encode(c, f, before.values[c][f], dtype), 0.0)
        if not self.flag_unknown:
            return encoded
        is_unknown = before.present[c].unsqueeze(-1) & ~known
        return torch.cat([encoded, is_unknown.to(dtype)], dim=-1)

    def _extremes(self, before: Snapshot, c: str, dtype: torch.dtype) -> Tensor:
        """Largest and smallest values of numeric fields among the other objects."""
        parts = [
            self.extremes_of(before, k, f, c, dtype)
            for k in (self.schema.classes if self.enrich else ())
            for f, field in self.schema.fields(k).items()
            if is_numeric(field)
        ]
        if not parts:
            present = before.present[c]
            return torch.zeros(*present.shape, 0, dtype=dtype, device=present.device)
        return torch.cat(parts, dim=-1)

    def extremes_of(self, before: Snapshot, k: str, f: str, c: str, dtype: torch.dtype) -> Tensor:
        """The extremes of one field of the others: (batch, object, columns of that field)."""
        batch, objects = before.present[c].shape
        field = self.schema.field(k, f)
        numbers = as_numbers(field, before.values[k][f], dtype)
        known = _known(before, k, f)[:, None, :, None]
        if k == c:
            known = known & _others(objects, known.device)
        high = _largest(numbers.unsqueeze(1), known)
        low = -_largest(-numbers.unsqueeze(1), known)
        parts, flags = [high, low], [known.any(2)] * 2
        if f in comparable(self.schema, k, c):
            own = as_numbers(field, before.values[c][f], dtype)
            parts += [high - own, low - own]
            flags += [known.any(2) & _known(before, c, f).unsqueeze(-1)] * 2
        columns = torch.cat([part.expand(batch, objects, -1) for part in parts], dim=-1)
        is_there = torch.cat([flag.expand(batch, objects, field.size) for flag in flags], dim=-1)
        if c in self.scales.extremes:
            mean, sd = self.scales.extremes[c][:, self.extremes_at(k, f, c)].to(columns)
            columns = (columns - mean) / sd
        return torch.where(is_there, columns, 0.0)

    def extremes_at(self, k: str, f: str, c: str) -> slice:
        """Where the extremes of one field of the others stand among all of a class."""
        names = [(column.source_class, column.source_field) for column in self.extreme_columns[c]]
        start = names.index((k, f))
        return slice(start, start + names.count((k, f)))

    def _equal(self, before: Snapshot, k: str, c: str, dtype: torch.dtype) -> Tensor:
        """Whether discrete attributes of two objects agree: (batch, object, source, pair)."""
        pairs = []
        for f in self.equal_fields[k, c]:
            known = _known(before, c, f)[:, :, None] & _known(before, k, f)[:, None]
            pairs.append(are_equal(before.values[c][f], before.values[k][f]) & known)
        return torch.stack(pairs, dim=-1).to(dtype)

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


def _known(snapshot: Snapshot, c: str, f: str) -> Tensor:
    return snapshot.present[c] & snapshot.observed[c][f]


def _stack_flags(flags: list[Tensor], like: Tensor) -> Tensor:
    """Flags of several fields, (batch, object, field), also if there is no field."""
    return torch.stack(flags, 2) if flags else like.new_zeros(*like.shape, 0)


def _others(objects: int, device: torch.device) -> Tensor:
    """Every object but oneself: (1, object, source object, 1)."""
    return ~torch.eye(objects, dtype=torch.bool, device=device)[None, :, :, None]


def _largest(numbers: Tensor, known: Tensor) -> Tensor:
    """Maximum over the source objects (axis 2), 0 where there is none."""
    if numbers.shape[2] == 0:
        return numbers.sum(2)
    top = torch.where(known, numbers, -torch.inf).amax(2)
    return torch.where(top.isfinite(), top, 0.0)


def _pad(values: Tensor, width: int) -> Tensor:
    return functional.pad(values, (0, width - values.shape[-1]))
