"""Random worlds of objects whose true graphs and true distributions are known."""

from oocdm.envs.generated.truth import Truth
from oocdm.envs.generated.world import GeneratedWorld
from oocdm.envs.generated.worth import Worth

__all__ = ["GeneratedWorld", "Truth", "Worth"]
