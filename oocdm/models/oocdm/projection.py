"""A linear map of the encodings of some fields, with as little work as their values allow."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from oocdm.models.oocdm.encoder import Encoder
from oocdm.models.oocdm.view import (
    MOST_CODES,
    FieldEncoders,
    View,
    all_values,
    combine,
    num_all_codes,
)


class Projection:
    """What a linear map makes of some fields of the objects of a class.

    Fields of few values are mapped beforehand, together as long as their combinations are few:
    a row of a table replaces network and map. The others are encoded when they come.
    """

    def __init__(
        self,
        encoder: Encoder,
        encoders: FieldEncoders,
        fields: tuple[str, ...],
        weight: Tensor,
        bias: Tensor,
    ) -> None:
        """`weight` has a row for each channel of all encodings of the class.

        Further rows are for who an object is.
        """
        self.c, self.bias = encoder.c, bias
        self._identity_weight = weight[encoder.width :].contiguous()
        self._encoder, self._encoders = encoder, encoders
        self._fields = encoder.schema.fields(self.c)
        self._num_codes = {f: num_all_codes(self._fields[f]) or 1 for f in fields}
        self.tables: list[tuple[tuple[str, ...], Tensor]] = []
        self.encoded: list[tuple[str, Tensor]] = []
        together: list[str] = []
        for f in fields:
            if num_all_codes(self._fields[f]) is None:
                self.encoded.append((f, weight[self._channels(f)].contiguous()))
            elif math.prod(self._num_codes[g] for g in (*together, f)) <= MOST_CODES:
                together.append(f)
            else:
                self._add_table(together, weight)
                together = [f]
        if together:
            self._add_table(together, weight)
        if self.tables:
            names, table = self.tables[0]
            self.tables[0] = (names, table + bias)

    def __call__(self, view: View) -> Tensor:
        """The map of all objects: (batch * object, out)."""
        total = self._of_fields(view)
        if len(self._identity_weight):
            who = view.identity(self.c) @ self._identity_weight
            total.unflatten(0, view.now.present[self.c].shape).add_(who)
        return total

    def _of_fields(self, view: View) -> Tensor:
        total: Tensor | None = None
        for fields, table in self.tables:
            index = combine((view.code(self.c, f), self._num_codes[f]) for f in fields)
            rows = table.index_select(0, index)
            total = rows if total is None else total.add_(rows)
        for f, weight in self.encoded:
            x = view.encoded(self.c, f)
            total = torch.addmm(self.bias, x, weight) if total is None else total.addmm_(x, weight)
        if total is None:
            batch, objects = view.now.present[self.c].shape
            return self.bias.repeat(batch * objects, 1)
        return total

    def _channels(self, f: str) -> slice:
        """The channels of a field among the encodings of its class."""
        encoder, i = self._encoder, self._encoder.fields.index(f)
        start, width = i * encoder.channels, encoder.channels - encoder.raw_width
        if encoder.raw_width:
            # What says that a value is unknown is no channel here.
            width += min(encoder.raw_width, encoder.widths[i] - encoder.flags_unknown)
        return slice(start, start + width)

    def _add_table(self, fields: list[str], weight: Tensor) -> None:
        tables = []
        for f in fields:
            values = all_values(self._fields[f]).unsqueeze(1).to(weight.device)
            tables.append(self._encoders[self.c, f](values) @ weight[self._channels(f)])
        table = tables[0]
        for other in tables[1:]:
            table = (table.unsqueeze(1) + other).flatten(0, 1)
        self.tables.append((tuple(fields), table))
