"""What happened in online learning: what each part earned, which edges each round changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from oocdm.data import Dataset
from oocdm.inference import evaluate
from oocdm.reading import AnyNumber, CountOrZero
from oocdm.task import Task
from oocdm.training import FitResult
from oocdm.worlds.world import AbstractWorld

ROWS = 4096  # of which rewards are reckoned at once


@dataclass(frozen=True)
class Part:
    """What was collected at once: what it earned, and how well it was predicted beforehand.

    `transitions` counts all so far. `mean_return` is of the `episodes` that were not cut, None if
    all were; `reward` is the mean of all steps. `aill` is that of the model so far on these data
    before they are learned; None if there was none.

    >>> Part(round=1, transitions=100, episodes=0, mean_return=None, reward=0.5, aill=None).round
    1
    """

    round: CountOrZero
    transitions: CountOrZero
    episodes: CountOrZero
    mean_return: AnyNumber | None
    reward: AnyNumber
    aill: AnyNumber | None

    @staticmethod
    def of(
        number: int,
        transitions: int,
        data: Dataset,
        world: AbstractWorld,
        task: Task | None,
        model: FitResult | None,
    ) -> Part:
        """That of some data which a model has not seen; a task's rewards, else the world's."""
        rewards = data.reward[data.starts] if task is None else _rewards(task, data)
        episode = data.episode_index[data.starts]
        returns, lengths = np.bincount(episode, rewards), np.bincount(episode)
        has_ended = np.bincount(episode, data.terminated[data.starts]) > 0
        whole = has_ended | (lengths == world.max_episode_steps)
        return Part(
            number,
            transitions,
            int(whole.sum()),
            float(returns[whole].mean()) if whole.any() else None,
            float(rewards.mean()),
            None if model is None else float(evaluate(model, data).aill),
        )


def _rewards(task: Task, data: Dataset) -> np.ndarray:
    found = []
    for start in range(0, len(data), ROWS):
        batch = data.transitions(slice(start, start + ROWS))
        found.append(np.asarray(task.reward(batch.before, batch.after), dtype=np.float64))
    return np.concatenate(found)


@dataclass(frozen=True)
class Round:
    """What was learned in a round: the edges claimed, and which came and went since the last one.

    `transitions` were collected so far, of which `kept` were learned from. `seconds` are those of
    learning.

    >>> one = Round.of(1, 100, 100, {"Ball.x <- self.x"}, None, True, 2.0)
    >>> two = Round.of(2, 200, 150, {"Ball.x <- self.push"}, one, True, 2.0)
    >>> two.added, two.removed
    (('Ball.x <- self.push',), ('Ball.x <- self.x',))
    """

    round: CountOrZero
    transitions: CountOrZero
    kept: CountOrZero
    edges: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    settled: bool
    seconds: AnyNumber

    @staticmethod
    def of(
        number: int,
        transitions: int,
        kept: int,
        edges: set[str],
        last: Round | None,
        settled: bool,
        seconds: float,
    ) -> Round:
        """The round after another; None if it is the first."""
        before = set() if last is None else set(last.edges)
        return Round(
            round=number,
            transitions=transitions,
            kept=kept,
            edges=tuple(sorted(edges)),
            added=tuple(sorted(edges - before)),
            removed=tuple(sorted(before - edges)),
            settled=settled,
            seconds=seconds,
        )


@dataclass(frozen=True)
class History:
    """All parts and rounds so far, oldest first.

    >>> History().to_json()
    {'parts': [], 'rounds': []}
    """

    parts: tuple[Part, ...] = ()
    rounds: tuple[Round, ...] = ()

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        """All of it, as JSON has it."""
        return {"parts": _rows(self.parts), "rounds": _rows(self.rounds)}


def _rows(each: Sequence[Part | Round]) -> list[dict[str, Any]]:
    return [
        {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(row).items()}
        for row in each
    ]
