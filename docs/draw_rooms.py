"""Draw the rooms of the package with their imports, as the code has them.

From the top folder: `python -m docs.draw_rooms` writes docs/rooms.png, or the file that is named.
The file also holds its rooms and arrows as text, so that a test can tell when it is out of date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from docs.rooms import PACKAGE, ROOMS, imports_between_rooms

PICTURE = Path(__file__).with_name("rooms.png")

# Column and row of each room, what it is for, and its colour.
BASE, LEARN, ACT, SHELL = "#e8eef7", "#e3f2e1", "#fdeeda", "#eeeeee"
PLACES = {
    "interruption": (4.9, 8, "Ctrl-C", SHELL),
    "errors": (2.0, 0, "what a user can mend", BASE),
    "reading": (2.0, 1, "types and ranges", BASE),
    "files": (0.7, 2, "safe on disk", BASE),
    "schema": (2.0, 2, "classes and fields", BASE),
    "task": (0.5, 3, "reward and end", BASE),
    "data": (1.8, 3, "logged transitions", BASE),
    "graph": (3.1, 3, "edges and evidence", BASE),
    "worlds": (1.0, 4, "any simulator", BASE),
    "models": (2.7, 4, "predict the next step", LEARN),
    "inference": (2.15, 5, "questions to a model", LEARN),
    "discovery": (3.6, 5, "which edges exist", LEARN),
    "planning": (1.35, 6, "choose actions", ACT),
    "methods": (3.6, 6, "what is trained, how", LEARN),
    "training": (3.2, 7, "fit, resume, load", LEARN),
    "envs": (0.0, 8, "the paper's worlds", BASE),
    "learned": (1.3, 8, "the model as a world", ACT),
    "online": (1.95, 7.4, "collect, learn, again", ACT),
    "report": (2.7, 8, "pictures and tables", SHELL),
    "checks": (4.0, 8, "your own method", SHELL),
    "__init__": (0.65, 9, "import oocdm", SHELL),
    "bench": (2.0, 9, "measurements", SHELL),
    "cli": (1.3, 10, "the verbs", SHELL),
    "__main__": (1.3, 11, "python -m oocdm", SHELL),
}
LEGEND = {
    BASE: "objects, data and graphs",
    LEARN: "learning and discovery",
    ACT: "acting",
    SHELL: "surface and tools",
}
WIDTH, HEIGHT = 1.08, 0.58  # of a box, in columns and rows


def arrows(package: Path) -> list[tuple[str, str]]:
    """Which room imports which, less what follows: A -> C, if also A -> B -> ... -> C."""
    direct: dict[str, set[str]] = {name: set() for name in ROOMS}
    for _, here, there in imports_between_rooms(package):
        direct[here].add(there)
    reached: dict[str, set[str]] = {}
    for name in ROOMS:  # whatever a room imports stands before it
        reached[name] = direct[name].union(*(reached[there] for there in direct[name]))
    return [
        (here, there)
        for here in ROOMS
        for there in sorted(direct[here], key=ROOMS.index)
        if not any(there in reached[other] for other in direct[here])
    ]


def content(package: Path) -> dict[str, list[object]]:
    """What the picture shows, JSON-ready; it is also written into the picture's file."""
    return {"rooms": list(ROOMS), "arrows": [list(arrow) for arrow in arrows(package)]}


def draw(package: Path) -> Figure:
    """The rooms as boxes, importing ones below what they import."""
    figure = Figure(figsize=(11, 11), layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-0.65, 5.55), ylim=(11.4, -0.45))
    axes.axis("off")
    for here, there in arrows(package):
        (x, y, *_), (to_x, to_y, *_) = PLACES[here], PLACES[there]
        # Arrows start and end where boxes face each other, a little towards the other one.
        lean = 0.3 * max(-1.0, min(1.0, to_x - x))
        axes.annotate(
            "",
            xy=(to_x - lean, to_y + HEIGHT / 2),
            xytext=(x + lean, y - HEIGHT / 2),
            arrowprops={"arrowstyle": "-|>", "color": "#555555", "lw": 1.3, "shrinkA": 0},
        )
    for name, (x, y, purpose, colour) in PLACES.items():
        corner = (x - WIDTH / 2, y - HEIGHT / 2)
        box = FancyBboxPatch(
            corner, WIDTH, HEIGHT, "round,pad=0,rounding_size=0.08", fc=colour, ec="#888888"
        )
        axes.add_patch(box)
        axes.text(x, y - 0.08, name, ha="center", va="center", size=15, weight="bold")
        axes.text(x, y + 0.16, purpose, ha="center", va="center", size=9.5)
    for i, (colour, meaning) in enumerate(LEGEND.items()):
        axes.text(
            3.5, 9.7 + 0.45 * i, meaning, size=11, bbox={"fc": colour, "ec": "#888888", "pad": 4}
        )
    return figure


def main(path: Path) -> None:
    """Write the picture."""
    metadata = {"Description": json.dumps(content(PACKAGE)), "Software": None}
    draw(PACKAGE).savefig(path, dpi=100, metadata=metadata)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
