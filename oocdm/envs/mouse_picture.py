"""A picture of the Mouse world: the grid, what is on it, and how the mouse fares."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from oocdm.envs.canvas import Canvas, Colour, Point
from oocdm.envs.mouse import FULL, GRID, MAX_AMOUNT, MAX_HEALTH, MAX_HUNGER, STARVING
from oocdm.worlds.world import WorldState

CELL, MARGIN, HEADER = 56, 14, 58

PAPER: Colour = (247, 243, 234)
LIGHT_CELL: Colour = (226, 236, 213)
DARK_CELL: Colour = (215, 228, 200)
INK: Colour = (62, 58, 66)
WHITE: Colour = (255, 255, 255)
SHADE: Colour = (222, 214, 200)
CHEESE: Colour = (247, 196, 62)
CHEESE_DARK: Colour = (214, 154, 34)
GHOST: Colour = (124, 92, 176)
FUR: Colour = (138, 140, 150)
FUR_DARK: Colour = (108, 110, 120)
PINK: Colour = (240, 166, 178)
STEEL: Colour = (104, 96, 92)
RED: Colour = (214, 70, 74)
GREEN: Colour = (104, 168, 84)

Stamp = Callable[[Canvas, Point, float], None]  # draws something of a size around a centre


def draw_mouse_world(state: WorldState) -> np.ndarray:
    """The first world of a state as a picture, (height, width, 3) in uint8; north is up.

    The mouse is grey, cheese is food (larger with its amount), monsters are purple, traps have
    teeth and a red dot for each step of their duration. The bars show health and hunger, with
    marks at starving and full.

    >>> from oocdm.envs.mouse import MouseWorld
    >>> picture = draw_mouse_world(MouseWorld().reset(1, np.random.default_rng(0)))
    >>> picture.shape, str(picture.dtype)
    ((534, 476, 3), 'uint8')
    """
    canvas = _empty_board().copy()
    mouse = state.values["Mouse"]
    _draw_bars(canvas, float(mouse["health"][0, 0]), float(mouse["hunger"][0, 0]))
    traps = _traps(state)
    for cell, duration in traps.items():
        _draw_trap(canvas, _corner(cell), duration)
    for cell, stamps in _stamps(state).items():
        _draw_together(canvas, _corner(cell), stamps)
    for cell, duration in traps.items():
        _draw_dots(canvas, _corner(cell), duration)
    return canvas.array


def _corner(cell: tuple[int, int]) -> Point:
    x, y = cell
    return MARGIN + x * CELL, HEADER + MARGIN + (GRID - 1 - y) * CELL


def _cells_of(state: WorldState, name: str) -> list[tuple[int, tuple[int, int]]]:
    """Row and cell of each object of a class."""
    rows = np.flatnonzero(state.present[name][0])
    places = state.values[name]["position"][0]
    return [(int(row), (int(places[row, 0]), int(places[row, 1]))) for row in rows]


def _traps(state: WorldState) -> dict[tuple[int, int], int]:
    """The longest duration of the traps in each cell that has any."""
    longest: dict[tuple[int, int], int] = {}
    for row, cell in _cells_of(state, "Trap"):
        duration = int(state.values["Trap"]["duration"][0, row])
        longest[cell] = max(longest.get(cell, 0), duration)
    return longest


def _stamps(state: WorldState) -> dict[tuple[int, int], list[Stamp]]:
    """What stands in each cell beside traps."""
    found: dict[tuple[int, int], list[Stamp]] = {}
    for _, cell in _cells_of(state, "Mouse"):
        found.setdefault(cell, []).append(_draw_mouse)
    for _, cell in _cells_of(state, "Monster"):
        found.setdefault(cell, []).append(_draw_monster)
    for row, cell in _cells_of(state, "Food"):
        amount = float(state.values["Food"]["amount"][0, row])
        found.setdefault(cell, []).append(partial(_draw_food, amount=amount))
    return found


def _draw_together(canvas: Canvas, corner: Point, stamps: list[Stamp]) -> None:
    """One stamp fills the cell; several share it in two or more columns."""
    columns = int(np.ceil(np.sqrt(len(stamps))))
    rows = int(np.ceil(len(stamps) / columns))
    size = CELL / columns
    top = corner[1] + (CELL - rows * size) / 2
    for i, stamp in enumerate(stamps):
        row, column = divmod(i, columns)
        stamp(canvas, (corner[0] + (column + 0.5) * size, top + (row + 0.5) * size), size)


# ---------------------------------------------------------------- the grid and the bars


@lru_cache
def _empty_board() -> Canvas:
    """The grid below an empty header: half of the work, and the same in every picture."""
    side = GRID * CELL
    canvas = Canvas(side + 2 * MARGIN, side + 2 * MARGIN + HEADER, PAPER)
    left, top = MARGIN, HEADER + MARGIN
    canvas.box((left - 4, top - 4), (side + 8, side + 8), SHADE, rounding=8)
    for x in range(GRID):
        for y in range(GRID):
            colour = LIGHT_CELL if (x + y) % 2 else DARK_CELL
            canvas.box(_corner((x, y)), (CELL, CELL), colour)
    return canvas


def _draw_bars(canvas: Canvas, health: float, hunger: float) -> None:
    half = (GRID * CELL + 2 * MARGIN) / 2
    middle = HEADER / 2 + 4
    size = (half - MARGIN - 44, 18.0)
    left = MARGIN + 32.0
    _draw_heart(canvas, (MARGIN + 12, middle), 24)
    _draw_bar(canvas, (left, middle - 9), size, health / MAX_HEALTH, RED)
    for i in range(1, int(MAX_HEALTH)):
        x = left + size[0] * i / MAX_HEALTH
        canvas.line((x, middle - 9), (x, middle + 9), 1.5, PAPER)
    left += half - MARGIN / 2
    _draw_food(canvas, (left - 20, middle), 34, MAX_AMOUNT)
    colour = RED if hunger < STARVING else GREEN if hunger >= FULL else CHEESE
    _draw_bar(canvas, (left, middle - 9), size, hunger / MAX_HUNGER, colour)
    for limit in (STARVING, FULL):
        x = left + size[0] * limit / MAX_HUNGER
        canvas.line((x, middle - 12), (x, middle + 12), 2.0, INK)


def _draw_bar(canvas: Canvas, corner: Point, size: Point, share: float, colour: Colour) -> None:
    canvas.box(corner, size, SHADE, rounding=6)
    width = size[0] * min(max(share, 0.0), 1.0)
    canvas.box(corner, (width, size[1]), colour, rounding=6)


def _draw_heart(canvas: Canvas, centre: Point, size: float) -> None:
    x, y = centre
    r = size * 0.27
    canvas.disc((x - r * 0.92, y - r * 0.6), r, RED)
    canvas.disc((x + r * 0.92, y - r * 0.6), r, RED)
    reach = r * 1.78
    canvas.polygon([(x, y - r * 0.9), (x + reach, y - r * 0.1), (x, y + r * 1.8)], RED)
    canvas.polygon([(x - reach, y - r * 0.1), (x, y - r * 0.9), (x, y + r * 1.8)], RED)


# ---------------------------------------------------------------- what stands in cells


def _draw_trap(canvas: Canvas, corner: Point, duration: int) -> None:
    """A jagged frame, pale once it is spent."""
    x, y = corner
    opacity = 1.0 if duration > 0 else 0.3
    edge, tooth, teeth = 3.0, 6.0, 6
    far = CELL - edge
    for near in (0.0, far):
        canvas.box((x, y + near), (CELL, edge), STEEL, opacity=opacity)
        canvas.box((x + near, y + edge), (edge, CELL - 2 * edge), STEEL, opacity=opacity)
    step = (CELL - 2 * edge) / teeth
    for i in range(teeth):
        a = edge + i * step
        b, tip = a + step, a + step / 2
        top = [(x + a, y + edge), (x + b, y + edge), (x + tip, y + edge + tooth)]
        bottom = [(x + b, y + far), (x + a, y + far), (x + tip, y + far - tooth)]
        canvas.polygon(top, STEEL, opacity)
        canvas.polygon(bottom, STEEL, opacity)


def _draw_dots(canvas: Canvas, corner: Point, duration: int) -> None:
    """A dot for each step that a trap still holds."""
    x, y = corner
    for i in range(duration):
        centre = (x + CELL / 2 + (i - (duration - 1) / 2) * 10, y + CELL - 6)
        canvas.disc(centre, 4.5, WHITE)
        canvas.disc(centre, 3.3, RED)


def _draw_food(canvas: Canvas, centre: Point, size: float, amount: float) -> None:
    """A piece of cheese whose area grows with its amount."""
    x, y = centre
    s = size * (0.26 + 0.58 * np.sqrt(max(amount, 0.0) / MAX_AMOUNT))
    tip, heel = (x - 0.5 * s, y + 0.02 * s), (x + 0.5 * s, y - 0.32 * s)
    canvas.polygon([tip, heel, (x + 0.5 * s, y + 0.02 * s)], (252, 220, 120))
    canvas.box((x - 0.5 * s, y), (s, 0.36 * s), CHEESE, rounding=0.05 * s)
    for dx, dy, r in ((-0.25, 0.2, 0.09), (0.08, 0.11, 0.07), (0.3, 0.24, 0.08)):
        canvas.disc((x + dx * s, y + dy * s), r * s, CHEESE_DARK)


def _draw_monster(canvas: Canvas, centre: Point, size: float) -> None:
    x, y = centre
    s = size * 0.36
    canvas.disc((x, y - 0.15 * s), s, GHOST)
    canvas.box((x - s, y - 0.15 * s), (2 * s, 0.85 * s), GHOST)
    for i in (-1, 0, 1):
        canvas.disc((x + i * 0.667 * s, y + 0.7 * s), s / 3, GHOST)
    for i in (-1, 1):
        canvas.oval((x + i * 0.38 * s, y - 0.2 * s), (0.26 * s, 0.32 * s), WHITE)
        canvas.disc((x + i * 0.34 * s, y - 0.12 * s), 0.13 * s, INK)
        brow = (x + i * 0.72 * s, y - 0.72 * s), (x + i * 0.2 * s, y - 0.5 * s)
        canvas.line(*brow, 0.12 * s, INK)


def _draw_mouse(canvas: Canvas, centre: Point, size: float) -> None:
    x, y = centre
    s = size * 0.36
    for i in (-1, 1):
        canvas.disc((x + i * 0.72 * s, y - 0.52 * s), 0.5 * s, FUR_DARK)
        canvas.disc((x + i * 0.72 * s, y - 0.5 * s), 0.32 * s, PINK)
    canvas.oval((x, y + 0.2 * s), (0.92 * s, 0.82 * s), FUR)
    canvas.oval((x, y + 0.55 * s), (0.42 * s, 0.32 * s), (206, 206, 212))
    for i in (-1, 1):
        canvas.disc((x + i * 0.36 * s, y + 0.05 * s), 0.15 * s, INK)
        canvas.disc((x + i * 0.36 * s + 0.04 * s, y), 0.05 * s, WHITE)
        for slope in (-0.12, 0.1):
            start = (x + i * 0.45 * s, y + 0.55 * s)
            canvas.line(start, (x + i * 1.15 * s, y + (0.5 + slope) * s), 0.07 * s, INK)
    canvas.oval((x, y + 0.42 * s), (0.16 * s, 0.12 * s), (226, 110, 130))
