"""Which kernels `.ci/run` turns off for its second pass of goldens and drawn examples, and that this is proved, not assumed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression
from numpy._core import _multiarray_umath as core

import kernels_off
from test_docs import PAGES, examples

ROOT = Path(__file__).parents[1]


def test_only_kernels_that_numpy_has_and_the_processor_would_use() -> None:
    features = {"X86_V3": True, "X86_V4": False, "AVX512_ICL": False, "AVX2": True}
    assert kernels_off.to_disable(["X86_V3", "X86_V4", "AVX512_ICL"], features) == ["X86_V3"]
    assert kernels_off.to_disable(["X86_V3", "X86_V4"], {**features, "X86_V4": True}) == ["X86_V3", "X86_V4"]
    assert kernels_off.to_disable([], features) == []
    named = kernels_off.kernels().get("NumPy", {}).get("NPY_DISABLE_CPU_FEATURES", "").split()
    assert set(named) <= set(core.__cpu_dispatch__), "NumPy ignores names that it does not know"
    assert all(core.__cpu_features__[name] for name in named)


def test_no_kernel_is_asked_for_that_could_kill_the_process() -> None:
    chosen = kernels_off.kernels().get("BLAS", {}).get("OPENBLAS_CORETYPE")
    assert chosen in (None, "Nehalem"), "newer ones need instructions that not every processor has"


def test_a_name_that_is_not_known_changes_nothing_and_would_not_be_believed() -> None:
    before = kernels_off.raw_with({})
    assert kernels_off.changed({"NPY_DISABLE_CPU_FEATURES": "NO_SUCH_KERNEL"}, before) == []


def test_what_each_switch_changes_is_said() -> None:
    env, said = kernels_off.settled()
    for variable in env:
        line = next(line for line in said if variable in line)
        assert " changes " in line
    if not kernels_off.changed(env, kernels_off.raw_with({})):
        assert "shows nothing" in said[-1]


def test_a_processor_without_kernels_to_turn_off_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(kernels_off, "kernels", dict)
    assert kernels_off.main(["--show"]) == 0
    assert "no kernel of this processor can be turned off" in capsys.readouterr().out


def _is_part_of(name: str, word: str, /, **_: object) -> bool:
    return word in name


def test_the_pass_has_the_goldens_and_the_drawn_examples() -> None:
    """As pytest reads the words of `-k`: each is a part of a file's or a test's name."""
    chosen = Expression.compile(kernels_off.CHOSEN)
    shown = [f"test_docs.py test_shell_example[{example}]" for page in PAGES for example in examples(page)]
    kept = [name for name in shown if chosen.evaluate(partial(_is_part_of, name))]
    assert sum("plan.md" in name for name in kept) >= 8
    assert len(kept) < len(shown)
    assert all((ROOT / place).exists() for place in kernels_off.TESTS)
    assert chosen.evaluate(partial(_is_part_of, "golden test_compare.py test_agrees"))


def test_ci_runs_it_before_the_command_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    if not script.exists():
        pytest.skip("no .ci in this copy of the sources")
    text = script.read_text(encoding="utf-8")
    assert 0 < text.index("tests/kernels_off.py") < text.index("# the command of the README")
