"""The predictors of all targets of one class: parts, and what reads their features."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from oocdm.models.features import Featuriser
from oocdm.models.named import ModulesByName
from oocdm.models.oocdm.first_layer import FirstLayer
from oocdm.models.oocdm.linear_map import LinearMap
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.network import NAME, Network
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts import PARTS
from oocdm.models.oocdm.parts.part import AbstractPart, Place


def paths_of(options: ModelOptions) -> tuple[str, ...]:
    """What a target of such a network may do without.

    >>> paths_of(ModelOptions())
    ('network', 'messages', 'extremes')
    >>> paths_of(ModelOptions.preset("paper"))
    ()
    """
    network = (NAME,) if options.linear_path else ()
    return (*network, *(p.name for p in PARTS if p.is_path and p.is_used(options)))


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
    ) -> None:
        super().__init__()
        self.c, self.options = c, options
        self.num_targets = len(featuriser.schema.targets(c))
        made: dict[str, AbstractPart] = {}
        for kind in PARTS:
            if kind.is_used(options):
                made[kind.name] = kind(Place(c, options, featuriser, widths, dict(made)))
        self.parts = ModulesByName(made)
        width = sum(part.width for part in made.values())
        known = num_elements if options.structure_aware else 0
        self.network = Network(self.num_targets, width, options.decoder_dim, outputs, known)
        self.linear_map: LinearMap | None = None
        if options.linear_path:
            self.linear_map = LinearMap(self.num_targets, width, outputs, known)

    def features(self) -> list[tuple[AbstractPart, int]]:
        """All parts, each with the place of its first feature."""
        found, start = [], 0
        for name in self.parts:
            found.append((self.parts[name], start))
            start += self.parts[name].width
        return found

    def first_layer(self, masks: Masks) -> FirstLayer:
        """The layer that network and linear map begin with, under some structures."""
        elements = masks.elements(self.c).transpose(0, 1)
        block, bias = self.network.first(elements)
        if self.linear_map is None:
            return FirstLayer((block,), (bias,))
        maps, zero = self.linear_map.first(elements)
        return FirstLayer((block, maps), (bias, zero))

    def finish(
        self, first: Tensor, widths: list[int], masks: Masks, leading: tuple[int, int]
    ) -> tuple[Tensor, Tensor | None]:
        """From the first layer, (target, row, out), to outputs of network and linear map."""
        hidden, *linear = first.split(widths, dim=-1)
        out = self.network.finish(hidden, masks, self.c, leading)
        if not linear:
            return out, None
        return out, linear[0].unflatten(1, leading).permute(1, 2, 0, 3)
