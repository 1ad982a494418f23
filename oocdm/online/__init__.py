"""Online learning: collect with what was learned so far, learn from what was collected, repeat."""

from oocdm.online.history import History, Part, Round
from oocdm.online.learn import OnlineProgress, OnlineResult, learn_online

__all__ = ["History", "OnlineProgress", "OnlineResult", "Part", "Round", "learn_online"]
