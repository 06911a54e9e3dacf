"""The special functions of SciPy that we use, without what else `import scipy.special` loads.

The functions lie in one compiled module. The package around it prepares them for other array libraries and writes their documentation,
which costs three times what NumPy costs. So the package is imported as far as the compiled module and no further: the import is broken
off, under the lock that Python has for it, and the package is not there afterwards. Whoever imports it later gets all of it, with these
very functions. Where it is there already, or the compiled module is not what we expect, the package is imported as usual.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from scipy.special import (
        bdtr,
        bdtrc,
        betainc,
        betaincc,
        betaincinv,
        betaln,
        chdtrc,
        chdtri,
        erf,
        expit,
        fdtrc,
        gammaincinv,
        gammaln,
        log_expit,
        log_ndtr,
        logit,
        ndtr,
        ndtri,
        ndtri_exp,
        stdtr,
        stdtrit,
        xlog1py,
        xlogy,
    )

__all__ = [
    "bdtr",
    "bdtrc",
    "betainc",
    "betaincc",
    "betaincinv",
    "betaln",
    "chdtrc",
    "chdtri",
    "erf",
    "expit",
    "fdtrc",
    "gammaincinv",
    "gammaln",
    "log_expit",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "ndtri_exp",
    "stdtr",
    "stdtrit",
    "xlog1py",
    "xlogy",
]
PACKAGE, COMPILED = "scipy.special", "scipy.special._ufuncs"


class _BrokenOff(Exception):
    """The import of the package went as far as we want it to."""


class _AsFarAsCompiled:
    """Finds the package for the thread that made this, and loads no more of it than the compiled module, which it keeps as `found`."""

    def __init__(self) -> None:
        self.found: Any = None
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != PACKAGE or threading.get_ident() != self._thread:
            return None
        real = PathFinder.find_spec(name, path)
        if real is None or real.submodule_search_locations is None:
            return None
        made = ModuleSpec(name, self, origin=real.origin, is_package=True)  # type: ignore[arg-type]
        made.submodule_search_locations = list(real.submodule_search_locations)
        return made

    def create_module(self, spec: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        with contextlib.suppress(Exception):  # in another version it may need the package around it
            self.found = importlib.import_module(COMPILED)
        raise _BrokenOff  # so that Python takes the empty package away again


def _functions() -> Any:
    """A module that has them."""
    if PACKAGE not in sys.modules:
        way = _AsFarAsCompiled()
        sys.meta_path.insert(0, way)
        try:
            importlib.import_module(PACKAGE)
        except _BrokenOff:
            if all(hasattr(way.found, name) for name in __all__):
                return way.found
        finally:
            sys.meta_path.remove(way)
    return importlib.import_module(PACKAGE)


if not TYPE_CHECKING:
    _found = _functions()
    globals().update({name: getattr(_found, name) for name in __all__})
