"""Tests of conditional independence: is y independent of x, given all else?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy

from oocdm.discovery.independence.merged_samples import Question
from oocdm.errors import OocdmError, suggest
from oocdm.graph import ClassGraph

# Of a column's spread: what is left of it beside others may be rounding of float32 below this.
_ROUNDING = 1e-5

Split = tuple[np.ndarray, np.ndarray]  # numbers of the samples to fit on, and of those to test on


@dataclass(frozen=True)
class Answer:
    """How probable such samples are if y is independent of x; NaN if the samples cannot tell.

    `statistic` is in the test's own unit, None if it has none.

    >>> Answer(0.03).statistic is None
    True
    """

    p_value: float
    statistic: float | None = None


@runtime_checkable
class IndependenceTest(Protocol):
    """Anything that answers questions.

    >>> isinstance(make_test("kci"), IndependenceTest)
    True
    """

    @property
    def max_samples(self) -> int:
        """How many samples to show it unless the user says otherwise."""

    def answer(self, question: Question, rng: np.random.Generator) -> Answer:
        """Whether y is independent of x, given the rest."""


def make_test(name: str) -> IndependenceTest:
    """A test by its name: "fcit", "fisherz", "kci" or "rcit".

    >>> make_test("fcit")
    FastCit(num_splits=8, leaf_sizes=(2, 8, 32, 128), held_out=0.1, max_samples=3000)
    """
    if name not in TESTS:
        raise OocdmError(f"Unknown independence test `{name}`. {suggest(name, TESTS)}")
    return TESTS[name]()


@dataclass(frozen=True)
class FastCit:
    """Fast CIT (Chalupka et al. 2018): does x help decision trees to predict y?

    Two trees predict y, one from x and the rest, one from shuffled x and the rest. If y is
    independent of x given the rest, neither is better on samples that they were not fitted on.
    This is compared in several random splits of whole episodes: within one, anything that changes
    slowly tells which steps are neighbours, and trees gain from that. The statistic is half the
    logarithm of the ratio of their errors: nats that x adds, if errors are normal.

    Errors are rarer than the level says where x is independent of all else, and common where x sums
    up the causes of y, since trees predict y better from such a sum than from its parts. With 1,000
    samples and y = z0 + noise, p < 0.1 in 7 % of 300 tests of an independent x; with
    y = z0 + z1 + noise, in 75 % of those of x = z0 + z1 + other noise, which adds nothing.

    >>> rng = np.random.default_rng(0)
    >>> x, given, noise = rng.normal(size=(3, 500, 1))
    >>> FastCit().answer(Question(x, x + noise, given), rng).p_value < 0.01
    True
    >>> FastCit().answer(Question(x, given + noise, given), rng).p_value < 0.01
    False
    """

    num_splits: int = 8
    leaf_sizes: tuple[int, ...] = (2, 8, 32, 128)  # of which the best one is taken
    held_out: float = 0.1  # share of the samples, or of their clusters
    max_samples: int = 3000

    def answer(self, question: Question, rng: np.random.Generator) -> Answer:
        x, y, given = _varying(question)
        if not (x.size and y.size) or not self._is_enough(len(x)):
            return Answer(np.nan)
        first, *splits = self._splits(len(x), question.cluster, rng)
        x, y, given = _near_one(x), _standard(y), _near_one(given)
        # One size for both sides: if each took its own, the luck of that choice would favour the
        # same side in all splits.
        sides = _sides(x, given, rng)
        leaf_size = min(
            self.leaf_sizes,
            key=lambda size: min(_tree_error(side, y, first, size, rng) for side in sides),
        )
        without, with_x = np.empty((2, self.num_splits))
        for i, split in enumerate(splits):
            sides = _sides(x, given, rng)
            without[i], with_x[i] = (_tree_error(side, y, split, leaf_size, rng) for side in sides)
        return self._judge(without, with_x, splits)

    def answer_each(
        self,
        inputs: Sequence[np.ndarray],
        y: np.ndarray,
        asked: Iterable[int],
        rng: np.random.Generator,
        cluster: np.ndarray | None = None,
    ) -> Iterator[Answer]:
        """Of each input that is asked about: is y independent of it, given all others?

        The trees that see everything are the same for all of them and are fitted once, which
        leaves a third of the work. `cluster` is that of a `Question`.
        """
        y, *columns = (_without_constants(c) for c in (y, *inputs))
        if y.size == 0 or not self._is_enough(len(y)):
            yield from (Answer(np.nan) for _ in asked)
            return
        y, columns = _standard(y), [_near_one(each) for each in columns]
        whole = np.concatenate(columns, axis=1)
        ends = np.cumsum([c.shape[1] for c in columns])
        first, *splits = self._splits(len(y), cluster, rng)
        leaf_size = min(self.leaf_sizes, key=lambda size: _tree_error(whole, y, first, size, rng))
        with_all = np.array([_tree_error(whole, y, split, leaf_size, rng) for split in splits])
        for i in asked:
            x = columns[i]
            if x.size == 0:
                yield Answer(np.nan)
                continue
            without = np.empty(self.num_splits)
            for j, split in enumerate(splits):
                side = whole.copy()
                side[:, ends[i] - x.shape[1] : ends[i]] = rng.permutation(x)
                without[j] = _tree_error(side, y, split, leaf_size, rng)
            yield self._judge(without, with_all, splits)

    def load(self) -> None:
        """Load what trees need, which takes seconds: the first answer then comes like others.

        >>> FastCit().load()
        """
        _library("sklearn.tree")

    def num_trees(self, num_asked: int) -> int:
        """How many trees `answer_each` fits to answer about so many inputs.

        >>> FastCit().num_trees(10)
        92
        """
        return len(self.leaf_sizes) + self.num_splits * (1 + num_asked)

    def _is_enough(self, num: int) -> bool:
        """Whether so many samples or clusters can be split: more than one is held out."""
        return int(self.held_out * num) > 1

    def _splits(
        self, num: int, cluster: np.ndarray | None, rng: np.random.Generator
    ) -> Iterator[Split]:
        """Samples to fit on and samples of other clusters to test on: first to choose, then to ask.

        Where clusters are too few, samples count for themselves.
        """
        group = np.arange(num)
        if cluster is not None:
            names, numbered = np.unique(cluster, return_inverse=True)
            group = numbered if self._is_enough(len(names)) else group
        num_groups = int(group.max()) + 1
        for _ in range(1 + self.num_splits):
            held = rng.permutation(num_groups)[: int(self.held_out * num_groups)]
            is_held = np.isin(group, held)
            yield np.flatnonzero(~is_held), np.flatnonzero(is_held)

    def _judge(self, without: np.ndarray, with_x: np.ndarray, splits: list[Split]) -> Answer:
        """What the errors in several splits say, one-sided.

        Splits share most of their samples, so their gains vary less than those of new samples
        would. Nadeau and Bengio (2003): add the ratio of held-out to fitted samples.
        """
        # Trees that can make no use of x have the same errors but for rounding: it told nothing.
        is_same = np.abs(without - with_x) < _ROUNDING**2
        if is_same.all():
            return Answer(1.0, 0.0)
        gains = np.where(is_same, 0.0, 0.5 * np.log(without / with_x))
        held_to_fitted = np.mean([len(held) / len(fitted) for fitted, held in splits])
        variance = gains.var(ddof=1) * (1 / self.num_splits + held_to_fitted)
        t = gains.mean() / np.sqrt(variance + np.finfo(float).tiny)
        return Answer(float(scipy.stats.t.sf(t, self.num_splits - 1)), float(gains.mean()))


@dataclass(frozen=True)
class PartialCorrelation:
    """Fisher's z: is a feature of y correlated with one of x, beside linear effects of the rest?

    The smallest p-value of all pairs of features counts, times their number (Bonferroni).

    >>> rng = np.random.default_rng(0)
    >>> x, given, noise = rng.normal(size=(3, 500, 1))
    >>> PartialCorrelation().answer(Question(x, x + noise, given), rng).p_value < 0.01
    True
    """

    max_samples: int = 10_000

    def answer(self, question: Question, rng: np.random.Generator) -> Answer:
        cit = _library("causallearn.utils.cit")
        x, y, given = (_standard(columns) for columns in _varying(question))
        if not (x.size and y.size):
            return Answer(np.nan)
        # One-hot codes and deterministic worlds have columns that follow from others: take a
        # basis of what they span.
        left, sizes, _ = np.linalg.svd(given, full_matrices=False)
        basis = left[:, sizes > _ROUNDING * sizes.max(initial=0.0)]
        x, y = (c[:, (c - basis @ (basis.T @ c)).std(0) > _ROUNDING] for c in (x, y))
        if x.size == 0 or len(x) <= basis.shape[1] + 3:
            return Answer(np.nan)  # x follows from the rest, or there are too few samples
        if y.size == 0:
            return Answer(1.0)  # nothing is left for x to explain
        test = cit.FisherZ(np.concatenate([x, y, basis], axis=1))
        first, second = x.shape[1], x.shape[1] + y.shape[1]
        others = range(second, second + basis.shape[1])
        p_values = [test(i, j, others) for i in range(first) for j in range(first, second)]
        return Answer(min(1.0, float(min(p_values)) * len(p_values)))


@dataclass(frozen=True)
class KernelTest:
    """Kernel-based CIT (Zhang et al. 2011): any dependence, at a cost cubic in the samples.

    With `is_random` a fast approximation by random features (RCIT, Strobl et al. 2019). Both find
    too many edges in worlds with little noise, probably because what they leave unexplained by
    the rest is larger than the noise: of the 54 absent edges of two blocks, KCI takes about 11
    for present and RCIT about 47.

    >>> rng = np.random.default_rng(0)
    >>> x, given, noise = rng.normal(size=(3, 100, 1))
    >>> KernelTest().answer(Question(x, x**2 + 0.1 * noise, given), rng).p_value < 0.01
    True
    """

    is_random: bool = False
    max_samples: int = 500

    def answer(self, question: Question, rng: np.random.Generator) -> Answer:
        if self.is_random:
            rcit = _library("causallearn.utils.RCIT.RCIT")
            without, within = rcit.RIT, rcit.RCIT
        else:
            kci = _library("causallearn.utils.KCI.KCI")
            without, within = kci.KCI_UInd, kci.KCI_CInd
        x, y, given = (_standard(columns) for columns in _varying(question))
        if not (x.size and y.size):
            return Answer(np.nan)
        with _numpy_seed(rng):
            if given.size:
                p_value, statistic = within().compute_pvalue(x, y, given)
            else:
                p_value, statistic = without().compute_pvalue(x, y)
        return Answer(float(p_value), float(statistic))


@dataclass(frozen=True)
class OracleTest:
    """Knows the graph and looks at no sample: for tests of what is done with the answers.

    >>> from oocdm.graph import Edge
    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> x = np.zeros((10, 1))
    >>> question = Question(x, x, x, Edge("Ball", "x", "Ball", "x", is_local=True))
    >>> OracleTest(ClassGraph.full(Schema(Ball))).answer(question, np.random.default_rng(0))
    Answer(p_value=0.0, statistic=None)
    """

    graph: ClassGraph
    max_samples: int = 1

    def answer(self, question: Question, rng: np.random.Generator) -> Answer:
        if question.edge is None:
            raise OocdmError("OracleTest: expected a question with its edge, got one without.")
        return Answer(0.0 if question.edge in self.graph else 1.0)


TESTS: dict[str, Callable[[], IndependenceTest]] = {
    "fcit": FastCit,
    "fisherz": PartialCorrelation,
    "kci": KernelTest,
    "rcit": lambda: KernelTest(is_random=True, max_samples=3000),
}


def _library(module: str) -> Any:
    """A module of an optional package; imported only when a test needs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise OocdmError(
            f"Independence tests need further packages ({error}). "
            "Install them by: pip install 'oocdm[cit]'"
        ) from None


def _varying(question: Question) -> list[np.ndarray]:
    """x, y and given without the features that never vary."""
    return [_without_constants(c) for c in (question.x, question.y, question.given)]


def _without_constants(columns: np.ndarray) -> np.ndarray:
    return columns[:, (columns != columns[:1]).any(0)]


def _standard(columns: np.ndarray) -> np.ndarray:
    return (columns - columns.mean(0)) / columns.std(0)


def _near_one(columns: np.ndarray) -> np.ndarray:
    """Columns with spreads near 1, by powers of two, which round nothing.

    Trees take values for equal that differ by less than 1e-7.
    """
    return np.ldexp(columns, -np.frexp(columns.std(0))[1])


def _sides(
    x: np.ndarray, given: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Inputs without what x says, and with it.

    Shuffled rather than left out: a useless column leads a tree astray now and then, and both
    sides must run the same risk.
    """
    shuffled = rng.permutation(x)
    return np.concatenate([shuffled, given], axis=1), np.concatenate([x, given], axis=1)


def _tree_error(
    inputs: np.ndarray,
    y: np.ndarray,
    split: Split,
    leaf_size: int,
    rng: np.random.Generator,
) -> float:
    """Mean squared error of a regression tree on held-out samples, never quite 0."""
    fitted, held_out = split
    tree = _library("sklearn.tree").DecisionTreeRegressor(
        min_samples_leaf=leaf_size, random_state=int(rng.integers(2**31))
    )
    found = tree.fit(inputs[fitted], y[fitted]).predict(inputs[held_out])
    error = np.square(y[held_out] - found.reshape(y[held_out].shape)).mean()
    return float(error) + _ROUNDING**2


@contextmanager
def _numpy_seed(rng: np.random.Generator) -> Iterator[None]:
    """causal-learn draws from NumPy's global generator: seed it, and put it back afterwards."""
    state = np.random.get_state()
    np.random.seed(int(rng.integers(2**31)))
    try:
        yield
    finally:
        np.random.set_state(state)
