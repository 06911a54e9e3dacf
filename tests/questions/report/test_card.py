"""Cards on the disk: what people wrote stays to the byte, the libraries that read cards read ours, a fault leaves the file as it was."""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

import steelyard as sy
from steelyard.cli.main import steelyard
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.questions.report import card
from steelyard.render.cards.page import BEGIN, END
from steelyard.results.measurement import Measurement

# The schema of model-card-toolkit 2.0.0 (Google, Apache-2.0), as its wheel on PyPI has it at schema/v0.0.2/model_card.schema.json.
# The toolkit itself wants TensorFlow, so its schema stands for it.
GOOGLE = json.loads((Path(__file__).parents[2] / "render" / "cards" / "google_model_card-0.0.2.schema.json").read_text())
NASTY = [
    "plain",
    "no",
    "2026-01-31",
    "1:30",
    "1e3",
    "a: b # c",
    "- x",
    "'\"`",
    "<img src=x onerror=alert(1)>",
    f"{END} -->",
    "---\n---",
    "\x1b[31m\u202e\u2028\x00",
    "](javascript:x)",
    "a|b\r\nc",
    "*",
    "猫 😀",
    " ",
]


def measured(right: int = 90, n: int = 100, **options: Any) -> Measurement:
    return sy.measure(sy.Counts.of(right, n), **options)


def labelled() -> Measurement:
    truth, said = ["cat"] * 20 + ["dog"] * 20, ["cat"] * 17 + ["dog"] * 21 + ["cat"] * 2
    return sy.measure({"id": list(range(40)), "truth": truth, "prediction": said, "place": ["n", "s"] * 20}, by="place")


def told(*results: Measurement, **options: Any) -> Any:
    return card.card_details([(f"data{i}", each) for i, each in enumerate(results)], **{"model": "lab/m", **options})


# ---- the Hub's card --------------------------------------------------------------------------------------------------

HAND = """---
license: mit   # ask legal
language: no
model-index:
- name: lab/m
  results:
  - task:
      type: text-classification
    dataset:
      name: SST-2
      type: glue
    metrics:
    - type: accuracy
      value: 91.3   # from the paper
      args: {source: the paper}
tags: ["a",   'b']
---

# A model

Some *hand-written*   text.\t

## Intended use

Reading.

## Harms

<!-- to do -->

## Bias, risks, and limitations

It is wrong at times.

```python
print("<!-- not a mark -->")
```
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_people_wrote_stays(tmp_path: Path, newline: str, mark: str) -> None:
    path, before = tmp_path / "README.md", mark + HAND.replace("\n", newline)
    path.write_bytes(before.encode())
    first = card.update_card(path, told(labelled()))
    assert (first.done, first.warnings) == ("updated", ())
    once = path.read_bytes().decode()
    assert card.update_card(path, told(labelled())).done == "unchanged"
    assert path.read_bytes().decode() == once
    assert "\n" not in once.replace(newline, ""), "one kind of line end"

    card.update_card(path, told(measured(50), measured(51), measured(52)))
    card.update_card(path, told(labelled()))
    assert path.read_bytes().decode() == once, "there and back again"

    kept = re.sub(rf"{newline}{BEGIN}.*{END}{newline}", "", once, flags=re.DOTALL)
    own = re.search(rf"  - task:{newline}      type: other.*?(?=tags:)", kept, re.DOTALL)
    assert own is not None
    assert kept.replace(own[0], "") == before, "without our two parts, the file is what it was"


def test_the_hub_reads_both(tmp_path: Path) -> None:
    import huggingface_hub as hub

    path = tmp_path / "README.md"
    path.write_text(HAND)
    m = labelled()
    card.update_card(path, told(m, task="text-classification", source="https://example.org/run"))
    read = hub.ModelCard.load(path)
    theirs, *ours = read.data.eval_results
    assert (theirs.metric_value, theirs.metric_args) == (91.3, {"source": "the paper"})
    assert [each.metric_value for each in ours] == [m["accuracy"].estimate, m["macro_f1"].estimate]
    args = ours[0].metric_args
    assert (args["n"], args["ci_low"], args["ci_high"]) == (40, m["accuracy"].interval.low, m["accuracy"].interval.high)
    assert (args["ci_level"], args["ci_method"], args["signature"]) == (0.95, m["accuracy"].interval.method, m.signature)
    assert (ours[1].metric_type, ours[1].metric_name, ours[1].metric_args["average"]) == ("f1", "macro_f1", "macro")
    assert (ours[0].dataset_name, ours[0].task_type, ours[0].source_url) == ("data0", "text-classification", "https://example.org/run")
    # What the library writes of it is known again as ours, and replaced.
    index = hub.repocard_data.eval_results_to_model_index("lab/m", read.data.eval_results)
    assert hub.repocard_data.model_index_to_eval_results(index)[1] == read.data.eval_results
    read.save(path)
    card.update_card(path, told(measured()))
    values = [each.metric_value for each in hub.ModelCard.load(path).data.eval_results]
    assert values == [91.3, 0.9]


def test_a_new_card_asks_people(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    first = card.update_card(path, told(labelled()))
    assert first.done == "created"
    assert [re.search(r"nothing about ([a-z ]+):", each)[1] for each in first.warnings] == ["intended use", "limits", "harms"]  # type: ignore[index]
    page = path.read_text()
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        "# lab/m", "## Intended use", "## Limits", "## Harms", "## Evaluation results", "### Slices and groups measured",
        "### What these numbers do not say", "### How to repeat them",
    ]  # fmt: skip
    assert card.update_card(path, told(labelled())).done == "unchanged"
    path.write_text(page.replace("## Harms\n", "## Harms\n\nNone was looked for, which is not the same as none.\n"))
    assert len(card.update_card(path, told(labelled())).warnings) == 2
    assert "None was looked for" in path.read_text()


def test_an_old_card_is_asked_in_our_part_alone(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# Only a title")
    assert len(card.update_card(path, told(measured())).warnings) == 3
    page = path.read_text()
    assert page.index(BEGIN) < page.index("Please write a section 'Harms'") < page.index(END)
    assert card.update_card(path, told(measured())).done == "unchanged"
    path.write_text(page + "\n# Harms, limits and intended use\n\nSee the paper.\n")
    assert card.update_card(path, told(measured())).warnings == ()
    assert "Please write" not in path.read_text()


@pytest.mark.parametrize(
    "page",
    [
        "---\nlicense: [mit\n---\n",
        "---\nlicense: mit\n",
        "---\n- a\n---\n",
        f"# x\n{BEGIN}\n",
        f"# x\n{END}\n{BEGIN}\n",
        "---\nmodel-index: [{name: lab/m, results: []}]\n---\n",
    ],
)
def test_a_fault_leaves_the_file_as_it_was(tmp_path: Path, page: str) -> None:
    path = tmp_path / "README.md"
    path.write_text(page)
    with pytest.raises(SourceError):
        card.update_card(path, told(measured()))
    assert path.read_text() == page
    assert os.listdir(tmp_path) == ["README.md"]


SCRAPS = [
    "---\n",
    "- ",
    "  ",
    "#",
    "```\n",
    f"{BEGIN}\n",
    f"{END}\n",
    ": ",
    '"',
    "[",
    "{",
    "&a ",
    "*a ",
    "|\n",
    "\t",
    "\r",
    "model-index:\n",
    "results:\n",
]


def _spoilt(draw: random.Random) -> str:
    page = HAND
    for _ in range(draw.randint(1, 3)):
        place = draw.randrange(len(page) // draw.choice([1, 3]))
        page = page[:place] + draw.choice([*SCRAPS, ""]) + page[place + draw.choice([0, 0, 1, 7]) :]
    return page


def test_spoilt_cards_are_updated_or_left_alone(tmp_path: Path) -> None:
    """100 cards with slips of the keyboard: each is refused and untouched, or every line of it is still there, in order."""
    path, about, outcomes = tmp_path / "README.md", told(measured()), []
    for seed in range(100):
        before = _spoilt(random.Random(seed)).encode()
        path.write_bytes(before)
        try:
            card.update_card(path, about)
        except SourceError:
            assert path.read_bytes() == before, seed
            outcomes.append("refused")
            continue
        once = path.read_bytes()
        assert card.update_card(path, about).done == "unchanged", seed
        rest = iter(line.rstrip() for line in once.split(b"\n"))
        lost = [line for line in before.rstrip(b"\n").split(b"\n") if line.rstrip() not in rest]
        assert lost == [] or BEGIN.encode() in before, (seed, lost)
        outcomes.append("updated")
    assert min(outcomes.count("refused"), outcomes.count("updated")) > 15


def test_lines_are_numbered_as_an_editor_does(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"---\nlicense: mit\n---\n# x\n{BEGIN}\n")
    with pytest.raises(SourceError, match=r"in line 5\."):
        card.update_card(path, told(measured()))
    path.write_text("---\nlicense: mit\n---\n# x\n```\n")
    with pytest.raises(SourceError, match="from line 5"):
        card.update_card(path, told(measured()))
    path.write_text("---\nlicense: mit\na: b: c\n---\n# x\n")
    with pytest.raises(SourceError, match="line 3:"):
        card.update_card(path, told(measured()))


def test_a_change_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "README.md"
    path.write_text("# x\n")
    make = card.card_part

    def slow(*args: Any) -> list[str]:
        path.write_text("# x, and what somebody saved just now\n")
        return make(*args)

    monkeypatch.setattr(card, "card_part", slow)
    with pytest.raises(UsageError, match="meanwhile"):
        card.update_card(path, told(measured()))
    assert path.read_text() == "# x, and what somebody saved just now\n"


def test_no_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_bytes("---\nlicense: mit\n---\n# caf\u00e9\n".encode("latin-1"))
    with pytest.raises(SourceError, match="UTF-8"):
        card.update_card(path, told(measured()))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is protected from root")
def test_a_protected_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# x\n")
    path.chmod(0o444)
    with pytest.raises(UsageError, match="protected"):
        card.update_card(path, told(measured()))


def test_the_name_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    nameless = card.card_details([("d", measured())])
    with pytest.raises(UsageError, match="model=NAME"):
        card.update_card(path, nameless)
    assert not path.exists()
    path.write_text(HAND)
    card.update_card(path, nameless)
    index = yaml.safe_load(path.read_text().split("---\n")[1])["model-index"]
    assert [(model["name"], len(model["results"])) for model in index] == [("lab/m", 2)]
    other = card.update_card(path, card.card_details([("d", measured())], model="lab/other"))
    assert "another model as well, 'lab/m'" in other.warnings[0]
    with pytest.raises(UsageError, match="2 models"):
        card.update_card(path, nameless)


@pytest.mark.parametrize("name", NASTY)
def test_names_cannot_break_out(tmp_path: Path, name: str) -> None:
    import huggingface_hub as hub

    truth = [name, "other"] * 20
    m = sy.measure({"truth": truth, "prediction": truth, "by": truth}, by="by") if name.strip() else measured()
    path = tmp_path / "README.md"
    path.write_text(HAND)
    about = card.card_details([(name, m)], model=f"m{name}", task=name)
    card.update_card(path, about)
    assert card.update_card(path, about).done == "unchanged"
    page = path.read_text()
    assert [page.splitlines().count(mark) for mark in (BEGIN, END)] == [1, 1]
    read = hub.ModelCard.load(path)
    theirs, ours = read.data.eval_results[0], read.data.eval_results[1]
    assert theirs.metric_value == 91.3
    assert isinstance(ours.dataset_name, str)
    assert ours.dataset_name == ours.dataset_type == ours.task_type
    if name.isprintable():
        assert ours.dataset_name == name
    body = page[page.index(BEGIN) :]
    assert "<img" not in body
    assert set(re.findall(r"<[^!]", body)) == set()
    comments = re.findall(r"<!--.*?-->", body)
    assert all("onerror" not in each for each in comments)


# ---- the other forms -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NASTY)
def test_google_card_fits_its_schema(tmp_path: Path, name: str) -> None:
    path = tmp_path / "card.json"
    m = labelled()
    card.write_google_card(path, card.card_details([(name, m)], model=f"m{name}"))
    read = json.loads(path.read_text())
    jsonschema.Draft7Validator(GOOGLE).validate(read)
    first = read["quantitative_analysis"]["performance_metrics"][0]
    row = m["accuracy"]
    assert (first["type"], float(first["value"])) == ("accuracy", row.estimate)
    assert row.interval is not None
    ends = {"lower_bound": repr(row.interval.low), "upper_bound": repr(row.interval.high)}
    assert first["confidence_interval"] == ends
    slices = {each["slice"] for each in read["quantitative_analysis"]["performance_metrics"]}
    assert len(slices) == 3


def test_the_schema_would_notice() -> None:
    """The bounds of schema 0.0.2 are texts; a validator that takes numbers as well would prove nothing."""
    wrong = {"quantitative_analysis": {"performance_metrics": [{"confidence_interval": {"lower_bound": 0.5}}]}}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(GOOGLE).validate(wrong)


def test_google_card_keeps_what_it_said(tmp_path: Path) -> None:
    path = tmp_path / "card.json"
    metrics = [{"type": "bleu", "value": "30"}, {"type": "accuracy", "slice": "data0", "value": "0.1", "threshold": "0.5"}]
    hand = {
        "model_details": {"name": "By hand", "overview": "é"},
        "considerations": {"limitations": [{"description": "many"}]},
        "quantitative_analysis": {"performance_metrics": metrics, "graphics": {"description": "none"}},
    }
    path.write_text(json.dumps(hand))
    assert card.write_google_card(path, told(measured())).done == "updated"
    assert card.write_google_card(path, told(measured())).done == "unchanged"
    read = json.loads(path.read_text())
    assert (read["model_details"], read["considerations"]) == (hand["model_details"], hand["considerations"])
    bleu, ours = read["quantitative_analysis"]["performance_metrics"]
    assert bleu == metrics[0]
    assert (ours["value"], ours["threshold"]) == ("0.9", "0.5")
    assert read["quantitative_analysis"]["graphics"] == {"description": "none"}


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"a": 1, "a": 2}', '{"model_details": 3}', '{"quantitative_analysis": {"performance_metrics": {}}}', "[" * 9999]
)
def test_a_google_card_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)
    with pytest.raises((SourceError, DataError)):
        card.write_google_card(path, told(measured()))
    assert path.read_text() == text


def test_eval_results_are_read_by_the_hub(tmp_path: Path) -> None:
    import huggingface_hub as hub

    path = tmp_path / ".eval_results" / "hle.yaml"
    about = card.card_details([("cais/hle", labelled()), ("a/b.c", measured())], model="m", source="https://example.org")
    card.write_eval_results(path, about, metric="accuracy", task_id="no")
    entries = hub.parse_eval_result_entries(yaml.safe_load(path.read_text()))
    assert [(each.dataset_id, each.task_id, each.value) for each in entries] == [("cais/hle", "no", 0.875), ("a/b.c", "no", 0.9)]
    assert entries[1].notes == "accuracy, n = 100, 95% interval [0.826, 0.945] (wilson)"
    assert hub.eval_result_entries_to_yaml(entries) == yaml.safe_load(path.read_text())
    assert card.write_eval_results(path, about, metric="accuracy", task_id="no").done == "unchanged"


def test_eval_results_of_somebody_else_are_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("- dataset: {id: a/b, task_id: c}\n  value: 1\n")
    with pytest.raises(UsageError, match=r"was not written by steelyard, so it is not replaced\."):
        card.write_eval_results(path, card.card_details([("a/b", measured())], model="m"))
    assert path.read_text().endswith("value: 1\n")


@pytest.mark.parametrize("name", NASTY)
def test_a_benchmark_needs_an_id_of_the_hub(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="owner/name"):
        card.write_eval_results(tmp_path / "a.yaml", card.card_details([(name, measured())], model="m"))
    assert os.listdir(tmp_path) == []


def test_eval_results_hold_one_score(tmp_path: Path) -> None:
    about = card.card_details([("a/b", labelled())], model="m")
    with pytest.raises(UsageError, match="accuracy, macro_f1") as error:
        card.write_eval_results(tmp_path / "a.yaml", about)
    assert "metric='accuracy'" in str(error.value)
    with pytest.raises(UsageError, match=r"NAME\.yaml"):
        card.write_eval_results(tmp_path / "a.json", about)


def test_every_eval_ever(tmp_path: Path) -> None:
    given = {"organization": "lab", "retrieved": "1700000000"}
    written = card.write_every_eval_ever(tmp_path, told(measured(), labelled()), given)
    assert [each.path.relative_to(tmp_path).parts[:4] for each in written] == [("data", "data0", "lab", "m"), ("data", "data1", "lab", "m")]
    read = json.loads(written[0].path.read_text())
    assert read["evaluation_results"][0]["score_details"]["score"] == 0.9
    assert [each.done for each in card.write_every_eval_ever(tmp_path, told(measured(), labelled()), given)] == ["unchanged"] * 2
    with pytest.raises(UsageError, match=r"No directory .* for the records of Every Eval Ever\."):
        card.write_every_eval_ever(tmp_path / "x", told(measured()), given)
    with pytest.raises(UsageError, match="plain names"):
        card.write_every_eval_ever(tmp_path, card.card_details([("..", measured())], model="lab/m"), given)


# ---- which results ---------------------------------------------------------------------------------------------------


def test_a_comparison_speaks_for_its_candidate(tmp_path: Path) -> None:
    c = sy.compare(sy.JointCounts.flips(both=80, baseline_only=5, candidate_only=9, neither=6))
    found = card.card_details([("d", c)], model="m")
    row = found.evaluated[0].measurement.row
    assert (row.estimate, row.n, row.interval) == (0.89, 100, c.candidate.interval)


def test_results_that_are_no_scores() -> None:
    with pytest.raises(UsageError, match=r"sy\.measure"):
        card.card_details([("d", sy.plan_detect(sigma=50, theta=3))], model="m")
    with pytest.raises(UsageError, match=r"Two results have the same data name, 'd'\."):
        card.card_details([("d", measured()), ("d", measured(5))], model="m")
    with pytest.raises(DataError, match="no result"):
        card.card_details([], model="m")
    with pytest.raises(UsageError, match="https"):
        card.card_details([("d", measured())], source="javascript:alert(1)")
    nothing = sy.measure(sy.Counts.binary(tp=0, fp=0, fn=5, tn=5), metric="precision")
    with pytest.raises(DataError, match="no metric with a value"):
        card.card_details([("d", nothing)], model="m")


def test_an_undefined_score_is_shown_and_not_indexed(tmp_path: Path) -> None:
    nothing = sy.measure(sy.Counts.binary(tp=0, fp=0, fn=5, tn=5), metric=["precision", "recall"])
    path = tmp_path / "README.md"
    card.update_card(path, told(nothing))
    page = path.read_text()
    results = yaml.safe_load(page.split("---\n")[1])["model-index"][0]["results"]
    assert [metric["type"] for metric in results[0]["metrics"]] == ["recall"]
    assert "| undefined" in page
    assert nothing.warnings
    assert "What these numbers do not say" in page


def test_python_writes_every_card_that_the_command_writes(tmp_path: Path) -> None:
    results = {"openai/gsm8k": sy.measure(sy.Counts.of(85, 100), metric="accuracy")}
    (tmp_path / "result.json").write_text(json.dumps(results["openai/gsm8k"].to_dict()), encoding="utf-8")
    places = {name: (tmp_path / f"python-{name}", tmp_path / f"command-{name}") for name in ("hub.yaml", "google.json", "records")}
    for place in places["records"]:
        place.mkdir()
    about = {"organization": "lab", "retrieved": "1700000000"}
    sy.eval_results(places["hub.yaml"][0], results, source="https://example.org/run")
    sy.google_card(places["google.json"][0], results, model="lab/small")
    written = sy.every_eval_ever_records(places["records"][0], results, model="lab/small", about=about)
    assert [each.done for each in written] == ["created"]
    words = ["report", f"openai/gsm8k={tmp_path / 'result.json'}", "--model", "lab/small", "--source-url", "https://example.org/run"]
    words += ["--eval-results", str(places["hub.yaml"][1]), "--every-eval-ever", str(places["records"][1])]
    words += [word for key, value in about.items() for word in ("--about", f"{key}={value}")]
    assert CliRunner().invoke(steelyard, words).exit_code == 0
    alone = ["report", f"openai/gsm8k={tmp_path / 'result.json'}", "--model", "lab/small", "--google-card", str(places["google.json"][1])]
    assert CliRunner().invoke(steelyard, alone).exit_code == 0
    for ours, theirs in places.values():
        assert _files(ours) == _files(theirs)


def _files(place: Path) -> dict[str, str]:
    """What a file, or all files below a directory, say; names of records are drawn."""
    files = [place] if place.is_file() else [each for each in sorted(place.rglob("*")) if each.is_file()]
    return {str(each.parent.relative_to(place.parent)).partition("/")[2]: each.read_text(encoding="utf-8") for each in files}
