"""The goldens and the drawn examples once more, with the vectorised kernels of this processor turned off.

    python tests/kernels_off.py            runs them; `--show` only says what is turned off, and what that changes

NumPy picks its exp, log and power by the processor, the C library its own, OpenBLAS its products of matrices: the last bits of
results differ, and nothing that is printed or drawn may. Which kernels there are to turn off is asked of NumPy and of the
processor, never assumed: a name that NumPy does not know is ignored without a word, and a kernel that the processor lacks kills
the process. So a raw result is compared with and without each of them, and what changed is said. Where nothing does,
`tests/test_last_bits.py` is what is left: it needs no processor.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("tests/golden", "tests/test_docs.py")
# Drawings, and examples whose last digits come out of exp, log and power. The slow ones show nothing that the others do not.
CHOSEN = "golden or (test_shell_example and not learners.md and not certificate.md and not bisect.md and not plan.md:465)"
GLIBC = ("AVX512F", "AVX2", "FMA", "FMA4", "AVX")  # names of glibc 2.33 and later: what its exp, log and pow are chosen by
PLAIN_BLAS = "Nehalem"  # SSE4.2: every processor that runs NumPy's wheels for x86-64 runs it


def to_disable(dispatched: Sequence[str], features: Mapping[str, bool]) -> list[str]:
    """The kernels that NumPy was built with beyond its baseline and that this processor would use."""
    return [name for name in dispatched if features.get(name)]


def kernels() -> dict[str, dict[str, str]]:
    """What turns off which kernels, as environment variables."""
    from numpy._core import _multiarray_umath as core

    found: dict[str, dict[str, str]] = {}
    if names := to_disable(core.__cpu_dispatch__, core.__cpu_features__):
        found["NumPy"] = {"NPY_DISABLE_CPU_FEATURES": " ".join(names)}
    if platform.machine() in ("x86_64", "AMD64"):
        if platform.libc_ver()[0] == "glibc":
            found["C library"] = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in GLIBC)}
        if core.__cpu_features__.get("SSE42"):
            found["BLAS"] = {"OPENBLAS_CORETYPE": PLAIN_BLAS}
    return found


def raw() -> dict[str, str]:
    """Digests of plain results of NumPy, the C library, SciPy and BLAS, to the last bit."""
    import numpy as np
    from scipy import special

    x = np.linspace(0.001, 30.0, 4001)
    square = x[:3600].reshape(60, 60)
    results: dict[str, list[Any]] = {
        "NumPy's exp, log, power": [np.exp(-x), np.log(x), np.power(x, -0.37), np.expm1(-x), np.log1p(x)],
        "sums": [x.sum(), (x * x).sum(), np.cumsum(x), x.mean()],
        "the C library's exp, log, pow": [[f(-y) for y in x.tolist()] for f in (math.exp, math.expm1)] + [[y**-0.37 for y in x.tolist()]],
        "special functions": [special.gammaln(x), special.betainc(3.3, 2.2, x / 31), special.ndtri(x / 31)],
        "products of matrices": [square @ square, square @ x[:60]],
    }
    return {name: hashlib.sha256(b"".join(np.asarray(each).tobytes() for each in found)).hexdigest() for name, found in results.items()}


def raw_with(env: Mapping[str, str]) -> dict[str, str]:
    """The same in a process of its own, whose kernels are chosen when it starts."""
    return _raw_with(tuple(sorted(env.items())))


@functools.cache
def _raw_with(env: tuple[tuple[str, str], ...]) -> dict[str, str]:
    argv = [sys.executable, str(Path(__file__).resolve()), "--raw"]
    done = subprocess.run(argv, env={**os.environ, **dict(env)}, capture_output=True, text=True, check=True, timeout=120)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def changed(env: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    after = raw_with(env)
    return [name for name in before if before[name] != after[name]]


def settled() -> tuple[dict[str, str], list[str]]:
    """The environment that turns off all that can be, and a line on each: what it changes, or that it changes nothing here."""
    before, env, said = raw_with({}), dict[str, str](), []
    for kernel, variables in kernels().items():
        found = changed(variables, before)
        shown = " ".join(f"{name}='{value}'" for name, value in variables.items())
        said.append(f"{kernel}: {shown} changes {', '.join(found) or 'no last bit on this processor'}")
        env |= variables
    if not any(changed(env, before) if env else []):
        said.append("no kernel of this processor can be turned off: this pass shows nothing that the first did not")
    return env, said


def main(words: Sequence[str]) -> int:
    if words == ["--raw"]:
        print(json.dumps(raw()))
        return 0
    env, said = settled()
    print("kernels off:", *said, sep="\n  ", flush=True)
    if words == ["--show"]:
        return 0
    # in one process: the other core has the examples of the docstrings, and a second worker would load all of it again
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS, "-k", CHOSEN, *words]
    return subprocess.run(argv, cwd=ROOT, env={**os.environ, **env}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
