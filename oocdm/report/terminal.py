"""Graphs and tables as text for a terminal, coloured where it can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from oocdm.graph import ClassGraph, EdgeEvidence, Evidence, Graph
from oocdm.inference.words import counted

if TYPE_CHECKING:
    from oocdm.inference.evaluate import Evaluation
    from oocdm.online import Part, Round
    from oocdm.planning import EpisodeResults

RIGHT, WRONG = "✓", "✗"
MOST_CHANGES = 6  # of edges that are named in a line; the others are counted


def graph_text(
    graph: Graph, evidence: Evidence | None = None, true: ClassGraph | None = None
) -> Text:
    """A graph as it prints, one target a row, with scores; marked against the true one.

    Half the width of a score's interval stands beside it. Edges that are still open come last.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    ...     v = Real()
    >>> found = ClassGraph.parse(Schema(Ball), ["Ball.x <- self.x", "Ball.v <- self.v, self.x"])
    >>> true = ClassGraph.parse(Schema(Ball), ["Ball.x <- self.x, self.v", "Ball.v <- self.v"])
    >>> print(graph_text(found, true=true))
    ✗ Ball.x <- self.x, self.v (missed)
    ✗ Ball.v <- self.x (wrong), self.v
    >>> print(graph_text(found.ground({"Ball": 1})))
    Ball[0].x <- Ball[0].x
    Ball[0].v <- Ball[0].x, Ball[0].v
    """
    wanted: Graph = graph if true is None else graph.matching(true)
    shown, rows = graph | wanted, []
    for target in graph.targets:
        parts, is_right = [], True
        for edge in shown.edges(target):
            is_in, is_true = str(edge) in graph, str(edge) in wanted
            is_right &= is_in == is_true
            notes = [] if evidence is None else _notes(evidence[str(edge)])
            parts.append(_source_text(edge.source, is_in, is_true, true is not None, notes))
        row = Text() if true is None else _mark(is_right)
        row.append(f"{target} <- ")
        rows.append(row.append_text(Text(", ").join(parts) if parts else Text("(nothing)")))
    if evidence is not None:
        rows += _open_rows(evidence)
    return Text("\n").join(rows)


def _open_rows(evidence: Evidence) -> list[Text]:
    """The edges that the data leave open, most helpful first."""
    is_open = (evidence.decision == "undecided") & ~np.isnan(evidence.score)
    said = [evidence[evidence.edges.names[i]] for i in np.flatnonzero(is_open)]
    rows = []
    for each in sorted(said, key=lambda each: -each.score):
        row = Text(f"? {each.edge}", "yellow")
        rows.append(row.append(f" ({_score(each)}, open)", "dim"))
    return rows


def _score(said: EdgeEvidence) -> str:
    half = (said.high - said.low) / 2
    return f"{said.score:.2f}" + ("" if np.isnan(half) else f" ± {half:.2f}")


def _notes(said: EdgeEvidence) -> list[str]:
    notes = [] if np.isnan(said.score) else [_score(said)]
    return [*notes, said.decision] if said.decision in ("required", "forbidden") else notes


def _mark(is_right: bool) -> Text:
    return Text().append(*((f"{RIGHT} ", "green") if is_right else (f"{WRONG} ", "bold red")))


def _source_text(name: str, is_in: bool, is_true: bool, is_judged: bool, notes: list[str]) -> Text:
    style = "green" if is_judged else "bold"
    if not is_in:
        notes, style = [*notes, "missed"], "yellow"
    elif not is_true:
        notes, style = [*notes, "wrong"], "bold red"
    text = Text().append(name, style)
    return text.append(f" ({', '.join(notes)})", style="dim") if notes else text


def comparison_text(graph: ClassGraph, true: ClassGraph) -> Text:
    """In one sentence, how a graph compares with the true one.

    >>> from oocdm.schema import ObjectClass, Real, Schema
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> full = ClassGraph.full(Schema(Ball))
    >>> print(comparison_text(full, full))
    The graph is exact: all 2 true edges, and no other.
    >>> print(comparison_text(full, ClassGraph.parse(Schema(Ball), ["Ball.x <- self.x"])))
    Of 1 true edges 1 were found and 0 missed; 1 of the edges found are wrong.
    """
    found = graph.compare(true)
    if found.shd == 0:
        sentence = f"The graph is exact: all {found.true_edges} true edges, and no other."
        return Text(sentence, style="green")
    return Text(
        f"Of {found.true_edges} true edges {found.true_edges - found.missing} were found and "
        f"{found.missing} missed; {found.extra} of the edges found are wrong.",
        style="yellow",
    )


def text_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A plain table; columns of numbers are aligned to the right.

    >>> [column.justify for column in text_table(["field", "rmse"], [["Ball.x", "0.25"]]).columns]
    ['left', 'right']
    """
    cells = [list(row) for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=True)
    for i, name in enumerate(columns):
        column = [row[i] for row in cells if row[i]]
        is_right = bool(column) and all(_is_number(cell) for cell in column)
        table.add_column(name, justify="right" if is_right else "left")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    return table


def evaluation_table(evaluation: Evaluation) -> Table:
    """The quality of every field: log-likelihood in nats, error, coverage of the 90 % interval.

    >>> from oocdm.inference import Evaluation
    >>> evaluation_table(Evaluation(1.0, {}, 10)).row_count
    0
    """
    rows = [
        (
            name,
            _number(field.log_likelihood, ".3f"),
            _number(field.rmse, ".4g"),
            _number(field.accuracy, ".4f"),
            _number(field.coverage, ".3f"),
        )
        for name, field in evaluation.fields.items()
    ]
    return text_table(["field", "log-likelihood", "rmse", "accuracy", "90 % interval covers"], rows)


def episodes_table(results: Mapping[str, EpisodeResults]) -> Table:
    """What agents earned in their episodes, one agent a row.

    >>> from oocdm.planning import EpisodeResults
    >>> results = EpisodeResults(np.array([1.0, 3.0]), np.array([10, 30]), 0.5)
    >>> episodes_table({"planned": results}).row_count
    1
    """
    rows = [
        (
            name,
            short_number(found.mean_return) + _error(found.standard_error),
            f"{found.mean_length:.0f} ({found.lengths.min()} to {found.lengths.max()})",
            f"{1000 * found.seconds_a_step:.1f}",
        )
        for name, found in results.items()
    ]
    return text_table(["acting with", "mean return", "steps an episode", "ms a step"], rows)


def cells_table(cells: Iterable[Mapping[str, Any]]) -> Table:
    """The cells of `oocdm bench paper`, one per row.

    >>> cells_table([{"env": "block2", "method": "oocdm", "seed": 0, "graph_accuracy": 1.0,
    ...     "aill_train": 22.5, "aill_id": 22.4, "aill_ood": 21.5, "seconds": 90.0}]).row_count
    1
    """
    names = ("graph_accuracy", "aill_train", "aill_id", "aill_ood", "seconds")
    rows = [
        (
            cell["env"] + (" (paper)" if cell.get("variant") == "paper" else ""),
            *(str(cell[name]) for name in ("method", "seed")),
            *(_number(cell[name], ".4f" if name == "graph_accuracy" else ".2f") for name in names),
        )
        for cell in cells
    ]
    return text_table(["env", "method", "seed", *(n.replace("_", " ") for n in names)], rows)


def speed_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The comparison of `oocdm bench speed`, one piece of work a row.

    >>> work = {"fast_ms": 10.0, "reference_ms": 90.0, "ratio": 9.0}
    >>> speed_table([{"env": "block5", "preset": "paper", "training": work}]).row_count
    1
    """
    names = ("fast_ms", "reference_ms", "ratio", "fast_peak_mb", "reference_peak_mb")
    cells = [
        (row["env"], row["preset"], work, *(_number(figures.get(n), ".1f") for n in names))
        for row in rows
        for work, figures in row.items()
        if isinstance(figures, Mapping)
    ]
    return text_table(["env", "preset", "work", *(n.replace("_", " ") for n in names)], cells)


def samples_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The fits of `oocdm bench samples`, one per row.

    >>> row = {"env": "block5", "transitions": 500, "seed": 0, "wrong": {"automatic": 3}}
    >>> samples_table([row | {"open": 2, "possible": 80, "seconds": 9.0}]).row_count
    1
    """
    found = list(rows)
    return text_table(samples_header(found), [samples_cells(row) for row in found])


def samples_header(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The columns of `samples_cells`."""
    rules = [
        f"wrong, {name}" if name == "automatic" else f"wrong, threshold {name}"
        for name in (rows[0]["wrong"] if rows else ())
    ]
    return ["environment", "transitions", "seed", *rules, "open", "possible", "seconds"]


def samples_cells(row: Mapping[str, Any]) -> list[str]:
    """One fit of `oocdm bench samples` as text."""
    counts = [str(n) for n in (*row["wrong"].values(), row["open"], row["possible"])]
    first = [row["env"], f"{row['transitions']:,}", str(row["seed"])]
    return [*first, *counts, f"{row['seconds']:.0f}"]


DECISIONS = ["environment", "edges", "fast seconds", "reference seconds", "ratio", "same decisions"]


def decisions_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The comparison of `oocdm bench decisions`, one environment a row.

    >>> row = {"env": "mouse", "edges": 9, "fast_seconds": 1.0, "reference_seconds": 60.0}
    >>> decisions_table([row | {"ratio": 60.0, "same_decisions": 9}]).row_count
    1
    """
    return text_table(DECISIONS, [decisions_cells(row) for row in rows])


def decisions_cells(row: Mapping[str, Any]) -> list[str]:
    """One environment of `oocdm bench decisions` as text."""
    return [
        row["env"],
        str(row["edges"]),
        f"{row['fast_seconds']:.2f}",
        f"{row['reference_seconds']:.1f}",
        f"{row['ratio']:.0f}x",
        f"{row['same_decisions']} of {row['edges']}",
    ]


UNITS = ["world", "units", "edges that differ", "largest difference of errors", "same", "seconds"]


def units_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """The comparison of `oocdm bench units`, one world in one unit a row.

    >>> row = {"world": "block2", "units": "2^27", "different_edges": {}, "difference": 0.001}
    >>> units_table([row | {"is_same": True, "seconds": 60.0}]).row_count
    1
    """
    return text_table(UNITS, [units_cells(row) for row in rows])


def units_cells(row: Mapping[str, Any]) -> list[str]:
    """One world of `oocdm bench units` in one unit as text."""
    edges = [f"{edge} ({' / '.join(each)})" for edge, each in row["different_edges"].items()]
    return [
        row["world"],
        row["units"],
        ", ".join(edges) or "none",
        f"{100 * row['difference']:.2g} %",
        "yes" if row["is_same"] else "no",
        f"{row['seconds']:.0f}",
    ]


def growth_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """How the cost of one sample grows with the number of blocks.

    >>> growth_table([{"blocks": 5, "preset": "paper", "training_ms_a_sample": 0.1}]).row_count
    1
    """
    names = list(rows[0]) if rows else []
    cells = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()] for row in rows]
    return text_table([name.replace("_", " ") for name in names], cells)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def say_part(part: Part) -> str:
    """What online learning collected at once, in a line.

    >>> from oocdm.online import Part
    >>> print(say_part(Part(2, 3000, 4, 1.5, 0.01, 12.0)))
    3,000 transitions: return 1.50 in 4 whole episodes, AILL 12.00 before learning
    """
    earned = (
        f"reward {short_number(part.reward)} a step"
        if part.mean_return is None
        else f"return {short_number(part.mean_return)} in {counted(part.episodes, 'whole episode')}"
    )
    known = (
        "no model yet" if part.aill is None else f"AILL {short_number(part.aill)} before learning"
    )
    return f"{part.transitions:,} transitions: {earned}, {known}"


def say_round(done: Round) -> str:
    """What a round of online learning changed in the graph, in a line.

    >>> from oocdm.online import Round
    >>> print(say_round(Round(1, 90, 90, ("A.x <- self.x",), ("A.x <- self.x",), (), True, 1.0)))
    Round 1, learned from 90 transitions: 1 edge, + A.x <- self.x
    """
    changed = [f"+ {edge}" for edge in done.added] + [f"- {edge}" for edge in done.removed]
    shown, more = changed[:MOST_CHANGES], len(changed) - MOST_CHANGES
    rest = [f"and {more} more"] if more > 0 else []
    start = f"Round {done.round}, learned from {done.kept:,} transitions"
    return f"{start}: {', '.join([counted(len(done.edges), 'edge'), *shown, *rest])}"


def short_number(number: float) -> str:
    """A number with two decimals, or with three digits where decimals would hide it.

    >>> short_number(12.345), short_number(0.0), short_number(1.2345e-8)
    ('12.35', '0.00', '1.23e-08')
    """
    return f"{number:.2f}" if abs(number) >= 0.1 or number == 0 else f"{number:.3g}"


def _error(value: float) -> str:
    """A standard error, if there is one."""
    return "" if np.isnan(value) else f" ± {short_number(value)}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
