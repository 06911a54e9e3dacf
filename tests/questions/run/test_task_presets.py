"""Ready-made tasks: run with the user's files, judged by the numbers of the accuracy suite, written out to be changed."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from cases import every
from steelyard.errors import SourceError, UsageError
from steelyard.evaluate.task.presets import preset_names, preset_text
from steelyard.options.init import OPTIONS
from steelyard.questions.run.run_suite import run_suite
from steelyard.questions.run.task import prepare, read_task
from steelyard.reference.suite_tasks import TRTLLM

ROOT = Path(__file__).parents[3]
OF_THE_SUITE = {"perplexity": "SlimPajama-6B"}  # what it calls the task, where that is the name of its texts


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(name: str, rows: list[dict[str, Any]]) -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def sums(many: int = 40) -> str:
    return lines("test.jsonl", [{"question": f"What is {i} + {i}?", "answer": f"{i} + {i} = {2 * i}\n#### {2 * i}"} for i in range(many)])


def adds(prompt: str) -> str:
    number = int(prompt.rpartition("Problem: What is ")[2].split()[0])
    return f"That makes #### {2 * number if number % 10 else 0.5}"


def articles(many: int = 600) -> str:
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    rows = [{"id": f"a{i}", "article": f"Story {i}.", "highlights": " ".join([f"n{i}", *words[: 3 + i % 5]])} for i in range(many)]
    return lines("cnn.jsonl", rows)


def summarizes(prompt: str) -> str:
    return "alpha beta gamma nothing else"


# ---- what they say ---------------------------------------------------------------------------------------------------------


def test_the_presets_are_those_that_help_and_guide_name() -> None:
    assert preset_names() == ["cnn_dailymail", "gpqa_diamond", "gsm8k", "json_mode_eval", "mmlu", "perplexity"]
    (option,) = [option for option in OPTIONS if option.name == "preset"]
    assert option.help_with_names().endswith(f"One of {', '.join(preset_names())}.")
    guide = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in guide for name in preset_names())


@every("name", preset_names())
def test_the_numbers_are_those_of_the_accuracy_suite(name: str) -> None:
    task = read_task(f"preset:{name}", data="x.jsonl")
    facts = {key: value for key, value in TRTLLM[OF_THE_SUITE.get(name, name)].items() if key != "metric" or value != task.metric}
    assert task.name == name
    assert dict(task.rule) == facts
    assert task.sampling["temperature"] == 0
    assert task.n in (None, facts["num_samples"])


def test_the_prompts_are_whole_before_the_first_call() -> None:
    with open("gpqa.csv", "w", newline="") as stream:
        head = ["Question", "Correct Answer", *(f"Incorrect Answer {i}" for i in (1, 2, 3))]
        csv.writer(stream).writerows([head, ["Why {x}?", "so", "not", "nor", "never"]])
    (case,) = prepare("preset:gpqa_diamond", data="gpqa.csv").cases
    assert case.input.startswith("Why {x}?\n\nA. ")
    assert f"{case.truth}. so\n" in case.input
    asked = prepare("preset:gsm8k", data=sums(1)).cases[0]
    assert asked.messages is not None
    assert [each["role"] for each in asked.messages] == ["system", *["user", "assistant"] * 4, "user"]
    assert all("#### " in each["content"] for each in asked.messages if each["role"] == "assistant")


def test_the_examples_of_gsm8k_are_right() -> None:
    """The number behind #### is the last one of the worked solution before it."""
    for shot in tomllib.loads(preset_text("gsm8k"))["task"]["shots"]:
        worked, _, number = shot["answer"].partition("\n#### ")
        assert number in worked.replace(".", "").split()[-4:], shot


# ---- running ---------------------------------------------------------------------------------------------------------------


def test_gsm8k_from_its_file_to_a_verdict_in_percent() -> None:
    found = sy.run("preset:gsm8k", adds, data=sums(), name="m", output="out.jsonl")
    assert found.measurement is not None
    assert found.measurement.estimate == pytest.approx(0.9)
    recorded = sy.record("out.jsonl", task="gsm8k", model="m", deterministic=True)
    assert (recorded.value, recorded.scale) == (pytest.approx(90.0), "percent")
    again = sy.run("preset:gsm8k", adds, data="test.jsonl", name="m", output="new.jsonl")
    assert again.verdict is not None
    assert (again.verdict.scale, again.verdict.design) == ("percent", "paired")
    checked = sy.check("new.jsonl", task="gsm8k", model="m")
    assert (checked.verdict, checked.p_value, checked.scale) == (again.verdict.verdict, again.verdict.p_value, "percent")


def test_a_number_on_record_is_judged_by_the_sigma_and_the_alpha_of_the_suite_in_run_and_in_check() -> None:
    """33.64 on record, 512 items, sigma 11.06, alpha .002: the threshold is 31.650, as the suite has it."""
    Path("references").mkdir()
    Path("references/cnn_dailymail.yaml").write_text("m:\n  - accuracy: 33.64\n")
    found = sy.run("preset:cnn_dailymail", summarizes, data=articles(), name="m", output="out.jsonl")
    checked = sy.check("out.jsonl", task="cnn_dailymail", model="m")
    for verdict in (found.verdict, checked):
        assert verdict is not None
        assert (verdict.metric, verdict.scale, verdict.n, verdict.alpha) == ("rouge1", "percent", 512, 0.002)
        assert verdict.threshold == pytest.approx(31.650, abs=5e-4)
    assert found.measurement is not None
    assert checked.candidate["value"] == pytest.approx(100 * found.measurement.estimate)


def test_the_configuration_and_the_entry_come_before_the_preset() -> None:
    Path("references").mkdir()
    Path("references/cnn_dailymail.yaml").write_text("m:\n  - accuracy: 33.64\n    sigma: 12\n")
    Path("steelyard.toml").write_text("[tasks.cnn_dailymail]\nalpha = 0.01\n")
    found = sy.run("preset:cnn_dailymail", summarizes, data=articles(), name="m")
    assert found.verdict is not None
    assert (found.verdict.alpha, found.verdict.sigma) == (0.01, 12)


def test_a_reference_of_another_scorer_is_refused_before_the_first_call() -> None:
    def never(prompt: str) -> str:
        raise AssertionError("asked")

    Path("references").mkdir()
    Path("references/cnn_dailymail.yaml").write_text("m:\n  - rougeL: 23.1\n    num_samples: 512\n")
    with pytest.raises(UsageError, match="The run was scored by rouge-1, but the reference is of 'rougeL'"):
        sy.run("preset:cnn_dailymail", never, data=articles(), name="m")


def test_a_rouge_l_of_ones_own_is_not_held_against_rouge_1() -> None:
    sy.run("preset:cnn_dailymail", summarizes, data=articles(), name="m", output="out.jsonl")
    sy.record("out.jsonl", task="cnn_dailymail", model="m", deterministic=True)
    assert "- rouge1: " in Path("references/cnn_dailymail.yaml").read_text()
    Path("own.toml").write_text(preset_text("cnn_dailymail").replace('"rouge-1"', '"rouge-l"'))
    with pytest.raises(UsageError, match="The run was scored by rouge-l, but the reference is of 'rouge1'"):
        sy.run("own.toml", summarizes, data="cnn.jsonl", name="m")


OTHERS = [
    ("rougeL: 23.1", 'scorer = "rouge-l" in the task gives what is on record; or record this run'),
    ("wer: 23.1", 'scorer = "wer" in the task'),
    ("bleu: 23.1", "Hint: record this run as a reference under a task name of its own"),
    ("rouge2: 23.1", "Hint: record this run"),
    ("accuracy: 23.1\n    metric: rougeL", 'scorer = "rouge-l" in the task'),
]


@every(("entry", "hint"), OTHERS)
def test_a_saved_run_is_not_checked_by_the_number_of_another_scorer_though_nobody_pinned_the_protocol(entry: str, hint: str) -> None:
    if not Path("out.jsonl").exists():
        sy.run("preset:cnn_dailymail", summarizes, data=articles(), output="out.jsonl")
        Path("references").mkdir()
    reference = Path("references/cnn_dailymail.yaml")
    reference.write_text(f"m:\n  - {entry}\n    num_samples: 512\n")
    before = reference.read_bytes()
    with pytest.raises(UsageError, match=r"The run was scored by rouge-1, but the reference is of '\w+': they do not compare") as fault:
        sy.check("out.jsonl", task="cnn_dailymail", model="m")
    assert hint in str(fault.value)
    assert reference.read_bytes() == before


def test_nor_by_its_items() -> None:
    Path("own.toml").write_text(preset_text("cnn_dailymail").replace('"rouge-1"', '"rouge-l"').replace('"rouge1"', '"rougeL"'))
    for task, out in (("own.toml", "l.jsonl"), ("preset:cnn_dailymail", "one.jsonl")):
        sy.run(task, summarizes, data=articles(), output=out, against="none")
    sy.record("l.jsonl", task="cnn_dailymail", model="m", deterministic=True)
    reference = Path("references/cnn_dailymail.yaml")
    text = reference.read_text()
    start, end = text.index("    protocol:"), text.index("    rates:")
    reference.write_text(text[:start] + text[end:])
    assert sy.check("l.jsonl", task="cnn_dailymail", model="m").verdict == "pass"
    with pytest.raises(UsageError, match="The run was scored by rouge-1, but the reference is of 'rougeL'"):
        sy.check("one.jsonl", task="cnn_dailymail", model="m")


def test_names_of_other_suites_are_those_of_the_scorers_that_make_them() -> None:
    """Word errors in percent on record, as the suite has them; exact_match for what is right or wrong by its text."""
    Path("references").mkdir()
    rows = [{"id": i, "q": f"say word {i} of them", "truth": f"word {i} of them"} for i in range(60)]
    wer = {"task": {"name": "speech", "data": rows, "input": "{q}", "scorer": "wer"}, "rule": {"scale": "percent"}}
    Path("references/speech.yaml").write_text("m:\n  - wer: 6.2\n    sigma: 50\n    num_samples: 32\n")

    def hears(prompt: str) -> str:
        words = prompt.split()[1:]
        return " ".join(words if int(words[1]) % 5 else ["lord", *words[1:]])

    found = sy.run(wer, hears, name="m", output="wer.jsonl").verdict
    assert found is not None
    assert (found.candidate["value"], found.higher_is_better) == (pytest.approx(5.0), False)
    assert sy.check("wer.jsonl", task="speech", model="m").p_value == found.p_value
    letters = {**wer, "scorer": {"unit": "characters"}}
    with pytest.raises(UsageError, match=r"The run was scored by wer \(.*unit = characters\), but the reference is of 'wer'"):
        sy.run(letters, hears, name="m")
    exact = {"task": {"name": "words", "data": rows, "input": "{q}", "scorer": "exact"}, "rule": {"scale": "percent"}}
    Path("references/words.yaml").write_text("m:\n  - exact_match: 75\n    sigma: 50\n    num_samples: 60\n")
    found = sy.run(exact, hears, name="m").verdict
    assert found is not None
    assert found.candidate["value"] == pytest.approx(80.0)


def test_mmlu_takes_its_subjects_in_their_shares() -> None:
    Path("mmlu/test").mkdir(parents=True)
    Path("mmlu/dev").mkdir()
    for subject, many in (("anatomy", 30), ("virology", 10)):
        for part, rows in (("dev", 5), ("test", many)):
            told = [f"{subject} {part} {i}?,a,b,c,d,{'ABCD'[i % 4]}\n" for i in range(rows)]
            Path(f"mmlu/{part}/{subject}_{part}.csv").write_text("".join(told))
    prepared = prepare("preset:mmlu", data="mmlu", n=20)
    assert sorted(case.row["subject"] for case in prepared.cases) == ["anatomy"] * 15 + ["virology"] * 5
    first = prepared.cases[0]
    assert f"is about {first.row['topic']} and" in first.input
    assert first.input.count("\nAnswer:") == 6
    with pytest.raises(UsageError, match=r"n=4,096 is more than the 40 items there are. Hint: n=40 asks all of them"):
        prepare("preset:mmlu", data="mmlu")


def test_json_mode_is_right_where_the_value_is_the_same() -> None:
    rows = [
        {
            "prompt": [{"role": "user", "content": f"Item {i} costs {i}."}],
            "completion": json.dumps({"item": i, "price": i}),
            "schema": '{"type": "object"}',
        }
        for i in range(20)
    ]

    def model(prompt: str) -> str:
        number = int(prompt.rpartition("Item ")[2].split()[0])
        return f'```json\n{{"price": {number}.0, "item": {number if number % 4 else -1}}}\n```'

    found = sy.run("preset:json_mode_eval", model, data=lines("eval.jsonl", rows), name="m")
    assert found.measurement is not None
    assert found.measurement.estimate == pytest.approx(0.75)


# ---- mistakes --------------------------------------------------------------------------------------------------------------


def test_what_is_wrong_is_told_before_the_first_call() -> None:
    def never(prompt: str) -> str:
        raise AssertionError("asked")

    with pytest.raises(UsageError, match=r"preset:gsm8k needs its data: data=PATH\."):
        sy.run("preset:gsm8k", never)
    with pytest.raises(UsageError, match="Did you mean 'gsm8k'"):
        sy.run("preset:gsm8", never, data=sums())
    for name in ("../presets/gsm8k", "", "gsm8k.toml"):
        with pytest.raises(UsageError, match="No preset"):
            sy.run(f"preset:{name}", never, data="test.jsonl")
    with pytest.raises(SourceError, match=r"test\.jsonx"):
        sy.run("preset:gsm8k", never, data="test.jsonx")
    lines("plain.jsonl", [{"question": "q", "answer": "4"}])
    with pytest.raises(sy.DataError, match=r"plain\.jsonl', line 1, has .*; it must have a solution that ends with ####"):
        sy.run("preset:gsm8k", never, data="plain.jsonl", output="out.jsonl")
    assert not list(Path().glob("out*"))


RULES = [
    ({"alpha": 5}, "alpha"),
    ({"scale": "percents"}, "scale of .* must be .*, not 'percents'"),
    ({"num_samples": 0}, "num_samples of .* must be .*, not 0"),
    ({"num_samples": True}, "num_samples of .* must be .*, not True"),
    ({"sigma": -1}, "sigma of .* must be .*, not -1"),
    ({"higher_is_better": "yes"}, "higher_is_better of .* must be .*, not 'yes'"),
    ({"sigmas": 1}, "Did you mean 'sigma'"),
]


@every(("rule", "said"), RULES)
def test_a_rule_that_makes_no_sense_is_refused_when_the_task_is_read(rule: dict[str, Any], said: str) -> None:
    task = {"task": {"name": "t", "data": [{"id": 1, "q": "x", "truth": "x"}], "input": "{q}", "scorer": "exact"}, "rule": rule}
    with pytest.raises(UsageError, match=said):
        sy.run(task, str.strip)


def test_data_take_the_place_of_those_of_any_task_and_lie_where_one_stands() -> None:
    Path("tasks").mkdir()
    text = '[task]\nname = "t"\ndata = "none.jsonl"\ninput = "{q}"\nscorer = "exact"\n'
    Path("tasks/t.toml").write_text(text)
    rows = [{"id": i, "q": str(i), "truth": str(i)} for i in range(30)]
    echo = str.strip
    lines("here.jsonl", rows)
    for data in ("here.jsonl", Path("here.jsonl"), rows):
        assert sy.run("tasks/t.toml", echo, data=data).n == 30
    assert sy.run(read_task("tasks/t.toml"), echo, data="here.jsonl").n == 30

    class Own:
        data = ({"id": 1, "q": "a", "truth": "a"},)
        input = "{q}"
        scorer = "exact"

    assert sy.run(Own, echo, data="here.jsonl").n == 30


# ---- writing them out ------------------------------------------------------------------------------------------------------


@every("name", preset_names())
def test_a_preset_that_is_written_out_is_the_task_itself(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    place = tmp_path_factory.mktemp("out")
    found = sy.init(preset=name, where=place)
    assert [Path(each).name for each in found.written] == [f"{name}.toml"]
    assert read_task(place / f"{name}.toml", data="x").protocol == read_task(f"preset:{name}", data="x").protocol
    with pytest.raises(UsageError, match="exists already"):
        sy.init(preset=name, where=place)
    assert sorted(each.name for each in place.iterdir()) == [f"{name}.toml"]


# ---- in a suite ------------------------------------------------------------------------------------------------------------

SUITE = """
[[checks]]
task = "gsm8k"
model = "m"
run = {task = "preset:gsm8k", data = "data/test.jsonl", model = "python:adding:adds", output = "out/gsm8k.jsonl"}

[[checks]]
task = "perplexity"
model = "m"
run = {task = "preset:perplexity", data = "data/texts.txt", model = "python:adding:unsure"}
"""
MODELS = """
def adds(prompt):
    number = int(prompt.rpartition("Problem: What is ")[2].split()[0])
    return f"#### {2 * number if number % 10 else 0.5}"

def unsure(text):
    return [-len(word) / 4 for word in text.split()]
"""


def test_a_suite_runs_presets_with_data_that_lie_beside_it(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path_factory.mktemp("suite")
    (place / "data").mkdir()
    (place / "out").mkdir()
    Path(sums()).rename(place / "data" / "test.jsonl")
    (place / "data" / "texts.txt").write_text("".join(f"one text of {i * i} words\n" for i in range(30)))
    (place / "adding.py").write_text(MODELS)
    (place / "suite.toml").write_text(SUITE)
    monkeypatch.syspath_prepend(str(place))
    import adding  # type: ignore[import-not-found]

    for name, call, data in (("gsm8k", adding.adds, "test.jsonl"), ("perplexity", adding.unsure, "texts.txt")):
        sy.run(f"preset:{name}", call, data=place / "data" / data, name="m", output=f"{name}.jsonl")
        sy.record(f"{name}.jsonl", task=name, model="m", deterministic=True)
    found = run_suite(place / "suite.toml", directory="references")
    assert [(each.task, each.verdict, each.n, each.scale) for each in found.verdicts] == [
        ("gsm8k", "pass", 40, "percent"),
        ("perplexity", "pass", 30, "raw"),
    ]
    assert (place / "out" / "gsm8k.jsonl").exists()
    suite = place / "suite.toml"
    for old, new, said in (
        ('data = "data/test.jsonl", ', "", "preset:gsm8k needs its data"),
        ('data = "data/test.jsonl"', "data = 3", "data in the run of check 1 must be a path, not 3"),
        ("preset:gsm8k", "preset:mmlu", "The task file is of 'mmlu', but the suite says 'gsm8k'"),
        ("preset:gsm8k", "preset:gsm9k", "Did you mean 'gsm8k'"),
    ):
        suite.write_text(SUITE.replace(old, new, 1))
        with pytest.raises(sy.SteelyardError, match=said):
            run_suite(suite, directory="references")
