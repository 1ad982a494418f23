"""The whole job on one small world, with words and pictures."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import oocdm
from oocdm.cli.output import AsJson, Output, Seed, Threads, use_threads
from oocdm.cli.training import PICTURE, follow
from oocdm.errors import OocdmError
from oocdm.files.lock import locked
from oocdm.files.writing import remove_folder
from oocdm.report.progress import ProgressBar

if TYPE_CHECKING:
    from oocdm.data import Dataset
    from oocdm.graph import ClassGraph
    from oocdm.training import FitResult

FOLDER = Path("runs/demo")
NUM_BLOCKS = 2


@dataclass(frozen=True)
class _Size:
    """How much the demo does."""

    steps: int
    test_steps: int
    iterations: int
    steps_per_iteration: int
    polish_steps: int
    max_seconds: float


FULL = _Size(10_000, 20_000, 8, 400, 1500, max_seconds=230)
QUICK = _Size(400, 400, 1, 3, 3, max_seconds=20)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for all files.")] = FOLDER,
    quick: Annotated[
        bool, typer.Option("--quick", help="Seconds instead of minutes; learns next to nothing.")
    ] = False,
    seed: Seed = 0,
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Show the whole job on Block in a few minutes: data, model, causal graph, pictures."""
    use_threads(threads)
    out, size, started = Output(as_json), QUICK if quick else FULL, time.perf_counter()
    run = output / "run"
    _clear(run)
    out.say(
        f"Block is a world of {NUM_BLOCKS} blocks that are pushed at random, and a Total that "
        "follows the largest of them.\nThis demo learns what causes what in it, and by how much, "
        "from a log alone.\n"
    )
    data = _collect(size.steps, seed, ood=False)
    data.save(output / "data", overwrite=True)
    out.say(f"1. Logged what happened: {data}")
    out.say("2. Learning a model of the world and its causal graph ...")
    result = _fit(data, size, seed, run, output / "data")
    true = oocdm.make("block", num_blocks=NUM_BLOCKS).true_graph
    assert true is not None
    aill = {kind: _aill(result, size, seed, kind == "ood") for kind in ("id", "ood")}
    _tell(out, result, true, aill, run)
    out.say(f"\n{_files(output, run)}\nAll of it took {time.perf_counter() - started:.0f} s.")
    comparison = result.class_graph.compare(true, data.max_counts)
    out.finish(
        {
            **result.class_graph.to_json(),
            "graph_accuracy": comparison.accuracy,
            "aill_id": aill["id"],
            "aill_ood": aill["ood"],
            "seconds": time.perf_counter() - started,
            "data": str(output / "data"),
            "run": str(run),
            "picture": str(run / PICTURE),
        }
    )


def _clear(run: Path) -> None:
    """Remove the run of an earlier demo, and nothing else."""
    from oocdm.training.given import holdings

    if (run / "config.json").is_file():
        with locked("demo", run):
            remove_folder(run)
    elif holdings(run):
        raise OocdmError(f"`{run}` exists and is not a run. Choose another folder with -o.")


def _collect(steps: int, seed: int, ood: bool) -> Dataset:
    world = oocdm.make("block", num_blocks=NUM_BLOCKS, ood=ood)
    with ProgressBar() as bar:
        return oocdm.collect(world, steps=steps, seed=seed, progress=bar.show_collect)


def _fit(data: Dataset, size: _Size, seed: int, run: Path, data_folder: Path) -> FitResult:
    schedule = oocdm.Schedule(
        iterations=size.iterations,
        steps_per_iteration=size.steps_per_iteration,
        polish_steps=size.polish_steps,
    )
    return follow(
        lambda callback: oocdm.fit(
            data,
            seed=seed,
            folder=run,
            callback=callback,
            max_seconds=size.max_seconds,
            data_folder=data_folder.resolve(),
            schedule=schedule,
        ),
        run,
        true=oocdm.make("block", num_blocks=NUM_BLOCKS).true_graph,
    )


def _aill(result: FitResult, size: _Size, seed: int, ood: bool) -> float:
    """Quality on new episodes; their seeds differ from that of the training data."""
    data = _collect(size.test_steps, seed + (2_000 if ood else 1_000), ood)
    return oocdm.evaluate(result, data).aill


def _tell(
    out: Output, result: FitResult, true: ClassGraph, aill: dict[str, float], run: Path
) -> None:
    from oocdm.report.terminal import comparison_text, graph_text

    out.say(f"   Done in {result.seconds:.0f} s.")
    out.say("3. The causes it found of each field's next value, marked against the true ones.")
    out.say("   self is the object itself, Block[*] all blocks; numbers are nats.\n")
    out.say(graph_text(result.class_graph, result.evidence, true))
    out.say()
    out.say(comparison_text(result.class_graph, true))
    out.say("4. How well it predicts new episodes (AILL: mean log-likelihood, more is better):")
    out.say(f"   {aill['id']:.2f} where blocks start as in the log")
    out.say(f"   {aill['ood']:.2f} where they start elsewhere, out of distribution")


def _files(output: Path, run: Path) -> str:
    return "\n".join(
        [
            f"The graph as a picture, learned beside true:  {run / PICTURE}",
            f"The log, as Parquet files:                    {output / 'data'}",
            f"The model, its graph and its curves:          {run}",
            f"Evaluate it yourself:                         "
            f"oocdm eval {run} --data {output / 'data'}",
        ]
    )
