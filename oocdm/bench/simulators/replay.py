"""Something set otherwise: what a model believes of it, beside the simulator replayed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from oocdm.bench.simulators.case import Case
from oocdm.bench.simulators.simulator import Simulator
from oocdm.data.dataset import Dataset
from oocdm.graph import Variable
from oocdm.inference import counterfactual
from oocdm.training import FitResult
from oocdm.worlds.games import game_of
from oocdm.worlds.read_objects import Objects

Values = dict[Variable, float]


def slowed_by(simulator: Simulator, result: FitResult, data: Dataset, most: int) -> dict[str, Any]:
    """How much less what is watched gets in a simulator's cases, by the model and in truth.

    `replay_error`, median and largest over cases, is how far the simulator, replayed without
    setting anything, is from the log in the fields that are watched. It is not 0 everywhere: the
    log has 7 digits, and where much hangs on little, a rounded value may tip it.
    """
    cases = list(islice(simulator.cases(data), most))
    believed, true, errors = [], [], []
    for case in cases:
        believed.append(_believed(result, data, case))
        usual, other = (_replay(simulator, data, case, do) for do in ({}, case.do))
        true.append(case.total(other) - case.total(usual))
        errors.append(_error(data, case, usual))
    is_strong = np.array(true) < -simulator.strong
    follows = np.array(believed)[is_strong] < 0.5 * np.array(true)[is_strong]
    return {
        "cases": len(cases),
        "true": true,
        "believed": believed,
        "true_mean": float(np.mean(true)) if cases else None,
        "believed_mean": float(np.mean(believed)) if cases else None,
        # Of those that get clearly less, how many do so by the model by half as much or more.
        "half_as_much": float(follows.mean()) if is_strong.any() else None,
        "replay_error": [float(np.median(errors)), max(errors)] if cases else None,
    }


def _believed(result: FitResult, data: Dataset, case: Case) -> float:
    episode, step = int(data.episode[case.row]), int(data.step[case.row])
    do = {str(variable): value for variable, value in case.do.items()}
    answer = counterfactual(result, data, episode, step, do, horizon=case.horizon)
    imagined, actual = (
        case.total(
            {v: float(state[f"{v.class_name}.{v.field_name}"][0, v.object]) for v in case.watched}
        )
        for state in (answer.imagined[-1], answer.actual[-1])
    )
    return imagined - actual


def _replay(
    simulator: Simulator, data: Dataset, case: Case, do: Mapping[Variable, float]
) -> Values:
    """The simulator's values after a case, from its logged state and with its logged actions."""
    env = simulator.make({c: int(data.present[c][case.row].sum()) for c in data.schema.classes})
    game = game_of("bench logs", env)
    game.reset(seed=0)
    for (c, number), each in simulator.objects(env).items():
        for f in simulator.states(c):
            logged = data.values[c][f][case.row, number].item()
            simulator.change(each, f, do.get(Variable(c, number, f), logged))
    for row in range(case.row, case.row + case.horizon):
        game.step(simulator.to_action(_actions(data, row)))
    values = simulator.values(env)
    env.close()
    return values


def _actions(data: Dataset, row: int) -> Objects:
    """What objects do in a row of a log."""
    return {
        c: {
            number: {
                f: data.values[c][f][row, number].item()
                for f, kind in data.schema.fields(c).items()
                if kind.action
            }
            for number in np.flatnonzero(data.present[c][row]).tolist()
        }
        for c in data.schema.classes
    }


def _error(data: Dataset, case: Case, usual: Values) -> float:
    """How far the replayed values are from the logged ones, at most, in fields that are watched."""
    fields = {(v.class_name, v.field_name) for v in case.watched}
    return max(
        abs(
            value
            - data.values[v.class_name][v.field_name][case.row + case.horizon, v.object].item()
        )
        for v, value in usual.items()
        if (v.class_name, v.field_name) in fields
    )
