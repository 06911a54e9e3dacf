"""The part `endpoint` asks its server through the whole runner, and every answer is the right one."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # `benchmarks` is a package of the repository, not of the installation

from benchmarks import endpoint_bench as part  # noqa: E402

sys.path.remove(str(ROOT))


def test_the_runner_asks_and_is_answered() -> None:
    with part.server() as url:
        wall, cpu = part._ours(url, 3, 3)
    assert wall >= part.LATENCY
    assert cpu > 0
