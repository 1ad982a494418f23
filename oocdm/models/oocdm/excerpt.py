"""A smaller model for some targets of a model, and back: targets share nothing but encoders.

What is hard to learn for one target can so be learned without learning all others again, in a
fraction of the time. An excerpt has the encoders of the whole model, which stay as they are, and
predictors of its own for its targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from oocdm.graph import Layout, Structure
from oocdm.models.head import Head
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.scales import Scales
from oocdm.schema import FieldKey


def excerpt_of(model: OocdmModel, targets: Iterable[FieldKey]) -> OocdmModel:
    """A model of some targets alone, with new weights, in the units of the whole one.

    >>> import oocdm
    >>> class Ball(oocdm.ObjectClass):
    ...     x, v = oocdm.Real(), oocdm.Real()
    >>> from oocdm.models.oocdm.options import ModelOptions
    >>> whole = OocdmModel(oocdm.Schema(Ball), ModelOptions())
    >>> excerpt_of(whole, ["Ball.v"]).edges.targets
    ('Ball.v',)
    """
    schema = model.schema
    scales = {(c, f): model.scale(c, f) for c in schema.classes for f in schema.fields(c)}
    part = OocdmModel(schema.only(targets), model.options, Scales(scales)).to(model.device)
    part.encoders.load_state_dict(model.encoders.state_dict())
    part.encoders.requires_grad_(False)
    for c in part.predictors:
        units = dict(model.predictors[c].named_buffers())
        for name, unit in part.predictors[c].named_buffers():
            unit.copy_(units[name])
    return part.to(model.dtype)


@torch.no_grad()
def put_back(model: OocdmModel, part: OocdmModel) -> None:
    """Give a model the predictors of an excerpt of it, whose encoders are still the model's."""
    for whole, some, rows, outputs in _pairs(model, part):
        axes = _axes(whole, some)
        if not axes:
            whole.copy_(some)
            continue
        found = whole.index_select(axes[0], rows)
        for axis in axes[1:]:  # other targets need more outputs; those are none of these targets'
            found.index_copy_(axis, outputs[: some.shape[axis]], some)
        whole.index_copy_(axes[0], rows, found if len(axes) > 1 else some)


@torch.no_grad()
def take_out(model: OocdmModel, part: OocdmModel) -> None:
    """Give an excerpt of a model the predictors that the model has."""
    for whole, some, rows, outputs in _pairs(model, part):
        found = whole
        for axis, places in zip(_axes(whole, some), (rows, outputs), strict=False):
            found = found.index_select(axis, places[: some.shape[axis]])
        some.copy_(found)


def places_of(part: Layout, whole: Layout) -> np.ndarray:
    """Where the elements of an excerpt's layout are in the whole one."""
    at = {name: i for i, name in enumerate(whole.names)}
    return np.array([at[name] for name in part.names], dtype=int)


def within(structure: Structure, part: Layout) -> Structure:
    """What a structure is for an excerpt's targets."""
    return Structure(part, structure.flags[places_of(part, structure.layout)])


def merged(whole: Structure, part: Structure) -> Structure:
    """A structure, with that of an excerpt for the excerpt's targets."""
    flags = whole.flags.copy()
    flags[places_of(part.layout, whole.layout)] = part.flags
    return Structure(whole.layout, flags)


def _outputs(head: Head, part: Head) -> Tensor:
    """Where the outputs of an excerpt's head are among those of the whole one.

    Numbers come in blocks as wide as the widest field; choices come from the beginning.
    """
    at = torch.arange(part.num_outputs)
    return torch.where(at < 5 * part.width, at // part.width * head.width + at % part.width, at)


def _pairs(model: OocdmModel, part: OocdmModel) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Each parameter of a model's predictors with the excerpt's, and where that has its targets
    and outputs."""
    for c in part.predictors:
        head, other = model.heads[c], part.heads[c]
        rows = torch.tensor([list(head.targets).index(v) for v in other.targets])
        outputs = _outputs(head, other)
        both = (each.predictors[c].parameters() for each in (model, part))
        for whole, some in zip(*both, strict=True):
            yield whole, some, rows.to(whole.device), outputs.to(whole.device)


def _axes(whole: Tensor, some: Tensor) -> list[int]:
    """The axes of targets and of outputs, in this order, if the excerpt has fewer of them.

    Whatever else a weight has is the same in both.
    """
    return [i for i in range(whole.ndim) if whole.shape[i] != some.shape[i]]
