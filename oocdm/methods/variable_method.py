"""What the baselines share: networks over single variables, for fixed objects."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from oocdm.data.dataset import Dataset
from oocdm.discovery.same_objects import check_same_objects
from oocdm.errors import ModelError
from oocdm.methods.class_method import PAPER_SCHEDULE
from oocdm.methods.method import AbstractMethod, Schedule
from oocdm.models.head import PAPER_SIGMA_FLOOR, HeadOptions
from oocdm.models.scales import Scales
from oocdm.models.variable_model import AbstractVariableModel, Setting
from oocdm.reading import known_name
from oocdm.schema import Schema

# More, smaller steps than `oocdm` takes: these networks have more weights, and no graph that stays
# the same ends their learning early. All else is the same for all methods.
SCHEDULE = Schedule(iterations=20, steps_per_iteration=500, patience=20, batch_size=256)


@dataclass(frozen=True)
class AbstractVariableMethod(AbstractMethod):
    """A method that knows objects one by one, so that their numbers must stay the same.

    The default gives it what of ours fits any network: units of the data, change prediction,
    blurred likelihoods, held-out episodes and the final polishing. The preset "paper" leaves all
    that out.
    """

    needs_fixed_objects: ClassVar[bool] = True

    schedule: Schedule = SCHEDULE
    head: HeadOptions = field(default_factory=HeadOptions)
    normalise: bool = True  # inputs and outputs in units of the data's spread

    @classmethod
    def preset(cls, name: str, **options: Any) -> Self:
        known_name(name, ("default", "paper"), "preset", ModelError)
        if name == "paper":
            plain = HeadOptions(False, clamp_means=False, sigma_floor=PAPER_SIGMA_FLOOR)
            paper = {"schedule": PAPER_SCHEDULE, "likelihood": "normal", "head": plain}
            options = {**paper, "normalise": False, **options}
        return cls(**options)

    def check_data(self, data: Dataset) -> None:
        advice = "`oocdm methods` tells which take objects that vary, such as `oocdm` and `oofull`."
        check_same_objects(data, f"Method `{self.name}`", advice)

    def build(
        self, schema: Schema, scales: Scales, counts: Mapping[str, int] | None = None
    ) -> AbstractVariableModel:
        if counts is None:
            raise ModelError(f"Method `{self.name}`: expected numbers of objects, got none.")
        used = scales if self.normalise else Scales.unit(schema)
        return self.network(Setting(schema, counts, used, self.head))

    @abstractmethod
    def network(self, setting: Setting) -> AbstractVariableModel:
        """A new network with random weights."""


@dataclass(frozen=True)
class WidthByObjects:
    """A layer's width that grows with the number of objects beside one: the paper's rule.

    >>> WidthByObjects(32, 16, 64, 256)({"Block": 5, "Total": 1})
    112
    """

    first: int
    each: int
    low: int
    high: int

    def __call__(self, counts: Mapping[str, int], chosen: int | None = None) -> int:
        """The width for some objects, unless one was chosen."""
        if chosen is not None:
            return chosen
        others = max(sum(counts.values()) - 1, 0)
        return min(max(self.first + self.each * others, self.low), self.high)


# Channels of a variable's encoding, of CDL, CDL-A and GRADER alike.
ENCODING = WidthByObjects(32, 16, 64, 256)
