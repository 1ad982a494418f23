"""The options of an OOCDM network, the same for all its evaluators."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from oocdm.errors import ModelError
from oocdm.models.head import PAPER_SIGMA_FLOOR, HeadOptions
from oocdm.reading import Positive, Range, Size, check_fields, known_name, read


@dataclass(frozen=True)
class ModelOptions:
    """Sizes and structure of an OOCDM; the defaults improve on the paper.

    >>> ModelOptions.preset("paper").aggregators
    ('attention',)
    """

    encoding_dim: Size = 16  # learned channels of an attribute's encoding
    local_dim: Size = 32  # the target object's own encoding, as the decoder sees it
    heads: Size = 2  # attention heads, each of width local_dim / heads
    message_dim: Size = 16  # channels summed over the other objects
    decoder_dim: Size = 32
    # What is bilinear, and what happens between two objects: costly, so few targets have them.
    # Products of two linear maps of all features; 0 for none.
    product_rank: Annotated[int, Range(at_least=0, at_most=2**16)] = 4
    pairs: bool = True  # filters of both ends of a pair, times values of the sender
    pair_hidden: Size = 32  # units of each of the two hidden layers of a pair
    pair_dim: Size = 8  # filtered values that are summed over the senders
    aggregators: tuple[Literal["attention", "sum"], ...] = ("sum",)
    # Values themselves beside their encodings, one-hot codes of whole numbers, the largest and
    # smallest values among the other objects, and whether discrete attributes of two objects agree.
    enrich: bool = True
    predict_change: bool = True  # where V -> V' is an edge, predict the change of V
    linear_path: bool = True  # a linear map beside the decoder, for the means
    structure_aware: bool = True  # decoder and linear map know which inputs the graph leaves them
    flag_unknown: bool = False  # encoders see which values are unknown; otherwise just 0 for them
    normalise: bool = True  # inputs and outputs in units of the data's spread
    random_biases: bool = False  # begin with biases of N(0, 1) instead of 0
    clamp_means: bool = True  # bounded means are cut off; otherwise squashed by tanh or softplus
    skip_unrelated: bool = True  # objects of a class without an edge into a target are left out
    # Who an object is, for objects of a class that differ: channels of the encodings of places;
    # 0 for none.
    identity_dim: Annotated[int, Range(at_least=0, at_most=2**16)] = 0
    openness: bool = True  # who two objects are also decides how much one hears of the other
    # Added to every sigma, in raw units; None: a small share of usual changes.
    sigma_floor: Positive | None = None

    def __post_init__(self) -> None:
        check_fields(self, "model", ModelError)
        if not self.aggregators:
            raise ModelError("aggregators: expected attention, sum or both, got none.")
        if self.identity_dim % 2:
            raise ModelError(
                f"identity_dim must be even, half of it for each way, got {self.identity_dim}."
            )
        if self.local_dim % self.heads:
            raise ModelError(
                f"local_dim must be a multiple of heads, got {self.local_dim} and {self.heads}."
            )

    @property
    def has_products(self) -> bool:
        """Whether there are products; they stand beside the network, as the linear map does."""
        return self.linear_path and self.product_rank > 0

    @property
    def has_openness(self) -> bool:
        """Whether who two objects are decides how much one hears of the other."""
        return self.openness and self.identity_dim > 0

    @property
    def head(self) -> HeadOptions:
        """The options that every kind of world model has."""
        return HeadOptions(self.predict_change, self.clamp_means, self.sigma_floor)

    @staticmethod
    def preset(name: str) -> ModelOptions:
        """The options by name: "default", or "paper" for the paper's network as written."""
        known_name(name, ("default", "paper"), "preset", ModelError)
        if name == "paper":
            return ModelOptions(
                product_rank=0,
                pairs=False,
                aggregators=("attention",),
                enrich=False,
                predict_change=False,
                linear_path=False,
                structure_aware=False,
                normalise=False,
                random_biases=True,
                clamp_means=False,
                skip_unrelated=False,
                openness=False,
                sigma_floor=PAPER_SIGMA_FLOOR,
            )
        return ModelOptions()

    def to_json(self) -> dict[str, Any]:
        """A JSON-ready dictionary that `from_json` reads back."""
        return {**asdict(self), "aggregators": list(self.aggregators)}

    @staticmethod
    def from_json(data: dict[str, Any]) -> ModelOptions:
        """Read back what `to_json` wrote."""
        found: ModelOptions = read(ModelOptions, data, "model", ModelError, complete=True)
        return found
