"""Discovery with a trained model, on any data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery, OnSettled
from oocdm.errors import ModelError
from oocdm.graph import Evidence, Priors, Structure
from oocdm.graph.priors import PriorKnowledge
from oocdm.inference.fitted import check_fit, checked_data, checked_result
from oocdm.methods import AbstractMethod, DataInquiry, Inquiry
from oocdm.models.prepared import Prepared
from oocdm.reading import checked
from oocdm.training.given import keep_given
from oocdm.training.result import FitResult


@checked(ModelError)
def discover(
    result: FitResult,
    data: Dataset,
    threshold: float | None = None,
    progress: OnSettled | None = None,
    priors: PriorKnowledge = None,
) -> Discovery:
    """What the method of a run discovers on a dataset, searching around the run's graph.

    The network used is the one before polishing, which predicts under many graphs. Data that it
    was fitted on flatter the edges it has: give others. With a threshold in nats, edges are
    compared with it instead of tested. `progress` is told how many edges are settled.

    What the run knew of single edges holds again, unless `priors` take its place; `[]` is nothing.
    A network can only be asked about edges that its run was free to find: it has never seen those
    that were given otherwise. They stay as they were, and a run that was given its whole graph is
    refused, unless its method asks the data alone.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=600, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data.head(300), seed=0, schedule=quick)
    >>> len(discover(result, data).evidence.score)
    84
    """
    method = _method("discover", result, data, threshold)
    check_fit("discover", result, data)
    method.check_data(data)
    edges = result.model.edges
    testable = edges.testable(data.max_counts, data.constants)
    known = _known(method, result, priors).over(edges)
    estimate, free = _start(method, result, known, testable)
    # Discovery may stop early: the transitions that it sees first must be any of them.
    rows = np.random.default_rng(result.seed).permutation(len(data))
    prepared = Prepared.of(result.learned, data, rows)  # refuses other numbers of objects, too
    weights = known.weights(free.edges)
    found = method.discover_first(DataInquiry(data, free, result.seed, weights, progress))
    if found is None:
        free = _seen_both_ways(method, result, free)
        weights = known.weights(free.edges)
        asked = Inquiry(result.learned, prepared, estimate, free, weights, progress)
        inquiry = replace(asked, limits=result.evidence.limit)
        found = method.discover(inquiry)
    if found is None:
        raise _finds_none(method)
    return keep_given(f"Method `{method.name}`: `discover`", found, estimate, free, testable)


def _known(method: AbstractMethod, result: FitResult, priors: PriorKnowledge) -> Priors:
    """What is known of single edges: by the run, unless it is said anew."""
    if priors is None:
        return Priors.of(result.schema, result.priors)
    known = Priors.of(result.schema, priors)
    method.check_priors(known)
    return known


def _start(
    method: AbstractMethod, result: FitResult, known: Priors, testable: np.ndarray
) -> tuple[Structure, Structure]:
    """The structure to search around, and which elements of it may change."""
    _, free = method.start(result.model.layout, None, testable)
    if not (free.any() and _discovers(method)):
        raise _finds_none(method)
    free = free.with_edges(free.edges & ~(known.required | known.forbidden))
    if not free.edges.any():
        raise ModelError("discover: the priors tell of all edges: none is left to be found.")
    estimate = result.model.structure(result.graph)
    return estimate.with_edges(known.apply(estimate.edges & testable)), free


def _discovers(method: AbstractMethod) -> bool:
    """Whether the method has any way to find a graph."""
    ways = ("discover_first", "discover")
    return any(getattr(type(method), way) is not getattr(AbstractMethod, way) for way in ways)


def _seen_both_ways(method: AbstractMethod, result: FitResult, free: Structure) -> Structure:
    """The free elements without edges that the network has never seen there, or never seen gone."""
    was_free = np.isin(result.evidence.decision, ["yes", "no", "undecided"])
    free = free.with_edges(free.edges & was_free)
    if not free.edges.any():
        raise ModelError(
            f"discover: method `{method.name}` asks its network about edges, and that of this "
            "run was given its graph: it has never seen another. Fit without the graph."
        )
    return free


def _finds_none(method: AbstractMethod) -> ModelError:
    return ModelError(f"Method `{method.name}` does not discover a graph.")


@checked(ModelError)
def discover_variables(
    result: FitResult,
    data: Dataset,
    threshold: float | None = None,
    progress: OnSettled | None = None,
) -> Evidence:
    """Which of the edges of a run's graph hold between which single variables, on a dataset.

    For worlds in which objects of one class behave differently, and for data with the same objects
    in every step. Every variable is hidden in turn, and each target asked what that costs; so the
    run should have seen hidden variables, `fit(..., hide_variables=0.1)`. All else is as in
    `discover`.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=300, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data, seed=0, schedule=quick, hide_variables=0.1)
    >>> found = discover_variables(result, data, threshold=0.1)
    >>> found.graph.outputs[:3]
    ('Block[0].s1', 'Block[0].s2', 'Block[0].s3')
    >>> len(found.score)
    120
    """
    method = _method("discover_variables", result, data, threshold)
    check_fit("discover_variables", result, data)
    return method.discover_variables(result.learned, result.graph, data, progress)


def _method(
    where: str, result: FitResult, data: Dataset, threshold: float | None
) -> AbstractMethod:
    """The method of a run, with another threshold if there is one; refuses what is no run."""
    checked_result(where, result)
    checked_data(where, data)
    method = result.method.after_training()
    return method if threshold is None else method.with_threshold(threshold)
