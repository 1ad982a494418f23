"""Between tensors, in which planners think, and NumPy arrays, in which worlds are stepped."""

from __future__ import annotations

import numpy as np
import torch

from oocdm.data.log import Arrays
from oocdm.data.snapshot import PerField, Snapshot
from oocdm.schema import Schema
from oocdm.worlds.world import WorldState


def to_snapshot(schema: Schema, state: WorldState) -> Snapshot:
    """A state of many worlds as tensors, in the dtypes of its fields.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> state = WorldState({"Ball": {"x": np.zeros((7, 3))}}, {"Ball": np.ones((7, 3), bool)})
    >>> to_snapshot(Schema(Ball), state)["Ball.x"].dtype
    torch.float32
    """
    # Copies, since a world may step its arrays in place.
    values = {
        c: {f: torch.from_numpy(np.array(v, schema.field(c, f).dtype)) for f, v in fields.items()}
        for c, fields in state.values.items()
    }
    present = {c: torch.from_numpy(np.array(v, bool)) for c, v in state.present.items()}
    return Snapshot.of(schema, values, present)


def to_world_state(snapshot: Snapshot) -> WorldState:
    """The state in a snapshot as arrays, without its actions.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> world = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(7, 3)}})
    >>> to_world_state(world).values["Ball"]["x"].shape
    (7, 3)
    """
    schema = snapshot.schema
    state = {
        c: {f: v for f, v in fields.items() if not schema.field(c, f).action}
        for c, fields in snapshot.values.items()
    }
    present = {c: v.cpu().numpy().copy() for c, v in snapshot.present.items()}
    return WorldState(to_arrays(state), present)


def to_arrays(values: PerField) -> Arrays:
    """Tensors of fields as arrays of their own, that may be changed in place.

    >>> to_arrays({"Ball": {"push": torch.zeros(7, 3)}})["Ball"]["push"].shape
    (7, 3)
    """
    return {
        c: {f: v.cpu().numpy().copy() for f, v in fields.items()} for c, fields in values.items()
    }
