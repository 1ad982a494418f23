"""What the paper reports."""

from __future__ import annotations

from oocdm.bench.cells import EXPERIMENTS
from oocdm.bench.figures import paper_figures
from oocdm.methods import method_names

AUGMENTED = ("oocdm+", "oofull+")  # the paper's, for objects of a class that differ


def test_figures_are_of_our_experiments_and_methods() -> None:
    figures = dict(paper_figures())
    methods = {*method_names(), *AUGMENTED}
    assert set(figures.pop("discovery_complexity")) <= methods
    for kind, by_env in figures.items():
        assert set(by_env) <= set(EXPERIMENTS), kind
        for found in by_env.values():
            for by_method in found.values() if kind == "aill" else [found]:
                assert set(by_method) <= methods


def test_accuracies_are_per_cent() -> None:
    accuracies = [a for by in paper_figures()["graph_accuracy"].values() for a in by.values()]
    assert 50 < max(accuracies) <= 100 and min(accuracies) >= 0
