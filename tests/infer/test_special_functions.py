"""The special functions are SciPy's own, and come without the rest of its package; later the package is whole."""

from __future__ import annotations

import subprocess
import sys
import threading

from steelyard.infer import special_functions
from steelyard.infer.special_functions import PACKAGE, _AsFarAsCompiled

LIGHT = f"""
import sys
from steelyard.infer import special_functions as ours
assert not {{"{PACKAGE}", "numpy.testing", "numpy.f2py"}} & {{*sys.modules}}, "the package was loaded"
assert not [each for each in sys.meta_path if type(each) is ours._AsFarAsCompiled], "the way was left open"
assert 0.94 < ours.stdtr(5.0, 2.0) < 0.96
import scipy.special
assert all(getattr(scipy.special, name) is getattr(ours, name) for name in ours.__all__)
assert all(hasattr(scipy.special, name) for name in scipy.special.__all__)
"""
ELSEWHERE = f"""
import sys
from steelyard.infer import special_functions as ours
ours.COMPILED = "{PACKAGE}._another_version"
assert "{PACKAGE}" not in sys.modules
assert ours._functions() is sys.modules["{PACKAGE}"]
assert sys.modules["{PACKAGE}"].logsumexp([1.0, 1.0]) > 1
"""


def ran(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)


def test_the_package_is_not_loaded_and_is_whole_when_it_is() -> None:
    done = ran(LIGHT)
    assert done.returncode == 0, done.stderr


def test_a_version_that_keeps_them_elsewhere_is_imported_as_usual() -> None:
    done = ran(ELSEWHERE)
    assert done.returncode == 0, done.stderr


def test_the_package_that_is_there_is_taken() -> None:
    import scipy.special

    assert special_functions._functions() is scipy.special
    assert all(getattr(scipy.special, name) is getattr(special_functions, name) for name in special_functions.__all__)


def test_another_thread_imports_the_package_as_usual() -> None:
    """It waits for the lock of the import, and then finds the real one."""
    way = _AsFarAsCompiled()
    there: list[object] = []
    thread = threading.Thread(target=lambda: there.append(way.find_spec(PACKAGE, sys.modules["scipy"].__path__)))
    thread.start()
    thread.join()
    assert there == [None]
    found = way.find_spec(PACKAGE, sys.modules["scipy"].__path__)
    assert found is not None
    assert found.loader is way
    assert way.find_spec("scipy.stats", sys.modules["scipy"].__path__) is None
