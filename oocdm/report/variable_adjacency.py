"""A graph between single variables as a picture: sources are rows, targets are columns."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from oocdm.graph import ClassGraph, Evidence, VariableGraph

CELL = 0.16  # inches
ABSENT, PRESENT, EXTRA, MISSED = range(4)
COLOURS = ("#ffffff", "#08306b", "#d62728", "#ff7f0e")
WORDS = ("", "edge", "wrong edge", "missed edge")


def draw_variables(
    graph: VariableGraph, evidence: Evidence | None = None, true: ClassGraph | None = None
) -> Figure:
    """The matrix of a graph between variables; with scores beside it if there are any.

    >>> names = ("Ball[0].x", "Ball[1].x")
    >>> len(draw_variables(VariableGraph(names, names, np.eye(2))).axes)
    1
    """
    has_scores = evidence is not None and not np.isnan(evidence.score).all()
    rows, columns = graph.matrix.shape
    panels = 2 if has_scores else 1
    figure = Figure(
        figsize=(panels * (CELL * columns + 1.6) + has_scores, CELL * rows + 1.8), dpi=150
    )
    axes = figure.subplots(1, panels, squeeze=False)[0]
    kind = np.where(graph.matrix, PRESENT, ABSENT)
    if true is not None:
        is_true = graph.matching(true).matrix
        kind[graph.matrix & ~is_true], kind[~graph.matrix & is_true] = EXTRA, MISSED
    axes[0].imshow(kind, cmap=ListedColormap(COLOURS), vmin=0, vmax=3, aspect="equal")
    axes[0].set_title(f"{int(graph.matrix.sum())} edges", fontsize=8)
    shown = [k for k in (PRESENT, EXTRA, MISSED) if (kind == k).any()]
    if true is not None and shown:
        patches = [Patch(color=COLOURS[k], label=WORDS[k]) for k in shown]
        figure.legend(handles=patches, loc="lower center", ncols=3, fontsize=6, frameon=False)
    if evidence is not None and has_scores:
        scores = evidence.score.reshape(graph.matrix.shape)
        image = axes[1].imshow(scores, cmap="Blues", vmin=0, aspect="equal")
        axes[1].set_title("score", fontsize=8)
        figure.colorbar(image, ax=axes[1], shrink=0.7).ax.tick_params(labelsize=6)
    for each in axes:
        each.set_xticks(range(columns), graph.outputs, rotation=90, fontsize=5)
        each.set_yticks(range(rows), graph.inputs, fontsize=5)
        each.tick_params(length=0, top=True, bottom=False, labeltop=True, labelbottom=False)
        _draw_lines(each, graph)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


def _draw_lines(axes: Axes, graph: VariableGraph) -> None:
    """A line wherever another object begins."""
    for names, draw in ((graph.inputs, axes.axhline), (graph.outputs, axes.axvline)):
        owners = [name.rpartition(".")[0] for name in names]
        for i in range(1, len(owners)):
            if owners[i] != owners[i - 1]:
                draw(i - 0.5, color="#b8b8b8", linewidth=0.4)
