"""Simulated worlds: their interface, and logging what happens in them."""

from oocdm.worlds.collect import collect
from oocdm.worlds.world import AbstractWorld, WorldState

__all__ = ["AbstractWorld", "WorldState", "collect"]
