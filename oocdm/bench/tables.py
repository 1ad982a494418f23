"""Benchmark results as the tables of the docs: `python -m oocdm.bench.tables`.

Reads `benchmarks/results/` and writes the tables between the markers of `docs/benchmarks.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

from oocdm.bench.calibration import ALL_FAMILIES
from oocdm.bench.calibration_summary import POOLED, summarise_families
from oocdm.bench.cells import EXPERIMENTS
from oocdm.bench.figures import authors_curves, paper_figures
from oocdm.bench.logs import with_agreement
from oocdm.errors import FileError
from oocdm.files import write_atomically
from oocdm.files.reading import read_json
from oocdm.methods import METHODS
from oocdm.report.calibration_picture import save_calibration
from oocdm.report.calibration_rows import (
    FOUND,
    POWER,
    PREDICTED,
    found_cells,
    power_cells,
    predicted_cells,
)
from oocdm.report.comparison import comparison_rows, place
from oocdm.report.curves_picture import save_curves
from oocdm.report.curves_rows import CURVES, beside_rows, curve_rows
from oocdm.report.discovery_growth import growth_rows, save_discovery_growth
from oocdm.report.logs_rows import (
    GRAPHS,
    ROLLOUTS,
    SLOWED,
    graph_cells,
    rollout_rows,
    slowed_cells,
)
from oocdm.report.return_table import (
    GROWTH,
    PLANNING,
    RETURNS,
    UNSEEN,
    growth_cells,
    planning_cells,
    returns_cells,
    unseen_cells,
)
from oocdm.report.samples_picture import save_samples
from oocdm.report.terminal import (
    DECISIONS,
    decisions_cells,
    samples_cells,
    samples_header,
)

PICTURE = "calibration_families.png"
CURVES_PICTURE = "curves.png"

# Marker, files, header and cells of what is measured about acting.
PLANNING_TABLES = (
    ("returns", "returns-*.json", RETURNS, returns_cells),
    ("unseen", "unseen-*.json", UNSEEN, unseen_cells),
    ("planning", "planning-*threads.json", PLANNING, planning_cells),
    ("planning growth", "growth-*.json", GROWTH, growth_cells),
)


def main(root: Path = Path()) -> None:
    """Write the tables into the docs page."""
    results = root / "benchmarks" / "results"
    page = root / "docs" / "benchmarks.md"
    text = page.read_text()
    text = _put(text, "paper", paper_table(results / "paper"))
    for name, pattern, header, cells in PLANNING_TABLES:
        files = sorted((results / "planning").glob(pattern))
        if found := [read_json(p, FileError) for p in files]:
            found.sort(key=lambda row: row.get("objects", 0))
            text = _put(text, name, _markdown(header, map(cells, found)))
    if (results / "speed.json").is_file():
        speed = read_json(results / "speed.json", FileError)
        text = _put(text, "speed", speed_table(speed))
        text = _put(text, "growth", growth_table(speed))
    if decided := [read_json(p, FileError) for p in sorted((results / "decisions").glob("*.json"))]:
        text = _put(text, "decisions", _markdown(DECISIONS, map(decisions_cells, decided)))
    # Older results have no family in their names.
    if worlds := [read_json(p, FileError) for p in (results / "calibration").glob("*-*.json")]:
        worlds.sort(key=lambda w: (place(w["family"], ALL_FAMILIES), w["world_seed"]))
        text = _put(text, "calibration", calibration_tables(summarise_families(worlds)))
        save_calibration(page.parent / PICTURE, summarise_families(worlds))
    if logs := [read_json(p, FileError) for p in sorted((results / "logs").glob("*.json"))]:
        text = _put(text, "logs", logs_tables(with_agreement(logs)))
    if curves := [read_json(p, FileError) for p in sorted((results / "curves").glob("*.json"))]:
        text = _put(text, "curves", curves_tables(curves))
        save_curves(page.parent / CURVES_PICTURE, curves, authors_curves()["block5"])
    text = _compare_methods(text, results, page.parent)
    fits = [read_json(p, FileError) for p in (results / "samples").glob("*.json")]
    if fits:
        fits.sort(key=lambda fit: (fit["env"], fit["transitions"], fit["seed"]))
        text = _put(
            text, "samples", _markdown(samples_header(fits), [samples_cells(fit) for fit in fits])
        )
        save_samples(page.parent / "samples.png", fits)
    write_atomically(page, text.encode())


def _compare_methods(text: str, results: Path, docs: Path) -> str:
    """Methods side by side, and how the time of their discovery grows."""
    folder = results / "methods"
    cells = [read_json(p, FileError) for p in sorted(folder.glob("*-seed*.json"))]
    for name in ("graphs", "aill", "size") if cells else ():
        text = _put(text, f"methods {name}", methods_table(name, cells))
    if times := [_read_time(path) for path in sorted(folder.glob("time-*.json"))]:
        text = _put(text, "methods time", methods_table("time", times))
    growth = [read_json(p, FileError) for p in sorted(folder.glob("discovery-*.json"))]
    if growth:
        growth.sort(key=lambda row: place(row["method"], METHODS))
        complexity = paper_figures()["discovery_complexity"]
        text = _put(text, "methods growth", _markdown(*growth_rows(growth, complexity)))
        save_discovery_growth(docs / "discovery_growth.png", growth)
    return text


def _read_time(path: Path) -> dict[str, Any]:
    """A cell of the table of times; its environment is in the name of its file."""
    row = read_json(path, FileError)
    env = path.stem.removeprefix("time-").removesuffix(f"-{row['method']}")
    return {**row, "env": env, "discovery_seconds": row["seconds"]}


def methods_table(name: str, cells: list[dict[str, Any]]) -> str:
    """One of the paper's tables with a column for each method.

    Only cells of the default preset and of the released variant are in it; times have neither.
    """
    usual = {"preset": "default", "variant": "released"}
    chosen = [c for c in cells if all(c.get(k, value) == value for k, value in usual.items())]
    chosen.sort(key=lambda c: place(c["env"], EXPERIMENTS))
    header, rows = comparison_rows(name, chosen, paper_figures())
    return _markdown(header, rows)


def paper_table(folder: Path) -> str:
    """One row a cell, the paper's figures in brackets."""
    cells = [read_json(path, FileError) for path in sorted(folder.glob("*.json"))]
    cells.sort(
        key=lambda c: (
            c["preset"] != "default",
            c["variant"] != "released",
            list(EXPERIMENTS).index(c["env"]),
            c["seed"],
        )
    )
    header = [
        "environment", "variant", "preset", "seed", "graph accuracy", "wrong edges", "AILL train",
        "AILL i.d.", "AILL o.o.d.", "minutes", "steps", "threads", "date",
    ]  # fmt: skip
    rows = []
    for cell in cells:
        aill = paper_figures()["aill"][cell["env"]]
        rows.append(
            [
                cell["env"],
                cell["variant"],
                cell["preset"],
                str(cell["seed"]),
                *_graph_cells(cell),
                *(
                    f"{_short(cell[f'aill_{kind}'])} ({aill[kind]['oocdm']})"
                    for kind in ("train", "id", "ood")
                ),
                f"{cell['seconds'] / 60:.1f}",
                " + ".join(f"{n:,}" for n in cell["steps"].values()),
                str(cell["threads"]),
                cell["date"],
            ]
        )
    return _markdown(header, rows)


def _graph_cells(cell: dict[str, Any]) -> list[str]:
    """Accuracy and number of wrong edges; nothing where the true graph is unknown."""
    if cell["graph_accuracy"] is None:
        return ["", ""]
    text = f"{100 * cell['graph_accuracy']:.2f} %"
    paper = paper_figures()["graph_accuracy"].get(cell["env"])
    if paper is not None:  # it has none where objects of a class differ
        text += f" ({paper['oocdm']} %)"
    return [text, str(len(cell["wrong_class_edges"]))]


def speed_table(speed: dict[str, Any]) -> str:
    """Milliseconds and memory of both implementations, and the ratio of times."""
    rows = []
    for row in speed["rows"]:
        for task in ("training", "discovery", "prediction"):
            figures = row[task]
            rows.append(
                [
                    row["env"],
                    row["preset"],
                    task,
                    f"{figures['fast_ms']:,.1f}",
                    f"{figures['reference_ms']:,.1f}",
                    f"{figures['ratio']:.1f}x",
                    *(_megabytes(figures[f"{name}_peak_mb"]) for name in ("fast", "reference")),
                ]
            )
    header = ["environment", "preset", "task", "fast ms", "reference ms", "ratio"]
    header += ["fast MB", "reference MB"]
    return _markdown(header, rows)


def growth_table(speed: dict[str, Any]) -> str:
    """Milliseconds a sample as blocks grow."""
    names = ("training", "prediction", "discovery")
    rows = [
        [
            str(row["blocks"]),
            row["preset"],
            *(f"{row[f'{name}_ms_a_sample']:.3f}" for name in names),
        ]
        for row in speed["growth"]
    ]
    return _markdown(["blocks", "preset", *(f"{name} ms a sample" for name in names)], rows)


def calibration_tables(summary: dict[str, Any]) -> str:
    """Errors and nats of each family, the power over what edges are worth, and their picture."""
    tables = [
        _markdown(FOUND, [found_cells(*each) for each in summary.items()]),
        _markdown(POWER, map(power_cells, summary[POOLED]["curve"])),
        _markdown(PREDICTED, [predicted_cells(*each) for each in summary.items()]),
        f"![Errors, power and coverage]({PICTURE})",
    ]
    return "\n\n".join(tables)


def logs_tables(cells: list[dict[str, Any]]) -> str:
    """Graphs, rollouts and what is slowed, of fits to other people's simulators."""
    tables = [
        _markdown(GRAPHS, map(graph_cells, cells)),
        _markdown(ROLLOUTS, rollout_rows(cells)),
        _markdown(SLOWED, map(slowed_cells, cells)),
    ]
    return "\n\n".join(tables)


def curves_tables(cells: list[dict[str, Any]]) -> str:
    """The authors' curves with ours of the paper's preset beside, and those of the default."""
    curves = {
        preset: [c for c in cells if c["preset"] == preset] for preset in ("paper", "default")
    }
    header, *beside = beside_rows(curves["paper"], authors_curves()["block5"])
    tables = [f"![Wrong edges and AILL against steps]({CURVES_PICTURE})", _markdown(header, beside)]
    if curves["default"]:
        tables.append(_markdown(CURVES, chain.from_iterable(map(curve_rows, curves["default"]))))
    return "\n\n".join(tables)


def _megabytes(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _short(value: float) -> str:
    return f"{value:.1f}" if abs(value) < 1e4 else f"{value:.1e}"


def _markdown(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _put(text: str, name: str, table: str) -> str:
    start, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n{table}\n{end}{after}"


if __name__ == "__main__":
    main()
