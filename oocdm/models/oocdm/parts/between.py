"""How far apart two objects are: differences of the fields that they have in common."""

from __future__ import annotations

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot
from oocdm.models.features import Featuriser, are_equal, comparable, is_known
from oocdm.models.oocdm.view import View
from oocdm.models.scales import as_numbers


class Between:
    """Columns that tell of a receiver and a sender what neither tells alone.

    For each field that both classes have: of numbers the differences (sender less receiver) and
    how large they are, log(1 + square), component by component, and of discrete values whether they
    are equal. A column may enter a prediction only if the graph has the field of both ends.

    >>> import oocdm
    >>> from oocdm.models.scales import ClassScales, Scales
    >>> class Ball(oocdm.ObjectClass):
    ...     place = oocdm.Real(shape=(2,))
    ...     colour = oocdm.Categorical(["red", "blue"])
    >>> schema = oocdm.Schema(Ball)
    >>> scales = {"Ball": ClassScales(schema, "Ball", Scales.unit(schema))}
    >>> Between(Featuriser(schema, scales, one_hot=True), "Ball", "Ball").column_fields
    ['place', 'place', 'place', 'place', 'colour']
    """

    def __init__(self, featuriser: Featuriser, source: str, target: str) -> None:
        self.k, self.c, self._featuriser = source, target, featuriser
        schema = featuriser.schema
        common = {f: schema.field(target, f) for f in comparable(schema, source, target)}
        self.numbers = {f: field for f, field in common.items() if field.is_numeric}
        self.equal = [f for f, field in common.items() if field.is_coded]
        self.num_numbers = sum(field.size for field in self.numbers.values())
        self.column_fields = [
            *(f for f, field in self.numbers.items() for _ in range(2 * field.size)),
            *self.equal,
        ]

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.column_fields)

    def units(self, unit: Tensor) -> dict[str, Tensor]:
        """The units of all differences by field: (component,) each."""
        sizes = [field.size for field in self.numbers.values()]
        return dict(zip(self.numbers, unit.split(sizes), strict=True))

    def measure(self, before: Snapshot) -> Tensor:
        """The usual size of each difference; where there is none, the spread of the field."""
        found = [torch.zeros(0)]
        for f in self.numbers:
            apart, known = self._differences(before, f, torch.float64)
            if self.k == self.c:
                known &= ~torch.eye(known.shape[1], dtype=torch.bool, device=known.device)
            size = apart[known].square().mean(0).sqrt().float()
            spread = self._featuriser.scales[self.c].of_value(f)[1]
            found.append(torch.where(size > 0, size, spread.to(size)))  # nor where there is no pair
        return torch.cat(found)

    def observe(self, before: Snapshot, unit: Tensor, dtype: torch.dtype) -> Tensor:
        """All columns, 0 where a value is unknown: (batch, receiver, sender, column)."""
        columns = []
        for f, of_field in self.units(unit).items():
            apart, known = self._differences(before, f, dtype)
            apart = apart.div_(of_field).masked_fill_(~known.unsqueeze(-1), 0.0)
            columns += [apart, _size(apart)]
        for f in self.equal:
            same = are_equal(before.values[self.c][f], before.values[self.k][f])
            columns.append((same & self._both_known(before, f)).to(dtype).unsqueeze(-1))
        return torch.cat(columns, dim=-1)

    def _differences(self, before: Snapshot, f: str, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """(batch, receiver, sender, component), and whether both are known."""
        ours, theirs = (
            as_numbers(self.numbers[f], before.values[c][f], dtype) for c in (self.c, self.k)
        )
        return theirs.unsqueeze(1) - ours.unsqueeze(2), self._both_known(before, f)

    def _both_known(self, before: Snapshot, f: str) -> Tensor:
        return is_known(before, self.c, f)[:, :, None] & is_known(before, self.k, f)[:, None]

    def of_view(self, view: View, fields: tuple[str, ...], unit: Tensor) -> Tensor:
        """The columns of some fields of a state that is all known."""
        columns, units = [], self.units(unit)
        shapes = [view.now.present[c].shape for c in (self.c, self.k)]
        for f in self.numbers:
            if f in fields:
                ours, theirs = (
                    view.numbers(c, f).unflatten(0, shape)
                    for c, shape in zip((self.c, self.k), shapes, strict=True)
                )
                apart = (theirs.unsqueeze(1) - ours.unsqueeze(2)).div_(units[f])
                columns += [apart, _size(apart)]
        columns += [view.equal(self.k, self.c, f).unsqueeze(-1) for f in self.equal if f in fields]
        return torch.cat(columns, dim=-1)


def _size(apart: Tensor) -> Tensor:
    # Squares themselves would be enormous where objects are far apart.
    return apart.square().log1p()
