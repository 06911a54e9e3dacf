"""Names for arrays in signatures; their numbers are what the name says, which NumPy's stubs cannot follow."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

FloatArray = npt.NDArray[Any]
IntArray = npt.NDArray[Any]
