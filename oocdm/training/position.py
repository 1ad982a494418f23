"""Where training is: what changes beside weights, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oocdm.discovery import Discovery
from oocdm.graph import Evidence, Structure

AFTER_LEARNING = ("polish", "copy", "done")  # phases in which the graph is decided


@dataclass(frozen=True)
class Progress:
    """Where training is: shown to a person, or written to a log."""

    phase: str  # such as "learn", see `Position.phase`
    step: int  # steps, or edges, done in this phase
    total: int  # at most so many in this phase
    metrics: dict[str, float]


Callback = Callable[[Progress], None]


@dataclass
class Position:
    """All that changes during training beside weights: with them, a checkpoint is complete."""

    structure: Structure  # the current estimate; once the graph is decided, what predicts
    evidence: Evidence | None = None  # of the last discovery
    found: list[np.ndarray] = field(default_factory=list)  # edges after each discovery
    phase: str = "discover"  # then "learn", "confirm", "focus", "polish", "copy", "done"
    rounds: int = 0  # finished rounds of this phase
    unchanged: int = 0  # iterations since the graph last changed
    seconds: float = 0.0
    began: dict[str, float] = field(default_factory=dict)  # seconds when each phase began
    history: list[dict[str, Any]] = field(default_factory=list)
    rng: dict[str, Any] = field(default_factory=dict)

    def take(self, discovery: Discovery) -> None:
        """Go on with what was found."""
        edges = discovery.structure.edges
        has_changed = not np.array_equal(self.structure.edges, edges)
        self.unchanged = 0 if has_changed else self.unchanged + 1
        self.structure, self.evidence = discovery.structure, discovery.evidence
        self.found.append(edges)

    def begin(self, phase: str) -> None:
        """Begin another phase."""
        self.phase, self.rounds = phase, 0

    def record(self, step: int, losses: list[float], ran_out: bool) -> None:
        """Add a round of this phase to the history."""
        entry = {
            "phase": self.phase,
            "step": step,
            "loss": float(np.mean(losses)) if losses else None,
            "edges": int(self.structure.edges.sum()),
            "ran_out": ran_out,  # whether limited time left something undone
        }
        self.history.append(entry)
