"""Simulated worlds: their interface, and logging what happens in them."""

from oocdm.worlds.check_world import check_world
from oocdm.worlds.collect import collect
from oocdm.worlds.record import record
from oocdm.worlds.world import AbstractWorld, WorldState

__all__ = ["AbstractWorld", "WorldState", "check_world", "collect", "record"]
