"""A small canvas of smooth shapes, drawn with NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Colour = tuple[int, int, int]
Point = tuple[float, float]


class Canvas:
    """An RGB picture; x runs right, y down, both in pixels.

    A shape is given by its distance function (negative inside), which also smooths its rim.

    >>> canvas = Canvas(20, 10, (255, 255, 255))
    >>> canvas.disc((5, 5), 3, (200, 0, 0))
    >>> canvas.array[5, 5].tolist(), canvas.array[5, 15].tolist()
    ([200, 0, 0], [255, 255, 255])
    """

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self._pixels = np.full((height, width, 3), colour, dtype=np.float32)

    def copy(self) -> Canvas:
        """The same picture, to draw on without changing this one."""
        other = Canvas(0, 0, (0, 0, 0))
        other._pixels = self._pixels.copy()
        return other

    @property
    def array(self) -> np.ndarray:
        """The picture, (height, width, 3) in uint8."""
        return np.rint(self._pixels).astype(np.uint8)

    def disc(self, centre: Point, radius: float, colour: Colour, opacity: float = 1.0) -> None:
        """A filled circle."""
        self.oval(centre, (radius, radius), colour, opacity)

    def oval(self, centre: Point, radii: Point, colour: Colour, opacity: float = 1.0) -> None:
        """A filled ellipse with horizontal and vertical radii."""
        (x, y), (rx, ry) = centre, radii
        rows, columns, px, py = self._window((x - rx, y - ry, x + rx, y + ry))
        scaled = np.hypot((px - x) / rx, (py - y) / ry)
        self._paint(rows, columns, (scaled - 1) * min(rx, ry), colour, opacity)

    def box(
        self,
        corner: Point,
        size: Point,
        colour: Colour,
        rounding: float = 0.0,
        opacity: float = 1.0,
    ) -> None:
        """A filled rectangle from its upper left corner, with rounded corners."""
        (x, y), (width, height) = corner, size
        if width <= 0 or height <= 0:
            return
        rounding = min(rounding, width / 2, height / 2)
        rows, columns, px, py = self._window((x, y, x + width, y + height))
        dx = np.abs(px - x - width / 2) - width / 2 + rounding
        dy = np.abs(py - y - height / 2) - height / 2 + rounding
        outside = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0))
        distance = outside + np.minimum(np.maximum(dx, dy), 0) - rounding
        self._paint(rows, columns, distance, colour, opacity)

    def polygon(self, points: Sequence[Point], colour: Colour, opacity: float = 1.0) -> None:
        """A filled convex polygon, its corners in clockwise order on the screen."""
        xs, ys = zip(*points, strict=True)
        rows, columns, px, py = self._window((min(xs), min(ys), max(xs), max(ys)))
        distance = np.full(np.broadcast_shapes(px.shape, py.shape), -np.inf)
        for (x0, y0), (x1, y1) in zip(points, [*points[1:], points[0]], strict=True):
            length = np.hypot(x1 - x0, y1 - y0)
            side = ((px - x0) * (y1 - y0) - (py - y0) * (x1 - x0)) / length
            distance = np.maximum(distance, side)
        self._paint(rows, columns, distance, colour, opacity)

    def line(self, start: Point, end: Point, width: float, colour: Colour) -> None:
        """A line with round ends."""
        (x0, y0), (x1, y1) = start, end
        reach = width / 2
        rows, columns, px, py = self._window(
            (min(x0, x1) - reach, min(y0, y1) - reach, max(x0, x1) + reach, max(y0, y1) + reach)
        )
        dx, dy = x1 - x0, y1 - y0
        along = np.clip(((px - x0) * dx + (py - y0) * dy) / (dx**2 + dy**2), 0, 1)
        distance = np.hypot(px - x0 - along * dx, py - y0 - along * dy) - reach
        self._paint(rows, columns, distance, colour, 1.0)

    def _window(
        self, bounds: tuple[float, float, float, float]
    ) -> tuple[slice, slice, np.ndarray, np.ndarray]:
        """The part of the picture around a shape, and the centres of its pixels."""
        x0, y0, x1, y1 = bounds
        columns = slice(max(0, int(x0) - 1), max(0, int(x1) + 2))
        rows = slice(max(0, int(y0) - 1), max(0, int(y1) + 2))
        height, width = self._pixels[rows, columns].shape[:2]
        px = np.arange(columns.start, columns.start + width) + 0.5
        py = np.arange(rows.start, rows.start + height)[:, None] + 0.5
        return rows, columns, px, py

    def _paint(
        self, rows: slice, columns: slice, distance: np.ndarray, colour: Colour, opacity: float
    ) -> None:
        cover = (np.clip(0.5 - distance, 0, 1) * opacity)[..., None].astype(np.float32)
        window = self._pixels[rows, columns]
        window += cover * (np.array(colour, dtype=np.float32) - window)
