"""A linear map of the encodings of some fields, with as little work as their values allow."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from oocdm.models.encoding import FieldEncoder
from oocdm.models.network import AbstractClassModel
from oocdm.models.view import MOST_CODES, View, all_values, combine, num_codes


class Projection:
    """What a linear map makes of some fields of the objects of a class.

    Fields of few values are mapped beforehand, together as long as their combinations are few:
    a row of a table replaces network and map. The others are encoded when they come.
    """

    def __init__(
        self,
        model: AbstractClassModel,
        c: str,
        fields: tuple[str, ...],
        weight: Tensor,
        bias: Tensor,
    ) -> None:
        """`weight` has a row for each channel of all encodings of the class."""
        self.c, self._schema_fields = c, model.schema.fields(c)
        self._num_codes = {f: num_codes(self._schema_fields[f]) or 1 for f in fields}
        self.width = len(bias)
        self.tables: list[tuple[tuple[str, ...], Tensor]] = []
        self.encoded: list[tuple[FieldEncoder, Tensor]] = []
        together: list[str] = []
        for f in fields:
            if num_codes(self._schema_fields[f]) is None:
                rows = weight[self._channels(model, f)]
                self.encoded.append((FieldEncoder(model, c, f), rows.contiguous()))
            elif self._count([*together, f]) <= MOST_CODES:
                together.append(f)
            else:
                self._add_table(model, together, weight)
                together = [f]
        if together:
            self._add_table(model, together, weight)
        if self.tables:
            names, table = self.tables[0]
            self.tables[0] = (names, table + bias)
        self.bias = bias

    def __call__(self, view: View) -> Tensor:
        """The map of all objects: (batch * object, out)."""
        total: Tensor | None = None
        for fields, table in self.tables:
            index = combine((view.code(self.c, f), self._num_codes[f]) for f in fields)
            rows = table.index_select(0, index)
            total = rows if total is None else total.add_(rows)
        for encoder, weight in self.encoded:
            x = view.encoded(encoder)
            total = torch.addmm(self.bias, x, weight) if total is None else total.addmm_(x, weight)
        if total is None:
            batch, objects = view.now.present[self.c].shape
            return self.bias.repeat(batch * objects, 1)
        return total

    def _count(self, fields: list[str]) -> int:
        return int(np.prod([self._num_codes[f] for f in fields]))

    def _channels(self, model: AbstractClassModel, f: str) -> slice:
        """The channels of a field among the encodings of its class."""
        start = list(self._schema_fields).index(f) * model.encoded_dim[self.c]
        width, o = model.options.encoding_dim, model.options
        if o.enrich:
            # What says that a value is unknown is no channel here.
            inputs = model.featuriser.field_width(self.c, f) - o.flag_unknown
            width += min(model.featuriser.raw_width[self.c], inputs)
        return slice(start, start + width)

    def _add_table(self, model: AbstractClassModel, fields: list[str], weight: Tensor) -> None:
        tables = []
        for f in fields:
            values = all_values(self._schema_fields[f]).unsqueeze(1).to(model.device)
            rows = FieldEncoder(model, self.c, f)(values, model.dtype)
            tables.append(rows @ weight[self._channels(model, f)])
        table = tables[0]
        for other in tables[1:]:
            table = (table.unsqueeze(1) + other).flatten(0, 1)
        self.tables.append((tuple(fields), table))
