"""A smaller model for some targets of a model, and back: targets share encoders alone.

What is hard to learn for one target can so be learned without learning all others again, in a
fraction of the time. An excerpt has the encoders of the whole model, of values and of who is who,
which stay as they are, and predictors of its own for its targets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from oocdm.graph import Layout, Structure
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
    part = OocdmModel(schema.only(targets), model.options, Scales(scales))
    part = part.to(model.device, model.dtype)
    part.encoders.load_state_dict(model.encoders.state_dict())
    part.encoders.requires_grad_(False)
    part.identities.load_state_dict(model.identities.state_dict())
    part.identities.requires_grad_(False)
    for c in part.predictors:
        units = dict(model.predictors[c].named_buffers())
        for name, unit in part.predictors[c].named_buffers():
            unit.copy_(units[name])
    return part


@torch.no_grad()
def put_back(model: OocdmModel, part: OocdmModel) -> None:
    """Give a model the predictors of an excerpt of it, whose encoders are still the model's."""
    for whole, some, axis, rows in _pairs(model, part):
        whole.index_copy_(axis, rows, some)


@torch.no_grad()
def take_out(model: OocdmModel, part: OocdmModel) -> None:
    """Give an excerpt of a model the predictors that the model has."""
    for whole, some, axis, rows in _pairs(model, part):
        some.copy_(whole.index_select(axis, rows))


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


def _pairs(model: OocdmModel, part: OocdmModel) -> Iterator[tuple[Tensor, Tensor, int, Tensor]]:
    """Each parameter of a model's predictors, the excerpt's, and where that has its targets.

    The axis of targets is the only one that may differ; if none does, all of them are there.
    """
    for c in part.predictors:
        names = list(model.heads[c].targets)
        rows = torch.tensor([names.index(v) for v in part.heads[c].targets], device=model.device)
        both = (each.predictors[c].parameters() for each in (model, part))
        for whole, some in zip(*both, strict=True):
            differ = [i for i in range(whole.ndim) if whole.shape[i] != some.shape[i]]
            if differ:
                yield whole, some, differ[0], rows
            else:
                yield whole, some, 0, torch.arange(len(whole), device=model.device)
