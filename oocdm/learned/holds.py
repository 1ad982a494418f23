"""What somebody set in a batch of worlds, and what stays as it was set."""

from __future__ import annotations

from typing import final

import torch
from torch import Tensor

from oocdm.data.snapshot import Snapshot


@final
class Holds:
    """Attributes of a batch of worlds that keep the values they were set to.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 3)}})
    >>> holds = Holds()
    >>> holds.hold("Ball", "x", torch.tensor([[True, False, False]]), torch.tensor(7.0))
    >>> holds.apply(state)["Ball.x"]
    tensor([[7., 0., 0.]])
    """

    def __init__(self) -> None:
        # (world, object) booleans, and values (world, object, ...).
        self._held: dict[tuple[str, str], tuple[Tensor, Tensor]] = {}

    def hold(self, c: str, f: str, places: Tensor, value: Tensor) -> None:
        """Keep a value in some places."""
        values = value.expand(*places.shape, *value.shape)
        if (c, f) in self._held:
            earlier, kept = self._held[c, f]
            values = torch.where(_expand(places, values), values, kept)
            places = places | earlier
        self._held[c, f] = places, values

    def release(self, c: str, f: str, places: Tensor) -> bool:
        """Let go of some places; whether any of them was held."""
        if (c, f) not in self._held:
            return False
        held, values = self._held[c, f]
        self._held[c, f] = held & ~places, values
        return bool((held & places).any())

    def clear(self, worlds: Tensor) -> None:
        """Let go of everything in some worlds, (world,) booleans."""
        for key, (places, values) in self._held.items():
            self._held[key] = places & ~worlds.unsqueeze(1), values

    def apply(self, state: Snapshot) -> Snapshot:
        """A state with the values that are held."""
        for (c, f), (places, values) in self._held.items():
            state = with_value(state, c, f, places, values)
        return state

    def names(self) -> list[str]:
        """The attributes that are held in any world."""
        return [
            f"{c}[{i}].{f}"
            for (c, f), (places, _) in self._held.items()
            for i in places.any(0).nonzero()[:, 0].tolist()
        ]


def with_value(state: Snapshot, c: str, f: str, places: Tensor, value: Tensor) -> Snapshot:
    """A state in which a field is set in some places, (world, object) booleans.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> state = Snapshot.of(Schema(Ball), {"Ball": {"x": torch.zeros(1, 2)}})
    >>> places = torch.tensor([[False, True]])
    >>> with_value(state, "Ball", "x", places, torch.tensor(7.0))["Ball.x"]
    tensor([[0., 7.]])
    """
    now = state[c, f]
    values = {name: dict(fields) for name, fields in state.values.items()}
    values[c][f] = torch.where(_expand(places, now), value.to(now), now)
    return Snapshot(state.schema, values, state.present, state.observed)


def _expand(places: Tensor, values: Tensor) -> Tensor:
    """(world, object) booleans that broadcast against a field's values."""
    return places.reshape(*places.shape, *[1] * (values.ndim - 2))
