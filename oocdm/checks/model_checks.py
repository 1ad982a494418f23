"""What is expected of a world model's predictions, each thing checked by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from oocdm.checks.method_checks import sentence
from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.graph import ClassGraph, Graph, Structure, Variable, VariableGraph
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.prediction import ClassPrediction, FieldDistribution, Predictions
from oocdm.models.prepared import known_counts, mean_scores
from oocdm.models.world_model import AbstractWorldModel
from oocdm.schema import Schema

RTOL, ATOL = 1e-3, 1e-4  # where sums may be taken in another order


def prediction_problems(model: AbstractWorldModel, data: Transitions) -> Iterator[str]:
    """What is wrong with the shapes and numbers of predictions under all edges."""
    inputs, full = model.inputs(data.before), model.structures(model.layout.structure(True))
    found = model(inputs, full, full)
    if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], Predictions)):
        yield (
            "expected one Predictions for each set of structures, two in a tuple, got "
            f"{type(found).__name__}. Return tuple(... for each in structures)."
        )
        return
    yield from _form_problems(model, data, found[0])


def _form_problems(
    model: AbstractWorldModel, data: Transitions, found: Predictions
) -> Iterator[str]:
    """What is wrong with the shapes and numbers of predictions."""
    targets = model.targets(data)
    for c in model.schema.classes:
        if not model.schema.targets(c):
            continue
        if c not in found.classes:
            yield f"expected predictions of class `{c}`, got none. It has fields that change."
            continue
        expected: dict[str, Sequence[int]] = {
            "mean": targets.values[c].shape,
            "sigma": targets.values[c].shape,
        }
        for v in model.schema.targets(c):
            field = model.schema.field(c, v)
            if field.is_choice:
                size = (field.size, field.num_codes)
                expected[f"logits[{v!r}]"] = (*data.before.present[c].shape, *size)
        prediction = found.classes[c]
        tensors = {"mean": prediction.mean, "sigma": prediction.sigma}
        tensors |= {f"logits[{v!r}]": logits for v, logits in prediction.logits.items()}
        if (wide := prediction.wide) is not None:
            parts = {"mean": wide.mean, "sigma": wide.sigma, "chance": wide.chance}
            expected |= {f"wide.{name}": targets.values[c].shape for name in parts}
            tensors |= {f"wide.{name}": tensor for name, tensor in parts.items()}
        yield from _tensor_problems(c, expected, tensors)


def _tensor_problems(
    c: str, expected: Mapping[str, Sequence[int]], tensors: Mapping[str, Tensor]
) -> Iterator[str]:
    for name, shape in expected.items():
        tensor = tensors.get(name)
        if tensor is None or tuple(tensor.shape) != tuple(shape):
            got = "none" if tensor is None else f"shape {tuple(tensor.shape)}"
            yield f"expected `{name}` of class `{c}` of shape {tuple(shape)}, got {got}."
        elif not bool(tensor.isfinite().all()):
            yield (
                f"expected finite numbers, got {_first_bad(tensor)} in `{name}` of class `{c}`. "
                "Bound what is divided by or exponentiated."
            )
        elif name.endswith("sigma") and not bool((tensor > 0).all()):
            yield f"expected positive standard deviations, got others in `{name}` of class `{c}`."
        elif name == "wide.chance" and not bool(((tensor > 0) & (tensor < 1)).all()):
            yield f"expected chances between 0 and 1, got others in `{name}` of class `{c}`."


def _first_bad(tensor: Tensor) -> float:
    return float(tensor[~tensor.isfinite()][0].detach())


def gradient_problems(model: AbstractWorldModel, data: Transitions) -> Iterator[str]:
    """Whether the likelihood has gradients, and finite ones."""
    inputs, targets = model.inputs(data.before), model.targets(data)
    (found,) = model(inputs, model.structures(model.layout.structure(True)))
    loss = -mean_scores(found.log_prob(targets), known_counts(targets)).sum()
    parameters = dict(model.named_parameters())
    if not loss.requires_grad:
        yield (
            "expected predictions with gradients to the parameters, got none. Compute with "
            "tensors all the way, without detach(), numpy() or torch.no_grad()."
        )
        return
    gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    for name, gradient in zip(parameters, gradients, strict=True):
        if gradient is not None and not bool(gradient.isfinite().all()):
            yield (
                f"expected finite gradients, got {_first_bad(gradient)} in that of `{name}`. Bound "
                "what is divided by, and avoid roots of 0."
            )
            return


@torch.no_grad()
def repetition_problems(model: AbstractWorldModel, data: Transitions) -> Iterator[str]:
    """Whether the same weights and inputs give the same numbers."""
    inputs, full = model.inputs(data.before), model.structures(model.layout.structure(True))
    (one,), (other,) = model(inputs, full), model(inputs, full)
    if _differing(one, other, torch.equal):
        yield (
            "expected the same numbers from the same inputs and weights, got others. Draw nothing "
            "in a call, and keep nothing from one call for the next."
        )


@torch.no_grad()
def batch_problems(model: AbstractWorldModel, data: Transitions) -> Iterator[str]:
    """Whether a prediction depends on no other row of the batch."""
    inputs, full = model.inputs(data.before), model.structures(model.layout.structure(True))
    rows = slice(0, data.batch_size // 2)
    (whole,), (half,) = model(inputs, full), model(inputs.map(lambda tensor: tensor[rows]), full)
    if _differing(_rows(whole, rows), half, _is_close):
        yield (
            "expected rows of a batch to be predicted independently, got other numbers for the "
            "same rows in a smaller batch. Do not normalise or sum over the batch."
        )


@torch.no_grad()
def division_problems(
    model: AbstractWorldModel, data: Transitions, structures: Sequence[Structure]
) -> Iterator[str]:
    """Whether rows of structures divide a batch, and a compiled model predicts as a call does."""
    inputs, together = model.inputs(data.before), model.structures(*structures)
    (divided,) = model(inputs, together)
    share = data.before.batch_size // len(structures)
    for i, structure in enumerate(structures):
        (alone,) = model(inputs, model.structures(structure))
        rows = slice(i * share, (i + 1) * share)
        if _differing(_rows(divided, rows), _rows(alone, rows), _is_close):
            yield (
                f"expected rows of structures to divide the batch evenly and in order, got other "
                f"predictions for the samples of row {i} than under it alone. Repeat each row "
                "batch_size // len(structures) times."
            )
            return
        compiled = model.compile_for(structure)(data.before)
        if _differing(compiled, alone, _is_close):
            yield (
                "expected `compile_for` to predict as a call does, got other numbers. Leave it out "
                "to inherit one that does."
            )
            return


@torch.no_grad()
def parent_problems(
    model: AbstractWorldModel, data: Transitions, structure: Structure
) -> Iterator[str]:
    """Whether a variable changes a prediction that the graph says it is no parent of."""
    structures, inputs = model.structures(structure), model.inputs(data.before)
    (now,) = model(inputs, structures)
    graph = ground(structure.graph, data.before)
    outputs = [Variable.parse(name) for name in graph.outputs]
    for source, row in zip(graph.inputs, graph.matrix, strict=True):
        (then,) = model(model.inputs(_changed(data.before, source)), structures)
        for output, is_parent in zip(outputs, row, strict=True):
            if not (is_parent or _is_equal(now, then, output)):
                yield (
                    "expected predictions that depend on parents alone, got one of "
                    f"`{output}` that changes with `{source}`, which the graph does not have as "
                    "its parent. Let only what the structure has reach a target, also by "
                    "normalising or attention."
                )
                return


def ground(graph: Graph, state: Snapshot) -> VariableGraph:
    """A graph between the single variables of a state."""
    return graph.ground(state.counts) if isinstance(graph, ClassGraph) else graph


def _changed(state: Snapshot, variable: str) -> Snapshot:
    """A state in which one variable has the values that it has in other rows."""
    c, i, f = Variable.parse(variable)
    values = state.values[c][f].clone()
    values[:, i] = values[:, i].roll(1, 0)
    values[~state.observed[c][f]] = 0  # as always where nothing is known
    return replace(state, values={**state.values, c: {**state.values[c], f: values}})


@torch.no_grad()
def exchange_problems(model: AbstractWorldModel, data: Transitions) -> Iterator[str]:
    """Whether objects of a class can change places, and be more or fewer."""
    before = data.before
    full = model.structures(model.layout.structure(True))
    (now,) = model(model.inputs(before), full)
    for c, present in before.present.items():
        if present.shape[1] < 2:
            continue
        order = torch.arange(present.shape[1]).roll(1)
        (then,) = model(model.inputs(_reordered(before, c, order)), full)
        moved = {k: torch.arange(n) if k != c else order for k, n in before.counts.items()}
        if _differing(_ordered(now, moved), then, _is_close):
            yield (
                f"expected objects of class `{c}` to be interchangeable, got other predictions "
                "when they change places. Share weights among the objects of a class and sum over "
                "others, or set needs_fixed_objects = True."
            )
            continue
        yield from _count_problems(model, data, c)


def _count_problems(model: AbstractWorldModel, data: Transitions, c: str) -> Iterator[str]:
    """Whether a class may have one object less."""
    num = data.before.counts[c]
    last = torch.arange(1, num)
    fewer = Transitions(_reordered(data.before, c, last), _reordered(data.after, c, last))
    full = model.structures(model.layout.structure(True))
    try:
        (found,) = model(model.inputs(fewer.before), full)
        problem = next(_form_problems(model, fewer, found), None)
    except Exception as error:
        problem = f"got {type(error).__name__}: {sentence(error)}"
    if problem is not None:
        yield (
            f"expected any number of objects of class `{c}`, but with {num - 1} in place of {num}: "
            f"{problem} Share weights among objects, sum over others also if there are none, or "
            "set needs_fixed_objects = True."
        )


def _reordered(state: Snapshot, c: str, order: Tensor) -> Snapshot:
    def pick(fields: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {f: tensor[:, order] for f, tensor in fields.items()}

    return replace(
        state,
        values={**state.values, c: pick(state.values[c])},
        observed={**state.observed, c: pick(state.observed[c])},
        present={**state.present, c: state.present[c][:, order]},
    )


# ---------------------------------------------------------------- comparing predictions


def _fields(schema: Schema) -> list[tuple[str, str]]:
    return [(c, v) for c in schema.classes for v in schema.targets(c)]


def _numbers(found: FieldDistribution) -> list[Tensor]:
    if isinstance(found, NormalField):
        return [found.mean, found.sigma]
    if isinstance(found, MixtureField):
        return [*_numbers(found.narrow), *_numbers(found.wide), found.chance]
    return [found.log_probabilities]


def _differing(
    one: Predictions, other: Predictions, is_same: Callable[[Tensor, Tensor], bool]
) -> list[str]:
    """The targets of which two predictions differ."""
    return [
        f"{c}.{v}"
        for c, v in _fields(one.schema)
        for a, b in zip(_numbers(one[c, v]), _numbers(other[c, v]), strict=True)
        if not is_same(a, b)
    ]


def same_predictions(one: Predictions, other: Predictions) -> bool:
    """Whether two predictions are equal to the bit."""
    return not _differing(one, other, torch.equal)


def _is_equal(one: Predictions, other: Predictions, variable: Variable) -> bool:
    c, i, v = variable
    pairs = zip(_numbers(one[c, v]), _numbers(other[c, v]), strict=True)
    return all(torch.equal(a[:, i], b[:, i]) for a, b in pairs)


def _is_close(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, rtol=RTOL, atol=ATOL)


def _rows(found: Predictions, rows: slice) -> Predictions:
    return found.map(lambda tensor: tensor[rows])


def _ordered(found: Predictions, order: Mapping[str, Tensor]) -> Predictions:
    classes = {c: _ordered_class(p, order[c]) for c, p in found.classes.items()}
    return Predictions(found.schema, classes)


def _ordered_class(prediction: ClassPrediction, order: Tensor) -> ClassPrediction:
    return prediction.map(lambda tensor: tensor[:, order])
