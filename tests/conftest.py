"""For all tests: hypothesis draws the same examples every time, so that a red run is about the change and not about luck.

`HYPOTHESIS_PROFILE=search python -m pytest` looks for new ones, ten times as many.
"""

from __future__ import annotations

import os

from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # every core has a worker

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=30)
settings.register_profile("search", deadline=None, max_examples=300)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
