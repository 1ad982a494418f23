"""Walker: a robot with two legs in Gymnasium's MuJoCo, and those who collect data of it."""

from oocdm.envs.walker.collected import collect_walker
from oocdm.envs.walker.collector import STRONG, WEAK, Collecting, PpoPolicy
from oocdm.envs.walker.world import WalkerWorld

__all__ = ["STRONG", "WEAK", "Collecting", "PpoPolicy", "WalkerWorld", "collect_walker"]
