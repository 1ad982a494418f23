"""Edges by independence tests: the logic with an oracle, the tests on tiny worlds."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oocdm
from oocdm.data import Dataset
from oocdm.discovery.independence import tests as tests_module
from oocdm.discovery.independence.class_tests import discover_by_tests
from oocdm.discovery.independence.merged_samples import MergedSamples, Question
from oocdm.discovery.independence.tests import (
    TESTS,
    Answer,
    FastCit,
    OracleTest,
    PartialCorrelation,
    make_test,
)
from oocdm.errors import DataError, OocdmError
from oocdm.graph import ClassEdges, ClassGraph, Edge
from oocdm.schema import Categorical, ObjectClass, Real, Schema
from tests.models.strategies import random_values, schemas

EVERYTHING = 10**9


class Ball(ObjectClass):
    u = Real()
    v = Real()


class Rock(ObjectClass):
    kind = Categorical(3)
    w = Real(shape=(2,))


BALLS = Schema(Ball)


def dataset(schema: Schema, values: dict[str, dict[str, np.ndarray]]) -> Dataset:
    """Episodes of one transition, all values known: values are (2 * transition, object, ...)."""
    rows = len(next(iter(values["Ball" if "Ball" in values else "A"].values())))
    is_last = np.arange(rows) % 2 == 1
    observed: dict[str, dict[str, np.ndarray]] = {}
    present = {}
    for c, fields in values.items():
        present[c] = np.ones(next(iter(fields.values())).shape[:2], dtype=bool)
        observed[c] = {}
        for f, column in fields.items():
            field = schema.field(c, f)
            known = present[c] & ~(field.action & is_last)[:, None]
            column = np.repeat(column[::2], 2, axis=0) if field.static else column.copy()
            column[~known] = 0
            fields[f], observed[c][f] = column.astype(field.dtype), known
    return Dataset(
        schema,
        values,
        present,
        observed,
        episode=np.arange(rows) // 2,
        step=np.arange(rows) % 2,
        reward=np.zeros(rows, np.float32),
        terminated=np.zeros(rows, bool),
        truncated=np.zeros(rows, bool),
    )


def random_dataset(schema: Schema, counts: dict[str, int], seed: int, rows: int = 8) -> Dataset:
    rng = np.random.default_rng(seed)
    return dataset(
        schema,
        {
            c: {
                f: random_values(field, (rows, num), rng).numpy()
                for f, field in schema.fields(c).items()
            }
            for c, num in counts.items()
        },
    )


def linear_world(num: int = 400) -> Dataset:
    """Two balls: u keeps most of itself, v follows its own u and that of the other ball."""
    rng = np.random.default_rng(0)
    u, v, new_u, new_v = rng.normal(size=(4, num, 2))
    values = {
        "u": np.stack([u, 0.9 * u + 0.3 * new_u], axis=1).reshape(-1, 2),
        "v": np.stack([v, u + 0.7 * u[:, ::-1] + 0.3 * new_v], axis=1).reshape(-1, 2),
    }
    return dataset(BALLS, {"Ball": values})


LINEAR = ClassGraph.parse(BALLS, ["Ball.u <- self.u", "Ball.v <- self.u, Ball[*].u"])


# ---------------------------------------------------------------- the logic, with an oracle


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Schema, dict[str, int], int]:
    schema = draw(schemas())
    counts = {c: draw(st.integers(1 if c == "A" else 0, 3)) for c in schema.classes}
    return schema, counts, draw(st.integers(0, 2**20))


@settings(max_examples=40)
@given(world=worlds(), density=st.floats(0, 1))
def test_oracle_gives_back_any_graph(
    world: tuple[Schema, dict[str, int], int], density: float
) -> None:
    schema, counts, seed = world
    true = ClassGraph.random(schema, density, np.random.default_rng(seed))
    evidence = discover_by_tests(random_dataset(schema, counts, seed), OracleTest(true))
    testable = ClassEdges.of(schema).testable(counts)
    np.testing.assert_array_equal(evidence.graph.mask, true.mask & testable)
    np.testing.assert_array_equal(evidence.decision == "untestable", ~testable)
    np.testing.assert_array_equal(np.isnan(evidence.p_value), ~testable)
    np.testing.assert_array_equal(np.isnan(evidence.score), ~testable)
    assert np.isfinite(evidence.score[testable]).all()


def test_oracle_needs_the_edge() -> None:
    x = np.zeros((3, 1))
    with pytest.raises(OocdmError, match="expected a question with its edge"):
        OracleTest(LINEAR).answer(Question(x, x, x), np.random.default_rng(0))


def test_progress_counts_testable_edges() -> None:
    seen: list[tuple[int, int]] = []
    discover_by_tests(
        random_dataset(BALLS, {"Ball": 1}, 0),
        OracleTest(LINEAR),
        progress=lambda *at: seen.append(at),
    )
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


class Scripted:
    """Answers edge by edge as told, and remembers how many samples it was shown."""

    max_samples = 7

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = iter(answers)
        self.seen: list[int] = []

    def answer(self, question: Question, rng: np.random.Generator) -> Answer:
        self.seen.append(len(question.x))
        return next(self.answers)


def test_decisions_scores_and_number_of_samples() -> None:
    data = random_dataset(BALLS, {"Ball": 1}, 0, rows=40)
    answers = [Answer(0.001), Answer(0.2), Answer(np.nan), Answer(0.002, statistic=5.0)]
    test = Scripted(answers)
    evidence = discover_by_tests(data, test, alpha=0.01)
    assert evidence.decision[:4].tolist() == ["yes", "no", "undecided", "yes"]
    np.testing.assert_allclose(evidence.score[:4], [3.0, -np.log10(0.2), np.nan, 5.0])
    assert test.seen == [7] * 4
    more = Scripted(answers)
    discover_by_tests(data, more, max_samples=100)
    assert more.seen == [20] * 4


# ---------------------------------------------------------------- merged samples


def test_merged_samples_by_hand() -> None:
    u = np.array([[3.0, 1.0, 2.0], [30.0, 10.0, 20.0]])
    rocks = {"kind": np.array([[2], [0]]), "w": np.array([[[7.0, 8.0]], [[0.0, 0.0]]])}
    schema = Schema(Ball, Rock)
    data = dataset(schema, {"Ball": {"u": u, "v": -u}, "Rock": rocks})
    rng = np.random.default_rng(0)
    samples = MergedSamples(data, "Ball", EVERYTHING, rng)

    def rows(edge: str) -> list[list[list[float]]]:
        question = samples.question(ClassGraph.parse(schema, [edge]).edges()[0])
        order = np.argsort(question.y[:, 0])
        return [a[order].tolist() for a in (question.x, question.y, question.given)]

    rock = [0, 0, 1, 7, 8]
    assert rows("Ball.u <- self.u") == [
        [[1], [2], [3]],
        [[10], [20], [30]],
        [[-1, 2, 3, -2, -3, *rock], [-2, 1, 3, -1, -3, *rock], [-3, 1, 2, -1, -2, *rock]],
    ]
    x, _, others = rows("Ball.u <- Ball[*].v")
    assert x == [[-2, -3], [-1, -3], [-1, -2]]
    assert others == [[1, -1, 2, 3, *rock], [2, -2, 1, 3, *rock], [3, -3, 1, 2, *rock]]
    x, _, others = rows("Ball.u <- Rock[*].kind")
    assert x == [[0, 0, 1]] * 3
    assert others[0] == [1, -1, 2, 3, -2, -3, 7, 8]
    target = MergedSamples(data, "Rock", EVERYTHING, rng)
    question = target.question(Edge("Ball", "u", "Rock", "kind", is_local=False))
    assert question.x.tolist() == [[1, 2, 3]]
    assert question.y.tolist() == [[1, 0, 0]]


@settings(max_examples=30)
@given(world=worlds())
def test_numbers_of_objects_do_not_matter(world: tuple[Schema, dict[str, int], int]) -> None:
    schema, counts, seed = world
    rng = np.random.default_rng(seed)
    orders = {c: rng.permutation(num) for c, num in counts.items()}
    data = random_dataset(schema, counts, seed)
    moved = dataset(
        schema,
        {c: {f: v[:, orders[c]] for f, v in fs.items()} for c, fs in data.values.items()},
    )
    width = {
        c: sum(
            field.num_codes if isinstance(field, Categorical) else field.size
            for field in schema.fields(c).values()
        )
        for c in counts
    }
    for i in np.flatnonzero(ClassEdges.of(schema).testable(counts)):
        edge = ClassEdges.of(schema).edges[i]
        found = []
        for each in (data, moved):
            samples = MergedSamples(each, edge.target_class, EVERYTHING, rng)
            question = samples.question(edge)
            assert len(question.y) == len(each) * counts[edge.target_class]
            columns = question.x.shape[1] + question.given.shape[1]
            assert columns == sum(width[c] * num for c, num in counts.items())
            rows = np.concatenate([question.x, question.y, question.given], axis=1)
            found.append(rows[np.lexsort(rows.T)])
        np.testing.assert_array_equal(*found)


def test_unknown_values_are_left_out() -> None:
    data = random_dataset(BALLS, {"Ball": 2}, 0, rows=20)
    known = data.observed["Ball"]["u"].copy()
    known[0, 1] = False  # before the first step: the whole transition is lost
    known[3, 0] = False  # after the second: one sample of edges into u
    u = np.where(known, data.values["Ball"]["u"], 0)
    values = {"Ball": {**data.values["Ball"], "u": u.astype(np.float32)}}
    observed = {"Ball": {**data.observed["Ball"], "u": known}}
    holes = Dataset(
        *(BALLS, values, data.present, observed, data.episode, data.step),
        *(data.reward, data.terminated, data.truncated),
    )
    samples = MergedSamples(holes, "Ball", EVERYTHING, np.random.default_rng(0))
    assert len(samples.question(Edge("Ball", "v", "Ball", "v", True)).y) == 18
    assert len(samples.question(Edge("Ball", "v", "Ball", "u", True)).y) == 17


# ---------------------------------------------------------------- the tests themselves


@pytest.mark.parametrize("name", ["fcit", "fisherz", "kci", "rcit"])
def test_linear_world(name: str) -> None:
    evidence = discover_by_tests(linear_world(), name, max_samples=200 if name == "kci" else None)
    assert evidence.graph == LINEAR, f"found\n{evidence.graph}"
    again = discover_by_tests(linear_world(), name, max_samples=200 if name == "kci" else None)
    np.testing.assert_array_equal(again.p_value, evidence.p_value)


@pytest.mark.parametrize(
    ("test", "num_samples", "repeats"), [(FastCit(), 150, 60), (PartialCorrelation(), 60, 300)]
)
def test_p_values_of_independent_data_are_nearly_uniform(
    test: Any, num_samples: int, repeats: int
) -> None:
    rng = np.random.default_rng(0)
    p_values = np.empty(repeats)
    for i in range(repeats):
        x, z, noise = rng.normal(size=(3, num_samples, 1))
        p_values[i] = test.answer(Question(x, z + noise, z), rng).p_value
    p_values = p_values[p_values < 1]  # 1 says that no tree could use x
    assert len(p_values) > repeats / 2
    assert abs(p_values.mean() - 0.5) < 0.1
    assert 0.1 < np.quantile(p_values, 0.25) < 0.45
    assert 0.55 < np.quantile(p_values, 0.75) < 0.9
    assert (p_values < 0.05).mean() <= 0.1


def test_several_questions_about_one_output_share_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted: list[int] = []
    tree_error = tests_module._tree_error

    def count(inputs: Any, *others: Any) -> float:
        fitted.append(inputs.shape[1])
        return tree_error(inputs, *others)

    monkeypatch.setattr(tests_module, "_tree_error", count)
    rng = np.random.default_rng(0)
    first, second, third, noise = rng.normal(size=(4, 300, 1))
    never = np.ones((300, 1))
    pair = np.concatenate([second, third], axis=1)
    y = first + np.square(third) + 0.1 * noise
    test = FastCit()
    answers = list(test.answer_each([first, never, second, pair], y, [0, 1, 2, 3], rng))
    assert [a.p_value < 0.01 for a in answers] == [True, False, False, True]
    assert np.isnan(answers[1].p_value)
    # One tree a size and one a split for all of them, then one a split for each that varies.
    assert fitted == [4] * (len(test.leaf_sizes) + 4 * test.num_splits)
    few = list(test.answer_each([first[:10]], y[:10], [0], rng))
    assert len(few) == 1 and np.isnan(few[0].p_value)


def test_p_values_that_share_trees_are_nearly_uniform() -> None:
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(20):
        *inputs, noise = rng.normal(size=(5, 150, 1))
        answers = FastCit().answer_each(inputs, inputs[0] + noise, [1, 2, 3], rng)
        p_values += [answer.p_value for answer in answers if answer.p_value < 1]
    assert len(p_values) > 20
    assert abs(np.mean(p_values) - 0.5) < 0.1
    assert np.mean(np.array(p_values) < 0.1) <= 0.15


def test_what_only_tells_episodes_apart_is_no_cause() -> None:
    """Each episode has a level of its own and, drawn independently, a number x."""
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(60), 10)
    apart, together = [], []
    for _ in range(10):
        x, level = rng.normal(size=(2, 60, 1))[:, cluster]
        z, noise = rng.normal(size=(2, 600, 1))
        y = level + z + 0.1 * noise
        together.append(FastCit().answer(Question(x, y, z), rng))
        apart.append(FastCit().answer(Question(x, y, z, cluster=cluster), rng))
        together += FastCit().answer_each([x, z], y, [0], rng)
        apart += FastCit().answer_each([x, z], y, [0], rng, cluster)
    assert np.mean([answer.p_value < 0.1 for answer in together]) > 0.7
    assert np.mean([answer.p_value < 0.1 for answer in apart]) <= 0.15


def test_a_summary_of_the_causes_is_taken_for_a_cause() -> None:
    """A known limit, as the docstring tells: x adds nothing to z0 and z1, but trees like it."""
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(10):
        z0, z1, z2, noise, other_noise = rng.normal(size=(5, 1000, 1))
        x, y = z0 + z1 + 0.2 * other_noise, z0 + z1 + 0.3 * noise
        p_values += [a.p_value for a in FastCit().answer_each([x, z0, z1, z2], y, [0], rng)]
    assert 0.5 < np.mean(np.array(p_values) < 0.1) <= 1


@pytest.mark.parametrize("name", list(TESTS))
def test_vectors_and_redundant_columns(name: str) -> None:
    rng = np.random.default_rng(1)
    kind, other = rng.integers(3, size=(2, 400))
    x, z = np.eye(3)[kind], np.eye(3)[other]  # each one-hot code has one column too many
    y = np.stack([kind == 2, other == 1], axis=1) + 0.1 * rng.normal(size=(400, 2))
    given = np.concatenate([z, np.ones((400, 1))], axis=1)
    test = make_test(name)
    assert test.answer(Question(x, y, given), rng).p_value < 1e-3
    assert test.answer(Question(x, y, given[:, :0]), rng).p_value < 1e-3
    assert test.answer(Question(x, y[:, 1:], given), rng).p_value > 1e-3


@pytest.mark.parametrize("name", list(TESTS))
def test_what_never_varies_tells_nothing(name: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 50, 1))
    for question in (Question(0 * x, y, x), Question(x, 0 * y, y), Question(x[:1], y[:1], y[:1])):
        assert np.isnan(make_test(name).answer(question, rng).p_value)


def test_rounding_decides_nothing() -> None:
    """Too few samples have another x for a leaf of their own, so no tree can use it."""
    test = FastCit(leaf_sizes=(8,))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z, noise = rng.normal(size=(2, 100, 1))
        x = (np.arange(100) < 4)[:, None].astype(float)
        answers = [test.answer(Question(x, z + noise, z), rng)]
        answers += test.answer_each([x, z], z + noise, [0], rng)
        assert answers == [Answer(1.0, 0.0)] * 2


def test_partial_correlation_of_what_follows_from_the_rest() -> None:
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 50, 1))
    assert np.isnan(PartialCorrelation().answer(Question(2 * z, x, z), rng).p_value)
    assert PartialCorrelation().answer(Question(x, 2 * z, z), rng).p_value == 1.0


def test_random_features_leave_the_global_generator_alone() -> None:
    x, y, z = np.random.default_rng(0).normal(size=(3, 200, 1))
    before = np.random.get_state()[1].tolist()
    make_test("rcit").answer(Question(x, y, z), np.random.default_rng(0))
    assert np.random.get_state()[1].tolist() == before


# ---------------------------------------------------------------- errors


def test_varying_numbers_are_refused() -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=None), steps=300, seed=0)
    with pytest.raises(DataError, match=r"same objects of class `Block` .* 1 to 7\. .*`oocdm.fit`"):
        discover_by_tests(data)


def test_no_known_transition_is_refused() -> None:
    data = random_dataset(BALLS, {"Ball": 1}, 0)
    nothing = np.zeros_like(data.present["Ball"])
    zeros = np.zeros(nothing.shape, np.float32)
    blank = Dataset(
        *(BALLS, {"Ball": {**data.values["Ball"], "u": zeros}}, data.present),
        *({"Ball": {**data.observed["Ball"], "u": nothing}}, data.episode, data.step),
        *(data.reward, data.terminated, data.truncated),
    )
    with pytest.raises(DataError, match=r"edges into `Ball`: expected .* all known, got none"):
        discover_by_tests(blank)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "fcti"}, "Unknown independence test `fcti`. Did you mean `fcit`?"),
        ({"alpha": 1.0}, "expected alpha between 0 and 1, got 1.0"),
        ({"max_samples": 0}, "expected max_samples of at least 1, got 0"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OocdmError, match=message.replace("?", r"\?")):
        discover_by_tests(random_dataset(BALLS, {"Ball": 1}, 0), **options)


@pytest.mark.parametrize("name", list(TESTS))
def test_missing_packages_are_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(module: str) -> Any:
        if module.split(".")[0] in ("causallearn", "sklearn", "scipy"):
            raise ModuleNotFoundError(f"No module named {module!r}")
        return import_module(module)

    monkeypatch.setattr(tests_module, "import_module", without)
    with pytest.raises(OocdmError, match=r"No module named .* pip install 'oocdm\[cit\]'"):
        discover_by_tests(random_dataset(BALLS, {"Ball": 2}, 0, rows=100), name)
