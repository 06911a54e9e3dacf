"""Results in a notebook: light until asked, a figure with matplotlib and a picture without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import steelyard as sy
from render.html.page_samples import samples
from steelyard.render import notebook


def test_nothing_is_loaded_until_asked() -> None:
    code = "import steelyard as sy, sys; str(sy.measure(sy.Counts.of(12, 40))); print(*({'jinja2', 'matplotlib'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_plot_is_a_figure_where_matplotlib_is() -> None:
    figure = samples()["comparison"].plot()
    assert type(figure).__name__ == "Figure"
    assert figure.axes[0].get_title(loc="left").endswith("accuracy")


def test_plot_is_a_picture_where_it_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    drawn = sy.measure(sy.Counts.of(12, 40)).plot()
    assert isinstance(drawn, notebook.Drawn)
    assert drawn._repr_svg_() == drawn.svg == str(drawn)
    assert drawn.svg.startswith("<svg")
    assert "prefers-color-scheme" in drawn.svg
    drawn.save(str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == drawn.svg


def test_the_piece_has_the_answer() -> None:
    piece = sy.measure(sy.Counts.of(12, 40))._repr_html_()
    assert "0.30" in piece
    assert "MEASURED" in piece


@pytest.mark.parametrize("metric", ["accuracy", "f1", "mcc"])
@pytest.mark.parametrize("with_matplotlib", [True, False])
def test_a_posterior_draws_its_density(metric: str, with_matplotlib: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not with_matplotlib:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = sy.posterior(sy.Counts.binary(tp=31, fp=5, fn=2, tn=62), metric).plot()
    if with_matplotlib:
        pytest.importorskip("matplotlib")
        axes = found.axes[0]
        assert axes.get_ylabel() == "density"
        assert axes.get_title(loc="left").startswith(f"Posterior of {metric}")
    else:
        assert found.svg.startswith("<svg")
        assert f"Posterior of {metric}" in found.svg
