"""The family of jumps."""

from __future__ import annotations

import numpy as np

from oocdm.envs.generated.families.jumps import Jumps
from oocdm.envs.generated.pilot import run_pilot


def test_jumps_are_rare_and_many_times_the_usual_change():
    for seed in range(8):
        blueprint = Jumps([seed], False, False).blueprint()
        jumping = [m for m in blueprint.mechanisms if m.jump]
        assert jumping and len(jumping) < len(blueprint.mechanisms)
        pilot = run_pilot(blueprint, 300, 20, [0])
        for m in jumping:
            assert 0.005 <= m.jump_chance <= 0.02
            values = pilot.before.values[m.own.class_name][m.own.field_name]
            change = np.abs(pilot.after[m.own.class_name][m.own.field_name] - values)
            assert m.jump > 4 * np.median(change)
