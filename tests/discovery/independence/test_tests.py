"""Tests of conditional independence on tiny samples."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from oocdm.discovery.independence import tests as tests_module
from oocdm.discovery.independence.class_tests import discover_by_tests
from oocdm.discovery.independence.merged_samples import Question
from oocdm.discovery.independence.tests import (
    TESTS,
    Answer,
    FastCit,
    OracleTest,
    PartialCorrelation,
    make_test,
)
from oocdm.errors import OocdmError
from tests.discovery.independence.toys import (
    BALLS,
    LINEAR,
    linear_world,
    random_dataset,
)


def test_oracle_needs_the_edge() -> None:
    x = np.zeros((3, 1))
    with pytest.raises(OocdmError, match="expected a question with its edge"):
        OracleTest(LINEAR).answer(Question(x, x, x), np.random.default_rng(0))


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


@pytest.mark.parametrize("name", list(TESTS))
def test_missing_packages_are_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(module: str) -> Any:
        if module.split(".")[0] in ("causallearn", "sklearn", "scipy"):
            raise ModuleNotFoundError(f"No module named {module!r}")
        return import_module(module)

    monkeypatch.setattr(tests_module, "import_module", without)
    with pytest.raises(OocdmError, match=r"No module named .* pip install 'oocdm\[cit\]'"):
        discover_by_tests(random_dataset(BALLS, {"Ball": 2}, 0, rows=100), name)


@pytest.mark.parametrize("name", ["fcit", "fisherz", "kci", "rcit"])
def test_answers_do_not_depend_on_units(name: str) -> None:
    """Trees of scikit-learn take values for equal that differ by less than 1e-7."""
    rng = np.random.default_rng(0)
    x, given, noise = rng.normal(size=(3, 200, 1))
    test, y = make_test(name), x + given + 0.1 * noise
    one = test.answer(Question(x, y, given), np.random.default_rng(1))
    scaled = Question(2.0**-27 * x, 2.0**27 * y, 2.0**-40 * given)
    other = test.answer(scaled, np.random.default_rng(1))
    assert other.p_value == pytest.approx(one.p_value, rel=1e-6) and one.p_value < 0.01
