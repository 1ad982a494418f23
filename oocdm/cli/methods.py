"""The verb that lists methods."""

from __future__ import annotations

from oocdm.cli.output import AsJson, Output
from oocdm.errors import ModelError
from oocdm.methods import AbstractMethod, OocdmPlus, OofullPlus, method_class, method_names
from oocdm.report.terminal import text_table


def methods(as_json: AsJson = False) -> None:
    """List the methods that `train` and the benchmarks know, those of other packages too."""
    out, infos = Output(as_json), [_info(name) for name in method_names()]
    out.say(
        text_table(
            ["name", "numbers of objects", "what it does"],
            [(str(i["name"]), str(i["objects"]), str(i["description"])) for i in infos],
        )
    )
    out.finish({"methods": infos})


def _objects(chosen: type[AbstractMethod]) -> str:
    if chosen.needs_fixed_objects:
        return "fixed"
    return "any, by name" if issubclass(chosen, OocdmPlus | OofullPlus) else "any"


def _info(name: str) -> dict[str, str]:
    try:
        chosen = method_class(name)
    except ModelError as error:  # of another package, which must not hide the others
        return {"name": name, "objects": "unknown", "description": str(error)}
    return {
        "name": name,
        "objects": _objects(chosen),
        "description": (chosen.__doc__ or "").strip().partition("\n")[0],
    }
