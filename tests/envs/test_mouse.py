from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch

from oocdm.data.snapshot import Snapshot
from oocdm.envs.mouse import MOVES, MouseWorld
from oocdm.envs.mouse_tasks import seen_tasks, unseen_tasks
from oocdm.errors import OocdmError
from oocdm.worlds.world import WorldState

VARIANTS = ("paper", "released")


def state_of(
    place: tuple[int, int] = (3, 3),
    health: float = 10,
    hunger: float = 50,
    food: Any = (),
    monsters: Any = (),
    traps: Any = (),
) -> WorldState:
    """One world; food as (x, y, amount), monsters as (x, y), traps as (x, y, duration)."""
    # One object of each class out of the way, so that no class is empty.
    food, monsters, traps = [*food, (7, 0, 9.0)], [*monsters, (7, 1)], [*traps, (7, 2, 4)]
    amounts = np.array([[f[2] for f in food]], dtype=np.float32)
    values = {
        "Mouse": {
            "health": np.array([[health]], dtype=np.float32),
            "hunger": np.array([[hunger]], dtype=np.float32),
            "position": np.array([[place]]),
        },
        "Food": {"amount": amounts, "position": np.array([[f[:2] for f in food]])},
        "Monster": {
            "noise": np.ones((1, len(monsters), 3), dtype=np.float32),
            "position": np.array([monsters]),
        },
        "Trap": {
            "duration": np.array([[t[2] for t in traps]]),
            "position": np.array([[t[:2] for t in traps]]),
        },
    }
    present = {n: np.ones(f["position"].shape[:2], dtype=bool) for n, f in values.items()}
    return WorldState(values, present)


def step(world: MouseWorld, state: WorldState, move: str, rng: np.random.Generator) -> Any:
    action = {"Mouse": {"move": np.array([[MOVES.index(move)]])}}
    after, reward, terminated = world.step(state, action, rng)
    return after.values, float(reward[0]), bool(terminated[0])


# ---------------------------------------------------------------- the rules


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("place", "move", "expected"),
    [
        ((3, 3), "north", [3, 4]),
        ((3, 3), "south", [3, 2]),
        ((3, 3), "east", [4, 3]),
        ((3, 3), "west", [2, 3]),
        ((3, 3), "stay", [3, 3]),
        ((0, 7), "north", [0, 7]),
        ((0, 7), "west", [0, 7]),
        ((7, 0), "south", [7, 0]),
        ((7, 0), "east", [7, 0]),
    ],
)
def test_the_mouse_moves_one_cell_within_the_grid(variant, place, move, expected, still):
    after, _, _ = step(MouseWorld(variant=variant), state_of(place), move, still)
    assert after["Mouse"]["position"][0, 0].tolist() == expected


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_trap_holds_and_wears_out(variant, still):
    world = MouseWorld(variant=variant)
    after, _, _ = step(world, state_of(traps=[(3, 3, 2), (3, 3, 0)]), "east", still)
    assert after["Mouse"]["position"][0, 0].tolist() == [3, 3]
    assert after["Trap"]["duration"][0].tolist() == [1, 0, 4]
    after, _, _ = step(world, state_of(traps=[(3, 3, 0)]), "east", still)
    assert after["Mouse"]["position"][0, 0].tolist() == [4, 3]
    # A trap in the cell that the mouse enters acts from the next step on.
    after, _, _ = step(world, state_of(traps=[(4, 3, 2)]), "east", still)
    assert after["Mouse"]["position"][0, 0].tolist() == [4, 3]
    assert after["Trap"]["duration"][0].tolist() == [2, 4]


@pytest.mark.parametrize(
    ("variant", "hunger", "food", "expected"),
    [
        ("paper", 50, [], 49),
        ("paper", 0.5, [], 0),
        ("paper", 50, [(3, 3, 12)], 62),
        ("paper", 50, [(3, 3, 12), (3, 3, 8), (4, 3, 30)], 70),
        ("paper", 50, [(3, 3, 0)], 50),
        ("paper", 90, [(3, 3, 12)], 100),
        ("released", 50, [], 48),
        ("released", 1, [], 0),
        ("released", 50, [(3, 3, 12)], 60),
        ("released", 50, [(3, 3, 12), (3, 3, 8), (4, 3, 30)], 68),
        ("released", 1, [(3, 3, 12)], 12),
        ("released", 99, [(3, 3, 12)], 100),
    ],
)
def test_hunger(variant, hunger, food, expected, still):
    after, _, _ = step(
        MouseWorld(variant=variant), state_of(hunger=hunger, food=food), "stay", still
    )
    assert float(after["Mouse"]["hunger"][0, 0]) == expected


@pytest.mark.parametrize("variant", VARIANTS)
def test_food_grows_unless_it_is_eaten(variant, still):
    state = state_of(food=[(3, 3, 12), (4, 3, 12), (5, 5, 49.5)])
    after, _, _ = step(MouseWorld(variant=variant), state, "east", still)
    assert after["Food"]["amount"][0].tolist() == [0, 13, 50, 10]
    assert np.array_equal(after["Food"]["position"], state.values["Food"]["position"])


@pytest.mark.parametrize(
    ("variant", "health", "hunger", "monsters", "expected"),
    [
        ("paper", 5, 50, [], 5),
        ("paper", 5, 24.5, [], 4),
        ("paper", 5, 25, [], 5),
        ("paper", 5, 75, [], 5),
        ("paper", 5, 75.5, [], 6),
        ("paper", 10, 80, [], 10),
        ("paper", 10, 50, [(3, 3)], 5),
        ("paper", 8, 80, [(3, 3), (3, 3), (4, 3)], -1),
        ("paper", 10, 80, [(3, 3)], 6),
        ("released", 5, 24.5, [], 4),
        ("released", 5, 75, [], 6),
        ("released", 5, 74.5, [], 5),
        ("released", 10, 20, [(3, 3)], 4),
    ],
)
def test_health(variant, health, hunger, monsters, expected, still):
    state = state_of(health=health, hunger=hunger, monsters=monsters)
    after, _, _ = step(MouseWorld(variant=variant), state, "stay", still)
    assert float(after["Mouse"]["health"][0, 0]) == expected


@pytest.mark.parametrize(
    ("variant", "health", "dies"),
    [("paper", 5, False), ("paper", 4.5, True), ("released", 5, True), ("released", 5.5, False)],
)
def test_death_and_reward_agree_with_the_task(variant, health, dies, still):
    world = MouseWorld(variant=variant)
    state = state_of(health=health, hunger=40, monsters=[(3, 3)], food=[(3, 3, 20)])
    after, reward, terminated = step(world, state, "stay", still)
    hunger = {"paper": 60, "released": 58}[variant]
    assert reward == pytest.approx(0.4 - 5 + 0.05 * (hunger - 40), rel=1e-6)
    assert terminated is dies
    before, later = (
        Snapshot.of(
            world.schema,
            {c: {f: torch.from_numpy(v) for f, v in fs.items()} for c, fs in values.items()},
        )
        for values in (state.values, after)
    )
    assert world.task.reward(before, later).tolist() == [reward]
    assert world.task.terminated(later).tolist() == [dies]
    world.task.check(world.schema)
    assert world.task.reads == ("Mouse.hunger", "Mouse.health")


def _monster_moves(variant: str, place: tuple[int, int]) -> Counter[tuple[int, int]]:
    """Where 4000 monsters go from one cell."""
    world = MouseWorld(variant=variant)
    state = state_of(monsters=[place] * 3999)
    rng = np.random.default_rng(0)
    after, _, _ = step(world, state, "stay", rng)
    return Counter(map(tuple, after["Monster"]["position"][0, :-1].tolist()))


@pytest.mark.parametrize(
    ("variant", "place", "shares"),
    [
        ("paper", (3, 3), {(3, 4): 1 / 4, (3, 2): 1 / 4, (4, 3): 1 / 4, (2, 3): 1 / 4}),
        ("paper", (0, 0), {(0, 1): 1 / 2, (1, 0): 1 / 2}),
        ("paper", (7, 4), {(7, 5): 1 / 3, (7, 3): 1 / 3, (6, 4): 1 / 3}),
        (
            "released",
            (3, 3),
            {(3, 3): 0.2, (3, 4): 0.2, (3, 2): 0.2, (4, 3): 0.2, (2, 3): 0.2},
        ),
        ("released", (7, 7), {(7, 7): 0.6, (6, 7): 0.2, (7, 6): 0.2}),
    ],
)
def test_monsters_wander(variant, place, shares):
    counts = _monster_moves(variant, place)
    assert set(counts) == set(shares)
    for cell, share in shares.items():
        assert counts[cell] / 3999 == pytest.approx(share, abs=0.03)


def test_the_last_chance_below_one_still_names_a_neighbour(still):
    still.chance = np.nextafter(1.0, 0.0)
    after, _, _ = step(MouseWorld(), state_of(monsters=[(7, 4)]), "stay", still)
    assert after["Monster"]["position"][0, 0].tolist() == [6, 4]


def test_food_and_noise_walk_with_sd_01():
    world = MouseWorld(num_food=50, num_monsters=50)
    rng = np.random.default_rng(0)
    state = world.reset(200, rng)
    state.values["Food"]["amount"][:] = 20
    after, _, _ = world.step(state, world.random_actions(state, rng), rng)
    growth = after.values["Food"]["amount"] - 20
    growth = growth[after.values["Food"]["amount"] > 0]
    assert growth.mean() == pytest.approx(1, abs=0.005)
    assert growth.std() == pytest.approx(0.1, rel=0.05)
    walk = after.values["Monster"]["noise"] - state.values["Monster"]["noise"]
    assert walk.mean() == pytest.approx(0, abs=0.005)
    assert walk.std() == pytest.approx(0.1, rel=0.05)


def test_values_stay_in_their_domains():
    for variant in VARIANTS:
        world = MouseWorld(variant=variant, num_food=(1, 6), num_traps=(0, 5))
        rng = np.random.default_rng(0)
        state = world.reset(200, rng)
        for _ in range(100):
            state, _, _ = world.step(state, world.random_actions(state, rng), rng)
            for name, fields in state.values.items():
                for field, value in fields.items():
                    assert value.dtype == world.schema.field(name, field).dtype
                    assert not world.schema.field(name, field).out_of_domain(value).any()
                    assert not value[~state.present[name]].any()


# ---------------------------------------------------------------- the start


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("ood", [False, True])
def test_the_start_has_the_stated_distribution(variant, ood):
    world = MouseWorld(variant=variant, ood=ood)
    values = world.reset(20_000, np.random.default_rng(0)).values
    assert (values["Mouse"]["health"] == 10).all()
    hunger = values["Mouse"]["hunger"]
    assert 40 <= hunger.min() < 40.1 and 59.9 < hunger.max() <= 60
    durations = values["Trap"]["duration"]
    shares = np.bincount(durations.ravel(), minlength=5) / durations.size
    np.testing.assert_allclose(shares, [0, 0.25, 0.25, 0.25, 0.25], atol=0.01)
    assert values["Monster"]["noise"].std() == pytest.approx(3 if ood else 1, rel=0.02)
    for fields in values.values():
        cells = np.bincount((fields["position"] @ [8, 1]).ravel(), minlength=64)
        assert cells.min() > 0.7 * cells.mean() and cells.max() < 1.3 * cells.mean()


@pytest.mark.parametrize("ood", [False, True])
def test_food_is_richer_in_the_east_or_out_of_distribution_in_the_north(ood):
    food = MouseWorld(ood=ood).reset(20_000, np.random.default_rng(0)).values["Food"]
    slopes = []
    for axis in (0, 1):
        near, far = (food["amount"][food["position"][..., axis] == i] for i in (0, 4))
        slopes.append((far.mean() - near.mean()) / 4)
    rich, plain = (slopes[1], slopes[0]) if ood else (slopes[0], slopes[1])
    assert rich == pytest.approx(3, abs=0.15)
    assert plain == pytest.approx(0, abs=0.15)
    assert food["amount"].max() == 50 and food["amount"].min() >= 0


def test_the_richness_is_drawn_once_an_episode():
    world = MouseWorld(num_food=600)
    food = world.reset(100, np.random.default_rng(0)).values["Food"]
    by_world = [
        amounts[places == 6].mean() - amounts[places == 0].mean()
        for amounts, places in zip(food["amount"], food["position"][..., 0], strict=True)
    ]
    # Six cells are worth 6 c with c ~ U(2, 4): sd 3.5 less the cut at 50, on top of about 1.4
    # from the other draws, which is all there would be with a c for each food.
    assert np.std(by_world) > 2.2


def test_moves_are_uniform():
    world = MouseWorld()
    rng = np.random.default_rng(0)
    moves = world.random_actions(world.reset(20_000, rng), rng)["Mouse"]["move"]
    assert moves.dtype == np.int64
    np.testing.assert_allclose(np.bincount(moves.ravel()) / moves.size, [0.2] * 5, atol=0.01)


# ---------------------------------------------------------------- options


def test_numbers_of_objects_may_be_drawn_from_ranges():
    world = MouseWorld(num_food=(3, 6), num_monsters=2, num_traps=(0, 1))
    state = world.reset(1000, np.random.default_rng(0))
    counts = {name: np.unique(mask.sum(1)).tolist() for name, mask in state.present.items()}
    assert counts == {"Mouse": [1], "Food": [3, 4, 5, 6], "Monster": [2], "Trap": [0, 1]}
    assert world.max_objects == {"Mouse": 1, "Food": 6, "Monster": 2, "Trap": 1}


def test_tasks_are_drawn_uniformly():
    tasks = [(3, 1, 5), (6, 5, 1)]
    world = MouseWorld(tasks=tasks)
    state = world.reset(4000, np.random.default_rng(0))
    numbers = np.stack([state.present[n].sum(1) for n in ("Food", "Monster", "Trap")], axis=1)
    found = Counter(map(tuple, numbers.tolist()))
    assert set(found) == set(tasks)
    assert found[3, 1, 5] == pytest.approx(2000, abs=150)


def test_a_class_may_be_empty():
    world = MouseWorld(num_monsters=0)
    rng = np.random.default_rng(0)
    state = world.reset(10, rng)
    after, _, _ = world.step(state, world.random_actions(state, rng), rng)
    assert not after.present["Monster"].any()
    assert not after.values["Monster"]["noise"].any()


@pytest.mark.parametrize(("name", "tasks"), [("seen", seen_tasks()), ("unseen", unseen_tasks())])
def test_the_papers_tasks_have_names(name, tasks):
    state = MouseWorld(tasks=name).reset(2000, np.random.default_rng(0))
    counts = np.stack([state.present[c].sum(1) for c in ("Food", "Monster", "Trap")], 1)
    assert {tuple(row) for row in counts.tolist()} == set(tasks)


def test_places_and_durations_are_choices():
    schema = MouseWorld().schema
    assert schema.field("Trap", "duration").is_choice
    assert all(schema.field(name, "position").is_choice for name in schema.classes)


def test_no_field_is_static():
    schema = MouseWorld().schema
    roles = {f"{c}.{f}": v.role for c in schema.classes for f, v in schema.fields(c).items()}
    assert roles.pop("Mouse.move") == "action"
    assert set(roles.values()) == {"state"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_food": (5, 3)}, "Option `num_food`: expected (low, high) with low <= high, "),
        (
            {"num_traps": -1},
            "Option `num_traps`: expected a whole number from 0 to 1000000",
        ),
        ({"tasks": [(1, 2)]}, "Option `tasks`: `[0]`: expected a list of 3, got (1, 2)."),
        ({"tasks": "sen"}, "Option `tasks`"),
        ({"tasks": []}, "Option `tasks`: expected a list of triples (food, monsters, traps)"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(OocdmError) as error:
        MouseWorld(**options)
    assert str(error.value).startswith(message)
