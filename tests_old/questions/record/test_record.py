"""Putting runs on record: pooled, pinned, never over an old reference unasked, and nothing half done."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import steelyard_old as sy
from histories import changes_in
from steelyard_old.errors import DataError, SourceError, SteelyardError, UsageError
from steelyard_old.questions.record.record import existing_entry, lost_line
from steelyard_old.reference.changes import Change
from steelyard_old.reference.entry import Entry
from steelyard_old.reference.lookup import locate, with_outcomes

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(scores: Any, **columns: Any) -> Rows:
    return [{"id": f"q{i}", "score": s, **{name: column[i] for name, column in columns.items()}} for i, s in enumerate(scores)]


def bits(right: int, wrong: int) -> list[int]:
    return [1] * right + [0] * wrong


def snapshot(where: Path = Path("references")) -> dict[str, bytes]:
    """Every file of the directory with its bytes; locks and temporary files would be seen as well."""
    return {str(path.relative_to(where)): path.read_bytes() for path in sorted(where.rglob("*")) if path.is_file()}


def entry(task: str = "t", model: str = "m", index: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path(f"references/{task}.yaml").read_text(encoding="utf-8"))[model][index]
    return found


# What is written


def test_an_entry_holds_value_n_and_where_it_came_from() -> None:
    result = sy.record(rows(bits(150, 50)), task="t", model="m", reason="first", protocol={"shots": "5"})
    found = entry()
    assert found["accuracy"] == 0.75
    assert found["num_samples"] == 200
    assert found["scale"] == "fraction"
    assert found["runs"] == 1
    assert found["reason"] == "first"
    assert found["protocol"] == {"shots": "5"} or found["protocol"] == {"shots": 5}
    assert str(found["tool"]).startswith("steelyard ")
    assert found["by"]
    assert re.fullmatch(r"[0-9a-f]{64}", found["items_hash"])
    assert result.value == 0.75
    assert result.file == "references/t.yaml"
    assert (Path("references") / found["items"]).is_file()


def test_the_commit_is_on_record_where_there_is_one(home: Path) -> None:
    def git(*words: str) -> str:
        quiet = ["-c", "user.name=A Person", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"]
        run = subprocess.run(["git", *quiet, *words], cwd=home, check=True, capture_output=True, text=True)
        return run.stdout.strip()

    git("init", "-q")
    Path("code.py").write_text("x = 1\n", encoding="utf-8")
    git("add", "code.py")
    git("commit", "-qm", "code")
    sy.record(rows(bits(15, 5)), task="t", model="m")
    assert entry()["commit"] == git("rev-parse", "--short=12", "HEAD")
    assert "@" not in Path("references/t.yaml").read_text(encoding="utf-8")


def test_the_same_runs_give_the_same_bytes_of_items_whatever_their_order() -> None:
    data = rows(bits(30, 10))
    sy.record(data, task="a", model="m")
    sy.record(data[::-1], task="b", model="m")
    one = {name.split("/", 1)[1]: data for name, data in snapshot().items() if name.startswith("a.items/")}
    other = {name.split("/", 1)[1]: data for name, data in snapshot().items() if name.startswith("b.items/")}
    assert one == other


def test_1319_bits_are_few_bytes() -> None:
    r = np.random.default_rng(0)
    sy.record(rows((r.random(1319) < 0.9).astype(int).tolist()), task="t", model="m")
    (outcomes,) = Path("references/t.items").glob("*.outcomes")
    assert outcomes.stat().st_size < 1500


def test_models_share_the_file_of_items() -> None:
    for model in ("a", "b", "c"):
        sy.record(rows(bits(30, 10)), task="t", model=model)
    assert len(list(Path("references/t.items").glob("*.items"))) == 1
    assert len(list(Path("references/t.items").glob("*.outcomes"))) == 3


def test_numbers_of_the_rule_go_into_the_entry_and_decide() -> None:
    sy.record(rows(bits(150, 50)), task="t", model="m", theta=0.02, margin=0.01, alpha=0.01, beta=0.1, sigma=0.4)
    assert {key: entry()[key] for key in ("theta", "margin", "alpha", "beta", "sigma")} == {
        "theta": 0.02,
        "margin": 0.01,
        "alpha": 0.01,
        "beta": 0.1,
        "sigma": 0.4,
    }
    verdict = sy.check(rows(bits(150, 50)), task="t", model="m")
    assert (verdict.theta, verdict.margin, verdict.alpha, verdict.beta) == (0.02, 0.01, 0.01, 0.1)


@pytest.mark.parametrize("limits", [{"theta": 0.01, "margin": 0.02}, {"sigma": -1}])
def test_impossible_numbers_are_refused_when_recorded_not_when_checked(limits: dict[str, float]) -> None:
    with pytest.raises(SteelyardError):
        sy.record(rows(bits(15, 5)), task="t", model="m", **limits)  # type: ignore[arg-type]
    assert not Path("references").exists() or not snapshot()


# Several runs


def test_several_runs_are_pooled_with_their_deviation() -> None:
    r = np.random.default_rng(1)
    runs = [rows((r.random(200) < 0.7).astype(int).tolist()) for _ in range(5)]
    result = sy.record(*runs, task="t", model="m")
    means = [np.mean([row["score"] for row in run]) for run in runs]
    assert result.value == pytest.approx(np.mean(means))
    assert result.sigma_run == pytest.approx(np.std(means, ddof=1))
    assert result.runs == 5
    assert entry()["runs"] == 5
    assert result.n == 200
    assert not any("run on record" in warning or "runs on record" in warning for warning in result.warnings)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_fewer_than_five_runs_warn_unless_deterministic(count: int) -> None:
    runs = [rows(bits(15, 5)) for _ in range(count)]
    assert any("deterministic" in warning for warning in sy.record(*runs, task="t", model="m").warnings)
    quiet = sy.record(*runs, task="t", model="d", deterministic=True)
    assert not any("on record" in warning for warning in quiet.warnings)
    assert entry(model="d")["deterministic"] is True


def test_a_deterministic_model_whose_runs_differ_is_told() -> None:
    result = sy.record(rows(bits(15, 5)), rows(bits(14, 6)), task="t", model="m", deterministic=True)
    assert any("not deterministic" in warning for warning in result.warnings)


def test_runs_that_are_identical_item_by_item_are_told_unless_the_model_is_deterministic() -> None:
    """Equal means of equal runs have no spread at all: what a mean of five equal numbers rounds off is none."""
    runs = [rows(bits(546, 54)) for _ in range(5)]
    result = sy.record(*runs, task="t", model="m")
    assert any("all 5 runs are identical item by item" in warning for warning in result.warnings)
    assert entry()["sigma_run"] == 0
    told = sy.check(runs[0], task="t", model="m")
    assert not any("runs differ" in warning for warning in told.warnings)
    assert not any("identical" in warning for warning in sy.record(*runs, task="t", model="d", deterministic=True).warnings)
    other = sy.record(*runs[1:], rows(bits(545, 55)), task="t", model="o")
    assert not any("identical" in warning for warning in other.warnings)


def test_one_file_is_one_run_whatever_it_is_called(home: Path) -> None:
    Path("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(bits(15, 5))))
    Path("link.jsonl").symlink_to("q.jsonl")
    for again in ("q.jsonl", "./q.jsonl", home / "q.jsonl", "link.jsonl"):
        with pytest.raises(UsageError, match=r"q.jsonl' is given twice"):
            sy.record("q.jsonl", again, task="t", model="m")
    assert not Path("references").exists()


def test_a_deterministic_model_whose_items_differ_is_told_even_if_the_means_agree() -> None:
    result = sy.record(rows([1, 0, 1, 0]), rows([0, 1, 0, 1]), task="t", model="m", deterministic=True)
    assert any("not deterministic" in warning for warning in result.warnings)


def test_repeats_in_one_source_are_runs() -> None:
    data = [{**row, "repeat": k} for k in range(5) for row in rows(bits(15 - k, 5 + k))]
    result = sy.record(data, task="t", model="m")
    assert result.runs == 5
    assert result.n == 20
    assert result.value == pytest.approx(13 / 20)


def test_runs_of_other_items_are_refused_or_told() -> None:
    """A pool over runs that lack items is no longer the mean over runs."""
    short = rows(bits(15, 5))[:10]
    try:
        result = sy.record(rows(bits(15, 5)), short, task="t", model="m")
    except SteelyardError:
        return
    assert any("10" in warning and ("lack" in warning or "missing" in warning or "only" in warning) for warning in result.warnings)


def test_runs_whose_truths_differ_are_refused() -> None:
    one = [{"id": f"q{i}", "truth": "a", "prediction": "a"} for i in range(10)]
    other = [{**row, "truth": "b"} if i == 3 else row for i, row in enumerate(one)]
    with pytest.raises(SteelyardError, match="'q3'"):
        sy.record(one, other, task="t", model="m")


def test_several_runs_without_items_are_refused() -> None:
    with pytest.raises(UsageError, match="items"):
        sy.record(rows(bits(15, 5)), rows(bits(15, 5)), task="t", model="m", items=False)


def test_duplicate_ids_without_repeats_are_refused() -> None:
    with pytest.raises(SteelyardError, match="duplicate"):
        sy.record([*rows([1, 0]), {"id": "q0", "score": 1}], task="t", model="m")


def test_no_ids_are_refused_with_both_ways_out() -> None:
    with pytest.raises(SteelyardError, match="items=False"):
        sy.record([{"score": 1}, {"score": 0}], task="t", model="m")
    assert sy.record([{"score": 1}, {"score": 0}], task="t", model="m", items=False).items is None


@pytest.mark.parametrize("items", [True, False])
@pytest.mark.parametrize("metric", ["mean", "brier", "log_loss", "ece", "ratio", "perplexity", "auc"])
def test_a_run_without_the_columns_of_its_metric_is_refused(metric: str, items: bool) -> None:
    data = [{"id": i, "truth": i % 2, "prediction": i % 3 % 2} for i in range(30)]
    with pytest.raises(SteelyardError, match=r"(score|probability|ratio) column"):
        sy.record(data, task="t", model="m", metric=metric, items=items)
    assert not Path("references/t.yaml").exists()


@pytest.mark.parametrize(("metric", "column"), [("mean", "score"), ("brier", "probability")])
def test_a_check_against_a_value_alone_needs_the_columns_of_its_metric(metric: str, column: str) -> None:
    kept = [{"id": i, "truth": i % 2, column: i % 7 / 7} for i in range(30)]
    sy.record(kept, task="t", model="m", metric=metric, items=False, theta=0.1, sigma=0.3)
    with pytest.raises(DataError, match=rf"^{metric} needs a {column} column\.") as told:
        sy.check([{"id": i, "truth": i % 2, "prediction": i % 3 % 2} for i in range(30)], task="t", model="m")
    assert told.value.hint == f"{column}=NAME"


def test_without_items_the_weaker_check_is_announced() -> None:
    result = sy.record(rows(bits(15, 5)), task="t", model="m", items=False, deterministic=True)
    assert any("unpaired" in warning or "item" in warning for warning in result.warnings), result.warnings


@pytest.mark.parametrize(("missing", "value", "n"), [("wrong", 0.5, 20), ("drop", 10 / 15, 15)])
def test_missing_answers_are_recorded_as_asked(missing: str, value: float, n: int) -> None:
    data = [{**row, "score": None} if i < 5 else row for i, row in enumerate(rows(bits(15, 5)))]
    with pytest.raises(SteelyardError, match="missing"):
        sy.record(data, task="t", model="m")
    result = sy.record(data, task="t", model="m", missing=missing)
    assert result.value == pytest.approx(value)
    assert result.n == n


# Never over an old reference unasked


def test_an_entry_is_never_overwritten_without_update() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", reason="first")
    before = snapshot()
    with pytest.raises(UsageError, match="update=True"):
        sy.record(rows(bits(10, 10)), task="t", model="m")
    with pytest.raises(UsageError, match="update=True"):
        sy.record(rows(bits(10, 10)), task="t", model="m", spec={"dtype": "auto"})  # the default is the same spec
    assert snapshot() == before


def test_another_spec_is_another_entry() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m")
    sy.record(rows(bits(14, 6)), task="t", model="m", spec={"quant_algo": "FP8"})
    assert entry()["accuracy"] == 0.75
    assert entry(index=1)["accuracy"] == 0.7
    assert entry(index=1)["quant_algo"] == "FP8"
    assert sy.check(rows(bits(14, 6)), task="t", model="m", spec={"quant_algo": "FP8"}).flips == {
        "both": 14,
        "baseline_only": 0,
        "candidate_only": 0,
        "neither": 6,
    }


def test_an_undeclared_spec_key_is_refused_before_anything_is_written() -> None:
    with pytest.raises(UsageError, match="quant_algo"):
        sy.record(rows(bits(15, 5)), task="t", model="m", spec={"quant_alg": "FP8"})
    assert not Path("references").exists()


def test_update_keeps_comments_and_order_and_adds_a_line_of_history() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="b", reason="first")
    file = Path("references/t.yaml")
    text = "# measured on the big machine\na:\n  - accuracy: 0.5   # by hand\n    sigma: 0.5\n\n# the model we ship\n" + file.read_text(
        "utf-8"
    )
    text += "z:\n  # never touched\n  - accuracy: 0.125\n"
    file.write_text(text, encoding="utf-8")
    sy.record(rows(bits(16, 4)), task="t", model="b", update=True, reason="new tokenizer")
    after = file.read_text("utf-8")
    for kept in ("# measured on the big machine\n", "  - accuracy: 0.5   # by hand\n", "# the model we ship\n", "  # never touched\n"):
        assert kept in after
    assert list(yaml.safe_load(after)) == ["a", "b", "z"]
    assert entry(model="b")["accuracy"] == 0.8
    assert entry(model="a") == {"accuracy": 0.5, "sigma": 0.5}
    first, second = changes_in(Path("references/t.history.jsonl"))
    assert (first.action, first.new, first.reason) == ("record", 0.75, "first")
    assert (second.action, second.old, second.new, second.reason) == ("update", 0.75, 0.8, "new tokenizer")
    assert second.by
    assert second.time


def test_update_keeps_what_a_person_set_by_hand() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", theta=0.02)
    file = Path("references/t.yaml")
    text = file.read_text("utf-8")
    file.write_text(
        text.replace("    runs: 1\n", "    higher_is_better: true\n    reference_note: keep me\n    runs: 1\n"), encoding="utf-8"
    )
    sy.record(rows(bits(16, 4)), task="t", model="m", update=True, reason="x")
    found = entry()
    assert found["theta"] == 0.02
    assert found.get("higher_is_better") is True
    assert found.get("reference_note") == "keep me"


def test_update_keeps_the_scale_of_the_old_entry() -> None:
    """Percent on record with theta 2: an update must not turn the value into a fraction and leave theta at 2."""
    sy.record(rows(bits(150, 50)), task="t", model="m", scale="percent", theta=2.0)
    sy.record(rows(bits(160, 40)), task="t", model="m", update=True, reason="x")
    found = entry()
    assert (found["scale"], found["accuracy"], found["theta"]) == ("percent", 80.0, 2.0)


def test_update_keeps_the_metric_of_the_old_entry() -> None:
    data = [{"id": f"q{i}", "truth": "ab"[i % 2], "prediction": "ab"[i % 3 % 2]} for i in range(60)]
    first = sy.record(data, task="t", model="m", metric="macro_f1")
    sy.record(data, task="t", model="m", update=True, reason="x")
    assert entry()["macro_f1"] == pytest.approx(first.value)
    assert entry().get("metric") == "macro_f1"


def test_update_without_a_reason_warns() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m")
    result = sy.record(rows(bits(16, 4)), task="t", model="m", update=True)
    assert any("reason" in warning for warning in result.warnings)
    assert result.before == 0.75


def test_update_of_nothing_records() -> None:
    result = sy.record(rows(bits(15, 5)), task="t", model="m", update=True)
    assert result.before is None
    assert [change.action for change in changes_in(Path("references/t.history.jsonl"))] == ["record"]


def test_the_first_value_is_kept_through_updates() -> None:
    for right in (15, 14, 13):
        sy.record(rows(bits(right, 20 - right)), task="t", model="m", update=True, reason="x")
    assert entry()["first_value"] == 0.75


def test_old_outcomes_are_gone_after_an_update_and_those_of_others_are_not() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m")
    sy.record(rows(bits(15, 5)), task="t", model="other")
    sy.record([{**row, "id": f"new{i}"} for i, row in enumerate(rows(bits(10, 10)))], task="t", model="m", update=True, reason="new set")
    assert sy.check(rows(bits(15, 5)), task="t", model="other").verdict == "pass"
    assert len(list(Path("references/t.items").glob("*.outcomes"))) == 2
    assert len(list(Path("references/t.items").glob("*.items"))) == 2


def test_recording_the_same_again_keeps_its_outcomes() -> None:
    for _ in range(2):
        sy.record(rows(bits(15, 5)), task="t", model="m", update=True, reason="again")
    assert sy.check(rows(bits(15, 5)), task="t", model="m").verdict == "pass"


# Scale, metric, configuration


def test_scale_is_fraction_within_0_and_1_and_raw_beyond() -> None:
    assert sy.record(rows([0.5, 0.25]), task="a", model="m").scale == "fraction"
    assert sy.record(rows([5.0, 2.5]), task="b", model="m").scale == "raw"
    assert sy.record(rows(bits(3, 1)), task="c", model="m", scale="percent").value == 75


def test_the_task_s_configuration_is_used() -> None:
    Path("steelyard.toml").write_text(
        'directory = "refs"\nids = "hashed"\n[tasks.t]\nscale = "percent"\nprotocol = {shots = "5"}\n', "utf-8"
    )
    result = sy.record(rows(bits(15, 5)), task="t", model="m")
    assert result.value == 75
    assert result.file == "refs/t.yaml"
    assert b"q0" not in b"".join(path.read_bytes() for path in Path("refs/t.items").glob("*.items"))
    assert "shots" in Path("refs/t.yaml").read_text("utf-8")


@pytest.mark.parametrize("name", ["../t", "a/b", "/etc/passwd", "..", "", "a\x00b", "con", ".hidden", "a\nb", "t.yaml/..", "C:t", "~"])
def test_names_of_tasks_cannot_leave_the_directory(name: str, home: Path) -> None:
    with pytest.raises(SteelyardError):
        sy.record(rows(bits(3, 1)), task=name, model="m")
    assert sorted(path.name for path in home.iterdir()) in ([], ["references"])


@pytest.mark.parametrize(
    "model",
    [
        "../../x",
        "a/b/c",
        "m: [1]",
        "- x",
        "#x",
        "'",
        '"',
        "\\",
        "null",
        "no",
        "012",
        "1.0",
        "é",
        "日本",
        "{{x}}",
        "a\tb",
        "&a",
        "*a",
        "!!x",
        " m ",
        "~",
    ],
)
def test_any_model_name_comes_back_as_it_was(model: str) -> None:
    sy.record(rows(bits(15, 5)), task="t", model=model)
    assert sy.check(rows(bits(15, 5)), task="t", model=model).model == model
    assert all(".." not in name.split("/") for name in snapshot())


@pytest.mark.parametrize("model", ["", "a\nb", "a\x00b", "\x1b[31mred", "\ud800"])
def test_model_names_that_are_no_text_are_refused_or_kept_whole(model: str) -> None:
    try:
        sy.record(rows(bits(15, 5)), task="t", model=model)
    except SteelyardError:
        assert not Path("references/t.yaml").exists()
        return
    assert sy.check(rows(bits(15, 5)), task="t", model=model).model == model


@pytest.mark.parametrize(
    "reason", ["# not a comment", "a: b\nc: d", "'quoted\"", "x" * 5000, "<script>", "\x1b[31m", "no", "2026-01-01", "- a\n- b"]
)
def test_any_reason_comes_back_as_it_was_or_is_refused(reason: str) -> None:
    try:
        sy.record(rows(bits(15, 5)), task="t", model="m", reason=reason)
    except SteelyardError:
        assert not Path("references/t.yaml").exists()
        return
    assert sy.check(rows(bits(15, 5)), task="t", model="m").verdict == "pass"
    assert changes_in(Path("references/t.history.jsonl"))[0].reason == reason


def test_a_spec_value_that_looks_like_a_number_is_found_again() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", spec={"max_draft_len": "4", "extra_acc_spec": "012"})
    assert sy.check(rows(bits(15, 5)), task="t", model="m", spec={"max_draft_len": "4", "extra_acc_spec": "012"}).verdict == "pass"
    assert sy.check(rows(bits(15, 5)), task="t", model="m", spec={"max_draft_len": 4, "extra_acc_spec": "012"}).verdict == "pass"


def test_the_answer_is_plain_json() -> None:
    result = sy.record(rows(bits(15, 5)), task="t", model="m")
    answer = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert {"kind", "schema", "task", "model", "value", "n", "runs", "warnings", "signature"} <= set(answer)
    assert answer["kind"] == "recorded"


def test_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match=r"No run to record\."):
        sy.record(task="t", model="m")


def test_update_over_a_number_of_undeclared_scale_is_refused() -> None:
    """68.17 on record without a scale, scores of 0 and 1 now: a .68 in its place would be 67 points of drift."""
    Path("references").mkdir()
    Path("references/t.yaml").write_text("m:\n  - accuracy: 68.17\n", encoding="utf-8")
    with pytest.raises(SteelyardError, match="scale"):
        sy.record(rows(bits(68, 32)), task="t", model="m", update=True, reason="items")
    sy.record(rows(bits(68, 32)), task="t", model="m", update=True, reason="items", scale="percent")
    assert entry()["accuracy"] == 68
    assert entry()["first_value"] == 68.17
    assert not any("drift" in warning for warning in sy.check(rows(bits(68, 32)), task="t", model="m").warnings)


def test_a_null_in_the_spec_is_the_default() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", spec={"quant_algo": None})
    assert "quant_algo" not in entry()
    assert sy.check(rows(bits(15, 5)), task="t", model="m").verdict == "pass"


def test_update_keeps_the_protocol_unless_told() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", protocol={"shots": "5"})
    sy.record(rows(bits(15, 5)), task="t", model="m", update=True, reason="x")
    assert {key: str(value) for key, value in entry()["protocol"].items()} == {"shots": "5"}
    sy.record(rows(bits(15, 5)), task="t", model="m", update=True, reason="x", protocol={"shots": "0"})
    assert {key: str(value) for key, value in entry()["protocol"].items()} == {"shots": "0"}


def test_update_in_another_scale_takes_the_numbers_along_and_says_so() -> None:
    sy.record(rows(bits(150, 50)), task="t", model="m", scale="percent", theta=2.0, margin=1.0, sigma=43.0, alpha=0.01)
    result = sy.record(rows(bits(160, 40)), task="t", model="m", update=True, reason="x", scale="fraction")
    found = entry()
    assert (found["scale"], found["accuracy"], found["alpha"]) == ("fraction", 0.8, 0.01)
    assert [found[key] for key in ("theta", "margin", "sigma", "first_value")] == pytest.approx([0.02, 0.01, 0.43, 0.75])
    assert any("theta 2" in warning and "multiplied by 0.01" in warning for warning in result.warnings)
    assert not any("drift" in warning for warning in sy.check(rows(bits(160, 40)), task="t", model="m").warnings)


def test_update_by_another_metric_leaves_its_numbers_behind_and_says_so() -> None:
    sy.record(rows(bits(150, 50)), task="t", model="m", theta=0.02, alpha=0.01)
    result = sy.record(rows(bits(160, 40)), task="t", model="m", update=True, reason="x", metric="error")
    found = entry()
    assert found["error"] == pytest.approx(0.2)
    assert found["alpha"] == 0.01
    assert "accuracy" not in found
    assert "theta" not in found
    assert "first_value" not in found
    assert any("accuracy" in warning and "theta 0.02" in warning for warning in result.warnings)


def test_a_name_that_only_the_suite_knows_stays_the_name() -> None:
    Path("references").mkdir()
    Path("references/t.yaml").write_text("m:\n  - wer: 7.5\n    scale: raw\n    metric: wer\n", encoding="utf-8")
    result = sy.record(rows([5.0, 9.0]), task="t", model="m", update=True, reason="x")
    assert (result.metric, result.value) == ("wer", 7.0)
    assert (entry()["wer"], entry()["metric"], entry()["first_value"]) == (7.0, "wer", 7.5)
    assert sy.check(rows([5.0, 9.0]), task="t", model="m").higher_is_better is False


def labelled(n: int = 60) -> Rows:
    return [{"id": f"q{i}", "truth": "ab"[i % 2], "prediction": "ab"[i % 3 % 2]} for i in range(n)]


def test_the_positive_class_is_on_record_and_an_update_keeps_it() -> None:
    first = sy.record(labelled(), task="t", model="m", metric="f1", positive="a")
    assert entry()["positive"] == "a"
    again = sy.record(labelled(), task="t", model="m", update=True, reason="x")
    assert again.value == first.value
    assert entry()["positive"] == "a"
    sy.record(labelled(), task="t", model="m", update=True, reason="x", positive="b")
    assert entry()["positive"] == "b"
    sy.record(labelled(), task="t", model="other", positive="a")
    assert "positive" not in entry(model="other")  # accuracy is about no class


def test_an_update_does_not_uncover_hashed_ids() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", ids="hashed")
    sy.record(rows(bits(16, 4)), task="t", model="m", update=True, reason="x")
    assert b"q0" not in b"".join(path.read_bytes() for path in Path("references/t.items").glob("*.items"))


@pytest.mark.parametrize(("missing", "value"), [("wrong", 0.75), ("drop", 1.0)])
def test_missing_predictions_are_said_and_kept_as_counted(missing: str, value: float) -> None:
    data = [{"id": f"q{i}", "truth": "ab"[i % 2], "prediction": None if i < 5 else "ab"[i % 2]} for i in range(20)]
    with pytest.raises(SteelyardError, match=r"5 of 20 items have no prediction, the first in row 1\."):
        sy.record(data, task="t", model="m")
    result = sy.record(data, data, task="t", model="m", missing=missing)
    assert result.value == value
    assert sum("5 of 20 items without a prediction" in warning for warning in result.warnings) == 2  # one for each run
    verdict = sy.check(data, task="t", model="m", missing=missing)
    assert (verdict.reference["value"], verdict.candidate["value"]) == (value, value)


@pytest.mark.parametrize(
    ("scores", "scale"), [([50.0, 60.0], "fraction"), ([0.5, 1.5], "fraction"), ([50.0, 101.0], "percent"), ([-200.0, 5.0], "percent")]
)
def test_scores_beyond_their_scale_are_refused_before_anything_is_written(scores: list[float], scale: str) -> None:
    with pytest.raises(SteelyardError, match=scale):
        sy.record(rows(scores), task="t", model="m", scale=scale)
    assert not Path("references").exists()


def test_percentages_as_they_come_are_percent() -> None:
    assert sy.record(rows([50.0, 100.0]), task="t", model="m", scale="percent").value == 75


@pytest.mark.parametrize("option", ["directory", "config"])
def test_a_nul_byte_in_a_path_is_one_line(option: str) -> None:
    with pytest.raises(SteelyardError, match=r"null (byte|character)"):
        sy.record(rows(bits(3, 1)), task="t", model="m", **{option: "a\x00b"})  # type: ignore[arg-type]


def test_the_file_is_named_as_it_was_given_links_and_all(home: Path) -> None:
    (home / "real").mkdir()
    Path("references").symlink_to(home / "real")
    assert sy.record(rows(bits(3, 1)), task="t", model="m").file == "references/t.yaml"


def test_whoever_read_the_old_entry_gets_the_outcomes_of_the_new_one() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m")
    place = locate("t")
    old = existing_entry(place, "m", None)
    assert old is not None
    sy.record(rows(bits(16, 4)), task="t", model="m", update=True, reason="x")
    new, kept = with_outcomes(place, old)
    assert new.value == 0.8
    assert kept is not None
    score = kept.runs[0].score
    assert score is not None
    assert score.sum() == 16
    sy.record(rows(bits(16, 4)), task="t", model="m", update=True, reason="x", items=False)
    assert with_outcomes(place, old)[1] is None


def test_outcomes_that_are_really_gone_are_told() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m")
    place = locate("t")
    old = existing_entry(place, "m", None)
    assert old is not None
    for path in Path("references/t.items").glob("*.outcomes"):
        path.unlink()
    with pytest.raises(SourceError, match=r"No such file: .*\."):
        with_outcomes(place, old)


# A line that a killed process did not write

AT = "2026-01-02T03:04:05Z"
LATER = "2026-01-02T03:04:06Z"
ENTRY = Entry(model="m", value=0.5, num_samples=40, runs=1, recorded=AT, by="ada", tool="steelyard 0.1.0", reason="second")


@pytest.mark.parametrize(
    "past",
    [
        [Change(action="update", model="m", new=0.5, reason="second", time=AT)],
        [Change(action="update", model="m", new=0.75, reason="second", time=AT)],  # the value was changed by hand since
        [Change(action="update", model="m", new=0.5, reason="first", time=AT)],  # the reason was
        [Change(action="import", model="m", new=0.5, reason="from afar", time=LATER)],
        [Change(action="recovered", model="m", new=0.5, reason="second", time=AT)],
    ],
)
def test_a_change_with_its_line_lost_none(past: list[Change]) -> None:
    assert lost_line(ENTRY, past) is None


@pytest.mark.parametrize(
    ("past", "old"),
    [
        ([], None),
        ([Change(action="record", model="m", new=0.75, reason="first", time=AT)], 0.75),  # within one second
        ([Change(action="record", model="m", new=0.5, reason="second", time="2026-01-02T03:04:04Z")], 0.5),
        ([Change(action="update", model="m", spec={"quant_algo": "FP8"}, new=0.5, reason="second", time=AT)], None),
        ([Change(action="update", model="n", new=0.5, reason="second", time=AT)], None),
        ([Change(action="approve", model="m", new=0.5, reason="second", time=LATER)], None),
    ],
)
def test_a_change_without_its_line_is_told_by_its_entry(past: list[Change], old: float | None) -> None:
    lost = lost_line(ENTRY, past)
    assert lost == Change(action="recovered", model="m", old=old, new=0.5, n=40, runs=1, reason="second", time=AT, by="ada")


def test_what_we_did_not_write_has_no_line_to_lose() -> None:
    assert lost_line(Entry(model="m", value=0.5, recorded=AT), []) is None
    assert lost_line(Entry(model="m", value=0.5, tool="steelyard 0.1.0"), []) is None


def test_a_history_that_was_left_behind_is_mended_and_said() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", reason="first")
    Path("references/t.history.jsonl").unlink()
    result = sy.record(rows(bits(16, 4)), task="t", model="m", update=True, reason="second")
    assert any("recovered" in warning for warning in result.warnings)
    one, two = changes_in(Path("references/t.history.jsonl"))
    assert (one.action, one.new, one.reason) == ("recovered", 0.75, "first")
    assert (two.action, two.old, two.new) == ("update", 0.75, 0.8)
    quiet = sy.record(rows(bits(17, 3)), task="t", model="m", update=True, reason="third")
    assert not any("recovered" in warning for warning in quiet.warnings)


def test_a_history_with_a_merge_conflict_is_added_to_and_said() -> None:
    sy.record(rows(bits(15, 5)), task="t", model="m", reason="first")
    path = Path("references/t.history.jsonl")
    path.write_text("<<<<<<< ours\n" + path.read_text("utf-8"), encoding="utf-8")
    result = sy.record(rows(bits(16, 4)), task="t", model="m", update=True, reason="second")
    assert any("cannot be read" in warning for warning in result.warnings)
    assert "second" in path.read_text("utf-8").splitlines()[-1]


@pytest.mark.parametrize("content", ["", "{", "[]", "3", "[" * 100_000, '{"schema": 1, "rows": 3}', '{"schema": 9, "rows": ""}'])
def test_any_content_of_the_notes_beside_a_run_is_a_clear_error(home: Path, content: str) -> None:
    run = home / "run.jsonl"
    run.write_text("".join(json.dumps(row) + "\n" for row in rows([1, 0] * 10)), encoding="utf-8")
    Path(f"{run}.run").write_text(content, encoding="utf-8")
    with pytest.raises(SteelyardError, match=r"run\.jsonl\.run"):
        sy.record(str(run), task="t", model="m")
    assert not (home / "references").exists()


def test_a_protocol_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    run = [{"id": i, "score": 1} for i in range(5)]
    for ask in (sy.record, sy.check):
        with pytest.raises(sy.UsageError, match="protocol must be a mapping of keys to values, not '5-shot'"):
            ask(run, task="t", model="m", protocol="5-shot", directory=str(tmp_path))
    assert list(tmp_path.iterdir()) == []
