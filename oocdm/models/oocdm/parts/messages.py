"""Messages between pairs of objects, summed over the senders."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from oocdm.data.snapshot import Snapshot
from oocdm.models.features import are_equal, comparable, is_known
from oocdm.models.initial import xavier
from oocdm.models.named import ParametersByName
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.masks import Masks, masked
from oocdm.models.oocdm.options import ModelOptions
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
from oocdm.models.oocdm.turns import Contributed, Turns, repeat
from oocdm.models.oocdm.view import View

LARGEST = 2**22  # numbers of messages at once, where no gradients need them all: for the caches

# Where objects stand among those of their class: one after the other, or (batch, object).
Places = slice | Tensor


@dataclass(frozen=True)
class Sender:
    """Messages of one class of sources under some structures."""

    live: np.ndarray  # targets that some structure lets hear them
    weight: Tensor  # (structure, input, live target * channel)
    bias: Tensor  # (live target, channel)
    equal_weight: Tensor | None  # (structure, pair, live target, channel)
    is_open: Tensor  # (structure, live target)


class Messages(AbstractGathered):
    """What others send: ReLU of an own part, a part of the sender, and what both have equal.

    One's own part alone is a message, too. It keeps an edge from others from being worth something
    for the mere hidden units that come with their messages.
    """

    name: ClassVar[str] = "messages"
    knows_receivers: ClassVar[bool] = True

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        schema, c, s = place.schema, place.class_name, place.num_targets
        d = self.width = place.options.message_dim
        self.equal_fields = {
            k: [f for f in comparable(schema, k, c) if schema.field(c, f).is_coded]
            if place.options.enrich
            else []
            for k in schema.classes
        }
        own = place.widths[c]
        self.own_weight = xavier(own, s, d, fan_in=own, fan_out=d)
        self.weight = ParametersByName(
            {k: xavier(w, s, d, fan_in=w, fan_out=d) for k, w in place.widths.items()}
        )
        self.bias = ParametersByName({k: nn.Parameter(torch.zeros(s, d)) for k in place.widths})
        self.equal_weight = ParametersByName(
            {
                k: xavier(len(fields), s, d, fan_in=len(fields), fan_out=d)
                for k, fields in self.equal_fields.items()
                if fields
            }
        )

    @classmethod
    def is_used(cls, options: ModelOptions) -> bool:
        return "sum" in options.aggregators

    def shared_input_weights(self) -> list[nn.Parameter]:
        return [self.own_weight, *self.weight.parameters()]

    def observe(self, before: Snapshot, dtype: torch.dtype) -> dict[tuple[str, ...], Tensor]:
        """Whether discrete attributes of two objects agree: (batch, object, source, pair)."""
        found: dict[tuple[str, ...], Tensor] = {}
        c = self.c
        for k, fields in self.equal_fields.items():
            if not fields:
                continue
            pairs = []
            for f in fields:
                known = is_known(before, c, f)[:, :, None] & is_known(before, k, f)[:, None]
                pairs.append(are_equal(before.values[c][f], before.values[k][f]) & known)
            found[self.name, k, c] = torch.stack(pairs, dim=-1).to(dtype)
        return found

    # ---------------------------------------------------------------- literal

    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        ours = seen.own @ self.own_weight[:, i]
        total = ours.relu()
        for k, x in seen.others.items():
            theirs = x @ self.weight[k][:, i] + self.bias[k][i]
            message = ours.unsqueeze(2) + theirs.unsqueeze(1)
            for j, f in enumerate(self.equal_fields[k]):
                same = seen.inputs.extra[self.name, k, self.c][..., j]
                same = same * seen.local[f] * seen.edges[k][f]
                message = message + same.unsqueeze(-1) * self.equal_weight[k][j, i]
            counts = seen.allowed[k].to(message)
            openness = self.openness_literally(i, k, seen)
            if openness is not None:
                counts = counts * openness.exp()
            total = total + (message.relu() * counts.unsqueeze(-1)).sum(2)
        return total

    # ---------------------------------------------------------------- under structures

    def compose(self, masks: Masks) -> Gather | None:
        hears = masks.has_path(self.c, self.name)
        if not hears.any():
            return None
        own_weight = masked(self.own_weight.unsqueeze(0), masks.local(self.c), self.num_free)
        senders = {
            k: sender
            for k in self.place.schema.classes
            if (sender := self._sender(k, masks, hears)) is not None
        }

        def gather(seen: Seen) -> Tensor:
            x = seen.own(self.c)
            own = torch.bmm(x.reshape(len(masks), -1, x.shape[2]), own_weight)
            own = own.view(*x.shape[:2], self.place.num_targets, self.width)
            total = own.relu()
            for k, sender in senders.items():
                if seen.encoded[k].shape[1] > 0:
                    added = self._send(k, sender, masks, seen, own)
                    total = _add(total, sender.live, added)
            return total

        return gather

    def _sender(self, k: str, masks: Masks, hears: np.ndarray) -> Sender | None:
        is_open = hears & masks.reads(k, self.c) if self._skips else hears
        live = np.flatnonzero(is_open.any(0))
        if len(live) == 0:
            return None
        pick = _picker(live, self.place.num_targets)
        equal = self._equal_weight(k, masks)
        weight, mask = pick(self.weight[k], 1).unsqueeze(0), pick(masks.others(k, self.c), 2)
        return Sender(
            live,
            masked(weight, mask, self.num_free),
            pick(self.bias[k]),
            None if equal is None else pick(equal, 2),
            torch.as_tensor(is_open[:, live], device=self.own_weight.device),
        )

    @property
    def _skips(self) -> bool:
        return self.place.options.skip_unrelated

    def _equal_weight(self, k: str, masks: Masks) -> Tensor | None:
        """Weights of equalities whose fields both ends may see: (structure, pair, target, ch)."""
        if not self.equal_fields[k]:
            return None
        schema = self.place.schema
        ours, theirs = (
            [list(schema.fields(each)).index(f) for f in self.equal_fields[k]]
            for each in (self.c, k)
        )
        both = masks.local(self.c)[:, ours] * masks.others(k, self.c)[:, theirs]
        return both.unsqueeze(-1) * self.equal_weight[k]

    def _send(self, k: str, sender: Sender, masks: Masks, seen: Seen, own: Tensor) -> Tensor:
        codes, batch = seen.encoded[k], seen.inputs.batch_size
        rows = codes.reshape(len(masks), -1, codes.shape[2])
        source = torch.baddbmm(sender.bias.reshape(1, 1, -1), rows, sender.weight)
        source = source.view(*codes.shape[:2], *sender.bias.shape)
        is_open = masks.spread(sender.is_open, batch)
        is_source = seen.inputs.present[k].unsqueeze(2) & is_open.unsqueeze(1)
        if not is_source.all():
            source = source.masked_fill(~is_source.unsqueeze(-1), -torch.inf)
        same: list[tuple[Tensor, Tensor]] = []
        if sender.equal_weight is not None:
            weights = masks.spread(sender.equal_weight, batch)[:, None, None].unbind(3)
            same = list(zip(self._flags(k, seen), weights, strict=True))
        pick = _picker(sender.live, self.place.num_targets)
        openness = self._opening(k, seen)
        opening = None if openness is None else pick(openness, 3)
        return heard(pick(own, 2), source, same, self._own_places(k, seen), opening)

    # ---------------------------------------------------------------- around a structure

    def compose_neighbours(self, turns: Turns) -> GatherNeighbours:
        masks = turns.masks
        own_weight = masked(self.own_weight.unsqueeze(0), turns.own_masks(), self.num_free)
        layers = {
            k: turns.contribute(k, self.weight[k], self.bias[k], self.num_free)
            for k in self.place.schema.classes
        }
        equal_weights = {k: self._equal_weight(k, masks) for k in layers}
        shape = (self.place.num_targets, self.width)
        hears = masks.has_path(self.c, self.name)
        is_open = {k: hears & masks.reads(k, self.c) if self._skips else hears for k in layers}

        def gather_all(seen: Seen) -> Tensor:
            x = seen.own(self.c)
            own = torch.bmm(repeat(x, len(own_weight)), own_weight)
            own = own.view(len(own_weight), *x.shape[:2], *shape)
            variant = torch.as_tensor(turns.own_variant, device=x.device)
            total = own.relu().index_select(0, variant)
            for k, codes in seen.encoded.items():
                if codes.shape[1] == 0:
                    continue
                source = layers[k].base(codes).view(*codes.shape[:2], *shape)
                source.masked_fill_(~seen.inputs.present[k][:, :, None, None], -torch.inf)
                opening, places = self._opening(k, seen), self._own_places(k, seen)
                for rows, variant_of, added in self._groups(k, turns, layers[k], codes):
                    rows = [i for i in rows if is_open[k][i].any()]
                    if rows:
                        theirs = source if added is None else source + added
                        same = self._same(k, equal_weights[k], rows[0], seen)
                        heard_now = heard(own[variant_of], theirs, same, places, opening)
                        for i in rows:
                            flags = torch.as_tensor(is_open[k][i], device=x.device)
                            total[i] += heard_now * flags.unsqueeze(-1)
            return total.permute(3, 0, 1, 2, 4)

        return gather_all

    # ---------------------------------------------------------------- a single target

    def alone(self, target: Target, layer: FirstLayer) -> Alone | None:
        i, weight = target.i, layer.weight()[0, 0]
        senders = {
            k: (
                target.project(k, self.weight[k][:, i], self.bias[k][i]),
                [
                    (f, self.equal_weight[k][j, i])
                    for j, f in enumerate(self.equal_fields[k])
                    if f in target.others.get(k, ()) and f in target.own
                ],
                self.openness_of(i, k),
            )
            for k in (target.others if self._skips else self.place.schema.classes)
        }

        def add(first: Tensor, own: Tensor, view: View) -> None:
            ours = own.unflatten(0, view.now.present[self.c].shape).unsqueeze(2)
            total = ours.relu()
            for k, (project, equal_weights, openness) in senders.items():
                present = view.now.present[k]
                if present.shape[1] == 0:
                    continue
                source = project(view).unflatten(0, present.shape).unsqueeze(2)
                absent = view.absent(k)
                if absent is not None:
                    source.masked_fill_(absent[:, :, None, None], -torch.inf)
                same = [(view.equal(k, self.c, f), added) for f, added in equal_weights]
                places = slice(0, present.shape[1]) if k == self.c else None
                opening = None if openness is None else openness(view).exp().unsqueeze(-1)
                total += heard(ours, source, same, places, opening)
            first.addmm_(total.flatten(0, 2), weight)

        nothing = weight.new_zeros(self.width)
        return Alone(self.own_weight[:, i], nothing, add, sees_all=not self._skips)

    def _groups(
        self, k: str, turns: Turns, layer: Contributed, codes: Tensor
    ) -> Iterable[tuple[list[int], int, Tensor | None]]:
        """Structures that share their messages: their rows, own variant, and what senders add."""
        alone = set(turns.own_rows.tolist())
        turned = turns.turned.get(k)
        if turned is not None:
            added = layer.added(codes).unflatten(3, (self.place.num_targets, self.width))
            for i, each in zip(turned.rows, added, strict=True):
                alone.add(i)
                yield [i], 0, each
        yield [i for i in range(len(turns.masks)) if i not in alone], 0, None
        for i in turns.own_rows.tolist():
            yield [i], int(turns.own_variant[i]), None

    def _same(
        self, k: str, weight: Tensor | None, row: int, seen: Seen
    ) -> list[tuple[Tensor, Tensor]]:
        if weight is None:
            return []
        return list(zip(self._flags(k, seen), weight[row], strict=True))

    def _flags(self, k: str, seen: Seen) -> tuple[Tensor, ...]:
        """Which attributes of a receiver and a sender agree: (batch, receiver, source) each."""
        flags = seen.inputs.extra[self.name, k, self.c]
        return seen.inputs.received(self.c, flags).unbind(-1)

    def _opening(self, k: str, seen: Seen) -> Tensor | None:
        """How open receivers are, 0 to 1: (1 or batch, receiver, sender, target); None: all are."""
        openness = self.openness(k, seen)
        return None if openness is None else openness.exp()

    def _own_places(self, k: str, seen: Seen) -> Places | None:
        """Where receivers stand among the senders of a class; None if it is not their own."""
        if k != self.c:
            return None
        return seen.inputs.receivers.get(k, slice(0, seen.encoded[k].shape[1]))


def heard(
    own: Tensor,
    source: Tensor,
    same: list[tuple[Tensor, Tensor]],
    places: Places | None,
    opening: Tensor | None = None,
) -> Tensor:
    """Messages summed over their senders: (batch, object, target, channel).

    `own` is (batch, object, target, channel), `source` (batch, sender, target, channel) with minus
    infinity, which the ReLU turns into nothing, for senders that do not count. `same` are flags
    (batch, object, sender) and what they add, which broadcasts over the message. Nobody hears
    itself: `places` say where the objects stand among the senders. `opening`, (1 or batch, object,
    sender, target), is how much of a message counts, all of it if there is none.
    """
    numbers = own.numel() * source.shape[1]
    if numbers > LARGEST and own.shape[1] > 1 and not torch.is_grad_enabled():
        at_once = max(own.shape[1] * LARGEST // numbers, 1)
        total = torch.empty_like(own)  # beforehand: parts between the messages would leave gaps
        for start in range(0, own.shape[1], at_once):
            here = slice(start, start + at_once)
            some = [(flags[:, here], added) for flags, added in same]
            open_here = None if opening is None else opening[:, here]
            total[:, here] = heard(own[:, here], source, some, _at(places, here), open_here)
        return total
    ours, theirs = own.unsqueeze(2), source.unsqueeze(1)
    if torch.is_grad_enabled():
        message = ours + theirs
    else:
        # With the senders first in memory: sums over the first axis are the fastest.
        batch, objects, senders = own.shape[0], own.shape[1], source.shape[1]
        message = own.new_empty(senders, batch, objects, *own.shape[2:]).permute(1, 2, 0, 3, 4)
        torch.add(ours, theirs, out=message)
    for flags, added in same:
        message.addcmul_(flags[..., None, None], added)
    if places is not None:
        # Not through autograd: the ReLU lets no gradient pass here anyway.
        if isinstance(places, slice):
            message.detach()[:, :, places].diagonal(dim1=1, dim2=2).fill_(-torch.inf)
        else:
            index = places[:, :, None, None, None].expand(-1, -1, 1, *message.shape[3:])
            message.detach().scatter_(2, index, -torch.inf)
    message = message.relu_()
    if opening is not None:
        message = message * opening.unsqueeze(-1)
    return message.sum(2)


def _at(places: Places | None, here: slice) -> Places | None:
    """The places of some of the objects."""
    if isinstance(places, slice):
        return slice(places.start + here.start, min(places.start + here.stop, places.stop))
    return None if places is None else places[:, here]


def _add(total: Tensor, live: np.ndarray, added: Tensor) -> Tensor:
    """Add what some targets hear."""
    if len(live) == total.shape[2]:
        return total + added
    return total.index_add(2, torch.as_tensor(live, device=total.device), added)


def _picker(chosen: np.ndarray, total: int) -> Callable[..., Tensor]:
    """A function that picks some targets of a tensor along an axis; all of them cost nothing."""
    if len(chosen) == total:
        return lambda tensor, axis=0: tensor
    return lambda tensor, axis=0: tensor.index_select(
        axis, torch.as_tensor(chosen, device=tensor.device)
    )
