"""Methods without a graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oocdm
from oocdm import (
    FitResult,
    GraphError,
    ModelError,
)
from oocdm.methods import make_method
from tests.methods.toys import DATA, DENSE, FULL, QUICK, TRUE, built, states


@pytest.mark.parametrize("name", DENSE)
def test_dense_methods_do_not_discover(name: str, fitted: dict[str, FitResult]) -> None:
    assert fitted[name].graph == FULL
    with pytest.raises(ModelError, match=f"^Method `{name}` does not discover a graph.$"):
        oocdm.discover(fitted[name], DATA)
    with pytest.raises(GraphError, match="cannot keep to a graph"):
        oocdm.fit(DATA, name, graph=TRUE)
    with pytest.raises(ModelError, match="expected the full graph"):
        fitted[name].model.compile_for(TRUE)(states(2))


@pytest.mark.parametrize("name", DENSE)
def test_dense_methods_refuse_to_leave_edges_out(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(GraphError, match="reads all variables, but the priors forbid some edges"):
        oocdm.fit(DATA, name, priors=["Ball.x <- !self.push"], schedule=QUICK, folder=folder)
    assert not folder.exists()


@pytest.mark.parametrize("name", DENSE)
def test_nothing_is_free_and_the_full_graph_is_no_restriction(name: str) -> None:
    layout = built(name).layout
    everything = np.ones(layout.num_edges, dtype=bool)
    for known in (None, everything):
        start, free = make_method(name).start(layout, known, ~everything)
        assert start == layout.structure(True) and not free.any()
