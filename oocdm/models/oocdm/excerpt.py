"""A smaller model for some targets of a model, and back: targets share nothing but encoders.

What is hard to learn for one target can so be learned without learning all others again, in a
fraction of the time. An excerpt has the encoders of the whole model, which stay as they are, and
predictors of its own for its targets.
"""

from __future__ import annotations

from collections.abc import Iterable

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
    units = dict(model.named_buffers())
    for c in part.predictors:
        for name, unit in part.predictors[c].named_buffers():
            unit.copy_(units[f"predictors.of_{c}.{name}"])
    return part.to(model.dtype)


@torch.no_grad()
def put_back(model: OocdmModel, part: OocdmModel) -> None:
    """Give a model the predictors of an excerpt of it, whose encoders are still the model's."""
    for c in part.predictors:
        head, other = model.heads[c], part.heads[c]
        rows = torch.tensor([list(head.targets).index(v) for v in other.targets])
        ours, theirs = model.predictors[c].parameters(), part.predictors[c].parameters()
        for mine, given in zip(ours, theirs, strict=True):
            _replace(mine, given, rows.to(mine.device), _outputs(head, other).to(mine.device))


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


def _replace(mine: Tensor, given: Tensor, rows: Tensor, outputs: Tensor) -> None:
    """Replace the targets at `rows`: the first axis of another size is that of targets."""
    differ = [i for i in range(mine.ndim) if mine.shape[i] != given.shape[i]]
    if not differ:
        mine.copy_(given)
        return
    axis = differ[0]
    found = mine.index_select(axis, rows)
    if len(differ) > 1:  # other targets need more outputs; those are none of these targets'
        found.index_copy_(differ[1], outputs[: given.shape[differ[1]]], given)
    else:
        found = given
    mine.index_copy_(axis, rows, found)
