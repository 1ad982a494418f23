"""What happens between two objects: filters of both, times values of the sender."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.initial import xavier
from oocdm.models.named import ParametersByName
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.between import Between
from oocdm.models.oocdm.parts.entries import Entries
from oocdm.models.oocdm.parts.meeting import HEAD_DIM, HEADS, meet, read_pair
from oocdm.models.oocdm.parts.part import (
    AbstractGathered,
    Alone,
    Gather,
    GatherNeighbours,
    Place,
    Seen,
    SeenByTarget,
    Target,
)
from oocdm.models.oocdm.turns import Turns
from oocdm.models.oocdm.view import View

SMALL = 0.1  # of a usual last layer: what is multiplied must not be large before it is learned


class Pairs(AbstractGathered):
    """A filter of three layers over both ends, times a linear value of the sender.

    Filters see what both are and how far apart they are (see `Between`). They are between -1 and 1:
    what multiplies itself must not grow in a rollout, nor one extreme pair drown a batch. Filtered
    values are summed over the senders. Scores from the same hidden layer also weigh means of them,
    such as that of the nearest. One's own part alone is a message, too, as in `Messages`.
    """

    name: ClassVar[str] = "pairs"
    knows_receivers: ClassVar[bool] = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        s, h, d = place.num_targets, place.options.pair_hidden, place.options.pair_dim
        self.hidden, self.dim, self.means = h, d, HEADS * HEAD_DIM
        self.width = d + self.means
        self.between = {
            k: Between(place.featuriser, k, place.class_name) for k in place.schema.classes
        }
        own, num_values = place.widths[place.class_name], d + self.means
        self.own_weight = xavier(own, s, h, fan_in=own, fan_out=h)

        def last(width: int) -> nn.Parameter:
            return nn.Parameter(SMALL * xavier(h, s, width, fan_in=h, fan_out=d).data)

        self.own_last = last(d)

        def first(width: int) -> nn.Parameter:
            hidden = xavier(width, s, h, fan_in=width, fan_out=h)
            values = xavier(width, s, num_values, fan_in=width, fan_out=num_values)
            return nn.Parameter(torch.cat([hidden.data, values.data], dim=2))

        bias = torch.cat([torch.zeros(s, h), torch.ones(s, d), torch.zeros(s, self.means)], dim=1)
        self.weight = ParametersByName({k: first(w) for k, w in place.widths.items()})
        self.bias = ParametersByName({k: nn.Parameter(bias.clone()) for k in place.widths})
        self.between_weight = ParametersByName(
            {k: first(b.width) for k, b in self.between.items() if b.width}
        )
        self.middle = ParametersByName(
            {k: xavier(h, s, h, fan_in=h, fan_out=h) for k in place.widths}
        )
        self.middle_bias = ParametersByName(
            {k: nn.Parameter(torch.zeros(s, h)) for k in place.widths}
        )
        self.last = ParametersByName({k: last(d + HEADS) for k in place.widths})
        for k, between in self.between.items():
            self.register_buffer(f"unit_of_{k}", torch.ones(between.num_numbers))

    @classmethod
    def is_used(cls, options: ModelOptions) -> bool:
        return options.pairs

    def shared_input_weights(self) -> list[nn.Parameter]:
        return [self.own_weight, *self.weight.parameters(), *self.between_weight.parameters()]

    def _unit(self, k: str) -> Tensor:
        return self.get_buffer(f"unit_of_{k}")

    def measure(self, data: Transitions) -> None:
        for k, between in self.between.items():
            self._unit(k).copy_(between.measure(data.before))

    def observe(self, before: Snapshot, dtype: torch.dtype) -> dict[tuple[str, ...], Tensor]:
        return {
            (self.name, k, self.c): between.observe(before, self._unit(k), dtype)
            for k, between in self.between.items()
            if between.width
        }

    # ---------------------------------------------------------------- literal

    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        ours = seen.own @ self.own_weight[:, i]
        total = torch.cat(
            [ours.relu() @ self.own_last[:, i], ours.new_zeros(*ours.shape[:2], self.means)], -1
        )
        for k, x in seen.others.items():
            theirs = x @ self.weight[k][:, i] + self.bias[k][i]
            both = theirs.unsqueeze(1).expand(-1, ours.shape[1], -1, -1)
            for j, f in enumerate(self.between[k].column_fields):
                column = seen.inputs.extra[self.name, k, self.c][..., j]
                column = column * seen.local[f] * seen.edges[k][f]
                both = both + column.unsqueeze(-1) * self.between_weight[k][j, i]
            hidden, values = both.split([self.hidden, self.width], -1)
            hidden = hidden + ours.unsqueeze(2)
            middle = self.middle[k][:, i], self.middle_bias[k][i]
            filters, scores = read_pair(hidden, middle, self.last[k][:, i])
            counts = seen.allowed[k].unsqueeze(-1)
            openness = self.openness_literally(i, k, seen)
            if openness is not None:
                openness = openness.unsqueeze(-1)
                filters, scores = filters * openness.exp(), scores + openness
            summed = (filters * values[..., : self.dim] * counts).sum(2)
            weights = scores.masked_fill(~counts, torch.finfo(scores.dtype).min).softmax(2) * counts
            each = values[..., self.dim :].unflatten(-1, (HEADS, HEAD_DIM))
            means = (weights.unsqueeze(-1) * each).sum(2).flatten(-2)
            total = total + torch.cat([summed, means], dim=-1)
        return total

    # ---------------------------------------------------------------- under structures

    def compose(self, masks: Masks) -> Gather | None:
        entries = self._entries(masks, len(masks))
        if not len(entries.targets):
            return None
        composed = self._compose(masks, entries)

        def gather(seen: Seen) -> Tensor:
            total = composed(seen)  # (structure * target, batch, object, feature)
            total = total.unflatten(0, (len(masks), -1)).permute(0, 2, 3, 1, 4)
            return total.flatten(0, 1)

        return gather

    def compose_neighbours(self, turns: Turns) -> GatherNeighbours:
        composed = self._compose(turns.masks, self._entries(turns.masks, 1), turns)

        def gather_all(seen: Seen) -> Tensor:
            found = composed(seen).unflatten(0, (len(turns.masks), -1))
            return found.transpose(0, 1)

        return gather_all

    def _entries(self, masks: Masks, groups: int) -> Entries:
        structures, targets = np.nonzero(masks.has_path(self.c, self.name))
        device = self.own_weight.device
        at = [torch.as_tensor(each, device=device) for each in (structures, targets)]
        return Entries(at[0], at[1], groups)

    def _compose(self, masks: Masks, entries: Entries, turns: Turns | None = None) -> Composed:
        local = masks.local(self.c)
        return Composed(
            self,
            entries,
            entries.masked(self.own_weight, local, self.num_free),
            {
                k: sent
                for k in self.place.schema.classes
                if (sent := self._sent(k, masks, entries, turns)) is not None
            },
            len(masks) * self.place.num_targets,
        )

    def _sent(self, k: str, masks: Masks, entries: Entries, turns: Turns | None) -> Sent | None:
        """What the objects of a class send."""
        at = torch.arange(len(entries.targets), device=entries.targets.device)
        if self.place.options.skip_unrelated:
            is_open = torch.as_tensor(masks.reads(k, self.c), device=at.device)
            at = at[is_open[entries.structures, entries.targets]]
        if not len(at):
            return None
        made = at if turns is None else self._computed(k, entries, at, turns)
        distinct, places = made.unique(return_inverse=True)
        some = Entries(entries.structures[distinct], entries.targets[distinct], entries.groups)
        others = masks.others(k, self.c)
        between = None
        if self.between[k].width:
            both = self._both_ends(k, masks)
            between = some.masked(self.between_weight[k], both)
        return Sent(
            some,
            distinct,
            at,
            places,
            some.masked(self.weight[k], others, self.num_free),
            self.bias[k].index_select(0, some.targets).unsqueeze(1),
            between,
            (some.of(self.middle[k]), self.middle_bias[k].index_select(0, some.targets)),
            some.of(self.last[k]),
        )

    def _computed(self, k: str, entries: Entries, at: Tensor, turns: Turns) -> Tensor:
        """For each entry the one that it is equal to: a neighbour that turns nothing here is."""
        turned = turns.turned.get(k)
        rows = {*turns.own_rows.tolist(), *(() if turned is None else turned.rows)}
        first = {
            t: i
            for i, (s, t) in enumerate(
                zip(entries.structures.tolist(), entries.targets.tolist(), strict=True)
            )
            if s == 0
        }
        found = [
            e if int(entries.structures[e]) in rows else first.get(int(entries.targets[e]), e)
            for e in at.tolist()
        ]
        return torch.tensor(found, device=at.device)

    def _both_ends(self, k: str, masks: Masks) -> Tensor:
        """Which columns structures allow: (structure, column, target)."""
        schema = self.place.schema
        ours, theirs = (
            [list(schema.fields(each)).index(f) for f in self.between[k].column_fields]
            for each in (self.c, k)
        )
        both: Tensor = masks.local(self.c)[:, ours] * masks.others(k, self.c)[:, theirs]
        return both

    # ---------------------------------------------------------------- a single target

    def alone(self, target: Target, layer: FirstLayer) -> Alone | None:
        i, weight = target.i, layer.weight()[0, 0]
        senders = []
        for k in target.others if self.place.options.skip_unrelated else self.between:
            between = self.between[k]
            fields = tuple(
                f
                for f in between.column_fields
                if f in target.own and f in target.others.get(k, ())
            )
            used = [f in fields for f in between.column_fields]
            between_weight = self.between_weight[k][used, i] if fields else None
            project = target.project(k, self.weight[k][:, i], self.bias[k][i])
            middle = self.middle[k][:, i], self.middle_bias[k][i]
            last, openness = self.last[k][:, i], self.openness_of(i, k)
            senders.append((k, project, fields, between_weight, middle, last, openness))

        def add(first: Tensor, own: Tensor, view: View) -> None:
            ours = own.unflatten(0, view.now.present[self.c].shape)
            total = functional.pad(ours.relu() @ self.own_last[:, i], (0, self.means))
            for k, project, fields, between_weight, middle, last, openness in senders:
                present = view.now.present[k]
                if present.shape[1] == 0:
                    continue
                theirs = project(view).unflatten(0, present.shape)
                both = None
                if between_weight is not None:
                    read = partial(self.between[k].of_view, view, fields, self._unit(k))
                    columns = view.once((self.name, self.c, k, fields), read)
                    both = columns @ between_weight
                counts = present.unsqueeze(1)
                if k == self.c:
                    eye = torch.eye(present.shape[1], dtype=torch.bool, device=present.device)
                    counts = counts & ~eye
                opened = None if openness is None else openness(view)
                total += meet(ours, theirs, both, counts, middle, last, opened)
            first.addmm_(total.flatten(0, 1), weight)

        nothing = weight.new_zeros(self.hidden)
        skips = self.place.options.skip_unrelated
        return Alone(self.own_weight[:, i], nothing, add, sees_all=not skips)


@dataclass(frozen=True)
class Sent:
    """What objects of one class send, under the structures of some entries.

    `some` are computed; those at `to`, among all entries, are equal to the ones at `places` of
    them.
    """

    some: Entries
    own: Tensor  # which of all entries the computed ones are
    to: Tensor
    places: Tensor
    weight: Tensor  # (entry, input, hidden + value)
    bias: Tensor  # (entry, 1, hidden + value)
    between: Tensor | None  # (entry, column, hidden + value)
    middle: tuple[Tensor, Tensor]  # (entry, hidden, hidden), (entry, hidden)
    last: Tensor  # (entry, hidden, filter + score)


@dataclass(frozen=True)
class Composed:
    """The part under some structures: called with a batch, it gathers for all entries."""

    part: Pairs
    entries: Entries
    own_weight: Tensor  # (entry, input, hidden)
    sent: Mapping[str, Sent]
    total: int  # all pairs of a structure and a target

    def __call__(self, seen: Seen) -> Tensor:
        """Features, (structure * target, batch, object, feature), 0 for those not computed."""
        part, entries = self.part, self.entries
        x = entries.read(seen.own(part.c))  # (entry, batch, object, input)
        ours = torch.bmm(x.flatten(1, 2), self.own_weight)
        alone = torch.bmm(ours.relu(), entries.of(part.own_last))
        total = functional.pad(alone, (0, part.means)).unflatten(1, x.shape[1:3])
        ours = ours.unflatten(1, x.shape[1:3])
        for k, sent in self.sent.items():
            if seen.encoded[k].shape[1]:
                found = self._from(k, sent, ours, seen)
                total = total.index_add(0, sent.to, found.index_select(0, sent.places))
        at = entries.structures * part.place.num_targets + entries.targets
        return total.new_zeros(self.total, *total.shape[1:]).index_copy(0, at, total)

    def _from(self, k: str, sent: Sent, ours: Tensor, seen: Seen) -> Tensor:
        part, codes = self.part, seen.encoded[k]
        batch, senders = len(codes) // sent.some.groups, codes.shape[1]
        columns = None
        if sent.between is not None:
            columns = seen.inputs.received(part.c, seen.inputs.extra[part.name, k, part.c])
        counts = seen.inputs.others(k, part.c)
        openness, receivers = part.openness(k, seen), ours.shape[2]
        found = []
        for some in sent.some.split(batch * receivers * senders * sent.weight.shape[2]):
            here = Entries(sent.some.structures[some], sent.some.targets[some], sent.some.groups)
            theirs = torch.baddbmm(
                sent.bias[some], here.read(codes).flatten(1, 2), sent.weight[some]
            ).unflatten(1, (batch, senders))
            both = None
            if columns is not None and sent.between is not None:
                each = here.read(columns)
                both = torch.bmm(each.flatten(1, 3), sent.between[some]).unflatten(
                    1, each.shape[1:4]
                )
            own = ours.index_select(0, sent.own[some])
            middle = sent.middle[0][some], sent.middle[1][some]
            opened = None if openness is None else here.of_pairs(openness)
            last = sent.last[some]
            found.append(meet(own, theirs, both, here.read(counts), middle, last, opened))
        return found[0] if len(found) == 1 else torch.cat(found)
