"""Settings that every test shares."""

import os
import tempfile

import hypothesis

# Also for the commands and examples that tests start: pictures need no display.
os.environ["MPLBACKEND"] = "Agg"

# Tests work on tiny tensors, for which handing work to a second thread costs ten times the work.
os.environ["OMP_NUM_THREADS"] = "1"

# What tests collect does not go to the cache of whoever runs them.
_CACHE = tempfile.TemporaryDirectory(prefix="oocdm-cache-")  # removed at the end
os.environ["OOCDM_CACHE"] = _CACHE.name

# The gate gives the same answer twice; a first call into torch may take long.
hypothesis.settings.register_profile("gate", derandomize=True, deadline=None)
hypothesis.settings.load_profile("gate")
