"""Edges between variables by leaving each variable out: the paper's CMI, as CDL uses it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from oocdm.discovery.decide import Discovery
from oocdm.discovery.gains import CHUNK, Gains, Settling, Tally
from oocdm.discovery.rule import Rule
from oocdm.models.prepared import Prepared
from oocdm.models.variable_model import AbstractVariableModel


def discover_by_leaving_out(
    model: AbstractVariableModel,
    data: Prepared,
    estimate: np.ndarray,
    free: np.ndarray,
    rule: Rule,
    resolution: Mapping[str, Tensor] | None = None,
    weights: np.ndarray | None = None,
    settling: Settling | None = None,
) -> Discovery:
    """Keep each free edge that the full graph cannot do without; others stay as in `estimate`."""
    gains = _gains(model, data, estimate | free, free, resolution, settling)
    found = rule.is_found(gains, free, weights)
    structure = np.where(free, found, estimate)
    return Discovery(structure, rule.evidence(model.edges, gains, found, free))


@torch.no_grad()
def _gains(
    model: AbstractVariableModel,
    data: Prepared,
    full: np.ndarray,
    tested: np.ndarray,
    resolution: Mapping[str, Tensor] | None,
    settling: Settling | None,
) -> Gains:
    """What each input adds to each output, one number for each edge."""
    num_inputs, num_outputs = model.num_inputs, model.num_outputs
    at = np.arange(full.size).reshape(num_inputs, num_outputs)
    tally = Tally(at.T, np.ones(full.size, dtype=bool))  # (target, part): parts are inputs
    inputs = np.flatnonzero(tested[at].any(1))
    rows = np.repeat(full[None], 1 + len(inputs), axis=0)
    for row, i in enumerate(inputs, start=1):
        rows[row, at[i]] &= ~tested[at[i]]
    structures = [
        torch.as_tensor(row[None], dtype=model.dtype, device=model.device) for row in rows
    ]
    group = data.cluster.cpu().numpy()
    for start in range(0, len(data), CHUNK):
        chunk = data.rows(slice(start, start + CHUNK))
        scores = [
            _side_by_side(each.log_prob(chunk.targets, resolution))
            for each in model.decode_each(chunk.inputs, structures)
        ]
        known = _side_by_side({c: chunk.targets.known[c] for c in chunk.targets.known})
        tally.add(inputs, torch.cat(scores), known, group[start : start + len(chunk)])
        if settling is not None:
            share = min((start + CHUNK) / len(data), 1.0)
            settling(int(share * tested.sum()), int(tested.sum()))
    gains = Gains(np.zeros(full.size), np.zeros(full.size), np.zeros(full.size, dtype=int))
    tally.write(tested, gains.mean, gains.error, gains.groups)
    return gains


def _side_by_side(per_class: Mapping[str, Tensor]) -> Tensor:
    """Values (batch, object, target) of all classes as (batch, output)."""
    return torch.cat([values.flatten(1) for values in per_class.values()], dim=1)
