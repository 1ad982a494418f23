"""Random schemas, worlds, graphs, options and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.graph import ClassEdges, Structure
from oocdm.models.features import Inputs, at_places
from oocdm.models.mixture_field import MixtureField
from oocdm.models.normal_field import NormalField
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.prediction import FieldDistribution, Predictions
from oocdm.models.scales import Scales
from oocdm.models.world_model import Structures
from oocdm.schema import Boolean, Categorical, Field, Integer, ObjectClass, Real, Schema

# All kinds, bounds, shapes and likelihoods; 0 is not in the domain of all of them.
FIELDS: tuple[Callable[..., Field], ...] = (
    Real,
    lambda **role: Real(likelihood="normal", **role),
    lambda **role: Real(low=0.0, **role),
    lambda **role: Real(high=1.0, **role),
    lambda **role: Real(low=-1.0, high=1.5, shape=(2,), **role),
    lambda **role: Real(shape=(3,), likelihood="mixture", **role),
    lambda **role: Real(low=-1.0, shape=(2,), likelihood="normal", **role),
    lambda **role: Real(shape=(1,), **role),
    lambda **role: Integer(0, 3, **role),
    lambda **role: Integer(0, 3, shape=(1,), **role),
    lambda **role: Integer(2, 4, **role),
    lambda **role: Integer(-2, 1, shape=(2,), **role),
    lambda **role: Integer(0, 7, shape=(2,), likelihood="normal", **role),
    lambda **role: Integer(0, 100, **role),
    lambda **role: Integer(**role),
    lambda **role: Categorical(3, **role),
    Boolean,
    lambda **role: Boolean(likelihood="normal", **role),
)
ROLES = ({}, {}, {}, {"action": True}, {"static": True})

SMALL = {"encoding_dim": 3, "local_dim": 4, "message_dim": 3, "decoder_dim": 4}
PAIRS = {"pairs": True, "pair_hidden": 4, "pair_dim": 2, "product_rank": 2}
MIXED = ModelOptions(aggregators=("attention", "sum"), **SMALL, **PAIRS)
PRESETS = (ModelOptions.preset("default"), ModelOptions.preset("paper"))
AUGMENTED = tuple(replace(each, identity_dim=64) for each in PRESETS)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """One to three classes of one to four fields; classes share names of fields."""
    classes = []
    for name in "ABC"[: draw(st.integers(1, 3))]:
        fields = {
            f: draw(st.sampled_from(FIELDS))(**draw(st.sampled_from(ROLES)))
            for f in "uvwx"[: draw(st.integers(1, 4))]
        }
        if name == "A":
            fields["u"] = draw(st.sampled_from(FIELDS))()
        classes.append(type(name, (ObjectClass,), fields))
    return Schema(*classes)


def options() -> st.SearchStrategy[ModelOptions]:
    """The presets, attention and sums together, and anything else."""
    switches = {
        name: st.booleans()
        for name in (
            *("enrich", "predict_change", "linear_path", "structure_aware"),
            *("normalise", "clamp_means", "skip_unrelated", "flag_unknown"),
            *("pairs", "openness"),
        )
    }
    switches["product_rank"] = st.sampled_from([0, 3])
    switches["identity_dim"] = st.sampled_from([0, 4])
    aggregators = st.sampled_from([("attention",), ("sum",), ("attention", "sum")])
    heads = st.sampled_from([1, 2, 4])
    anything = st.builds(
        lambda **o: ModelOptions(**SMALL, **o), aggregators=aggregators, heads=heads, **switches
    )
    return st.one_of(st.sampled_from([*PRESETS, *AUGMENTED, MIXED]), anything)


def alike() -> st.SearchStrategy[ModelOptions]:
    """The same, of models that take the objects of a class for alike."""
    return options().map(lambda each: replace(each, identity_dim=0))


@dataclass(frozen=True)
class Case:
    """A world, another sample of it to measure units on, and what models of it are made of."""

    transitions: Transitions
    measured: Transitions
    options: ModelOptions
    seed: int

    @staticmethod
    def of(schema: Schema, counts: Mapping[str, int], seed: int, batch_size: int = 6) -> Case:
        """A case that is not drawn; all objects are present."""
        rng, shares = np.random.default_rng(seed), dict.fromkeys(schema.classes, 1.0)
        measured = random_transitions(schema, dict.fromkeys(schema.classes, 3), 20, rng)
        transitions = random_transitions(schema, counts, batch_size, rng, shares)
        return Case(transitions, measured, ModelOptions(), seed)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # What fails is printed without its thousand numbers.
        printer.text(f"{self.schema.to_json()}, {self.before}, {self.options}, seed {self.seed}")

    @property
    def schema(self) -> Schema:
        return self.transitions.schema

    @property
    def before(self) -> Snapshot:
        return self.transitions.before

    @property
    def known(self) -> Snapshot:
        """The state before with a value for every attribute of every object."""
        return with_all_known(self.before, self.rng())

    def model(self, literal: bool = False, dtype: torch.dtype = torch.float64) -> OocdmModel:
        """A model whose weights are all random; the same ones for every evaluator."""
        torch.manual_seed(self.seed)
        scales = Scales.measure(self.measured)
        model = OocdmModel(self.schema, self.options, scales, literal).to(dtype)
        model.measure(self.measured)
        with torch.no_grad():
            for parameter in model.parameters():
                if not parameter.any():
                    parameter.normal_(std=0.3)
            for name, buffer in model.named_buffers():
                if name == "paths":
                    buffer.bernoulli_(0.7)
                if name.endswith("calibrated_sigma"):
                    buffer.uniform_(0.0, 0.1)
            for c in self.schema.classes:
                head = model.heads[c]
                head.choose(torch.rand(len(head.targets)) < 0.7)
        return model

    def structures(self, model: OocdmModel, num: int) -> Structures:
        """Random edges and paths; some pairs of classes have no edge at all."""
        rng = np.random.default_rng(self.seed)
        flags = rng.random((num, len(model.layout))) < rng.choice([0.3, 0.8, 1.0], (num, 1))
        rows = model.rows(flags)
        for k in self.schema.classes:
            for c in self.schema.classes:
                # Blocks are views of the rows.
                blocks = ClassEdges.of(self.schema).global_block(rows, k, c)
                blocks[rng.random(num) < 0.4] = 0
        return rows

    def structure(self, model: OocdmModel) -> Structure:
        """One of them, as structures are written elsewhere."""
        return Structure(model.layout, self.structures(model, 1)[0].bool().numpy())

    def rng(self) -> np.random.Generator:
        """Random numbers for what the test itself draws."""
        return np.random.default_rng(self.seed + 1)


@st.composite
def cases(
    draw: st.DrawFn,
    options: st.SearchStrategy[ModelOptions] = options(),  # noqa: B008
    min_count: int = 0,
    batch_size: int = 6,
) -> Case:
    """Worlds of zero to four objects a class, with padding and unknown values.

    Of some classes no object is there in any sample, of others all are.
    """
    schema = draw(schemas())
    counts = {c: draw(st.integers(min_count, 4)) for c in schema.classes}
    shares = {c: draw(st.sampled_from([0.75, 0.75, 0.0, 1.0])) for c in schema.classes}
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    measured = random_transitions(schema, dict.fromkeys(schema.classes, 3), 20, rng)
    transitions = random_transitions(schema, counts, batch_size, rng, shares)
    return Case(transitions, measured, draw(options), seed)


def random_values(field: Field, leading: tuple[int, ...], rng: np.random.Generator) -> Tensor:
    """Values of a field's domain, (*leading, *shape)."""
    shape = (*leading, *field.shape)
    if isinstance(field, Real):
        return torch.as_tensor(rng.normal(size=shape).clip(field.low, field.high))
    low = -3 if field.low is None else int(field.low)
    high = 3 if field.high is None else int(field.high)
    return torch.as_tensor(rng.integers(low, high + 1, size=shape))


def random_snapshot(
    schema: Schema,
    counts: Mapping[str, int],
    batch_size: int,
    rng: np.random.Generator,
    shares: Mapping[str, float] | None = None,
) -> Snapshot:
    """Objects, these shares of them present (0.75) and four fifths of their values known."""
    values: dict[str, dict[str, Tensor]] = {}
    present: dict[str, Tensor] = {}
    observed: dict[str, dict[str, Tensor]] = {}
    for c, num in counts.items():
        leading = (batch_size, num)
        share = 0.75 if shares is None else shares[c]
        present[c] = torch.as_tensor(rng.random(leading) < share)
        values[c], observed[c] = {}, {}
        for f, field in schema.fields(c).items():
            observed[c][f] = present[c] & torch.as_tensor(rng.random(leading) < 0.8)
            values[c][f] = blank(random_values(field, leading, rng), observed[c][f])
    return Snapshot(schema, values, present, observed)


def blank(values: Tensor, observed: Tensor) -> Tensor:
    """Values with 0 where they are unknown, as snapshots hold them."""
    mask = observed.reshape(*observed.shape, *[1] * (values.ndim - observed.ndim))
    return torch.where(mask, values, torch.zeros_like(values))


def random_transitions(
    schema: Schema,
    counts: Mapping[str, int],
    batch_size: int,
    rng: np.random.Generator,
    shares: Mapping[str, float] | None = None,
) -> Transitions:
    """Two unrelated snapshots; the second has no actions."""
    before, after = (random_snapshot(schema, counts, batch_size, rng, shares) for _ in range(2))
    roles = {(c, f): field.role for c in counts for f, field in schema.fields(c).items()}

    def without_actions(per_field: Any) -> dict[str, dict[str, Tensor]]:
        return {
            c: {f: t for f, t in fields.items() if roles[c, f] != "action"}
            for c, fields in per_field.items()
        }

    values, observed = without_actions(after.values), without_actions(after.observed)
    return Transitions(before, replace(after, values=values, observed=observed))


def with_all_known(before: Snapshot, rng: np.random.Generator) -> Snapshot:
    """The objects of a snapshot with other values, all of them known."""
    values = {
        c: {
            f: blank(random_values(before.schema.field(c, f), present.shape, rng), present)
            for f in before.values[c]
        }
        for c, present in before.present.items()
    }
    observed = {c: dict.fromkeys(values[c], p) for c, p in before.present.items()}
    return replace(before, values=values, observed=observed)


def map_class(snapshot: Snapshot, class_name: str, change: Callable[[Tensor], Tensor]) -> Snapshot:
    """The snapshot with every tensor of one class replaced."""

    def of_class(per_field: Any) -> dict[str, dict[str, Tensor]]:
        own = {f: change(t) for f, t in per_field[class_name].items()}
        return {**per_field, class_name: own}

    present = {**snapshot.present, class_name: change(snapshot.present[class_name])}
    values, observed = of_class(snapshot.values), of_class(snapshot.observed)
    return replace(snapshot, values=values, present=present, observed=observed)


Change = Callable[[Snapshot, str, int, str, np.random.Generator], Snapshot]


def with_new_value(before: Snapshot, c: str, i: int, f: str, rng: np.random.Generator) -> Snapshot:
    """Another value of one attribute, in all samples."""
    values = before.values[c][f].clone()
    drawn = random_values(before.schema.field(c, f), values.shape[:1], rng)
    values[:, i] = blank(drawn, before.observed[c][f][:, i])
    return replace(before, values={**before.values, c: {**before.values[c], f: values}})


def with_flipped_flag(
    before: Snapshot, c: str, i: int, f: str, rng: np.random.Generator
) -> Snapshot:
    """One attribute known where it was not, and not where it was."""
    observed = before.observed[c][f].clone()
    observed[:, i] = ~observed[:, i] & before.present[c][:, i]
    flags = {**before.observed, c: {**before.observed[c], f: observed}}
    return with_new_value(replace(before, observed=flags), c, i, f, rng)


def parameters(found: FieldDistribution) -> list[Tensor]:
    """The parameters of one target's distribution, (batch, object, ...) each."""
    if isinstance(found, NormalField):
        return [found.mean, found.sigma]
    if isinstance(found, MixtureField):
        return [*parameters(found.narrow), *parameters(found.wide), found.chance]
    return [found.log_probabilities]


def parameters_of(predictions: Predictions) -> Iterator[tuple[str, str, list[Tensor]]]:
    """Class, target and its distribution's parameters."""
    for c in predictions.classes:
        for v in predictions.schema.targets(c):
            yield c, v, parameters(predictions[c, v])


def targets_of(schema: Schema) -> list[tuple[str, str]]:
    """All classes and targets."""
    return [(c, v) for c in schema.classes for v in schema.targets(c)]


def assert_near(
    a: Predictions,
    b: Predictions,
    tolerance: float = 1e-9,
    present: Mapping[str, Tensor] | None = None,
) -> None:
    """All parameters of all distributions agree, if told so only those of present objects."""
    for (c, v, ours), (_, _, theirs) in zip(parameters_of(a), parameters_of(b), strict=True):
        for x, y in zip(ours, theirs, strict=True):
            if present is not None:
                assert x.shape == y.shape
                x, y = x[present[c]], y[present[c]]
            torch.testing.assert_close(
                x, y, rtol=tolerance, atol=tolerance, msg=lambda m, c=c, v=v: f"{c}.{v}: {m}"
            )


def gradients_of(model: OocdmModel, predictions: Predictions, seed: int) -> dict[str, Tensor]:
    """Gradients of a random mixture of all parameters of all distributions, by weight."""
    torch.manual_seed(seed)
    loss = torch.zeros((), dtype=model.dtype)
    for _, _, tensors in parameters_of(predictions):
        for tensor in tensors:
            loss = loss + (tensor * torch.randn_like(tensor)).sum()
    model.zero_grad()
    loss.backward()
    # No gradient at all is as good as zero.
    return {
        name: torch.zeros_like(p) if p.grad is None else p.grad
        for name, p in model.named_parameters()
    }


def drawn_receivers(inputs: Inputs, seed: int) -> dict[str, Tensor]:
    """Some objects of some classes, others in each sample, as `Inputs.receivers`."""
    rng, found = np.random.default_rng(seed), {}
    for c, present in inputs.present.items():
        if rng.random() < 0.8:
            num = int(rng.integers(0, present.shape[1] + 1))
            order = torch.as_tensor(rng.random(tuple(present.shape))).argsort(1)
            found[c] = order[:, :num].sort(1).values
    return found


def at_receivers(predictions: Predictions, places: Mapping[str, Tensor]) -> Predictions:
    """The predictions of some objects among those of all."""
    classes = {}
    for c, each in predictions.classes.items():
        here = places.get(c)
        classes[c] = each
        if here is not None:
            classes[c] = each.map(lambda t, here=here: at_places(t, here))  # type: ignore[misc]
    return Predictions(predictions.schema, classes)
