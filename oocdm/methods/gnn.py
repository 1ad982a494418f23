"""GNN: messages between all pairs of objects, each with encoders of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from oocdm.errors import ModelError
from oocdm.graph import Variable
from oocdm.methods.dense import AbstractDenseMethod, AbstractDenseModel
from oocdm.models.variable_model import AbstractVariableModel, Encoded, Setting, TwoLayers
from oocdm.reading import Size, check_fields
from oocdm.schema import Schema


@dataclass(frozen=True)
class GnnWidths:
    """Widths of the network's parts."""

    node: Size = 32
    action: Size = 8
    edge: Size = 32
    edge_hidden: Size = 32
    node_hidden: Size = 40
    decoder_hidden: Size = 32

    def __post_init__(self) -> None:
        check_fields(self, error=ModelError)


class _Objects:
    """Objects of one class: where their variables stand among inputs and outputs."""

    def __init__(self, schema: Schema, c: str, inputs: list[Variable], count: int) -> None:
        fields = schema.fields(c)

        def rows(is_action: bool) -> Tensor:
            names = [f for f, field in fields.items() if field.action == is_action]
            place = {(v.object, v.field_name): i for i, v in enumerate(inputs) if v.class_name == c}
            table = [[place[i, f] for f in names] for i in range(count)]
            return torch.tensor(table, dtype=torch.long).reshape(count, len(names))

        self.name, self.count = c, count
        self.state, self.action = rows(False), rows(True)
        self.num_targets = len(schema.targets(c))


class GnnModel(AbstractDenseModel):
    """Encodes objects, passes messages along the complete graph, decodes each object."""

    def __init__(self, setting: Setting, widths: GnnWidths) -> None:
        super().__init__(setting)
        self.widths, w = widths, widths
        inputs = [Variable.parse(name) for name in self.variables.inputs]
        self.groups = [_Objects(self.schema, c, inputs, n) for c, n in self.counts.items() if n]
        self.states = torch.nn.ModuleList()
        self.actions = torch.nn.ModuleList()
        self.decoders = torch.nn.ModuleList()
        for group in self.groups:
            states, actions = group.state.shape[1], group.action.shape[1]
            state_width, action_width = states * self.input_width, actions * self.input_width
            out_width = group.num_targets * self.output_width
            self.states.append(TwoLayers(group.count, state_width, w.node, w.node))
            self.actions.append(TwoLayers(group.count, action_width, w.decoder_hidden, w.action))
            self.decoders.append(TwoLayers(group.count, w.node, w.decoder_hidden, out_width))
        self.edge_net = TwoLayers(1, 2 * w.node, w.edge_hidden, w.edge)
        self.node_net = TwoLayers(1, w.node + w.action + w.edge, w.node_hidden, w.node)

    def encode(self, variables: Tensor) -> Encoded:
        nodes, actions = [], []
        batch = variables.shape[1]
        for group, state_net, action_net in zip(
            self.groups, self.states, self.actions, strict=True
        ):
            nodes.append(state_net(_gather(variables, group.state)))
            actions.append(action_net(_gather(variables, group.action)))
        node, action = torch.cat(nodes), torch.cat(actions)  # (object, batch, channel)
        num = len(node)
        pairs = torch.cat(
            [
                node.unsqueeze(0).expand(num, -1, -1, -1),
                node.unsqueeze(1).expand(-1, num, -1, -1),
            ],
            -1,
        )
        messages = self.edge_net(pairs.flatten(0, 2).unsqueeze(0)).view(num, num, batch, -1)
        is_other = ~torch.eye(num, dtype=torch.bool, device=node.device)[..., None, None]
        heard = torch.where(is_other, messages, 0.0).sum(1)
        together = torch.cat([node, action, heard], -1).flatten(0, 1).unsqueeze(0)
        return (self.node_net(together).view(num, batch, -1),)

    def predict_all(self, encoded: Encoded) -> Tensor:
        parts, start = [], 0
        for group, decoder in zip(self.groups, self.decoders, strict=True):
            out = decoder(encoded[0][start : start + group.count])
            start += group.count
            out = out.unflatten(-1, (group.num_targets, self.output_width))
            parts.append(out.transpose(1, 2).flatten(0, 1))
        return torch.cat(parts)


def _gather(variables: Tensor, rows: Tensor) -> Tensor:
    """The variables of each object side by side: (object, batch, number)."""
    return variables[rows.to(variables.device)].transpose(1, 2).flatten(2)


@dataclass(frozen=True)
class Gnn(AbstractDenseMethod):
    """Passes messages between all pairs of objects; finds no graph.

    >>> Gnn().widths.node
    32
    """

    name: ClassVar[str] = "gnn"

    widths: GnnWidths = GnnWidths()

    def network(self, setting: Setting) -> AbstractVariableModel:
        return GnnModel(setting, self.widths)
