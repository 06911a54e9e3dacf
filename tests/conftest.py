"""For all tests: hypothesis draws the same examples every time, so that a red run is about the change and not about luck.

`HYPOTHESIS_PROFILE=search python -m pytest` looks for new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
