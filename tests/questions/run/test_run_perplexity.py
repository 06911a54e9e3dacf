"""Perplexity of one's own texts: by echoed log-probabilities of completions, by a function or a program that gives them."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from cases import every
from evaluate.openai_server import Server
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.evaluate.asking.plain import logprobs_of
from steelyard.evaluate.models.endpoint import PROBE

N = 40
SEVENTH = "text 7 of 40 with more more words 49"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(many: int = N, name: str = "texts.txt") -> str:
    Path(name).write_text("".join(f"text {i} of {many} with {'more ' * (i % 5)}words {i * i}\n\n" for i in range(many)), encoding="utf-8")
    return name


def by_length(text: str, factor: float = 1.0) -> list[float]:
    """Long words are less probable."""
    return [-factor * len(word) / 4 for word in text.split()]


def asked(server: Server, **options: Any) -> sy.Evaluation:
    return sy.run("preset:perplexity", "openai:m", data=texts(), base_url=server.url, api="completions", **options)


def test_it_is_exp_of_the_mean_negative_log_likelihood_per_token() -> None:
    found = sy.run("preset:perplexity", by_length, data=texts(), name="m", output="out.jsonl").measurement
    values = [value for line in Path("texts.txt").read_text().split("\n") for value in by_length(line)]
    assert found is not None
    assert found.estimate == pytest.approx(math.exp(-np.mean(values)))
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert sum(row["tokens"] for row in rows) == len(values)
    assert all(row["score"] == pytest.approx(row["nll"] / row["tokens"]) and "logprobs" not in row for row in rows)
    assert sy.measure("out.jsonl", metric="perplexity", ratio=("nll", "tokens")).estimate == pytest.approx(found.estimate)


def test_an_endpoint_is_asked_for_the_prompt_alone_and_judged_item_by_item() -> None:
    with Server() as server:
        found = asked(server, output="out.jsonl")
        sent = [each.asked for each in server.seen]
    assert found.measurement is not None
    assert all((each["echo"], each["logprobs"], each["max_tokens"]) == (True, 1, 1) for each in sent)
    assert [each["prompt"] for each in sent[:1]] == [PROBE]
    assert len(sent) == N + 1
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert all(row["tokens"] == row["tokens_in"] - 1 and row["outcome"] == "answered" for row in rows)
    recorded = sy.record("out.jsonl", task="perplexity", model="m", deterministic=True)
    assert (recorded.value, recorded.scale) == (pytest.approx(found.measurement.estimate), "raw")
    for doubt, verdict in ((1.0, "pass"), (1.05, "regression"), (0.95, "pass")):
        with Server(doubt=doubt) as server:
            again = asked(server, output="new.jsonl").verdict
        checked = sy.check("new.jsonl", task="perplexity", model="m")
        assert again is not None
        assert (again.verdict, again.higher_is_better, again.alpha, again.design) == (verdict, False, 0.01, "paired")
        assert (checked.verdict, checked.p_value) == (again.verdict, again.p_value)


def test_a_number_on_record_is_judged_by_the_sigma_and_the_alpha_of_the_suite() -> None:
    """8.5 on record, 86 documents, sigma 4.48, alpha .01: lower is better, so the threshold lies 2.326 x 4.48 x sqrt(2/86) above."""
    Path("references").mkdir()
    Path("references/perplexity.yaml").write_text("m:\n  - perplexity: 8.5\n")
    found = sy.run("preset:perplexity", by_length, data=texts(86), name="m")
    assert found.verdict is not None
    assert found.verdict.threshold == pytest.approx(8.5 + 2.3263479 * 4.48 * math.sqrt(2 / 86))
    assert (found.verdict.verdict, found.verdict.design) == ("pass", "unpaired")


def test_per_byte_models_with_different_tokenizers_compare() -> None:
    task = {
        "task": {"name": "t", "data": texts(), "layout": "text", "input": "{text}", "scorer": "log-likelihood"},
        "scorer": {"unit": "bytes"},
    }
    found = sy.run(task, lambda text: [-1.0] * len(text), name="letters").measurement
    other = sy.run(task, lambda text: [-2.0] * (len(text) // 2), name="pairs").measurement
    assert found is not None
    assert other is not None
    assert found.estimate == pytest.approx(math.e)
    assert other.estimate == pytest.approx(math.e, rel=0.02)
    assert sy.run({**task, "task": {**task["task"], "metric": "ratio"}}, lambda text: [-1.0] * len(text)).measurement.estimate == 1  # type: ignore[union-attr]


PER_BYTE: dict[str, Any] = {
    "task": {"name": "t", "data": "a.txt", "layout": "text", "input": "{text}", "scorer": "log-likelihood", "metric": "ratio"},
    "scorer": {"unit": "bytes"},
}


def test_the_bytes_of_a_first_token_without_a_log_probability_are_not_counted() -> None:
    """ "Über" has 5 bytes and no log-probability; the other 4 have 1 nat each. A mark of the tokenizer's own has no bytes."""
    Path("a.txt").write_text("Über all\n", encoding="utf-8")
    for tokens, values, ratio in (
        (["Über", " all"], [None, -4.0], 1.0),
        (["<s>", "Über", " all"], [None, -5.0, -4.0], 1.0),
        (["Über", " all"], [-5.0, -4.0], 1.0),
    ):
        found = sy.run(PER_BYTE, lambda text, v=values, t=tokens: {"logprobs": v, "tokens": t}).measurement
        assert found is not None
        assert found.estimate == ratio


def test_a_first_token_whose_bytes_nobody_knows_is_refused_per_byte_and_allowed_per_token() -> None:
    Path("a.txt").write_text("one two\n")
    with pytest.raises(DataError, match="its first token has no log-probability, and its text is not known"):
        sy.run(PER_BYTE, lambda text: [None, -1.0])
    with pytest.raises(DataError, match="is a single token without a log-probability"):
        sy.run(PER_BYTE, lambda text: {"logprobs": [None, -1.0], "tokens": ["one two", ""]})
    found = sy.run({**PER_BYTE, "scorer": {"unit": "tokens"}}, lambda text: [None, -1.0]).measurement
    assert found is not None
    assert found.estimate == 1


def test_an_endpoint_says_which_bytes_have_no_log_probability() -> None:
    """The loopback server splits at blanks and gives the first word none: 4 bytes of "one two three" are left out with it."""
    Path("a.txt").write_text("one two three\n")
    with Server() as server:
        sy.run(PER_BYTE, "openai:m", base_url=server.url, api="completions", output="out.jsonl")
    assert [json.loads(line)["bytes"] for line in Path("out.jsonl").read_text().splitlines()] == [10.0]


def test_a_program_writes_the_log_probabilities_of_a_line() -> None:
    Path("loss.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'id': asked['id'], 'logprobs': [None] + [-1.0] * 9, 'tokens_in': 10}))\n"
    )
    found = sy.run("preset:perplexity", f"command:{sys.executable} loss.py", data=texts())
    assert found.measurement is not None
    assert found.measurement.estimate == pytest.approx(math.e)


# ---- what cannot give them -------------------------------------------------------------------------------------------------


def test_a_chat_is_refused_before_any_call() -> None:
    with Server() as server:
        with pytest.raises(UsageError, match=r"A chat does not give the log-probabilities.*Hint: api='completions'"):
            sy.run("preset:perplexity", "openai:m", data=texts(), base_url=server.url, output="out.jsonl")
        assert not server.seen
    assert not list(Path().glob("out*"))


@every("fault", [{"echoes": False}, {"first": ["400"]}])
def test_a_server_that_cannot_is_found_out_by_a_few_words_before_the_first_text(fault: dict[str, Any]) -> None:
    with Server(**fault) as server:
        with pytest.raises(SourceError, match=r"gave no log-probabilities of a short text: .*no text was sent yet"):
            asked(server, concurrency=4)
        assert set(server.asked) == {PROBE}


def test_what_a_server_cannot_do_for_one_text_is_an_error_of_that_item() -> None:
    with Server(script={"text 7 ": ["400"]}) as server:
        with pytest.raises(DataError, match="1 of 40 items have no answer"):
            asked(server, max_error_rate=0.1, output="out.jsonl")
        found = asked(server, max_error_rate=0.1, output="out.jsonl")
    assert found.n == N
    assert server.asked == {PROBE: 2, **dict.fromkeys(Path("texts.txt").read_text().split("\n\n")[:-1], 1), SEVENTH: 2}


@every("model", ["file:out.jsonl", type("Fitted", (), {"predict": lambda self, table: [0] * len(table)})()])
def test_what_only_predicts_is_refused(model: Any) -> None:
    Path("out.jsonl").write_text('{"id": 1, "prediction": "x"}\n')
    with pytest.raises(UsageError, match="no log-probabilities"):
        sy.run("preset:perplexity", model, data=texts())


@every(
    ("returned", "said"),
    [
        ("text", "a str, not the log-probabilities"),
        ([], "no token with a log-probability"),
        ([None], "no token with a log-probability"),
        ([None, None, -1.0], "'None' for token 2"),
        ([-1.0, float("-inf")], "'-inf' for token 2"),
        ([-1e308, -1e308], "'-1e+308' for token 1"),
        ([-1.0, 0.5], "a log-probability above 0, 0.5 for token 2"),
        ([-1.0, "x"], "'x' for token 2"),
        ({"said": "x"}, "nothing, not the log-probabilities"),
        ({"error": "full"}, "full"),
    ],
)
def test_what_are_no_log_probabilities_is_an_error_of_the_item(returned: Any, said: str) -> None:
    assert said in str(logprobs_of(returned).error)
    with pytest.raises(DataError, match="Too many errors"):
        sy.run("preset:perplexity", lambda text: returned, data=texts())


def test_log_probabilities_come_as_arrays_too() -> None:
    assert logprobs_of(np.array([-1.0, -0.5])).said == -1.5
    assert logprobs_of([0.00001, -1.0]).said == -1.0  # certain, but for rounding


# ---- texts -----------------------------------------------------------------------------------------------------------------


def test_texts_are_the_lines_of_a_file_or_a_column() -> None:
    Path("a.txt").write_text('{"text": "this is JSON, and a line"}\n\n  indented\r\n', encoding="utf-8")
    Path("a.jsonl").write_text('{"text": "one"}\n{"text": "two\\nlines"}\n', encoding="utf-8")
    heard: list[str] = []

    def listen(text: str) -> list[float]:
        heard.append(text)
        return [-1.0]

    sy.run("preset:perplexity", listen, data="a.txt")
    assert sorted(heard) == ["  indented", '{"text": "this is JSON, and a line"}']
    heard.clear()
    sy.run("preset:perplexity", listen, data="a.jsonl")
    assert sorted(heard) == ["one", "two\nlines"]
    Path("b.jsonl").write_text('{"text": "one"}\n{"text": " "}\n')
    with pytest.raises(DataError, match=r"'b\.jsonl', line 2, has no text in 'text'; it must have a text"):
        sy.run("preset:perplexity", listen, data="b.jsonl")
    Path("c.csv").write_text("id,body\n1,x\n")
    with pytest.raises(DataError, match="no column 'text'"):
        sy.run("preset:perplexity", listen, data="c.csv")


def test_a_run_stops_early_only_by_right_or_wrong() -> None:
    sy.run("preset:perplexity", by_length, data=texts(), name="m", output="out.jsonl")
    sy.record("out.jsonl", task="perplexity", model="m", deterministic=True)
    with pytest.raises(UsageError, match="cannot stop early by perplexity"):
        sy.run("preset:perplexity", by_length, data=texts(), name="m", until="decided", theta=0.1)


def test_that_items_without_an_answer_are_wrong_is_refused_before_the_first_call() -> None:
    def never(text: str) -> list[float]:
        raise AssertionError("asked")

    with pytest.raises(UsageError, match="missing='wrong' has no meaning for the scorer log-likelihood"):
        sy.run("preset:perplexity", never, data=texts(), missing="wrong", output="out.jsonl")
    assert not list(Path().glob("out*"))


@every("metric", ["accuracy", "mean", "f1"])
def test_another_metric_of_log_likelihoods_is_refused(metric: str) -> None:
    task = {"task": {"name": "t", "data": texts(), "layout": "text", "input": "{text}", "scorer": "log-likelihood", "metric": metric}}
    with pytest.raises(UsageError, match="The scorer log-likelihood gives the metric"):
        sy.run(task, by_length)
