"""`steelyard report --card` and its companions, from files to files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import steelyard as sy
from steelyard.cli.report import report
from steelyard.errors import UsageError
from steelyard.options.report import CARDS


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, right in (("a", 85), ("b=c", 90)):
        (tmp_path / f"{name}.json").write_text(json.dumps(sy.measure(sy.Counts.of(right, 100)).to_dict()))
    return tmp_path


def asked(*words: str) -> Result:
    return CliRunner().invoke(report, list(words), catch_exceptions=True)


def test_every_form_at_once(here: Path) -> None:
    done = asked(
        "lab/gsm8k=a.json", "--card", "README.md", "--eval-results", ".eval_results/a.yaml", "--google-card", "card.json",
        "--every-eval-ever", ".", "--about", "organization=lab", "--about", "retrieved=1700000000", "--model", "lab/m",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    said = done.stderr.splitlines()
    assert [line.split()[0] for line in said] == ["created", "warning:", "warning:", "warning:", "created", "created", "created"]
    assert done.stdout == ""
    assert not (here / "report.html").exists(), "a card was asked for, not a page"
    assert all((here / name).is_file() for name in ("README.md", ".eval_results/a.yaml", "card.json"))
    assert len(list(here.glob("data/lab_gsm8k/lab/m/*.json"))) == 1


def test_names_of_data(here: Path) -> None:
    assert asked("a.json", "b=c.json", "other=a.json", "--card", "README.md", "--model", "m", "--quiet").stderr == ""
    page = (here / "README.md").read_text()
    assert [name in page for name in ("\n| a | ", "\n| b=c | ", "\n| other | ")] == [True] * 3


def test_a_page_and_a_card(here: Path) -> None:
    assert asked("x=a.json", "--card", "README.md", "--model", "m", "-o", "page.html").exit_code == 0
    assert (here / "page.html").read_text().startswith("<!")
    assert (here / "README.md").exists()


@pytest.mark.parametrize("words", [("--model", "m"), ("--about", "a=b"), ("--source-url", "https://x"), ("--metric", "f1")])
def test_an_option_of_cards_without_a_card(here: Path, words: tuple[str, ...]) -> None:
    done = asked("a.json", *words)
    assert isinstance(done.exception, UsageError)
    assert words[0] in str(done.exception)
    assert sorted(path.name for path in here.iterdir()) == ["a.json", "b=c.json"]


def test_the_guide_names_every_option() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "cards.md").read_text(encoding="utf-8")
    names = {f"--{option.name.replace('_', '-')}" for option in CARDS}
    assert len(names) == 11
    assert [name for name in sorted(names) if f"`{name}" not in guide] == []
