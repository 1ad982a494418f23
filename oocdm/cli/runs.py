"""Verbs that make or use a run: train, resume, discover, eval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import oocdm
from oocdm.cli.env_options import EnvOptions
from oocdm.cli.online import OnlineOptions, is_online, resume_online, train_online
from oocdm.cli.output import AsJson, Output, Seed, Threads, use_threads
from oocdm.cli.training import (
    PICTURE,
    choose_method,
    draw,
    follow,
    read_graph,
    say_what_predicts,
    show_result,
)
from oocdm.errors import ModelError, OocdmError
from oocdm.report.progress import ProgressBar

Run = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
Data = Annotated[Path, typer.Option(help="Folder of a dataset.")]
Steps = Annotated[int | None, typer.Option(min=1, rich_help_panel="Schedule")]


def train(
    *,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="Folder of a dataset; or --online.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the run.")],
    method: Annotated[str, typer.Option(help="Its name, as `oocdm methods` lists it.")] = "oocdm",
    preset: Annotated[str, typer.Option(help="default or paper.")] = "default",
    seed: Seed = 0,
    threshold: Annotated[
        float | None, typer.Option(help="Nats that an edge must add to be in the graph.")
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option(help="A known graph, not to be discovered: printed rows, or JSON."),
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(help="Known of an edge, such as 'Ball.v <- !Wall[*].*'; may be repeated."),
    ] = None,
    priors: Annotated[Path | None, typer.Option(help="YAML file of such rows.")] = None,
    likelihood: Annotated[
        str | None,
        typer.Option(help="Of all fields that may have it: auto, normal, mixture, categorical."),
    ] = None,
    hide_variables: Annotated[
        float | None,
        typer.Option(help="Probability of hiding a variable, for `discover --variables`."),
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="End training after so long.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="What training may take beside the data, such as 8GiB.")
    ] = "4GiB",
    option: Annotated[
        list[str] | None,
        typer.Option(help="Of the method, such as max_samples=500; may be repeated."),
    ] = None,
    threads: Threads = 1,
    iterations: Steps = None,
    steps_per_iteration: Steps = None,
    polish_steps: Annotated[int | None, typer.Option(min=0, rich_help_panel="Schedule")] = None,
    online: OnlineOptions,
    options: EnvOptions,
    as_json: AsJson = False,
) -> None:
    """Learn a world model and its causal graph from a dataset, or while acting, into a new run."""
    from oocdm.training.given import check_new

    if (data is None) == (online.online is None):
        raise OocdmError(
            "train: expected the folder of a dataset, or the name of an environment with --online, "
            f"got {'neither' if data is None else 'both'}."
        )
    use_threads(threads)
    check_new("train", output)
    schedule = {
        "iterations": iterations,
        "steps_per_iteration": steps_per_iteration,
        "polish_steps": polish_steps,
    }
    flags = {
        "threshold": threshold,
        "likelihood": likelihood,
        "hide_variables": hide_variables,
    }
    chosen = choose_method(method, preset, option or [], flags, schedule)
    if data is None:
        if graph is not None or minutes is not None:
            raise OocdmError(
                f"Option --{'minutes' if graph is None else 'graph'}: learning in an environment "
                "does not take it. Leave it out."
            )
        schema = options.make(str(online.online)).world.schema
        settings = {
            "method": chosen,
            "seed": seed,
            "priors": oocdm.Priors.of(schema, priors).with_rows(prior or []),
            "memory": memory,
        }
        train_online(Output(as_json), output, online, options, settings)
        return
    online.check_offline(options)
    dataset = oocdm.load_dataset(data)
    known = None if graph is None else read_graph(graph, dataset)
    beliefs = oocdm.Priors.of(dataset.schema, priors).with_rows(prior or [])
    result = follow(
        lambda callback: oocdm.fit(
            dataset,
            chosen,
            seed,
            known,
            beliefs,
            folder=output,
            callback=callback,
            max_seconds=None if minutes is None else 60 * minutes,
            memory=memory,
            data_folder=data.resolve(),
        ),
        output,
    )
    show_result(Output(as_json), result, output)


def resume(
    run: Run,
    data: Annotated[Path | None, typer.Option(help="Dataset, if it has moved.")] = None,
    as_json: AsJson = False,
) -> None:
    """Go on with an interrupted run, with its threads; the result equals an uninterrupted one."""
    from oocdm.files import Contents
    from oocdm.training.run import is_finished

    if is_online(run):
        if data is not None:
            raise ModelError(
                f"Option --data: {run} holds online learning, which has its data. Leave it out."
            )
        resume_online(Output(as_json), run)
        return
    if is_finished(Contents.of(run, ModelError)):
        result = oocdm.resume(run)
        if not (run / PICTURE).is_file():  # it was ended before it was drawn
            draw(run, result)
    else:
        dataset = None if data is None else oocdm.load_dataset(data)
        result = follow(lambda callback: oocdm.resume(run, dataset, callback), run)
    show_result(Output(as_json), result, run)


def discover(
    run: Run,
    data: Data,
    threshold: Annotated[
        float | None, typer.Option(help="Nats that an edge must add; the run's if not given.")
    ] = None,
    variables: Annotated[
        bool, typer.Option("--variables", help="Between single variables, within the run's graph.")
    ] = False,
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Discover the graph again with a trained model, on other data; shows edges settling."""
    use_threads(threads)
    ask = _ask_for_variables if variables else _ask_for_graph
    out = Output(as_json)
    answer = ask(out, oocdm.load(run), oocdm.load_dataset(data), threshold)
    out.finish({"run": str(run), "data": str(data), **answer})


def _ask_for_variables(
    out: Output, result: oocdm.FitResult, data: oocdm.Dataset, threshold: float | None
) -> dict[str, Any]:
    from oocdm.report.terminal import graph_text

    with ProgressBar() as bar:
        found = oocdm.discover_variables(result, data, threshold, bar.show_edges)
    out.say(graph_text(found.graph, found))
    return {**found.graph.to_json(), "table": found.rows()}


def _ask_for_graph(
    out: Output, result: oocdm.FitResult, data: oocdm.Dataset, threshold: float | None
) -> dict[str, Any]:
    from oocdm.report.terminal import graph_text
    from oocdm.training.run import graph_to_json

    with ProgressBar() as bar:
        found = oocdm.discover(result, data, threshold, bar.show_edges)
    before, after = (set(graph.to_json()["edges"]) for graph in (result.graph, found.graph))
    added, dropped = sorted(after - before), sorted(before - after)
    out.say(graph_text(found.graph, found.evidence))
    out.say(f"\nAgainst the graph of the run: added {len(added)}, dropped {len(dropped)}.")
    for sign, edges in (("+", added), ("-", dropped)):
        for edge in edges:
            out.say(f"  {sign} {edge}")
    return {**graph_to_json(found.graph, found.evidence), "added": added, "dropped": dropped}


def accept(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of a run or a dataset.")],
    as_json: AsJson = False,
) -> None:
    """Take the files of a run or a dataset as they are, after they were changed on purpose."""
    out = Output(as_json)
    oocdm.accept_changes(folder)
    out.say(f"The files of {folder} are taken as they are now.")
    out.finish({"folder": str(folder)})


def evaluate(run: Run, data: Data, threads: Threads = 1, as_json: AsJson = False) -> None:
    """Evaluate a run on a dataset: AILL, and for each field likelihood, error and coverage."""
    from oocdm.report.terminal import evaluation_table

    use_threads(threads)
    out, result = Output(as_json), oocdm.load(run)
    report = oocdm.evaluate(result, oocdm.load_dataset(data))
    out.say(evaluation_table(report))
    out.say(f"\nAILL {report.aill:.3f} on {report.transitions:,} transitions")
    for note in report.outside:
        out.say(note)
    say_what_predicts(out, result)
    out.finish({"run": str(run), "data": str(data), **report.to_json()})
