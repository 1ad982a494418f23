"""What a predictor is made of: parts, each with its parameters, its literal and its fast form.

A part makes features of a target from the object's own fields or from other objects; the network
and the linear map beside it read the features of all parts. A new part is one file with a subclass
of `AbstractGathered` (or `AbstractLinear`) and one line in `parts/__init__.py`. It must be zero,
or the same whatever they are, in all fields that a structure does not let its target read.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.models.features import Featuriser, Inputs, PerClass, at_places
from oocdm.models.oocdm.encoder import Encoder
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.openness import Openness
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.projection import Projection
from oocdm.models.oocdm.turns import Turns
from oocdm.models.oocdm.view import FieldEncoders, View
from oocdm.schema import Schema


@dataclass(frozen=True)
class Place:
    """Where a part stands: in the predictors of one class of a model."""

    class_name: str
    options: ModelOptions
    featuriser: Featuriser
    widths: Mapping[str, int]  # of an encoded object of each class
    earlier: Mapping[str, AbstractPart]  # the parts that stand before it, by name
    openness: Openness | None = None  # what all parts share

    @property
    def schema(self) -> Schema:
        """The classes and fields of the model."""
        return self.featuriser.schema

    @property
    def num_targets(self) -> int:
        """How many targets the class has."""
        return len(self.schema.targets(self.class_name))


@dataclass(frozen=True)
class Seen:
    """What parts read of a batch: `encoded[class]` is (batch, object, field * channel).

    If the model knows who objects are, that follows in `encoded`, and alone it is
    `identities[class]`, (1 or batch, object, channel).
    """

    inputs: Inputs
    encoded: Mapping[str, Tensor]
    identities: PerClass

    def own(self, c: str) -> Tensor:
        """Encodings of the objects of a class that are predicted: (batch, receiver, ..)."""
        return self.inputs.received(c, self.encoded[c])

    def who_receives(self, c: str) -> Tensor:
        """Who the objects of a class are that are predicted: (1 or batch, receiver, channel)."""
        who, places = self.identities[c], self.inputs.receivers.get(c)
        return who if places is None else at_places(who.expand(len(places), -1, -1), places)

    def for_all(self) -> Seen:
        """The same, with all objects to be predicted."""
        return replace(self, inputs=self.inputs.for_all())

    def repeat(self, times: int) -> Seen:
        """All of it so many times, one batch after the other."""

        def each(tensors: PerClass) -> PerClass:
            return {c: t if len(t) == 1 else t.repeat(times, 1, 1) for c, t in tensors.items()}

        encoded = {c: codes.repeat(times, 1, 1) for c, codes in self.encoded.items()}
        return Seen(self.inputs.repeat(times), encoded, each(self.identities))


@dataclass(frozen=True)
class SeenByTarget:
    """What one target reads of a batch, literally: what is not for it to see is 0.

    `own` and `others[class]` are encodings (batch, object, field * channel), `local[field]` and
    `edges[class][field]` tell which of them it may see, (batch, 1, 1) each, and `allowed[class]`
    which objects count for which, (batch, object, source). Who objects are is never hidden.
    """

    inputs: Inputs
    own: Tensor
    others: Mapping[str, Tensor]
    local: Mapping[str, Tensor]
    edges: Mapping[str, Mapping[str, Tensor]]
    allowed: Mapping[str, Tensor]
    identities: PerClass


@dataclass(frozen=True)
class Reading:
    """How single targets read states: encoders of classes and of fields, and of all at once."""

    encoders: Mapping[str, Encoder]
    of_fields: FieldEncoders
    see: Callable[[Snapshot], Seen]

    def project(self, k: str, fields: tuple[str, ...], weight: Tensor, bias: Tensor) -> Projection:
        """A linear map of some fields of a class."""
        return Projection(self.encoders[k], self.of_fields, fields, weight, bias)


@dataclass(frozen=True)
class Target:
    """A single target under one structure: the parents that it has, and how states are read."""

    class_name: str
    i: int  # its place among the targets of the class
    own: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]]
    masks: Masks
    reading: Reading

    def project(self, k: str, weight: Tensor, bias: Tensor) -> Projection:
        """A linear map of the fields of other objects that it may see."""
        return self.reading.project(k, self.others.get(k, ()), weight, bias)

    def see(self, view: View) -> Seen:
        """All of a state, for parts that have no form of their own for single targets."""
        return view.once(("seen",), lambda: self.reading.see(view.now))


@dataclass(frozen=True)
class Alone:
    """A part for a single target: a map of own encodings, and what to add to the first layer.

    `add` is given the first layer (row, out), to be changed in place, what the map gave (row, n)
    and the state.
    """

    own_weight: Tensor  # (input, n)
    own_bias: Tensor  # (n,)
    add: Callable[[Tensor, Tensor, View], None]
    sees_all: bool = False  # whether it looks at more of a state than the target's parents


# From a batch to features (batch, object, target, feature); None if there is nothing to see.
# Objects are those that are predicted, if the part knows receivers, else all.
Gather = Callable[[Seen], Tensor | None]

# The same under a structure and its neighbours: (target, structure, batch, object, feature).
GatherNeighbours = Callable[[Seen], Tensor]


class AbstractPart(nn.Module):
    """One part of the predictors of all targets of a class."""

    name: ClassVar[str]
    is_path: ClassVar[bool] = True  # whether a target may do without it
    # Whether it gathers for `Seen.own` alone, where only some objects are predicted.
    knows_receivers: ClassVar[bool] = False
    width: int  # features that it makes for a target

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place, self.c = place, place.class_name

    @classmethod
    @abstractmethod
    def is_used(cls, options: ModelOptions) -> bool:
        """Whether networks with such options have the part."""

    def measure(self, data: Transitions) -> None:
        """Take units of the part's own inputs from data."""

    def observe(self, before: Snapshot, dtype: torch.dtype) -> dict[tuple[str, ...], Tensor]:
        """What the part reads of a snapshot beside encodings, for `Inputs.extra`."""
        return {}

    def shared_input_weights(self) -> list[nn.Parameter]:
        """Weights (input, target, out) whose input is the same for all targets."""
        return []

    @property
    def num_free(self) -> int:
        """Inputs of an encoded object that are no field's: who it is."""
        return self.place.options.identity_dim

    def openness(self, k: str, seen: Seen) -> Tensor | None:
        """Logarithms of how open receivers are to a class: (1 or batch, receiver, sender, target).

        None if all are.
        """
        openness = self.place.openness
        if openness is None:
            return None
        return openness(k, seen.who_receives(self.c), seen.identities[k])

    def openness_literally(self, i: int, k: str, seen: SeenByTarget) -> Tensor | None:
        """The same for target i: (1 or batch, receiver, sender)."""
        openness, who = self.place.openness, seen.identities
        return None if openness is None else openness.literal(i, k, who[self.c], who[k])

    def openness_of(self, i: int, k: str) -> Callable[[View], Tensor] | None:
        """The same for target i of a state."""
        openness = self.place.openness
        return None if openness is None else openness.of_target(i, self.c, k)

    @abstractmethod
    def literal(self, i: int, seen: SeenByTarget) -> Tensor:
        """Features of target i, (batch, object, feature): the measure of correctness."""

    @abstractmethod
    def alone(self, target: Target, layer: FirstLayer) -> Alone | None:
        """The form for a single target; `layer` is its first layer for the features of this part.

        None if it has nothing to see.
        """


class AbstractLinear(AbstractPart):
    """A part whose features are linear in what it reads, so that weights can be made beforehand."""

    @abstractmethod
    def rows(self, seen: Seen) -> Tensor:
        """What it reads: (batch, object, input)."""

    @abstractmethod
    def weigh(self, layer: FirstLayer, masks: Masks) -> tuple[Tensor, Tensor | None]:
        """What the first layer makes of it: (structure, input, target * out), and a bias.

        `layer` is the one for the features of this part. The bias, (target, structure or 1, out),
        takes the place of the layer's own: at most one part, which must be no path, may have one.
        """


class AbstractGathered(AbstractPart):
    """A part that gathers from other objects."""

    @abstractmethod
    def compose(self, masks: Masks) -> Gather | None:
        """The fast form under some structures: what depends on them and on weights is made here."""

    def compose_neighbours(self, turns: Turns) -> GatherNeighbours:
        """The fast form under a structure and its neighbours, by default one after the other."""
        gather, num = self.compose(turns.masks), len(turns.masks)

        def gather_all(seen: Seen) -> Tensor:
            x = seen.encoded[self.c]
            found = None if gather is None else gather(seen.repeat(num))
            if found is None:
                found = x.new_zeros(num * len(x), x.shape[1], self.place.num_targets, self.width)
            return found.unflatten(0, (num, -1)).permute(3, 0, 1, 2, 4)

        return gather_all

    def alone(self, target: Target, layer: FirstLayer) -> Alone | None:
        """By default the fast form under one structure, computed for all targets of the class."""
        gather, weight = self.compose(target.masks), layer.weight()[0, 0]
        if gather is None:
            return None

        def add(first: Tensor, own: Tensor, view: View) -> None:
            found = view.once((self.name, self.c), lambda: gather(target.see(view)))
            if found is not None:
                first.addmm_(found[:, :, target.i].flatten(0, 1), weight)

        nothing = weight.new_zeros(self.place.widths[self.c], 0)
        return Alone(nothing, nothing[0], add, sees_all=True)


def gather_received(part: AbstractGathered, gather: Gather, seen: Seen) -> Tensor | None:
    """What a part gathers for the objects that are predicted."""
    if part.knows_receivers:
        return gather(seen)
    found = gather(seen.for_all())
    return None if found is None else seen.inputs.received(part.c, found)


def gather_neighbours_received(
    part: AbstractGathered, gather: GatherNeighbours, seen: Seen
) -> Tensor:
    """The same under a structure and its neighbours."""
    if part.knows_receivers or part.c not in seen.inputs.receivers:
        return gather(seen)
    found = gather(seen.for_all()).permute(2, 3, 0, 1, 4)
    return seen.inputs.received(part.c, found).permute(2, 3, 0, 1, 4)
