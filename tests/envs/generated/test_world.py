from __future__ import annotations

import time
import warnings
from functools import lru_cache
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import oocdm
from oocdm.data.log import Arrays
from oocdm.envs.generated import GeneratedWorld
from oocdm.envs.generated.mechanisms import CategoryMechanism, RealMechanism
from oocdm.envs.generated.source import read
from oocdm.envs.generated.worth import Effort
from oocdm.errors import OocdmError
from oocdm.graph import ClassGraph, Edge
from oocdm.worlds.world import WorldState

SEEDS = range(30)


@lru_cache
def world_of(seed: int) -> GeneratedWorld:
    return GeneratedWorld(world_seed=seed)


def moments_of(world: GeneratedWorld, num_worlds: int, steps: int = 30) -> list[WorldState]:
    """Episodes under the random policy, one state after another, with the actions in it."""
    rng = np.random.default_rng(0)
    state, moments = world.reset(num_worlds, rng), []
    for _ in range(steps):
        actions = world.random_actions(state, rng)
        values = {c: {**fields, **actions[c]} for c, fields in state.values.items()}
        moments.append(WorldState(values, state.present))
        state, reward, terminated = world.step(state, actions, rng)
        assert not reward.any() and not terminated.any()
    return moments


# ---------------------------------------------------------------- the true graph


def step(world: GeneratedWorld, inputs: Arrays, present: Any) -> Arrays:
    """The next state from states and actions, always with the same noise."""
    state: dict[str, Any] = {}
    actions: dict[str, Any] = {}
    for name, fields in inputs.items():
        kinds = world.schema.fields(name)
        state[name] = {f: v for f, v in fields.items() if not kinds[f].action}
        actions[name] = {f: v for f, v in fields.items() if kinds[f].action}
    after, _, _ = world.step(WorldState(state, present), actions, np.random.default_rng(1))
    return after.values


def edges_found(world: GeneratedWorld) -> set[Edge]:
    """Change one field of one object: an edge leads to each field that then differs in any bit.

    The new values come from other episodes, objects and steps.
    """
    before = moments_of(world, 150, steps=8)
    values = {
        c: {f: np.concatenate([m.values[c][f] for m in before]) for f in world.schema.fields(c)}
        for c in world.schema.classes
    }
    present = {c: np.tile(v, (len(before), 1)) for c, v in before[0].present.items()}
    plain = step(world, values, present)
    rng = np.random.default_rng(2)
    found = set()
    for source, fields in values.items():
        for field, value in fields.items():
            for row in range(world.max_objects[source]):
                changed = value.copy()
                known = value[present[source]]
                changed[:, row] = rng.choice(known, size=len(value)) * present[source][:, row]
                after = step(world, {**values, source: {**fields, field: changed}}, present)
                for name in after:
                    for target in after[name]:
                        differs = (after[name][target] != plain[name][target]).any(0)
                        for other in np.flatnonzero(differs):
                            is_local = name == source and other == row
                            found.add(Edge(source, field, name, target, bool(is_local)))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_the_true_graph_is_what_interventions_show(seed):
    world = world_of(seed)
    found = ClassGraph.of_edges(world.schema, edges_found(world))
    assert str(found) == str(world.true_graph)
    assert found == world.true_graph


# ---------------------------------------------------------------- what worlds there are


def test_worlds_have_the_stated_sizes():
    for seed in SEEDS:
        world = world_of(seed)
        fields = {c: world.schema.fields(c) for c in world.schema.classes}
        assert 2 <= len(fields) <= 3 and all(2 <= len(f) <= 4 for f in fields.values())
        assert any(field.action for each in fields.values() for field in each.values())
        assert all(1 <= n <= 4 for n in world.max_objects.values())
        assert world.true_graph.space.testable(world.max_objects)[world.true_graph.mask].all()


def test_all_kinds_occur_over_seeds():
    kinds = []
    for seed in SEEDS:
        world = world_of(seed)
        kinds += ["varying numbers" if world.varying else "fixed numbers"]
        for m in world.mechanisms:
            if isinstance(m, RealMechanism):
                kinds += [term.kind for term in m.terms]
                kinds += ["noisy" if m.noise else "noise-free"]
                kinds += ["decoy"] if m.decoy_of else []
                kinds += ["memoryless"] if not m.keep else []
                if not m.terms:
                    kinds += ["drift" if m.noise else "copy"]
            elif m.condition is None:
                kinds += ["category of its own"]
            else:
                kinds += ["noisy category" if m.low > 0 else "sure category"]
            kinds += [
                f"{'category' if isinstance(c.limit, int) else 'threshold'} "
                f"of {'self' if c.source.is_local else 'others'}"
                for c in m.conditions
            ]
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    assert set(counts) == {
        "linear", "gated", "largest", "count", "copy", "drift", "memoryless", "noisy",
        "noise-free", "decoy", "noisy category", "sure category", "category of its own",
        "category of self", "category of others", "threshold of self", "threshold of others",
        "fixed numbers", "varying numbers",
    }  # fmt: skip
    assert min(counts.values()) >= 3, counts


def test_numbers_vary_by_episode_only_if_they_should():
    for varying in (True, False):
        world = GeneratedWorld(world_seed=1, varying=varying)
        present = world.reset(500, np.random.default_rng(0)).present
        for name, rows in world.max_objects.items():
            counts = set(present[name].sum(1).tolist())
            assert counts == (set(range(1, rows + 1)) if varying else {rows})
        assert not varying or min(world.max_objects.values()) > 1


# ---------------------------------------------------------------- what the data is like


def test_values_are_finite_and_of_order_one():
    for seed in SEEDS:
        for state in moments_of(world_of(seed), 30, steps=60):
            for name, fields in state.values.items():
                for value in fields.values():
                    assert np.isfinite(value).all() and np.abs(value).max() < 8
                    assert not value[~state.present[name]].any()


def test_the_weights_of_states_bound_a_field():
    for seed in SEEDS:
        world = world_of(seed)
        for m in world.mechanisms:
            if isinstance(m, RealMechanism) and m.terms:
                states = [
                    t for t in m.terms
                    if t.kind != "count" and not world.schema.field(*t.source[:2]).action
                ]  # fmt: skip
                assert m.keep + sum(abs(t.weight) for t in states) <= 0.951
                assert min(abs(t.weight) for t in m.terms) > 0.1


def test_parents_conditions_and_decoys_are_as_promised_in_other_episodes_too():
    """The pilots' promises with some tolerance, as these are other episodes than the pilots'."""
    for seed in SEEDS:
        world = world_of(seed)
        late = moments_of(world, 300, steps=20)[10:]
        state = WorldState(
            {c: {f: np.concatenate([m.values[c][f] for m in late]) for f in world.schema.fields(c)}
             for c in world.schema.classes},
            {c: np.tile(v, (len(late), 1)) for c, v in late[0].present.items()},
        )  # fmt: skip
        shuffled = np.random.default_rng(3).permutation(len(late) * 300)
        for m in world.mechanisms:
            name, field, _ = m.own
            present = state.present[name]
            inputs = {s: read(state, s, name) for s in m.sources}
            plain = m.distribution(inputs, present.shape).sample(np.random.default_rng(1))[present]
            for source, (values, counts) in inputs.items():
                other = {**inputs, source: (values[shuffled], counts)}
                changed = m.distribution(other, present.shape).sample(np.random.default_rng(1))[
                    present
                ]
                if isinstance(m, CategoryMechanism):
                    assert (changed != plain).mean() > 0.1
                else:
                    assert np.sqrt(np.mean((changed - plain) ** 2)) > 0.1 * plain.std()
            for condition in m.conditions:
                counts = inputs[condition.source][1]
                assert 0.15 < condition.holds(inputs)[counts].mean() < 0.85
            if isinstance(m, RealMechanism) and m.noise:
                assert 0.03 < m.noise / plain.std() < 0.15
            if isinstance(m, RealMechanism) and m.decoy_of:
                like = state.values[name][m.decoy_of][present]
                likeness = np.corrcoef(state.values[name][field][present], like)[0, 1]
                assert 0.7 < likeness < 0.9999


def test_a_decoy_resembles_a_parent_and_is_none():
    with_decoys = [world_of(seed) for seed in SEEDS if world_of(seed).decoys]
    for world in with_decoys:
        (decoy,) = [m for m in world.mechanisms if isinstance(m, RealMechanism) and m.decoy_of]
        name, field, _ = decoy.own
        edges = [e for e in world.true_graph.edges() if e.source_class == name]
        of_like, of_decoy = (
            {str(e) for e in edges if e.source_field == f} for f in (decoy.decoy_of, field)
        )
        assert of_like - {f"{name}.{decoy.decoy_of} <- self.{decoy.decoy_of}"}
        assert of_decoy <= {f"{name}.{field} <- self.{field}"}
    assert 5 < len(with_decoys) < len(SEEDS)
    assert not any(
        m.decoy_of
        for m in GeneratedWorld(world_seed=4, decoys=False).mechanisms
        if isinstance(m, RealMechanism)
    )


def test_the_noise_of_a_step_does_not_depend_on_the_state():
    for seed in SEEDS[:10]:
        world, after = world_of(seed), []
        for start in (0, 1):
            state = world.reset(50, np.random.default_rng(start))
            rng = np.random.default_rng(9)
            world.step(state, world.random_actions(state, np.random.default_rng(start)), rng)
            after.append(rng.bit_generator.state)
        assert after[0] == after[1]


# ---------------------------------------------------------------- by hand


def test_a_transition_follows_the_mechanisms(still):
    world = GeneratedWorld(world_seed=4)
    state = WorldState(
        {
            "A": {"x1": np.array([[1, -1]], np.float32), "x2": np.array([[2, 0]], np.float32)},
            "B": {"x1": np.array([[1, -1, 0]], np.float32)},
        },
        {"A": np.array([[True, True]]), "B": np.array([[True, True, True]])},
    )
    actions = {"A": {"a": np.array([[2, 0]])}, "B": {"a": np.zeros((1, 3), np.float32)}}
    after = world.step(state, actions, still)[0].values
    decoy, a, b = world.mechanisms
    assert (decoy.decoy_of, decoy.keep, decoy.terms) == ("x2", a.keep, a.terms)
    pushed = a.terms[0].weight  # where another A does 2
    np.testing.assert_allclose(after["A"]["x1"], [[a.keep, pushed - a.keep]], 1e-5)
    np.testing.assert_allclose(after["A"]["x2"], [[2 * a.keep, pushed]], 1e-5)
    counted = b.terms[0].weight  # for one A above the threshold
    np.testing.assert_allclose(
        after["B"]["x1"], [[b.keep + counted, counted - b.keep, counted]], 1e-5
    )


# ---------------------------------------------------------------- what edges are worth


def test_worths_are_remembered_and_only_of_true_edges():
    world = world_of(4)
    edge = Edge("A", "a", "A", "x2", is_local=False)
    effort = Effort(num_draws=32, num_waves=0, max_values=60_000, max_moments=500)
    first = world.worths([edge], effort)[edge]
    # Whether another A does 2 is all that is unknown of x2, which has no noise.
    assert first.nats == pytest.approx(np.log(3) - 2 / 3 * np.log(2), abs=0.12)
    assert world.worths([edge], effort)[edge] is first
    with pytest.raises(OocdmError) as error:
        world.worths([Edge("A", "x1", "A", "x2", is_local=True)])
    assert str(error.value) == (
        "GeneratedWorld.worths: expected edges of the true graph, got `A.x2 <- self.x1`."
    )


# ---------------------------------------------------------------- as an environment


def test_equal_seeds_give_equal_worlds_and_data():
    first, second, other = (GeneratedWorld(world_seed=s) for s in (7, 7, 8))
    assert first.describe() == second.describe() != other.describe()
    assert first.true_graph == second.true_graph
    data = [oocdm.collect(world, steps=300, seed=s) for world, s in ((first, 0), (second, 0))]
    for name in first.schema.classes:
        for field in first.schema.fields(name):
            np.testing.assert_array_equal(*(d.values[name][field] for d in data))


def test_collecting_10_000_transitions_is_fast():
    env = oocdm.make("generated", world_seed=7, varying=True)
    start = time.perf_counter()
    data = oocdm.collect(env, steps=10_000, seed=0)
    assert time.perf_counter() - start < 1.0
    assert len(data) == 10_000
    assert data.schema == env.schema


@pytest.mark.parametrize("options", [{"world_seed": 7}, {"world_seed": 1, "varying": True}])
def test_it_passes_the_checker_without_any_warning(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(oocdm.make("generated", seed=0, **options))
        check_env(gymnasium.make("oocdm/Generated-v0", **options).unwrapped)


def test_the_environment_takes_the_options_of_the_world():
    env = oocdm.make("generated", world_seed=4, max_episode_steps=3, seed=0)
    assert env.true_graph == world_of(4).true_graph
    env.reset()
    ends = [env.step(env.action_space.sample())[3] for _ in range(3)]
    assert ends == [False, False, True]


def test_bad_options_are_refused():
    with pytest.raises(OocdmError) as error:
        GeneratedWorld(world_seed=-1)
    assert str(error.value) == "Option `world_seed`: expected a whole number of at least 0, got -1."
