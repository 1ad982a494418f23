"""The list of what a step of mpe2 reads."""

from __future__ import annotations

from collections.abc import Callable

from oocdm.bench.simulators.mpe import MPE

WORDS = {"x": "p_pos", "y": "p_pos", "vx": "p_vel", "vy": "p_vel", "move": "action"}
VERBS = {"x": "p_pos +=", "y": "p_pos +=", "vx": "p_vel = ", "vy": "p_vel = "}


def test_places_are_lines_of_the_package_that_name_what_is_read_and_what_follows(
    quote: Callable[[str, str], str],
) -> None:
    for edge, places in MPE.places().items():
        (_, target), source = edge.split(" <- ")[0].split("."), edge.rsplit(".", 1)[1]
        text = quote("mpe2", places)
        assert WORDS[source] in text and VERBS[target] in text, edge


def test_all_of_it_is_common() -> None:
    assert MPE.common() == list(MPE.places())
    assert len(MPE.common()) == 52


def test_agents_do_not_read_the_velocities_and_moves_of_others() -> None:
    others = {edge.split("[*].")[1] for edge in MPE.places() if "[*]" in edge}
    assert others == {"x", "y"}
