"""The paper's experiments as cells: an environment, a method and a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from oocdm.data import Dataset
from oocdm.envs import collector_of, make
from oocdm.envs.gym_env import WorldGym
from oocdm.envs.registry import RANDOM
from oocdm.errors import OocdmError, suggest
from oocdm.methods import method_class
from oocdm.methods.gnn import GnnWidths
from oocdm.models.head import PAPER_SIGMA_FLOOR
from oocdm.worlds import collect

VARIANT = "released"  # the paper's tables were probably made with these numbers


def raw_sigma_floor(method: str) -> dict[str, Any]:
    """The option that gives a method the paper's floor of sigma, the same number in every unit.

    >>> raw_sigma_floor("oocdm")
    {'model': {'sigma_floor': 1e-05}}
    """
    own = {each.name for each in fields(method_class(method))}
    floor = {"sigma_floor": PAPER_SIGMA_FLOOR}
    return {part: floor for part in ("model", "head") if part in own}


# Told how many transitions are collected, and of how many.
Collected = Callable[[int, int], None]


@dataclass(frozen=True)
class Experiment:
    """One environment of the paper's tables, with its sizes and the paper's settings."""

    env: str
    options: Mapping[str, Any]
    counts: Mapping[str, int]  # numbers of objects, for the grounded graph
    train_steps: int
    paper_threshold: float
    test_options: Mapping[str, Any] = field(default_factory=dict)  # where testing differs
    # Of single methods by their names, where the paper's differ from their defaults.
    method_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # Who acts. One that is not random decides what is out of distribution, not how episodes start.
    policy: str = RANDOM
    has_variants: bool = True

    def check(self, variant: str) -> None:
        """Raise an `OocdmError` if the environment cannot be made, or has no such variant."""
        if not self.has_variants and variant != VARIANT:
            raise OocdmError(
                f"Environment `{self.env}` has no variants, got {variant!r}. Leave the option out."
            )
        self.make(variant)

    def make(self, variant: str, ood: bool = False, test: bool = False) -> WorldGym:
        """The environment; with `test` as the test data are drawn."""
        options = {**self.options, **(self.test_options if test else {})}
        if self.has_variants:
            options |= {"variant": variant}
        if self.policy == RANDOM:
            options |= {"ood": ood}
        return make(self.env, **options)

    def training_data(self, variant: str, seed: int, tell: Collected | None = None) -> Dataset:
        """What methods are fitted to."""
        if self.policy == RANDOM:
            return collect(self.make(variant), self.train_steps, seed=seed, progress=tell)
        collect_by = collector_of(self.env, self.policy)
        return collect_by(self.train_steps, seed, policy_seed=seed, progress=tell)

    def test_data(
        self, variant: str, steps: int, seed: int, ood: bool, tell: Collected | None = None
    ) -> Dataset:
        """Other episodes, in distribution or out of it, for the model of a seed."""
        own = 10_000 * (1 + ood) + seed
        if self.policy == RANDOM:
            world = self.make(variant, ood=ood, test=True)
            return collect(world, steps, seed=own, progress=tell)
        collect_by = collector_of(self.env, self.policy)
        return collect_by(steps, own, ood=ood, policy_seed=seed, progress=tell)

    def fit_options(self, method: str, preset: str) -> dict[str, Any]:
        """The options that a method is fitted with: those of the paper for this environment.

        >>> experiment("mouse").fit_options("ticsa", "default")
        {'likelihood': 'normal', 'head': {'sigma_floor': 1e-05}, 'width': 32}
        """
        options = {"likelihood": "normal", **raw_sigma_floor(method)}
        options |= self.method_options.get(method, {})
        if method in ("cdl", "cdl-a") or (method == "oocdm" and preset == "paper"):
            options["threshold"] = self.paper_threshold
        return options


def _block(num_blocks: int, noise: float = 0.0) -> Experiment:
    return Experiment(
        env="block",
        options={"num_blocks": num_blocks, "noise": noise},
        counts={"Block": num_blocks, "Total": 1},
        train_steps=10_000,
        paper_threshold=0.3,
        test_options={"noise": 0.0},
    )


# With two blocks GRADER can test on all transitions in half of a cell's time. Elsewhere it sees
# its usual 1,000.
ALL_TRANSITIONS = {"grader": {"max_samples": 10_000}}


# Widths in the authors' published settings for Mouse, where our defaults, which grow with the
# objects as theirs do in Block, give others: encodings of 224, a first layer of 64 in TICSA, and
# the GNN's of Block.
MOUSE_WIDTHS: dict[str, dict[str, Any]] = {
    "cdl": {"encoding": 256},
    "cdl-a": {"encoding": 256},
    "grader": {"encoding": 256},
    "ticsa": {"width": 32},
    "gnn": {
        "widths": GnnWidths(
            node=64, action=16, edge=64, edge_hidden=64, node_hidden=80, decoder_hidden=64
        )
    },
}

# Those of AsymBlock grow with its blocks alone, though it has as many Totals: 5 objects, not 9.
ASYMBLOCK_WIDTHS: dict[str, dict[str, Any]] = {
    "cdl": {"encoding": 112},
    "cdl-a": {"encoding": 112, "keys": 144},
    "grader": {"encoding": 112},
    "ticsa": {"width": 44},
    "mlp": {"width": 144},
}

WALKER_WIDTHS: dict[str, dict[str, Any]] = {
    "cdl": {"encoding": 200},
    "cdl-a": {"encoding": 200},
    "grader": {"encoding": 200},
    "ticsa": {"width": 32},
    "gnn": {
        "widths": GnnWidths(
            node=128, action=32, edge=128, edge_hidden=128, node_hidden=128, decoder_hidden=128
        )
    },
    "mlp": {"width": 256},
}

EXPERIMENTS = {
    "block2": replace(_block(2), method_options=ALL_TRANSITIONS),
    "block5": _block(5),
    "block10": _block(10),
    "block5-noisy": _block(5, noise=0.01),
    "mouse": Experiment(
        env="mouse",
        options={},
        counts={"Mouse": 1, "Food": 4, "Monster": 4, "Trap": 4},
        train_steps=50_000,
        paper_threshold=0.1,
        method_options=MOUSE_WIDTHS,
    ),
    "asymblock": Experiment(
        env="asymblock",
        options={"num_blocks": 5},
        counts={"Block": 5, "Total": 5},
        train_steps=10_000,
        paper_threshold=0.3,
        method_options=ASYMBLOCK_WIDTHS,
    ),
    "walker": Experiment(
        env="walker",
        options={},
        counts={"Joint": 6, "Top": 1},
        train_steps=100_000,
        paper_threshold=0.1,
        method_options=WALKER_WIDTHS,
        policy="ppo",
        has_variants=False,
    ),
}


def experiment(name: str) -> Experiment:
    """An experiment by its name.

    >>> experiment("block5").train_steps
    10000
    """
    if name not in EXPERIMENTS:
        raise OocdmError(f"Unknown experiment `{name}`. {suggest(name, EXPERIMENTS)}")
    return EXPERIMENTS[name]
