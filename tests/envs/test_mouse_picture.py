from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from oocdm.envs.mouse import MouseWorld
from oocdm.envs.mouse_picture import CELL, HEADER, MARGIN, draw_mouse_world
from oocdm.envs.registry import make
from oocdm.worlds.world import WorldState


def _scene() -> WorldState:
    """Nothing but the mouse in its corner in the south-west."""
    world = MouseWorld(num_food=0, num_monsters=0, num_traps=0)
    state = world.reset(1, np.random.default_rng(0))
    state.values["Mouse"]["position"][:] = 0
    return state


def _cell(picture: np.ndarray, x: int, y: int) -> np.ndarray:
    top, left = HEADER + MARGIN + (7 - y) * CELL, MARGIN + x * CELL
    return picture[top : top + CELL, left : left + CELL]


def test_the_environment_renders_a_picture_that_follows_the_world():
    env = make("mouse", render_mode="rgb_array", seed=0)
    env.reset()
    first = env.render()
    assert first.dtype == np.uint8 and first.ndim == 3 and first.shape[2] == 3
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 50
    for _ in range(3):
        env.step(env.action_space.sample())
    assert not np.array_equal(first, env.render())
    assert make("mouse").render() is None


@pytest.mark.parametrize("name", ["Food", "Monster", "Trap"])
def test_each_object_is_drawn_in_its_cell(name):
    state = _scene()
    empty = draw_mouse_world(state)
    state.present[name][0, 0] = True
    state.values[name]["position"][0, 0] = (5, 6)
    if name == "Food":
        state.values["Food"]["amount"][0, 0] = 20
    picture = draw_mouse_world(state)
    assert (_cell(picture, 5, 6) != _cell(empty, 5, 6)).any()
    changed = (picture != empty).any(-1)
    assert changed.sum() == (_cell(picture, 5, 6) != _cell(empty, 5, 6)).any(-1).sum()


def test_north_is_up_and_the_mouse_moves_with_its_position():
    state = _scene()
    south_west = draw_mouse_world(state)
    state.values["Mouse"]["position"][:] = (0, 7)
    north_west = draw_mouse_world(state)
    assert (south_west != north_west).any(-1)[HEADER + MARGIN : HEADER + MARGIN + CELL].any()
    # Cells of the same colour, so the drawn mouse is the same.
    state.values["Mouse"]["position"][:] = (1, 7)
    assert np.array_equal(_cell(draw_mouse_world(state), 1, 7), _cell(south_west, 0, 0))


def test_food_grows_and_bars_fill():
    state = _scene()
    state.present["Food"][:] = True
    state.values["Food"]["position"][:] = (4, 4)
    sizes = []
    for amount in (0.0, 10.0, 50.0):
        state.values["Food"]["amount"][:] = amount
        cell = _cell(draw_mouse_world(state), 4, 4)
        sizes.append(int((cell != cell[0, 0]).any(-1).sum()))
    assert 0 < sizes[0] < sizes[1] < sizes[2]
    headers = []
    for health, hunger in ((10, 50), (3, 50), (3, 10), (-4, 0)):
        state.values["Mouse"]["health"][:] = health
        state.values["Mouse"]["hunger"][:] = hunger
        headers.append(draw_mouse_world(state)[:HEADER])
    assert all((a != b).any() for a, b in pairwise(headers))


def test_crowded_cells_show_everyone():
    state = MouseWorld(num_food=9, num_monsters=5, num_traps=3).reset(1, np.random.default_rng(0))
    for fields in state.values.values():
        fields["position"][:] = (7, 7)
    picture = draw_mouse_world(state)
    assert len(np.unique(_cell(picture, 7, 7).reshape(-1, 3), axis=0)) > 50
    state.present["Monster"][0, 0] = False
    assert not np.array_equal(picture, draw_mouse_world(state))
