"""Shapes on a canvas."""

from __future__ import annotations

from oocdm.envs.canvas import Canvas


def test_shapes_cover_what_they_should():
    canvas = Canvas(40, 40, (0, 0, 0))
    canvas.box((10, 10), (20, 10), (100, 100, 100))
    assert (canvas.array.any(-1)).sum() == 200
    canvas.box((0, 0), (0, 5), (9, 9, 9))
    canvas.polygon([(0, 30), (8, 30), (8, 38), (0, 38)], (50, 50, 50))
    assert canvas.array[34, 4].tolist() == [50, 50, 50]
    canvas.line((20, 30), (30, 30), 4, (7, 7, 7))
    assert canvas.array[30, 25].tolist() == [7, 7, 7] and not canvas.array[36, 25].any()


def test_a_rim_is_smooth_and_opacity_mixes():
    canvas = Canvas(20, 20, (0, 0, 0))
    canvas.disc((10, 10), 6, (200, 0, 0), opacity=0.5)
    reds = canvas.array[10, :, 0]
    assert reds[10] == 100 and reds[0] == 0
    canvas.oval((10, 10), (8.3, 2), (0, 0, 200))
    assert canvas.array[10, 5, 2] == 200 and canvas.array[4, 10, 2] == 0
    assert 0 < canvas.array[10, 1, 2] < 200


def test_what_lies_beyond_the_edge_is_cut():
    canvas = Canvas(10, 10, (0, 0, 0))
    canvas.disc((0, 0), 3, (9, 9, 9))
    canvas.disc((-50, 50), 3, (9, 9, 9))
    assert canvas.array[:2, :2].all() and not canvas.array[4:, 4:].any()
    assert canvas.array.shape == (10, 10, 3)


def test_a_copy_is_drawn_on_alone():
    canvas = Canvas(10, 10, (0, 0, 0))
    other = canvas.copy()
    other.disc((5, 5), 3, (9, 9, 9))
    assert other.array.any() and not canvas.array.any()
