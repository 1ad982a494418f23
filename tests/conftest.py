"""Settings that every test shares."""

import os

import hypothesis

# Also for the commands and examples that tests start: pictures need no display.
os.environ["MPLBACKEND"] = "Agg"

# The gate gives the same answer twice; a first call into torch may take long.
hypothesis.settings.register_profile("gate", derandomize=True, deadline=None)
hypothesis.settings.load_profile("gate")
