"""The predictors of all targets of one class: parts, and what reads their features."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from oocdm.models.features import Featuriser
from oocdm.models.named import ModulesByName
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.linear_map import NAME as LINEAR_MAP
from oocdm.models.oocdm.linear_map import LinearMap
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.network import NAME, Network
from oocdm.models.oocdm.openness import Openness
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts import PARTS
from oocdm.models.oocdm.parts.pairs import Pairs
from oocdm.models.oocdm.parts.part import AbstractPart, Place
from oocdm.models.oocdm.products import NAME as PRODUCTS
from oocdm.models.oocdm.products import Products

# Costly ones, which few targets need: they are tried late, and learned for those alone.
LATE = (PRODUCTS, Pairs.name)


def paths_of(options: ModelOptions) -> tuple[str, ...]:
    """What a target of such a network may do without.

    >>> paths_of(ModelOptions())
    ('network', 'products', 'messages', 'extremes', 'pairs')
    >>> paths_of(ModelOptions.preset("paper"))
    ()
    """
    network = (NAME,) if options.linear_path else ()
    products = (PRODUCTS,) if options.has_products else ()
    return (*network, *products, *(p.name for p in PARTS if p.is_path and p.is_used(options)))


def _beside(name: str) -> AbstractContextManager[None]:
    """Where a part is made: late ones leave the random numbers to what is learned from the start.

    Else whether a model may have them would change what is learned without them.
    """
    return torch.random.fork_rng(devices=[]) if name in LATE else nullcontext()


class ClassPredictor(nn.Module):
    """Parts, network and linear map of one class, the same layer of all targets in one tensor."""

    def __init__(
        self,
        c: str,
        options: ModelOptions,
        featuriser: Featuriser,
        widths: Mapping[str, int],
        num_elements: int,
        outputs: int,
        linear_outputs: int,
    ) -> None:
        super().__init__()
        self.c, self.options = c, options
        self.num_targets = len(featuriser.schema.targets(c))
        self.openness: Openness | None = None
        if options.has_openness:
            self.openness = Openness(list(widths), self.num_targets, options.identity_dim)
        made: dict[str, AbstractPart] = {}
        for kind in PARTS:
            if kind.is_used(options):
                with _beside(kind.name):
                    place = Place(c, options, featuriser, widths, dict(made), self.openness)
                    made[kind.name] = kind(place)
        self.parts = ModulesByName(made)
        width = sum(part.width for part in made.values())
        late = sum(part.width for name, part in made.items() if name in LATE)
        known = num_elements if options.structure_aware else 0
        self.network = Network(self.num_targets, width - late, options.decoder_dim, outputs, known)
        with _beside(Pairs.name):
            self.network.read_more(late)
        self.linear_map: LinearMap | None = None
        if options.linear_path:
            self.linear_map = LinearMap(self.num_targets, width, linear_outputs, known)
        self.products: Products | None = None
        if options.has_products:
            rank = options.product_rank
            with _beside(PRODUCTS):
                self.products = Products(self.num_targets, width, rank, linear_outputs)

    def features(self) -> list[tuple[AbstractPart, int]]:
        """All parts, each with the place of its first feature."""
        found, start = [], 0
        for name in self.parts:
            found.append((self.parts[name], start))
            start += self.parts[name].width
        return found

    def first_layer(self, masks: Masks) -> FirstLayer:
        """The layer that network, linear map and products begin with, under some structures."""
        elements = masks.elements(self.c).transpose(0, 1)
        found = {NAME: self.network.first(elements)}
        if self.linear_map is not None:
            found[LINEAR_MAP] = self.linear_map.first(elements)
        if self.products is not None:
            found[PRODUCTS] = self.products.first()
        blocks, biases = ({name: pair[i] for name, pair in found.items()} for i in range(2))
        return FirstLayer(blocks, biases)

    def finish(
        self, first: Tensor, layer: FirstLayer, masks: Masks, leading: tuple[int, int]
    ) -> tuple[Tensor, Tensor | None]:
        """From the first layer, (target, row, out), to outputs of network, and of all beside it."""
        pieces = layer.split(first)
        out = self.network.finish(pieces[NAME], masks, self.c, leading)
        if self.linear_map is None:
            return out, None
        beside = pieces[LINEAR_MAP].unflatten(1, leading).permute(1, 2, 0, 3)
        if self.products is not None and masks.has_path(self.c, PRODUCTS).any():
            beside = beside + self.products.finish(pieces[PRODUCTS], masks, self.c, leading)
        return out, beside
