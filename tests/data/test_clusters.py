"""Clusters of transitions: episodes, or stretches of the few that there are."""

from __future__ import annotations

import numpy as np

import oocdm
from oocdm.data.clusters import clusters_of
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prepared import Prepared


def test_few_episodes_are_cut_into_stretches() -> None:
    clusters = clusters_of(np.repeat([3, 5], 50))
    assert len(np.unique(clusters)) == 20 and (np.diff(clusters) >= 0).all()
    many = clusters_of(np.repeat(np.arange(10) + 100, 4))
    assert np.array_equal(many, np.repeat(np.arange(10), 4))


def test_clusters_follow_their_transitions_into_any_order() -> None:
    data = oocdm.collect(oocdm.make("block", num_blocks=2), steps=60, seed=0)
    assert len(np.unique(data.episode_of)) < 8 < len(np.unique(data.clusters))
    rows = np.random.default_rng(0).permutation(len(data))
    prepared = Prepared.of(OocdmModel(data.schema, ModelOptions(), None), data, rows)
    assert np.array_equal(prepared.cluster.numpy(), data.clusters[rows])
