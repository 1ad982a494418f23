"""Discovery with a trained model, on any data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from oocdm.data.dataset import Dataset
from oocdm.discovery import Discovery, Settling
from oocdm.errors import ModelError
from oocdm.methods import Oocdm
from oocdm.models.prepared import Prepared
from oocdm.training.fit import FitResult


def discover(
    result: FitResult,
    data: Dataset,
    threshold: float | None = None,
    progress: Settling | None = None,
) -> Discovery:
    """What the method of a run discovers on a dataset, searching around the run's graph.

    The network used is the one before polishing, which predicts under many graphs. Data that it
    was fitted on flatter the edges it has: give others. With a threshold in nats, edges are
    compared with it instead of tested. `progress` is told how many edges are settled.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=600, seed=0)
    >>> quick = oocdm.Schedule(iterations=1, steps_per_iteration=2, polish_steps=2)
    >>> result = oocdm.fit(data.head(300), seed=0, schedule=quick)
    >>> len(discover(result, data).evidence.score)
    84
    """
    method = result.method
    data.check_schema(result.schema, "the model")
    if threshold is not None:
        if not isinstance(method, Oocdm):
            raise ModelError(f"Method `{method.name}` has no threshold.")
        method = replace(method, threshold=threshold)
    testable = result.graph.index.testable(data.max_counts)
    _, free = method.start(result.schema, None, testable)
    estimate = result.model.structures(result.graph)[0].bool().cpu().numpy()
    estimate[: len(testable)] &= testable
    # Discovery may stop early: the transitions that it sees first must be any of them.
    rows = np.random.default_rng(result.seed).permutation(len(data))
    prepared = Prepared.of(result.learned, data, rows)
    found = method.discover(result.learned, prepared, estimate, free, settling=progress)
    if found is None:
        raise ModelError(f"Method `{method.name}` does not discover a graph.")
    return found
