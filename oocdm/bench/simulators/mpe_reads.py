"""All that a step of `simple_tag` of mpe2 1.1.1 reads, with file and line, written by hand.

A step first gathers forces, from moves and from contacts, all at the positions before it. Then
each agent goes on at its old velocity, which is damped, pushed and kept below its greatest speed.
The force of a contact fades fast with the distance, but never ends: who is far away is read, too,
and moves nothing. `mpe_activity.json` tells how often each edge is active.
"""

from __future__ import annotations

from oocdm.bench.simulators.reads import Reads, each

_GO = "_mpe_utils/core.py:235"
_DAMP = "_mpe_utils/core.py:236"
_PUSH = "_mpe_utils/core.py:239"
# A greatest speed is one of both directions together: what changes one of them changes the other.
_LIMIT = "_mpe_utils/core.py:240-252"
_MOVE = "_mpe_utils/simple_env.py:205-218,257-272; _mpe_utils/core.py:200-207"
_CONTACT = "_mpe_utils/core.py:215-227,275-285"


def _velocity(own: str, other: str) -> Reads:
    """What one direction of an agent's velocity depends on."""
    return [
        *each("self", own, f"{_DAMP}; {_LIMIT}"),
        *each("self", other, _LIMIT),
        *each("self", "move", f"{_MOVE}; {_PUSH}; {_LIMIT}"),
        *(
            row
            for whose in ("self", "Predator[*]", "Prey[*]", "Landmark[*]")
            for row in each(whose, "x y", f"{_CONTACT}; {_PUSH}; {_LIMIT}")
        ),
    ]


# Predators and prey are of the same code, with other numbers.
READS: dict[str, Reads] = {
    f"{c}.{f}": reads
    for c in ("Predator", "Prey")
    for f, reads in {
        "x": each("self", "x vx", _GO),
        "y": each("self", "y vy", _GO),
        "vx": _velocity("vx", "vy"),
        "vy": _velocity("vy", "vx"),
    }.items()
}
