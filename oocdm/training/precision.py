"""Whether the numbers that a network computes with are enough for the data."""

from __future__ import annotations

import logging

import numpy as np
import torch

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Transitions
from oocdm.errors import DataError
from oocdm.models.scales import as_numbers

logger = logging.getLogger(__name__)

COARSE = 0.05  # of a usual change, that rounding may be without a word
SMALLEST = 1e-12  # spread that changes may have: single precision has no squares of small numbers
EXTREME = 1e4  # interquartile ranges from the median: a normal is never 10 of them away
# What is extreme more often than in two of a thousand, and never a hundred times as extreme as at
# other times, is how the world goes: timers that start again, cars that change lanes.
OFTEN, ALIKE = 0.002, 100.0


def warn_of_rounding(data: Transitions) -> None:
    """Warn if values are so large that rounding spoils or hides their changes.

    Networks compute with 24 binary digits. A clock in seconds since 1970 stands still for them,
    and a vehicle in coordinates of a map moves by half metres.
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


def check_numbers(data: Dataset, rows: np.ndarray) -> None:
    """Refuse fields whose changes are too small, and warn of single extreme values.

    Looks at these transitions.

    A value thousands of times as far away as usual is an error of the log, or its law has such
    heavy tails that what is predicted, and found by that, means little.

    >>> import oocdm
    >>> data = oocdm.collect(oocdm.make("block"), steps=60, seed=0)
    >>> check_numbers(data, np.arange(len(data)))
    """
    transitions = data.transitions(rows)
    for c in data.schema.classes:
        for f, field in data.schema.fields(c).items():
            if not field.is_numeric or field.is_coded:
                continue
            known = transitions.before.present[c] & transitions.before.observed[c][f]
            numbers = as_numbers(field, transitions.before.values[c][f], torch.float64)
            if field.is_target:
                after = as_numbers(field, transitions.after.values[c][f], torch.float64)
                known, numbers = transitions.known(c, f) & known, after - numbers
                _check_smallest(f"{c}.{f}", numbers[known])
            extremes = _extremes(numbers.numpy(), known.numpy())
            if extremes:
                _warn_of([(rows[place[0]], *place[1:]) for place in extremes], data, c, f)


def _check_smallest(name: str, changes: torch.Tensor) -> None:
    for spread in changes.std(0).tolist() if len(changes) > 1 else ():
        if 0 < spread < SMALLEST:
            raise DataError(
                f"Field `{name}`: expected changes with a spread of at least {SMALLEST:g}, got "
                f"{spread:.2g}. Choose another unit: multiply the column by {1 / spread:.0e} or so."
            )


def _extremes(numbers: np.ndarray, known: np.ndarray) -> list[tuple[int, ...]]:
    """Places of numbers far beyond the middle half of them, the farthest first."""
    found = []
    for i in range(numbers.shape[-1]):
        column = np.where(known, numbers[..., i], 0.0)
        is_varied = column != 0  # most may rest
        if not is_varied.any():
            continue
        low, middle, high = np.percentile(column[is_varied], [25, 50, 75])
        far = np.abs(column - middle) > EXTREME * ((high - low) or abs(middle))
        sizes = np.abs(column - middle)[far & is_varied]
        is_usual = len(sizes) > OFTEN * is_varied.sum() and sizes.max() < ALIKE * sizes.min()
        if not (is_usual and len(sizes) > 2):  # one value makes two changes
            found += [(*place, i) for place in np.argwhere(far & is_varied)]
    return sorted(found, key=lambda place: -abs(numbers[place]))


def _warn_of(extremes: list[tuple[int, ...]], data: Dataset, c: str, f: str) -> None:
    field, told = data.schema.field(c, f), []
    for transition, slot, i in extremes[:3]:
        row = data.starts[transition]
        before, after = (data.values[c][f][at, slot].reshape(-1)[i] for at in (row, row + 1))
        value = f"from {before:.3g} to {after:.3g}" if field.is_target else f"{before:.3g}"
        told.append(f"{value} at {data.place(c, row + field.is_target, slot)}")
    logger.warning(
        "Field `%s.%s`: %d %s more than %g times as large as usual: %s%s. If they are errors, "
        "blank them. If not, take logarithms: edges that are found with such values may be wrong.",
        *(c, f, len(extremes), "changes are" if field.is_target else "values are", EXTREME),
        *("; ".join(told), "; ..." if len(extremes) > 3 else ""),
    )


def _spread(values: torch.Tensor) -> float:
    """Standard deviation of the values; 0 if they do not differ."""
    return float(values.std()) if values.numel() > 1 else 0.0
