"""OOCDM's network, and the choice among its evaluators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn import functional

from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import ModelError
from oocdm.graph import ClassEdges, ClassGraph, Graph, Layout, Neighbours, Structure
from oocdm.models.features import Inputs
from oocdm.models.hiding import HidingPlan
from oocdm.models.mixture_field import MixtureField
from oocdm.models.named import ModulesByName
from oocdm.models.normal_field import NormalField
from oocdm.models.oocdm.batched import Batched
from oocdm.models.oocdm.encoder import Encoder
from oocdm.models.oocdm.identities import Identities, KnownIdentities, told
from oocdm.models.oocdm.masks import Masks
from oocdm.models.oocdm.neighbours import WithNeighbours
from oocdm.models.oocdm.options import ModelOptions
from oocdm.models.oocdm.parts.part import Reading, Seen
from oocdm.models.oocdm.predictor import ClassPredictor, paths_of
from oocdm.models.oocdm.reference import encode_literally, predict_literally
from oocdm.models.oocdm.single import SingleTarget
from oocdm.models.oocdm.tables import TabledTarget
from oocdm.models.oocdm.view import View
from oocdm.models.prediction import (
    CategoricalField,
    ClassPrediction,
    FieldDistribution,
    FieldPredictions,
    Predictions,
    WidePart,
    log_floored_softmax,
)
from oocdm.models.scales import Scales
from oocdm.models.world_model import (
    AbstractPredictor,
    AbstractWorldModel,
    NeighboursPredictor,
    Structures,
)
from oocdm.schema import FieldKey, Schema


class OocdmModel(AbstractWorldModel):
    """Objects of a class share their networks, so any numbers of objects will do.

    A `literal` one computes everything as the paper writes it, with the same weights: slow, and
    the measure of correctness.

    >>> from oocdm.schema import ObjectClass, Real
    >>> class Ball(ObjectClass):
    ...     x = Real()
    >>> model = OocdmModel(Schema(Ball), ModelOptions())
    >>> model.layout.paths
    ('network', 'products', 'messages', 'extremes', 'pairs')
    """

    def __init__(
        self,
        schema: Schema,
        options: ModelOptions,
        scales: Scales | None = None,
        literal: bool = False,
    ) -> None:
        used = scales if scales is not None and options.normalise else Scales.unit(schema)
        layout = Layout(ClassEdges.of(schema), paths_of(options))
        super().__init__(layout, used, options.head, options.enrich, options.flag_unknown)
        self.options, self.is_literal = options, literal
        # Parts that no structure uses for now: what they read beside fields is not made.
        self.idle: frozenset[str] = frozenset()
        self.takes_receivers = not literal
        self.encoders = ModulesByName(
            {c: Encoder(c, self.featuriser, options) for c in schema.classes}
        )
        # One set for all predictors; a model that takes objects for alike has none.
        self.identities = ModulesByName(
            {c: Identities(options.identity_dim) for c in schema.classes if options.identity_dim}
        )
        widths = {c: self.encoders[c].width + options.identity_dim for c in schema.classes}
        self.predictors = ModulesByName(
            {
                c: ClassPredictor(
                    *(c, options, self.featuriser, widths),
                    num_elements=layout.of_class(c).shape[1],
                    outputs=self.heads[c].num_outputs,
                    linear_outputs=self.heads[c].num_linear_outputs,
                )
                for c in schema.classes
                if schema.targets(c)
            }
        )

        if options.random_biases:
            for name, parameter in self.named_parameters():
                if "bias" in name.rsplit(".", 1)[-1] or ".bias." in name:
                    nn.init.normal_(parameter)

    def literal(self) -> OocdmModel:
        """A literal model of its own with the same weights."""
        twin = self.copy()
        twin.is_literal, twin.takes_receivers = True, False
        return twin

    def measure(self, data: Transitions) -> None:
        """Take units of the inputs of single parts from data."""
        if self.options.normalise:
            for c in self.predictors:
                for part, _ in self.predictors[c].features():
                    part.measure(data)

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Parameters as the optimiser sees them: how they are matrices, and how far they step."""
        predictors = [self.predictors[c] for c in self.predictors]
        shared = [
            weight
            for predictor in predictors
            for part, _ in predictor.features()
            for weight in part.shared_input_weights()
        ]
        # The linear maps must travel far, and are the best-behaved part. Products race against the
        # network, which would fit what is bilinear only where it has seen it.
        maps = [p.linear_map.weight for p in predictors if p.linear_map is not None]
        products = [p for each in predictors if each.products for p in each.products.parameters()]
        special = {id(p) for p in (*shared, *maps, *products)}
        others = [p for p in self.parameters() if id(p) not in special]
        groups: list[dict[str, Any]] = [
            {"params": others},
            {"params": shared, "matrices": "shared_input"},
            {"params": maps, "matrices": "maps", "boost": 3.0},
            {"params": products, "boost": 3.0},
        ]
        return [group for group in groups if group["params"]]

    # ---------------------------------------------------------------- evaluators

    def inputs(self, before: Snapshot) -> Inputs:
        inputs = super().inputs(before)
        extra: dict[tuple[str, ...], Tensor] = {}
        for c in self.predictors:
            for part, _ in self.predictors[c].features():
                if part.name not in self.idle:
                    extra |= part.observe(before, self.dtype)
        return Inputs(inputs.features, inputs.values, inputs.known, inputs.present, extra)

    def largest(self) -> Structure:
        return self.layout.structure(True) - self.layout.ways(self.idle)

    def see(self, inputs: Inputs) -> Seen:
        """Inputs with the encodings of all objects."""
        encoded = {c: self.encoders[c](x) for c, x in inputs.features.items()}
        identities = self.who(inputs)
        for c, who in identities.items():
            encoded[c] = torch.cat([encoded[c], who.expand(inputs.batch_size, -1, -1)], dim=-1)
        return Seen(inputs, encoded, identities)

    def who(self, inputs: Inputs) -> dict[str, Tensor]:
        """Who the objects of each class are, (1 or batch, object, channel), if it knows that."""
        return told({c: self.identities[c] for c in self.identities}, inputs.present)

    def forward(self, inputs: Inputs, *structures: Structures) -> tuple[Predictions, ...]:
        for each in structures:
            self.check_shares(inputs, each)
        if self.is_literal:
            return tuple(self.predict_literally(inputs, each) for each in structures)
        seen = self.see(inputs)
        return tuple(self._predict(seen, self._compose(each)) for each in structures)

    def _compose(self, structures: Structures) -> dict[str, Batched]:
        masks = Masks(self.layout, structures)
        return {c: Batched(self.predictors[c], masks) for c in self.predictors}

    def _predict(self, seen: Seen, composed: Mapping[str, Batched | WithNeighbours]) -> Predictions:
        classes = {c: predictor(seen, self.heads[c]) for c, predictor in composed.items()}
        return Predictions(self.schema, classes)

    def predict_literally(
        self, inputs: Inputs, structures: Structures, target: tuple[str, str] | None = None
    ) -> Predictions:
        """Predictions by the literal evaluator, of all targets or of one and its class."""
        if target is not None and not self.schema.field(*target).is_target:
            raise ModelError(f"Field `{'.'.join(target)}` is not predicted: no state field.")
        masks = Masks(self.layout, structures)
        encodings = encode_literally({c: self.encoders[c] for c in self.schema.classes}, inputs)
        identities, classes = self.who(inputs), {}
        for c in self.predictors if target is None else [target[0]]:
            chosen = None if target is None else [target[1]]
            classes[c] = predict_literally(
                self.predictors[c], inputs, encodings, identities, masks, self.heads[c], chosen
            )
        return Predictions(self.schema, classes)

    def compile_for(self, graph: Graph | Structure) -> AbstractPredictor:
        if isinstance(graph, Structure | ClassGraph):
            if self.is_literal:
                return super().compile_for(graph)
            return SinglePredictor(self, self.structures(graph))
        plan = HidingPlan.of(self.schema, graph)
        return HidingPredictor(plan, self.compile_for(plan.graph))

    @torch.no_grad()
    def compile_neighbours(self, neighbours: Neighbours) -> NeighboursPredictor:
        self.check_layout(neighbours.structure)
        if self.is_literal:
            return super().compile_neighbours(neighbours)
        composed = {
            c: WithNeighbours(
                self.predictors[c], Masks(self.layout, self.rows(neighbours.of(c))), elements
            )
            for c, elements in neighbours.elements.items()
        }

        @torch.no_grad()
        def predict(inputs: Inputs) -> Predictions:
            return self._predict(self.see(inputs), composed)

        return predict


@final
class SinglePredictor(AbstractPredictor):
    """All targets under one structure; where all is known, each from its parents alone."""

    @torch.no_grad()
    def __init__(self, model: OocdmModel, structure: Structures) -> None:
        self._model, self._composed = model, model._compose(structure)
        masks = Masks(model.layout, structure)
        encoders = {c: model.encoders[c] for c in model.schema.classes}
        self._encoders = {
            (c, f): encoder.of_field(f, model.featuriser)
            for c, encoder in encoders.items()
            for f in encoder.fields
        }
        self._identities = {c: KnownIdentities(model.identities[c]) for c in model.identities}
        reading = Reading(encoders, self._encoders, lambda now: model.see(model.inputs(now)))
        self._targets: dict[tuple[str, str], TabledTarget] = {}
        for c in model.predictors:
            predictor, head = model.predictors[c], model.heads[c]
            layer = predictor.first_layer(masks)
            for v in head.targets:
                target = SingleTarget(predictor, v, masks, layer, head, reading)
                self._targets[c, v] = TabledTarget(target)

    @torch.no_grad()
    def __call__(self, before: Snapshot) -> Predictions:
        if not before.is_all_known:
            return self._model._predict(self._model.see(self._model.inputs(before)), self._composed)
        view, classes = self._view(before), {}
        for c in self._model.predictors:
            head, leading = self._model.heads[c], before.present[c].shape
            num = 5 if head.is_mixture.any() else 2
            numbers, logits = [], {}
            for v, field in head.targets.items():
                found = self._targets[c, v](view)
                if field.is_choice:
                    logits[v] = found[0].view(*leading, field.size, field.num_codes)
                    found = (torch.zeros_like(found[0][:, :0]),)
                numbers.append(_stacked(found, num, head.width).unflatten(1, leading))
            mean, sigma, *wide = torch.stack(numbers, 3).unbind()
            part = WidePart(wide[0], wide[1], wide[2], head.is_mixture) if wide else None
            classes[c] = ClassPrediction(mean, sigma, logits, part)
        return Predictions(self._model.schema, classes)

    def each(self, before: Snapshot) -> FieldPredictions:
        if not before.is_all_known:
            return self(before)
        return _EachTarget(self._targets, self._view(before))

    def _view(self, before: Snapshot) -> View:
        self._model.check_schema(before.schema)
        return View(self._encoders, self._model.dtype, before, self._identities)


@final
class _EachTarget:
    """Distributions of the targets of one state, each computed when it is asked for."""

    def __init__(self, targets: Mapping[tuple[str, str], TabledTarget], view: View) -> None:
        self._targets, self._view = targets, view

    @torch.no_grad()
    def __getitem__(self, key: FieldKey) -> FieldDistribution:
        c, f = self._view.schema.split(key) if isinstance(key, str) else key
        target = self._targets[c, f]
        field, found = target.field, target(self._view)
        shape = (*self._view.now.present[c].shape, *field.shape)
        if field.is_choice:
            logits = found[0].view(*shape, field.num_codes)
            return CategoricalField(field, log_floored_softmax(logits))
        mean, sigma, *wide = (numbers.view(shape) for numbers in found)
        narrow = NormalField(field, mean, sigma)
        if not wide:
            return narrow
        return MixtureField(narrow, NormalField(field, *wide[:2]), wide[2])


@final
class HidingPredictor(AbstractPredictor):
    """Under a graph of single variables: what a target may not see is hidden from it."""

    def __init__(self, plan: HidingPlan, predict: AbstractPredictor) -> None:
        self._plan, self._predict = plan, predict

    def __call__(self, before: Snapshot) -> Predictions:
        return self._plan.predict(before, self._predict)


PADDING = (0.0, 1.0, 0.0, 1.0, 0.0)  # where there is no mean, sigma, or wide mean, sigma, chance


def _stacked(found: tuple[Tensor, ...], num: int, width: int) -> Tensor:
    """What the target of single rows says, as all targets are stacked: (number, row, component)."""
    padded = [
        functional.pad(t, (0, width - t.shape[1]), value=fill)
        for t, fill in zip(found, PADDING, strict=False)
    ]
    rows = len(found[0])
    padded += [found[0].new_full((rows, width), fill) for fill in PADDING[len(found) : num]]
    return torch.stack(padded)
