"""What is trained, and on what: a model, the data read for it, and batches of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from oocdm.data.dataset import Dataset
from oocdm.data.snapshot import Snapshot, Transitions
from oocdm.errors import ModelError
from oocdm.graph import Structure
from oocdm.methods.method import AbstractMethod, Term
from oocdm.models.allocator import Ceiling
from oocdm.models.memory import TooMuch, measure, say_memory, within
from oocdm.models.oocdm.model import OocdmModel
from oocdm.models.oocdm.parts.pairs import Pairs
from oocdm.models.prepared import Budget, Prepared, Receivers
from oocdm.models.scales import Scales
from oocdm.models.world_model import AbstractWorldModel
from oocdm.training.batch import Batch, num_shares
from oocdm.training.copies import steps_of_copy
from oocdm.training.plan import WORKING_SHARE, Standing
from oocdm.training.precision import check_numbers, warn_of_rounding

MEASURED = 8  # transitions on which it is measured what measuring them takes


class Material:
    """A new model, and the transitions that it learns from and those that are held out.

    They must be `read` before use, for the elements that structures may have.
    """

    training: Prepared
    held_out: Prepared

    def __init__(
        self, data: Dataset, method: AbstractMethod, seed: int, device: str, memory: int
    ) -> None:
        self.method, self.schedule, self.seed = method, method.schedule, seed
        # Where a number stands among others decides how it is rounded: empty places would matter.
        data = data.without_empty_places()
        self.training_data, held_out = data, data
        if self.schedule.held_out > 0:
            self.training_data, held_out = data.split(self.schedule.held_out, seed)
        size = max(self.training_data.padded_bytes() // len(self.training_data), 1)
        most = memory // WORKING_SHARE // size
        check_numbers(data, _evenly(len(data), most))
        transitions = self._spread(most)
        warn_of_rounding(transitions)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            scales = Scales.measure(transitions)
            schema = method.predicted(data.schema)
            try:
                self.model = within(memory, lambda: method.build(schema, scales, data.max_counts))
            except (TooMuch, OverflowError):
                raise ModelError(
                    f"fit: `memory`: expected room for the network, got {say_memory(memory)}, "
                    f"which is less than its weights alone take. Give more, or make the sizes "
                    f"among the options of the method `{method.name}` smaller."
                ) from None
        del transitions
        used = measure(lambda: self.model.measure(self._spread(MEASURED)))
        self.model.measure(self._spread(MEASURED * memory // WORKING_SHARE // max(used.peak, 1)))
        _move(self.model, device)
        divided = 0 if held_out is data else size // 2 * len(data)
        copies = self.schedule.copies if steps_of_copy(self.schedule) else 0
        self.standing = Standing.of(self.model, self.schedule.optimiser, divided, copies)
        # Discovery may stop early: the transitions that it sees first must be any of them.
        rows = np.random.default_rng(seed).permutation(len(held_out))
        self.held_out_data = held_out, rows

    def read(self, used: Structure, budget: Budget) -> None:
        """Prepare all data, without what only costly parts read that no structure uses."""
        if isinstance(self.model, OocdmModel):
            self.model.idle = _idle(used)
        self.training = self.held_out = Prepared.of(self.model, self.training_data, budget=budget)
        if self.has_held_out:
            self.held_out = Prepared.of(self.model, *self.held_out_data, budget)

    def read_again(self, used: Structure) -> None:
        """Prepare all data again if others are read than before."""
        if isinstance(self.model, OocdmModel) and self.model.idle != _idle(used):
            self.read(used, self.training.budget)

    @property
    def has_held_out(self) -> bool:
        """Whether transitions were held out; else those that are learned from stand for them."""
        return self.held_out_data[0] is not self.training_data

    @property
    def prepared(self) -> list[Prepared]:
        """All that was read."""
        return [self.training, self.held_out] if self.has_held_out else [self.training]

    def stay_below(self, ceiling: Ceiling) -> None:
        """Keep resident memory below a ceiling."""
        self.training = self.training.below(ceiling)
        self.held_out = self.held_out.below(ceiling) if self.has_held_out else self.training

    def _spread(self, most: int) -> Transitions:
        """All transitions to learn from, or so many of them, evenly spread."""
        return self.training_data.transitions(_evenly(len(self.training_data), most))

    # ---------------------------------------------------------------- batches

    def batch_size(self, terms: Sequence[Term], size: int) -> int:
        """The rows of a batch of about some size that structures share evenly."""
        shares = num_shares(terms)
        return max(min(size, len(self.training)) // shares, 1) * shares

    def batch(
        self,
        rows: np.ndarray,
        terms: Sequence[Term],
        blur: Mapping[str, Tensor] | None,
        rng: np.random.Generator,
    ) -> Batch:
        """Some transitions to be scored; of large classes objects are drawn as targets."""
        data = self.training.rows(torch.as_tensor(rows))
        hidden = self.partly_hidden(rows, rng) if self.method.hide_variables else None
        receivers = Receivers.draw(self.model, data, rng)
        return Batch(self.model, data, terms, receivers, blur, hidden)

    def largest_batch(self, terms: Sequence[Term], size: int) -> Batch:
        """A batch of the transitions with the most objects."""
        num = self.batch_size(terms, size)
        rows = np.resize(self.training.fullest(num).numpy(), num)
        blur = self.model.resolution(self.schedule.resolution) if self.schedule.resolution else None
        rng = np.random.default_rng(self.seed)
        return self.batch(rows, [_largest_first(term) for term in terms], blur, rng)

    def partly_hidden(self, rows: np.ndarray, rng: np.random.Generator) -> Snapshot:
        """States before some transitions; from half of them single variables are hidden."""
        before = self.training_data.transitions(rows).before.to(self.model.device)
        is_partial = rng.random((len(rows), 1)) < 0.5
        masks = {
            c: {
                f: torch.as_tensor(
                    is_partial & (rng.random((len(rows), n)) < self.method.hide_variables),
                    device=self.model.device,
                )
                for f in self.model.schema.fields(c)
            }
            for c, n in before.counts.items()
        }
        return before.hide(masks)


def _idle(used: Structure) -> frozenset[str]:
    """Costly parts that no structure has."""
    pairs = used.layout.ways((Pairs.name,))
    return frozenset(() if (used & pairs).any() else (Pairs.name,))


def _largest_first(term: Term) -> Term:
    """A term with its structures in the order of their size: the first ones need the most."""
    if isinstance(term.structures, Tensor):
        return term
    order = np.argsort(-term.structures.sum(1), kind="stable")
    return replace(term, structures=term.structures[order])


def _evenly(total: int, most: int) -> np.ndarray:
    """All numbers below a total, or so many of them, evenly spread."""
    size = min(most, total)
    return np.arange(size) * total // max(size, 1)


def _move(model: AbstractWorldModel, device: str) -> None:
    try:
        model.to(torch.device(device))
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(
            f"fit: `device`: expected one that torch can use here, such as cpu, got {device!r} "
            f"({reason})."
        ) from None
