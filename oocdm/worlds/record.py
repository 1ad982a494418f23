"""Log any environment of Gymnasium or PettingZoo, given what its objects are."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.errors import DataError
from oocdm.reading import Count, Seed, checked
from oocdm.schema import Schema
from oocdm.worlds.games import game_of
from oocdm.worlds.read_objects import Objects, ObjectsReader

if TYPE_CHECKING:
    import pandas as pd

ReadObjects = Callable[[Any], Objects]
ReadAction = Callable[[Any], Objects]
Act = Callable[[Any, np.random.Generator], Any]  # from what the environment observes
Progress = Callable[[int, int], None]
Name = tuple[str, str | int]  # of an object: its class, its own

MOST_PROBLEMS = 20  # that one error lists


@checked(DataError)
def record(
    env: object,
    read_objects: ReadObjects,
    policy: Act | None = None,
    *,
    schema: Annotated[Schema, "Write oocdm.Schema(...) with the classes of the objects."],
    steps: Count,
    seed: Seed = 0,
    read_action: ReadAction | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Log exactly `steps` transitions of an environment of Gymnasium, or of PettingZoo in parallel.

    `read_objects(env)` returns the objects that are there at the moment, as `{class: {name:
    {field: value}}}` with every field of the schema but the actions. Objects may come and go, and
    a class without any may be left out. If the schema has actions, `read_action(action)`, called
    before the step, returns them in the same form, for every object that has some. None is a
    missing value.

    `policy(observation, rng)` returns what the environment takes as action; without one it is
    drawn from its action space. Rewards of agents are added up, and episodes end with their last
    agent. The last episode may be cut. `progress` is called with the number of transitions so far
    and `steps`.

    >>> import gymnasium
    >>> from oocdm.schema import ObjectClass, Real
    >>> class Cart(ObjectClass):
    ...     x = Real()
    ...     v = Real()
    ...     push = Real(action=True)
    >>> def read_cart(env):
    ...     x, v, *_ = env.unwrapped.state
    ...     return {"Cart": {"cart": {"x": x, "v": v}}}
    >>> def read_push(action):
    ...     return {"Cart": {"cart": {"push": 2 * action - 1}}}
    >>> env = gymnasium.make("CartPole-v1")
    >>> record(env, read_cart, schema=Schema(Cart), steps=50, read_action=read_push)
    Dataset(4 episodes, 50 transitions; Cart: 1 object)
    """
    game, rng, log = game_of("record", env), np.random.default_rng(seed), _Log(schema, read_action)
    done = episode = 0
    while done < steps:
        observation, step, is_over = game.reset(seed if episode == 0 else None), 0, False
        present = log.add_state(read_objects(env), episode, step)
        while not is_over and done < steps:
            action = game.random_action() if policy is None else policy(observation, rng)
            log.add_action(action, episode, step, present)
            observation, reward, terminated, truncated = game.step(action)
            is_over, done = terminated or truncated, done + 1
            is_cut = truncated or (done == steps and not terminated)
            log.outcomes.append((episode, step, reward, terminated, is_cut))
            step += 1
            present = log.add_state(read_objects(env), episode, step)
            if progress is not None:
                progress(done, steps)
        log.outcomes.append((episode, step, None, None, None))
        episode += 1
    return log.to_dataset()


class _Log:
    """What was seen and done: a row for each object and step."""

    def __init__(self, schema: Schema, read_action: ReadAction | None) -> None:
        self.schema, self.read_action = schema, read_action
        self.outcomes: list[tuple[Any, ...]] = []
        self._rows: dict[str, list[dict[str, Any]]] = {c: [] for c in schema.classes}
        self._row: dict[Name, dict[str, Any]] = {}  # of the objects that are there now
        acting = [
            f"{c}.{f}" for c in schema.classes for f, k in schema.fields(c).items() if k.action
        ]
        if acting and read_action is None:
            raise DataError(
                f"record: `read_action`: the schema has actions, {', '.join(acting)}: expected a "
                "function from an action of the environment to "
                "{class: {object: {field: value}}}, got None."
            )
        if read_action is not None and not acting:
            raise DataError(
                "record: `read_action`: expected no function, since the schema has no actions. "
                "Declare fields with action=True, or leave it out."
            )

    def add_state(self, found: Any, episode: int, step: int) -> Set[Name]:
        """Begin a step with the objects that are there: their names."""
        self._row = {}
        reader = ObjectsReader(self.schema, actions=False)
        for (c, name), values in reader.read(found).items():
            row = {"episode": episode, "step": step, "object": name, **values}
            self._row[c, name] = row
            self._rows[c].append(row)
        _check("read_objects", reader.problems, episode, step)
        return self._row.keys()

    def add_action(self, action: Any, episode: int, step: int, present: Set[Name]) -> None:
        """What the objects do in this step."""
        if self.read_action is None:
            return
        reader = ObjectsReader(self.schema, actions=True)
        for name, values in reader.read(self.read_action(action), present).items():
            self._row[name].update(values)
        _check("read_action", reader.problems, episode, step)

    def to_dataset(self) -> Dataset:
        """All of it."""
        import pandas as pd

        frames = {c: self._frame(c, rows) for c, rows in self._rows.items()}
        columns = ["episode", "step", "reward", "terminated", "truncated"]
        outcomes = pd.DataFrame(self.outcomes, columns=columns, dtype=object)
        outcomes = outcomes.astype({"episode": np.int64, "step": np.int64})
        return Dataset.from_frames(frames, self.schema, outcomes)

    def _frame(self, c: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
        import pandas as pd

        columns: dict[str, Any] = {
            key: [row[key] for row in rows] for key in ("episode", "step", "object")
        }
        for f, field in self.schema.fields(c).items():
            values = [row.get(f) for row in rows]
            cells = np.empty(len(rows), dtype=object)
            for i, value in enumerate(values):
                cells[i] = value if value is None or field.shape else value.item()
            columns[f] = cells
        return pd.DataFrame(columns)


def _check(where: str, problems: list[str], episode: int, step: int) -> None:
    if problems:
        more = len(problems) - MOST_PROBLEMS
        shown = problems[:MOST_PROBLEMS] + ([f"... and {more} more"] if more > 0 else [])
        raise DataError(
            "\n".join(f"record: {where}, episode {episode}, step {step}: {p}" for p in shown)
        )
