"""`learn_online`: collect, measure, keep, learn, and again with what was learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch

from oocdm.data import Dataset, load_dataset
from oocdm.errors import FileError, GraphError, ModelError, OocdmError, PlanError, short
from oocdm.files import write_json
from oocdm.files.lock import locked
from oocdm.files.os_errors import told_as
from oocdm.files.temporaries import sweep
from oocdm.graph import Graph, Priors
from oocdm.graph.priors import PriorKnowledge
from oocdm.methods import AbstractMethod, Schedule
from oocdm.models.memory import DEFAULT_MEMORY, read_memory
from oocdm.online.actors import AgentActor, ExploringActor
from oocdm.online.amounts import Amounts
from oocdm.online.history import History, Part, Round
from oocdm.online.settings import OnlineSettings, planner_to_json
from oocdm.planning import CEM, MPC, Planner
from oocdm.reading import Count, Probability, Range, Seed, checked
from oocdm.task import Task
from oocdm.training import FitResult, Progress, fit, resume
from oocdm.training.fit import choose_method, read_known_graph, use_threads
from oocdm.training.given import check_new
from oocdm.training.settings import CONFIG, FINAL, ONLINE, read_notes
from oocdm.worlds.actor import AbstractActor, Policy, PolicyActor, RandomActor
from oocdm.worlds.collect import collect_with
from oocdm.worlds.world import AbstractWorld, World, world_of

HISTORY = "history.json"
GivenTask = Annotated[Task | None, "Make one: oocdm.Task(reward, terminated, reads=[...])."]
GivenSchedule = Annotated[Schedule | None, "Make one: oocdm.Schedule(iterations=5)."]


@dataclass(frozen=True)
class OnlineProgress:
    """Where online learning is: how much is collected, how the fit goes, what happened so far.

    `fit` is None while it collects.

    >>> OnlineProgress(round=1, rounds=4, collected=50, steps=800, history=History()).rounds
    4
    """

    round: int
    rounds: int
    collected: int
    steps: int
    history: History
    fit: Progress | None = None


Callback = Callable[[OnlineProgress], None]


@dataclass(frozen=True, repr=False)
class OnlineResult:
    """What online learning gave: the last fit, the data that it was fitted to, and the history.

    The fit is that of `fit` on the same data: `oocdm.fit(data, method, seed)`.

    >>> import oocdm
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> few = {"planner": oocdm.CEM(horizon=2, iterations=1, samples=4, elites=2)}
    >>> learned = learn_online(oocdm.make("mouse"), steps=40, first=20, schedule=quick, **few)
    >>> learned
    OnlineResult(40 transitions in 2 rounds; FitResult(method oocdm, ...))
    """

    result: FitResult
    data: Dataset
    history: History

    def __repr__(self) -> str:
        collected = self.history.rounds[-1].transitions
        rounds = len(self.history.rounds)
        plural = "" if rounds == 1 else "s"
        return f"OnlineResult({collected:,} transitions in {rounds} round{plural}; {self.result})"


@checked(ModelError)
def learn_online(
    world: World,
    task: GivenTask = None,
    steps: Count = 20_000,
    *,
    policy: Policy | None = None,
    planner: Planner | None = None,
    first: Count | None = None,
    growth: Annotated[float, Range(above=1)] = 2.0,
    explore: Probability = 0.2,
    buffer: Count | None = None,
    num_worlds: Count = 8,
    method: str | AbstractMethod = "oocdm",
    seed: Seed = 0,
    graph: Graph | Sequence[str] | None = None,
    priors: PriorKnowledge = None,
    preset: str = "default",
    between: GivenSchedule = None,
    folder: str | Path | None = None,
    callback: Callback | None = None,
    memory: int | str = DEFAULT_MEMORY,
    notes: Mapping[str, Any] | None = None,
    **options: Any,
) -> OnlineResult:
    """Learn a causal world model while acting: collect `steps` transitions in rounds, and learn.

    In the first round the world's random policy collects `first` transitions, an eighth of all if
    None. Afterwards a planner acts for the `task`, the world's own if None, in the model so far:
    `planner`, or a `CEM()`. A `policy` of one's own, as `collect` takes it, may act in its place.
    At a share `explore` of the steps, drawn for each world, the random policy acts instead.

    Each round multiplies what is learned from by `growth`, and ends with a `fit` to all of it:
    `method`, `preset`, `graph`, `priors`, `memory` and further options are those of `fit`. The
    fits before the last one may have a schedule of their own, `between`. With a `buffer` only so
    many transitions are kept: the oldest episodes go first.

    With a `folder` all is written there, after every part of a round: who gives the same call
    again goes on where it ended, to the same bits. The run at the end is its subfolder `final`.
    `notes` are anything of yours that JSON can hold.

    >>> import oocdm
    >>> env = oocdm.make("mouse")
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> few = oocdm.CEM(horizon=2, iterations=1, samples=4, elites=2)
    >>> learned = learn_online(env, steps=60, first=20, planner=few, schedule=quick)
    >>> [row.transitions for row in learned.history.rounds]
    [20, 40, 60]
    """
    own_world = world_of("learn_online", world, ModelError)
    chosen_task = own_world.task if task is None else task
    if chosen_task is not None:
        chosen_task.check(own_world.schema)
    if policy is not None and planner is not None:
        raise PlanError("learn_online: expected `policy` or `planner`, got both. Leave one out.")
    if policy is None and chosen_task is None:
        raise PlanError(
            f"learn_online: {type(own_world).__name__} has no task to plan for. Give one, "
            "task=oocdm.Task(...), or a `policy`."
        )
    chosen = choose_method(method, preset, options)
    known = Priors.of(own_world.schema, priors)
    known_graph = read_known_graph(own_world.schema, own_world.max_objects, graph)
    if known_graph is not None and known.rows:
        raise GraphError("learn_online: expected a known graph or priors, got both.")
    amounts = Amounts(
        steps=steps,
        first=first,
        growth=growth,
        explore=explore,
        buffer=buffer,
        num_worlds=num_worlds,
    )
    chosen_planner = CEM() if planner is None else planner
    if not isinstance(chosen_planner, Planner):
        raise PlanError(
            "learn_online: `planner`: expected a planner such as oocdm.CEM(horizon=20), got "
            f"{short(planner)}. Make one, with its options in parentheses."
        )
    settings = OnlineSettings(
        world=type(own_world).__name__,
        schema=own_world.schema.to_json(),
        task=None if chosen_task is None else list(chosen_task.reads),
        planner=planner_to_json(chosen_planner) if policy is None else None,
        amounts=asdict(amounts),
        method=chosen.to_json(),
        between=None if between is None else asdict(between),
        seed=seed,
        graph=None if known_graph is None else known_graph.to_json(),
        priors=known.to_json(),
        memory=read_memory("learn_online", memory),
        threads=torch.get_num_threads(),
        notes=read_notes("learn_online", notes),
    )

    def make_actor(model: FitResult | None, number: int, part: int) -> AbstractActor:
        if model is None:
            return RandomActor(own_world)
        if policy is not None:
            return ExploringActor(PolicyActor(policy), own_world, explore)
        assert chosen_task is not None
        agent = MPC(model, chosen_task, chosen_planner, _mixed(seed, number, part, 1))
        return ExploringActor(AgentActor(agent, own_world.schema), own_world, explore)

    def learn(data: Dataset, place: Path | None, is_last: bool, tell: Any) -> FitResult:
        own = chosen
        if between is not None and not is_last:
            own = replace(chosen, schedule=between)
        if place is not None and (place / CONFIG).is_file():
            return resume(place, data, tell, type(own))
        allowed = settings.memory
        return fit(data, own, seed, known_graph, known, folder=place, callback=tell, memory=allowed)

    with _opened(folder, settings) as (path, threads), use_threads(threads):
        learner = _Learner(own_world, chosen_task, amounts, seed, make_actor, learn, path, callback)
        return learner.run()


def _mixed(*numbers: int) -> int:
    """A seed that depends on all of some numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


@contextmanager
def _opened(
    folder: str | Path | None, settings: OnlineSettings
) -> Iterator[tuple[Path | None, int]]:
    """The folder, new or as it was left, and the threads that it was begun with."""
    if folder is None:
        yield None, settings.threads
        return
    path = Path(folder)
    if not (path / ONLINE).is_file():
        check_new("learn_online", path)
    with told_as(FileError, path, "written"):
        path.mkdir(parents=True, exist_ok=True)
    with locked("learn_online", path):
        sweep(path)
        if (path / ONLINE).is_file():
            before = OnlineSettings.read(path / ONLINE)
            settings.check_same(before, path)
            threads = before.threads
        else:
            write_json(path / ONLINE, settings.to_json())
            threads = settings.threads
        yield path, threads


@dataclass
class _Learner:
    """One call of `learn_online`: the data that are kept, the model so far, and the history.

    What a folder has already is read, in the same order in which it was made. Random numbers
    follow from the seed and the numbers of round and part, so that it makes no difference.
    """

    world: AbstractWorld
    task: Task | None
    amounts: Amounts
    seed: int
    make_actor: Callable[[FitResult | None, int, int], AbstractActor]
    learn: Callable[[Dataset, Path | None, bool, Callable[[Progress], None]], FitResult]
    folder: Path | None
    callback: Callback | None
    model: FitResult | None = None
    data: Dataset | None = None
    history: History = field(default_factory=History)
    collected: int = 0

    def run(self) -> OnlineResult:
        """All rounds."""
        for number in range(len(self.amounts.round_ends)):
            self._round(number)
        assert self.model is not None and self.data is not None
        return OnlineResult(self.model, self.data, self.history)

    def _round(self, number: int) -> None:
        new = []
        for part, steps in enumerate(self.amounts.parts(number, self.world.max_episode_steps)):
            new.append(self._part(number, part, steps))
            self.collected += len(new[-1])
            row = Part.of(number + 1, self.collected, new[-1], self.world, self.task, self.model)
            self.history = replace(self.history, parts=(*self.history.parts, row))
            self._write_history()
            self._tell(number, self.collected)
        old = [] if self.data is None else [self.data]
        self.data = self.amounts.kept(Dataset.joined([*old, *new]))

        def tell(progress: Progress) -> None:
            self._tell(number, self.collected, progress)

        is_last = number + 1 == len(self.amounts.round_ends)
        place = None
        if self.folder is not None:
            place = self.folder / FINAL if is_last else self.folder / "runs" / str(number + 1)
        with self._can_go_on():
            self.model = self.learn(self.data, place, is_last, tell)
        last = self.history.rounds[-1] if self.history.rounds else None
        edges = set(map(str, self.model.graph.edges()))
        about = (last, self.model.settled, self.model.seconds)
        round_ = Round.of(number + 1, self.collected, len(self.data), edges, *about)
        self.history = replace(self.history, rounds=(*self.history.rounds, round_))
        self._write_history()
        self._tell(number, self.collected)

    def _part(self, number: int, part: int, steps: int) -> Dataset:
        place = None if self.folder is None else self.folder / "data" / f"{number + 1}-{part + 1}"
        if place is not None and place.is_dir():
            return load_dataset(place)

        def tell(done: int, _: int) -> None:
            self._tell(number, self.collected + done)

        actor = self.make_actor(self.model, number, part)
        seed = _mixed(self.seed, number, part, 0)
        with self._can_go_on():
            found = collect_with(self.world, actor, steps, seed, self.amounts.num_worlds, tell)
            if place is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                found.save(place)
        return found

    @contextmanager
    def _can_go_on(self) -> Iterator[None]:
        """Say of errors that what was collected is still there, and how to go on."""
        try:
            yield
        except OocdmError as error:
            if self.folder is None:
                raise
            raise type(error)(
                f"{error} What was collected and learned before is in {self.folder}: give the same "
                "call again to go on, once this is mended."
            ) from error

    def _write_history(self) -> None:
        if self.folder is not None:
            write_json(self.folder / HISTORY, self.history.to_json())

    def _tell(self, number: int, collected: int, fit: Progress | None = None) -> None:
        if self.callback is not None:
            rounds = len(self.amounts.round_ends)
            steps = self.amounts.steps
            self.callback(OnlineProgress(number + 1, rounds, collected, steps, self.history, fit))
