"""A class-level graph as a picture: sources are rows, targets are columns."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from oocdm.errors import GraphError
from oocdm.files import write_atomically
from oocdm.graph import ClassEdges, ClassGraph, Edge, Evidence
from oocdm.graph.class_graph import GivenGraph
from oocdm.reading import checked
from oocdm.report.variable_adjacency import draw_variables
from oocdm.schema import Schema

Shade = str | tuple[float, float, float, float]

SHADES = LinearSegmentedColormap.from_list("scores", ["#ffffff", "#c6dbef", "#4292c6", "#08306b"])
EDGE, NO_EDGE, IMPOSSIBLE, FRAME = "#08306b", "#ffffff", "#e9e9e9", "#b8b8b8"
EXTRA, MISSED = "#d62728", "#ff7f0e"  # outlines of wrong edges
CELL = 0.42  # inches
GAP = 0.3  # cells between two classes
SECTION_GAP = 0.9  # cells between local and global sources
MARGIN = 0.06  # cells around a panel, so that outer lines are whole
LETTER = 0.16  # cells that a letter of a label takes
DPI = 150
_CENTRED: Any = {"ha": "center", "va": "center"}


@dataclass(frozen=True)
class _Source:
    """One row of the picture."""

    class_name: str
    field_name: str
    is_local: bool

    @property
    def group(self) -> str:
        return f"{'local' if self.is_local else 'global'}, {self.class_name}"

    @property
    def label(self) -> str:
        owner = "self" if self.is_local else f"{self.class_name}[*]"
        return f"{owner}.{self.field_name}"


class _Layout:
    """Where every source, target and edge stands; units are cells, y points down."""

    def __init__(self, schema: Schema) -> None:
        index = ClassEdges.of(schema)
        classes = schema.classes
        self.sources = [
            _Source(c, f, is_local)
            for is_local in (True, False)
            for c in classes
            if schema.targets(c) or not is_local
            for f in schema.fields(c)
        ]
        self.targets = [(c, v) for c in classes for v in schema.targets(c)]
        self.x = _places([c for c, _ in self.targets], [""] * len(self.targets))
        self.y = _places(
            [s.group for s in self.sources], ["local" if s.is_local else "" for s in self.sources]
        )
        self.width, self.height = self.x[-1] + 1, self.y[-1] + 1
        # How far labels reach: row labels, then groups to the left; column labels above.
        self.label_width = 0.5 + LETTER * max(len(s.label) for s in self.sources)
        self.left = self.label_width + 0.3 + LETTER * max(len(s.group) for s in self.sources)
        self.label_height = 0.6 + 0.65 * LETTER * max(len(v) + 1 for _, v in self.targets)
        self.edges = [
            (row, column, index.position[edge])
            for row, s in enumerate(self.sources)
            for column, (c, v) in enumerate(self.targets)
            if (edge := Edge(s.class_name, s.field_name, c, v, s.is_local)) in index.position
        ]


def _places(groups: Sequence[str], sections: Sequence[str]) -> list[float]:
    """Starts of cells in a row, with a gap between groups and a larger one between sections."""
    places = [0.0]
    for i in range(1, len(groups)):
        gap = SECTION_GAP if sections[i] != sections[i - 1] else GAP
        places.append(places[-1] + 1 + (gap if groups[i] != groups[i - 1] else 0))
    return places


def draw_adjacency(
    graph: ClassGraph, evidence: Evidence | None = None, true: ClassGraph | None = None
) -> Figure:
    """The matrix of a graph, and beside it that of the true graph if it is known.

    Shades are scores in nats; a number stands in the cells of edges, and half the width of its
    interval below it. Open edges have a question mark. Wrong edges are outlined.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> graph = ClassGraph.full(Schema(Ball))
    >>> len(draw_adjacency(graph, true=graph).axes)
    2
    """
    if true is not None and true.schema != graph.schema:
        difference = graph.schema.difference(true.schema)
        raise GraphError(f"Cannot draw graphs of different schemas side by side: {difference}.")
    layout = _Layout(graph.schema)
    if evidence is not None and np.isnan(evidence.score).all():
        evidence = None  # nothing was measured
    is_tested = np.ones(graph.mask.size, dtype=bool)
    if evidence is not None:
        is_tested = ~np.isnan(evidence.score)
    panels = 1 if true is None else 2
    width = layout.left + panels * (layout.width + 1)
    top, bottom = layout.label_height + 1.8, 2.0
    height = top + layout.height + bottom
    figure = Figure(figsize=(CELL * width, CELL * height), dpi=DPI)

    def panel(left: float) -> Axes:
        box = (left / width, bottom / height, layout.width / width, layout.height / height)
        axes = figure.add_axes(box)
        axes.set(xlim=(-MARGIN, layout.width + MARGIN), ylim=(layout.height + MARGIN, -MARGIN))
        axes.axis("off")
        _label_columns(axes, layout)
        return axes

    first = panel(layout.left)
    _label_rows(first, layout)
    _draw_panel(first, layout, graph, evidence, is_tested)
    _title(first, layout, graph, "graph" if true is None else "learned")
    if true is not None:
        _outline_wrong(first, layout, graph, true)
        second = panel(layout.left + layout.width + 1)
        _draw_panel(second, layout, true, None, is_tested)
        _title(second, layout, true, "true")
    _draw_legend(first, layout, evidence, true is not None)
    return figure


@checked(GraphError)
def save_adjacency(
    path: str | Path,
    graph: GivenGraph,
    evidence: Annotated[Evidence, "A fit and a discovery have it: `evidence`."] | None = None,
    true: Annotated[ClassGraph, "Environments have it: `true_graph`."] | None = None,
) -> None:
    """Write the picture of a graph, of classes or variables, as a PNG file, whole or not at all."""
    buffer = io.BytesIO()
    if isinstance(graph, ClassGraph):
        figure = draw_adjacency(graph, evidence, true)
    else:
        figure = draw_variables(graph, evidence, true)
    figure.savefig(buffer, format="png", bbox_inches="tight")
    write_atomically(Path(path), buffer.getvalue())


def _draw_panel(
    axes: Axes,
    layout: _Layout,
    graph: ClassGraph,
    evidence: Evidence | None,
    is_tested: np.ndarray,
) -> None:
    top = 1e-3 if evidence is None else float(np.nanmax([*evidence.score, 1e-3]))
    # Finer near 0, where decisions are made.
    norm = PowerNorm(0.5, vmin=0, vmax=top, clip=True)
    for y in layout.y:
        for x in layout.x:
            axes.add_patch(Rectangle((x, y), 1, 1, facecolor=IMPOSSIBLE, edgecolor="none"))
    for row, column, position in layout.edges:
        x, y = layout.x[column], layout.y[row]
        is_in = bool(graph.mask[position])
        if evidence is not None and is_tested[position]:
            shade = float(norm(evidence.score[position]))
            _draw_cell(axes, x, y, SHADES(shade))
            _write_cell(axes, x, y, evidence, position, is_in, "white" if shade > 0.5 else "black")
        elif is_in or is_tested[position]:
            _draw_cell(axes, x, y, EDGE if is_in else NO_EDGE)
            if evidence is not None and evidence.decision[position] == "required":
                axes.text(x + 0.5, y + 0.53, "given", color="white", size=5.5, **_CENTRED)


def _write_cell(
    axes: Axes, x: float, y: float, evidence: Evidence, position: int, is_in: bool, ink: str
) -> None:
    if is_in:
        half = (evidence.high[position] - evidence.low[position]) / 2
        score = _short(float(evidence.score[position]))
        axes.text(x + 0.5, y + 0.36, score, color=ink, size=7, **_CENTRED)
        if np.isfinite(half):
            axes.text(x + 0.5, y + 0.74, f"±{_short(half)}", color=ink, size=4.5, **_CENTRED)
    elif evidence.decision[position] == "undecided":
        axes.text(x + 0.5, y + 0.53, "?", color=ink, size=8, weight="bold", **_CENTRED)


def _outline_wrong(axes: Axes, layout: _Layout, graph: ClassGraph, true: ClassGraph) -> None:
    for row, column, position in layout.edges:
        is_in = bool(graph.mask[position])
        if is_in != bool(true.mask[position]):
            axes.add_patch(_outline(layout.x[column], layout.y[row], is_extra=is_in))


def _draw_cell(axes: Axes, x: float, y: float, shade: Shade) -> None:
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=shade, edgecolor=FRAME, linewidth=0.6))


def _short(score: float) -> str:
    return f"{score:.1f}" if score >= 0.95 else f"{score:.2f}".lstrip("0")


def _outline(x: float, y: float, is_extra: bool) -> Rectangle:
    return Rectangle(
        (x + 0.07, y + 0.07),
        0.86,
        0.86,
        fill=False,
        linewidth=2.2,
        edgecolor=EXTRA if is_extra else MISSED,
        linestyle="-" if is_extra else (0, (2, 1)),
    )


def _label_columns(axes: Axes, layout: _Layout) -> None:
    for x, (_, name) in zip(layout.x, layout.targets, strict=True):
        axes.text(x + 0.35, -0.2, f"{name}'", ha="left", va="bottom", size=8, rotation=40)
    for name, middle in _middles([c for c, _ in layout.targets], layout.x):
        axes.text(middle, -layout.label_height, name, size=8, weight="bold", **_CENTRED)


def _label_rows(axes: Axes, layout: _Layout) -> None:
    for y, source in zip(layout.y, layout.sources, strict=True):
        axes.text(-0.25, y + 0.5, source.label, ha="right", va="center", size=8)
    for name, middle in _middles([s.group for s in layout.sources], layout.y):
        axes.text(-layout.label_width, middle, name, ha="right", va="center", size=8, weight="bold")


def _middles(groups: Sequence[str], places: Sequence[float]) -> list[tuple[str, float]]:
    """The groups in order, each with the middle of its cells."""
    found = []
    for name in dict.fromkeys(groups):
        own = [place for group, place in zip(groups, places, strict=True) if group == name]
        found.append((name, (own[0] + own[-1] + 1) / 2))
    return found


def _title(axes: Axes, layout: _Layout, graph: ClassGraph, word: str) -> None:
    text = f"{word}: {int(graph.mask.sum())} edges"
    axes.text(0, -layout.label_height - 0.9, text, size=10, weight="bold")


def _draw_legend(axes: Axes, layout: _Layout, evidence: Evidence | None, has_true: bool) -> None:
    entries: list[tuple[Rectangle, str]] = []
    if evidence is not None:
        shaded = Rectangle((0, 0), 1, 1, facecolor=SHADES(0.6), edgecolor=FRAME)
        entries.append(
            (shaded, "shade: score in nats; an edge has its number ± interval; ? is open")
        )
    else:
        entries.append((Rectangle((0, 0), 1, 1, facecolor=EDGE, edgecolor=FRAME), "edge"))
    if has_true:
        entries.append((_outline(0, 0, is_extra=True), "wrong edge"))
        entries.append((_outline(0, 0, is_extra=False), "missed edge"))
    entries.append((Rectangle((0, 0), 1, 1, facecolor=IMPOSSIBLE), "cannot occur"))
    axes.legend(
        [patch for patch, _ in entries],
        [text for _, text in entries],
        bbox_to_anchor=(-0.2, layout.height + 0.2),
        bbox_transform=axes.transData,
        loc="upper left",
        frameon=False,
        fontsize=8,
        ncols=2 if has_true else 1,
        handlelength=1.2,
        handleheight=1.2,
    )
