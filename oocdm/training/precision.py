"""Whether the digits that a network computes with are enough for what changes."""

from __future__ import annotations

import logging

import numpy as np
import torch

from oocdm.data.snapshot import Transitions
from oocdm.models.scales import as_numbers

logger = logging.getLogger(__name__)

COARSE = 0.05  # of a usual change, that rounding may be without a word


def warn_of_rounding(data: Transitions) -> None:
    """Warn if values are so large that rounding spoils or hides their changes.

    Networks compute with 24 binary digits. A clock in seconds since 1970 stands still for them,
    and a vehicle in coordinates of a map moves by half metres.

    >>> import oocdm
    >>> warn_of_rounding(oocdm.collect(oocdm.make("block"), steps=60, seed=0).transitions())
    """
    for c in data.schema.classes:
        for f, field in data.schema.fields(c).items():
            known = data.before.present[c] & data.before.observed[c][f]
            before = as_numbers(field, data.before.values[c][f], torch.float64)
            usual = _spread(before[known])
            if field.is_target:
                both = data.known(c, f) & known
                change = (as_numbers(field, data.after.values[c][f], torch.float64) - before)[both]
                size = float(change.square().mean().sqrt()) if change.numel() else 0.0
                usual = size or usual
            if usual == 0.0 or not known.any():
                continue
            largest = float(before[known].abs().max())
            step = float(np.spacing(np.float32(largest)))
            if step > COARSE * usual:
                logger.warning(
                    "Field `%s.%s`: values up to %.8g change by %.3g or so, but are kept to %.2g "
                    "only. Subtract a number near them from the column.",
                    *(c, f, largest, usual, step),
                )


def _spread(values: torch.Tensor) -> float:
    """Standard deviation of the values; 0 if they do not differ."""
    return float(values.std()) if values.numel() > 1 else 0.0
