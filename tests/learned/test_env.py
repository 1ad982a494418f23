"""The learned world as a Gymnasium environment."""

from __future__ import annotations

import copy
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import check_env

import oocdm
from oocdm import (
    DataError,
    Dynamics,
    LearnedEnv,
    ModelError,
    OocdmError,
    PlanError,
    SchemaError,
    Task,
)
from oocdm.inference import with_actions
from oocdm.methods.mlp import Mlp
from oocdm.models.scales import Scales
from tests.inference import knobs
from tests.inference.ragged import ragged
from tests.learned.toys import COUNTS, DATA, RESULT, TASK, mouse, pushes, untrained


def ants(**options: Any) -> LearnedEnv:
    return LearnedEnv(RESULT, TASK, **{"counts": COUNTS, "start": DATA, "seed": 0, **options})


def act(env: LearnedEnv, seed: int = 0) -> Any:
    return pushes(np.random.default_rng(seed), env.max_objects["Ant"])


def play(env: LearnedEnv, steps: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    log: list[Any] = list(env.reset(seed=seed))
    for _ in range(steps):
        observation, *outcome = env.step(pushes(rng, env.max_objects["Ant"]))
        assert observation in env.observation_space
        log += [observation, *outcome]
        if outcome[1] or outcome[2]:
            log += env.reset()
    return log


# ---------------------------------------------------------------- the dynamics


@pytest.mark.parametrize("sample", [True, False])
def test_a_step_is_that_of_the_model(sample: bool) -> None:
    env = ants(sample=sample)
    env.reset()
    for i in range(5):
        state, rng = env.state, copy.deepcopy(env.np_random)
        action = act(env, i)
        seen, reward, terminated, truncated, info = env.step(action)
        before = with_actions(state, {"Ant": {"push": torch.tensor(action["Ant"]["push"])[None]}})
        after = Dynamics(RESULT).step(before, int(rng.integers(2**62)) if sample else None)
        for c, fields in after.values.items():
            assert list(seen[c]) == [*fields, "present"]
            for f, value in fields.items():
                np.testing.assert_array_equal(seen[c][f], value[0].numpy(), strict=True)
        assert reward == pytest.approx(float(TASK.reward(before, after)[0]), rel=1e-6)
        assert terminated is bool(TASK.terminated(after)[0])
        assert (truncated, info) == (False, {})


def test_a_seed_fixes_everything() -> None:
    first, second, other = (play(ants(), 12, seed) for seed in (3, 3, 4))
    np.testing.assert_equal(first, second)
    with pytest.raises(AssertionError):
        np.testing.assert_equal(first, other)


def test_the_seed_of_the_environment_is_that_of_its_first_reset() -> None:
    env, same = ants(seed=5), ants(seed=None)
    first = env.reset()[0]
    np.testing.assert_equal(first, same.reset(seed=5)[0])
    with pytest.raises(AssertionError):
        np.testing.assert_equal(first, env.reset()[0])


def test_chance_is_drawn_unless_the_most_likely_is_asked_for() -> None:
    for sample in (True, False):
        env = ants(sample=sample, start=DATA.transitions(slice(0, 1)).before)
        after = []
        for seed in (0, 1):
            env.reset(seed=seed)
            after.append(env.step(act(env))[0]["Ant"]["x"])
        assert np.array_equal(*after) is not sample


def test_episodes_are_cut() -> None:
    patient = Task(TASK.reward, lambda after: after["Nest", "food"][:, 0] > 1e9, TASK.reads)
    env = LearnedEnv(RESULT, patient, COUNTS, start=DATA, max_episode_steps=3, seed=0)
    for _ in range(2):
        env.reset()
        assert [env.step(act(env))[3] for _ in range(3)] == [False, False, True]


def test_an_observation_is_the_caller_s_own() -> None:
    env = ants()
    seen, _ = env.reset()
    copied = copy.deepcopy(seen)
    seen["Ant"]["x"][:] = 99
    np.testing.assert_array_equal(env.state["Ant", "x"][0].numpy(), copied["Ant"]["x"])


# ---------------------------------------------------------------- spaces


@pytest.mark.parametrize("options", [{}, {"num_food": 6, "num_traps": 0}, {"num_food": (0, 6)}])
def test_spaces_are_those_of_the_true_world(options: dict[str, Any]) -> None:
    env, data, result = mouse(**options)
    counts = {**env.max_objects, "Food": options.get("num_food", 4)}
    counts["Trap"] = options.get("num_traps", 4)
    world = LearnedEnv(result, env.task, counts=counts, start=data, seed=0)
    assert world.observation_space == env.observation_space
    assert world.action_space == env.action_space
    assert world.max_objects == env.max_objects and world.schema == env.schema
    (seen, _), (true, _) = world.reset(), env.reset(seed=0)
    for c, fields in true.items():
        assert list(seen[c]) == list(fields)
        for f, value in fields.items():
            assert (seen[c][f].shape, seen[c][f].dtype) == (value.shape, value.dtype)


def test_the_checker_has_nothing_to_say_on_mouse() -> None:
    env, data, result = mouse()
    counts = {"Mouse": 1, "Food": (0, 6), "Monster": 0, "Trap": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(LearnedEnv(result, env.task, counts, start=data), skip_render_check=True)
        check_env(LearnedEnv(result, env.task, counts), skip_render_check=True)


def test_the_checker_warns_of_open_actions_only() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(ants(), skip_render_check=True)  # there is no picture
    said = {str(w.message).split("WARN: ")[-1].removesuffix("\x1b[0m") for w in caught}
    assert said == {
        "A Box action space maximum value is infinity. This is probably too high.",
        "A Box action space minimum value is -infinity. This is probably too low.",
        "For Box action spaces, we recommend using a symmetric and normalized space (range=[-1, 1] "
        "or [0, 1]). See https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html "
        "for more information.",
    }


# ---------------------------------------------------------------- numbers of objects


@pytest.mark.parametrize("start", [DATA, None])
def test_numbers_of_objects_that_were_never_seen(start: Any) -> None:
    counts = {"Ant": 7, "Rock": 0, "Nest": 3}
    env = ants(counts=counts, start=start)
    seen, _ = env.reset()
    assert {c: int(fields["present"].sum()) for c, fields in seen.items()} == counts
    assert env.max_objects == {"Ant": 7, "Rock": 1, "Nest": 3}
    assert seen["Rock"]["size"].tolist() == [0.0]
    for i in range(4):
        seen = env.step(act(env, i))[0]
        assert seen in env.observation_space
        assert seen["Rock"]["size"].tolist() == [0.0] and seen["Rock"]["present"].tolist() == [0]


def test_no_objects_at_all() -> None:
    env = ants(counts=dict.fromkeys(COUNTS, 0), start=None)
    env.reset()
    seen, reward, *_ = env.step(act(env))
    assert reward == 0 and not any(v.any() for fields in seen.values() for v in fields.values())


def test_ranges_are_drawn_an_episode() -> None:
    env = ants(counts={"Ant": (0, 4), "Rock": 2, "Nest": (1, 2)})
    numbers = []
    for _ in range(30):
        seen, _ = env.reset()
        present = {c: fields["present"] for c, fields in seen.items()}
        for mask in present.values():  # objects come first, padding after them
            count = int(mask.sum())
            assert mask[:count].all() and not mask[count:].any()
        numbers.append(tuple(int(mask.sum()) for mask in present.values()))
        after = env.step(act(env))[0]
        assert not after["Ant"]["x"][numbers[-1][0] :].any()
    assert {n[0] for n in numbers} == {0, 1, 2, 3, 4}
    assert {n[1:] for n in numbers} == {(2, 1), (2, 2)}


# ---------------------------------------------------------------- interventions


def test_what_is_held_stays_exactly() -> None:
    env, free = ants(), ants()
    for world in (env, free):
        world.reset(seed=1)
    seen = env.do("Ant[1].x", 4.25)
    assert seen["Ant"]["x"][1] == np.float32(4.25)
    expected = free.reset(seed=1)[0]["Ant"]["x"]
    np.testing.assert_array_equal(np.delete(seen["Ant"]["x"], 1), np.delete(expected, 1))
    for i in range(5):
        state, rng, action = env.state, copy.deepcopy(env.np_random), act(env, i)
        seen = env.step(action)[0]
        before = with_actions(state, {"Ant": {"push": torch.tensor(action["Ant"]["push"])[None]}})
        after = Dynamics(RESULT).step(before, int(rng.integers(2**62)))
        assert seen["Ant"]["x"][1] == np.float32(4.25)  # exactly
        assert float(after["Ant", "x"][0, 1]) != 4.25  # the model would have it otherwise
        for j in (0, 2):  # and the others follow the model from the world as it was set
            assert seen["Ant"]["x"][j] == after["Ant", "x"][0, j].numpy()


def test_reward_and_end_see_what_is_held() -> None:
    env = ants(sample=False)
    env.reset()
    env.do("Ant[*].x", 2.0)
    env.do("Nest[0].food", 21.0)
    _, reward, terminated, *_ = env.step({"Ant": {"push": np.zeros(3, np.float32)}})
    assert (reward, terminated) == (6.0, True)
    env.do("Nest[0].food", 19.0)
    assert env.step(act(env))[2] is False


def test_what_is_set_once_is_left_to_the_model() -> None:
    env = ants()
    env.reset()
    assert env.do("Nest[0].food", 7.5, hold=False)["Nest"]["food"].tolist() == [7.5]
    assert env.step(act(env))[0]["Nest"]["food"].tolist() != [7.5]
    env.do("Nest[0].food", 7.5)
    env.do("Nest[0].food", 8.5, hold=False)  # the last word counts
    assert env.step(act(env))[0]["Nest"]["food"][0] not in (7.5, 8.5)


@pytest.mark.parametrize("how", ["undo one", "undo all", "reset"])
def test_holding_ends(how: str) -> None:
    env = ants()
    env.reset()
    env.do("Ant[*].x", 1.5)
    env.do("Ant[2].x", 2.5)
    assert env.step(act(env))[0]["Ant"]["x"].tolist() == [1.5, 1.5, 2.5]
    if how == "undo one":
        env.undo("Ant[1].x")
        first, second, third = env.step(act(env))[0]["Ant"]["x"].tolist()
        assert (first, third) == (1.5, 2.5) and second != 1.5
        return
    env.undo("Ant[*].x") if how == "undo all" else env.reset()
    assert not {1.5, 2.5} & set(env.step(act(env))[0]["Ant"]["x"].tolist())


@pytest.mark.parametrize(
    ("name", "value", "seen"),
    [
        ("Ant[0].heading", "west", 2),
        ("Ant[0].awake", True, 1),
        ("Ant[0].cell", [3, 0], [3, 0]),
        ("Ant[0].steps", -4, -4),
        ("Ant[0].mass", 3.5, 3.5),  # static: held by nature
        ("Rock[1].size", 3.5, 3.5),
    ],
)
def test_every_kind_of_field_can_be_held(name: str, value: Any, seen: Any) -> None:
    env = ants()
    env.reset()
    env.do(name, value)
    c, i, f = re.fullmatch(r"(\w+)\[(\d)\]\.(\w+)", name).groups()  # type: ignore[union-attr]
    for step in range(3):
        assert env.step(act(env, step))[0][c][f][int(i)].tolist() == seen


def test_all_of_no_objects_is_nothing() -> None:
    env = ants(counts={"Ant": 3, "Rock": 0, "Nest": 1})
    seen, _ = env.reset()
    np.testing.assert_equal(env.do("Rock[*].size", 4.0), seen)


# ---------------------------------------------------------------- mistakes

ALLOWS = "The schema declares what the field allows."


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "Ant.x",
            1.0,
            "do: expected an attribute such as `Ball[0].x`, or `Ball[*].x` for all objects, got "
            "'Ant.x'.",
        ),
        (
            "Aunt[0].x",
            1.0,
            "do `Aunt[0].x`: Unknown class `Aunt`. Did you mean `Ant`? Known: Ant, Rock, Nest.",
        ),
        (
            "Nest[0].foot",
            1.0,
            "do `Nest[0].foot`: Unknown field `Nest.foot`. Did you mean `food`? Known: food.",
        ),
        (
            "Ant[3].x",
            1.0,
            "do `Ant[3].x`: expected one of the 3 objects of world 0 (Ant[0] to [2]), got number 3."
            " Objects are counted from 0.",
        ),
        (
            "Ant[0].push",
            1.0,
            "do `Ant[0].push`: expected a state or static field, got an action. Choose it in "
            "step(action).",
        ),
        (
            "Nest[0].food",
            -1.0,
            "do `Nest[0].food`: expected a finite number of at least 0.0, got -1.0. " + ALLOWS,
        ),
        (
            "Ant[*].level",
            2.5,
            "do `Ant[*].level`: expected a whole number from 2 to 5, got 2.5. " + ALLOWS,
        ),
        ("Ant[0].cell", 1, "do `Ant[0].cell`: expected a value of shape (2,), got 1."),
    ],
)
def test_what_cannot_be_set(name: str, value: Any, message: str) -> None:
    env = ants()
    before = copy.deepcopy(env.reset()[0])
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        env.do(name, value)
    np.testing.assert_equal(env.do("Nest[0].food", before["Nest"]["food"][0]), before)


def test_what_is_not_held_cannot_be_let_go() -> None:
    env = ants()
    env.reset()
    message = "undo `Ant[0].x`: expected an attribute that is held, got one that is not. Held: "
    with pytest.raises(PlanError, match=f"^{re.escape(message)}nothing\\.$"):
        env.undo("Ant[0].x")
    env.do("Ant[1].x", 1.0)
    env.do("Nest[0].food", 1.0)
    with pytest.raises(PlanError, match=f"^{re.escape(message + 'Ant[1].x, Nest[0].food.')}$"):
        env.undo("Ant[0].x")


def test_nothing_works_before_a_reset() -> None:
    message = r"^This environment has no state yet\. Call reset\(\) first\.$"
    for use in (
        lambda env: env.step(act(env)),
        lambda env: env.do("Ant[0].x", 1.0),
        lambda env: env.undo("Ant[0].x"),
        lambda env: env.state,
    ):
        with pytest.raises(PlanError, match=message):
            use(ants())


BY_VARIABLES = SimpleNamespace(model=RESULT.model, graph=RESULT.graph.ground(COUNTS))
UNFIT = Task(lambda before, after: before, lambda after: after, ["Ant.y"])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"task": None},
            PlanError,
            "task: expected an oocdm.Task, got NoneType. Use env.task of one of our environments, "
            "or make one: oocdm.Task(reward=..., terminated=..., reads=...).",
        ),
        (
            {"task": UNFIT},
            SchemaError,
            "Unknown field `Ant.y`. Known: x, place, level, cell, steps, "
            "heading, awake, alive, mass, push.",
        ),
        (
            {"max_episode_steps": 0},
            PlanError,
            "LearnedEnv: `max_episode_steps`: expected a whole number of at least 1, got 0. "
            "Episodes "
            "are cut after so many steps.",
        ),
        (
            {"counts": {"Ant": 1, "Rock": 1}},
            PlanError,
            "counts: expected the number of objects of every class, got none of Nest. Give 0 for "
            "a class that the world shall not have.",
        ),
        (
            {"result": "runs/x"},
            ModelError,
            "LearnedEnv: `result`: expected a fitted result, got str 'runs/x'. Load it: "
            "oocdm.load('runs/x').",
        ),
        (
            {"result": BY_VARIABLES, "counts": {"Ant": 3, "Rock": (1, 4), "Nest": 1}},
            PlanError,
            "counts['Rock']: expected at most 2, and as many in some episodes, as in the variable "
            "graph, got 1 to 4. A variable graph is for fixed numbers of objects: give a result "
            "with a class graph.",
        ),
        (
            {"start": oocdm.collect(oocdm.make("block"), steps=30, seed=0)},
            DataError,
            "This dataset does not fit the model. First difference, dataset against the model: "
            "classes ['Block', 'Total'] against ['Ant', 'Rock', 'Nest'].",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    options: dict[str, Any], error: type[OocdmError], message: str
) -> None:
    arguments = {"result": RESULT, "task": TASK, "counts": COUNTS, "start": DATA, **options}
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        LearnedEnv(**arguments)


@pytest.mark.parametrize(("given", "got"), [(4, "4"), (2, "2"), ((2, 3), "2 to 3")])
def test_a_model_of_fixed_objects_takes_no_other_numbers(given: Any, got: str) -> None:
    model = Mlp().build(DATA.schema, Scales.measure(DATA.transitions()), COUNTS)
    result = SimpleNamespace(model=model, graph=RESULT.graph.ground(COUNTS))
    message = (
        f"counts['Ant']: expected 3, as in training, got {got}. This model knows its objects one "
        "by one; methods `oocdm` and `oofull` take any numbers."
    )
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        LearnedEnv(result, TASK, {**COUNTS, "Ant": given}, start=DATA)
    env = LearnedEnv(result, TASK, COUNTS, start=DATA, seed=0)
    env.reset()
    env.step(act(env))


def test_actions_are_checked_as_in_the_true_world() -> None:
    env = ants()
    env.reset()
    with pytest.raises(DataError, match=r"^Action: missing fields of `Ant`: push\.$"):
        env.step({"Ant": {}})
    with pytest.raises(DataError) as caught:
        env.step({"Ant": {"push": np.zeros(2)}})
    assert str(caught.value) == "Action `Ant.push`: expected shape (3,), got (2,)."


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            Task(lambda b, a: a["Ant", "x"], TASK.terminated, []),
            "Task.reward: expected a tensor of numbers of shape (1,), one per row, got shape "
            '(1, 3). Reduce over the objects, as in after["Ant.x"].sum(1).',
        ),
        (
            Task(TASK.reward, lambda a: a["Ant", "x"][:, 0], []),
            "Task.terminated: expected booleans, got torch.float32. Compare with something, as in "
            '(after["Ant.x"] < 0).any(1).',
        ),
    ],
)
def test_what_a_task_returns_is_checked(task: Task, message: str) -> None:
    env = LearnedEnv(RESULT, task, COUNTS, start=DATA)
    env.reset()
    with pytest.raises(PlanError, match=f"^{re.escape(message)}$"):
        env.step(act(env))


def test_a_fitted_result_and_a_variable_graph() -> None:
    """Whatever has a model and a graph will do, also a graph of single variables."""
    grounded = RESULT.graph.ground(COUNTS)
    by_variables = LearnedEnv(SimpleNamespace(model=RESULT.model, graph=grounded), TASK, COUNTS)
    by_classes = LearnedEnv(RESULT, TASK, COUNTS)
    seen = [env.reset(seed=0) and env.step(act(env))[0] for env in (by_variables, by_classes)]
    np.testing.assert_allclose(seen[0]["Ant"]["x"], seen[1]["Ant"]["x"], rtol=1e-5)


# ---------------------------------------------------------------- unusual worlds


def test_a_class_may_have_nothing_but_actions() -> None:
    task = Task(
        reward=lambda before, after: after["Lamp", "x"].sum(1),
        terminated=lambda after: after["Lamp", "x"].amax(1) > 99,
        reads=["Lamp.x"],
    )
    counts = {"Knob": (1, 2), "Lamp": 3}
    env = LearnedEnv(knobs.RESULT, task, counts, start=knobs.DATA, seed=0, max_episode_steps=3)
    for _ in range(4):
        seen, _ = env.reset()
        assert seen in env.observation_space and list(seen["Knob"]) == ["present"]
        for _ in range(3):
            seen, _, _, is_cut, _ = env.step({"Knob": {"turn": [1, 2]}})
            assert seen in env.observation_space
        assert is_cut


def test_what_was_shown_can_be_set() -> None:
    """The nearest float32 to the end of a range may lie beyond it."""

    class Dial(oocdm.ObjectClass):
        x = oocdm.Real(0.0, 0.3)

    data = ragged(oocdm.Schema(Dial), is_whole=True, slots=1)
    task = Task(lambda a, b: b["Dial", "x"][:, 0], lambda b: b["Dial", "x"][:, 0] > 1, ["Dial.x"])
    env = LearnedEnv(untrained(data), task, {"Dial": 1}, start=data, seed=0)
    env.reset()
    shown = env.do("Dial[0].x", 0.3)["Dial"]["x"]
    assert float(shown[0]) > 0.3
    np.testing.assert_array_equal(env.do("Dial[0].x", float(shown[0]))["Dial"]["x"], shown)


CROWD = Task(
    lambda before, after: after["Ant", "x"].mean(1), lambda after: (after["Ant", "x"] < 0).any(1)
)


@pytest.mark.parametrize("ants", [2, (1, 3)])
def test_a_task_that_counts_absent_objects_is_told_of(
    ants: Any, caplog: pytest.LogCaptureFixture
) -> None:
    task = Task(CROWD.reward, CROWD.terminated)
    for _ in range(2):  # once a task, also if several worlds have it
        env = LearnedEnv(RESULT, task, {**COUNTS, "Ant": ants}, start=DATA, seed=0)
        for _ in range(6):
            env.reset()
            env.step(act(env))
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (0 if ants == 2 else 1)  # two rows for two ants: nobody is absent
    if told:
        assert told[0].startswith("Task: reward ") and "fewer objects of class `Ant`" in told[0]


def test_planning_tells_of_absent_objects_too(caplog: pytest.LogCaptureFixture) -> None:
    state = DATA.transitions(slice(0, 1)).before
    present = {**state.present, "Ant": torch.tensor([[True, True, False]])}
    state = oocdm.Snapshot.of(state.schema, state.values, present)
    planner = oocdm.CEM(horizon=2, iterations=1, samples=4, elites=2)
    for prune, task in ((True, Task(CROWD.reward, reads="Ant.x")), (False, Task(CROWD.reward))):
        caplog.clear()
        agent = oocdm.MPC(RESULT, task, planner, prune=prune)
        agent.reset(1)
        agent.act(state)
        agent.act(state)
        (record,) = caplog.records
        assert record.getMessage().startswith("Task: reward counts rows that are no objects")


def test_mice_are_never_absent(caplog: pytest.LogCaptureFixture) -> None:
    env, data, result = mouse()
    counts = {"Mouse": 1, "Food": (0, 3), "Monster": 0, "Trap": (0, 2)}
    world = LearnedEnv(result, env.task, counts, start=data, seed=0)
    for _ in range(3):
        world.reset()
        world.step({"Mouse": {"move": [2]}})
    assert not caplog.records


def test_starts_have_the_objects_that_a_model_knows() -> None:
    names = np.tile(np.array(["x", "y", "z"], dtype=object), (DATA.num_episodes, 1))
    named = replace(DATA, object_ids={**DATA.object_ids, "Ant": names})
    known = SimpleNamespace(**vars(RESULT), objects={"Ant": ["x", "y", "z"]})
    LearnedEnv(known, TASK, COUNTS, start=named)
    known.objects["Ant"][2] = "w"
    with pytest.raises(
        DataError, match=r"^LearnedEnv: expected object `w` of class `Ant` at place 2"
    ):
        LearnedEnv(known, TASK, COUNTS, start=named)
