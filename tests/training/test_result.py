"""What a fit returns."""

from __future__ import annotations

from dataclasses import replace

from oocdm.training import FitResult


def test_results_print_in_a_line(finished: dict[str, FitResult]) -> None:
    edges = len(finished["oofull"].graph.edges())
    text = f"FitResult(method oofull, seed 6, {edges} of {edges} possible edges)"
    assert repr(finished["oofull"]) == text


def test_what_predicts_beyond_the_claim_is_told(finished: dict[str, FitResult]) -> None:
    result = finished["oofull"]
    names = list(map(str, result.graph.edges()))
    claimed = type(result.graph).parse(result.schema, names[1:])
    fewer = replace(result, graph=claimed)
    assert result.kept_undecided == () and fewer.kept_undecided == (names[0],)
    assert repr(fewer).endswith("possible edges, predicts with 1 undecided one as well)")
    assert "not settled" in repr(replace(fewer, settled=False))
