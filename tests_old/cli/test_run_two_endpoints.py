"""Two models behind two addresses: each is asked at its own, with its own key, API and price."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard_old as sy
from answers import Command
from evaluate.openai_server import Server

N = 120
TASK = '[task]\nname = "sums"\ndata = "sums.jsonl"\ninput = "{a} + {b} ="\ntruth = "answer"\nscorer = "number"\n'
TWO = ("run", "sums.toml", "--model", "openai:M", "--name", "old", "--model", "openai:M", "--name", "new")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [{"id": f"q{i}", "a": i, "b": 2 * i + 1, "answer": 3 * i + 1} for i in range(N)]
    Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("sums.toml").write_text(TASK)
    return tmp_path


def test_a_server_that_is_mostly_wrong_does_not_pass_against_one_that_is_mostly_right(steelyard: Command) -> None:
    with Server(wrong=0.05) as good, Server(wrong=0.6) as bad:
        urls = ("--base-url", good.url, "--base-url", bad.url)
        answer = steelyard(*TWO, *urls, "--until", "decided", "--theta", ".03", "--format", "json")
        assert answer.code == 1, answer
        assert good.seen
        assert bad.seen
        other = steelyard(*TWO, "--base-url", bad.url, "--base-url", good.url, "--until", "decided", "--theta", ".2")
        assert other.code == 0, other
    asked_of = [model["asked_of"] for model in answer.json["run"]["models"]]
    assert [each["base_url"] for each in asked_of] == [good.url, bad.url]
    assert answer.json["verdict"] == "regression"


def test_each_endpoint_is_asked_every_item_once_and_the_notes_tell_them_apart(steelyard: Command) -> None:
    with Server() as one, Server() as two:
        answer = steelyard(*TWO, "--base-url", one.url, "--base-url", two.url, "-o", "out.jsonl")
        assert answer.code == 0, answer
        assert set(one.asked.values()) == set(two.asked.values()) == {1}
        assert len(one.asked) == len(two.asked) == N
        for server in (one, two):
            assert server.url in answer.out
    notes = [json.loads(Path(f"out.{side}.jsonl.run").read_text())["asked_of"] for side in ("baseline", "candidate")]
    assert [(each["model"], each["base_url"]) for each in notes] == [("M", one.url), ("M", two.url)]


def test_a_journal_of_other_addresses_is_refused(steelyard: Command) -> None:
    with Server() as one, Server(shares={"400": 1.0}) as two:
        words = (*TWO, "--base-url", one.url, "--base-url", two.url, "-o", "out.jsonl")
        assert steelyard(*words).code == 3
        assert Path("out.jsonl.journal").exists()
        answer = steelyard(*TWO, "--base-url", two.url, "--base-url", one.url, "-o", "out.jsonl")
    assert answer.code == 3
    assert "base_url was" in answer.err


def test_one_address_serves_both_endpoints(steelyard: Command) -> None:
    with Server() as server:
        assert steelyard(*TWO, "--base-url", server.url).code == 0
        assert set(server.asked.values()) == {2}


@pytest.mark.parametrize(
    ("more", "option"),
    [
        (("--base-url", "http://127.0.0.1:9", "--base-url", "http://127.0.0.1:8", "--base-url", "http://127.0.0.1:7"), "base_url"),
        (("--base-url", "http://127.0.0.1:9", "--key-env", "HOME", "--key-env", "PATH", "--key-env", "LANG"), "key_env"),
        (("--base-url", "http://127.0.0.1:9", *("--api", "chat") * 3), "api"),
        (("--base-url", "http://127.0.0.1:9", *("--timeout", "3") * 3), "timeout"),
        (("--base-url", "http://127.0.0.1:9", *("--batch", "3") * 3), "batch"),
        (("--base-url", "http://127.0.0.1:9", *("--price", "input=1,output=2") * 3), "prices"),
    ],
)
def test_any_other_number_of_values_is_refused(steelyard: Command, more: tuple[str, ...], option: str) -> None:
    answer = steelyard(*TWO, *more)
    assert answer.code == 3
    assert f"3 values of {option} for 2 models" in answer.err
    assert "one value for all models, or 2 in the order of the models" in answer.err


def test_two_addresses_for_one_model_are_refused(steelyard: Command) -> None:
    answer = steelyard("run", "sums.toml", "--model", "openai:M", *("--base-url", "http://127.0.0.1:9") * 2)
    assert answer.code == 3
    assert "2 values of base_url for 1 model" in answer.err


def test_an_address_for_a_model_that_is_no_endpoint_is_refused() -> None:
    with pytest.raises(sy.UsageError, match=r"base_url has a value for each model, but 'function' is not an endpoint\."):
        sy.run("sums.toml", "openai:M", lambda text: text, base_url=["http://127.0.0.1:9", "http://127.0.0.1:8"], name=["a", "b"])


def test_each_endpoint_has_its_own_key_api_and_price(steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_ONE", "sk-one-0123456789")
    monkeypatch.setenv("KEY_TWO", "sk-two-0123456789")
    with Server(key="sk-one-0123456789") as one, Server(key="sk-two-0123456789") as two:
        words = ("--base-url", one.url, "--base-url", two.url, "--key-env", "KEY_ONE", "--key-env", "KEY_TWO", "--n", "20")
        prices = ("--price", "input=1,output=0", "--price", "input=3,output=0")
        answer = steelyard(*TWO, *words, *prices, "--api", "chat", "--api", "completions", "--format", "json")
        assert answer.code == 0, answer
        assert not one.denied
        assert not two.denied
        assert all("messages" in each.asked for each in one.seen)
        assert all("prompt" in each.asked for each in two.seen)
    usage = [model["usage"] for model in answer.json["run"]["models"]]
    assert usage[0]["cost"] == pytest.approx(usage[0]["tokens_in"] / 1e6)
    assert usage[1]["cost"] == pytest.approx(3 * usage[1]["tokens_in"] / 1e6)


def test_prices_in_two_options_are_those_of_all_models(steelyard: Command) -> None:
    with Server() as server:
        words = (*TWO, "--base-url", server.url, "--n", "10", "--format", "json")
        apart = steelyard(*words, "--price", "input=1", "--price", "output=2")
        together = steelyard(*words, "--price", "input=1,output=2")
    costs = [[model["usage"]["cost"] for model in answer.json["run"]["models"]] for answer in (apart, together)]
    assert costs[0] == costs[1]
    assert None not in costs[0]


def test_python_takes_lists() -> None:
    with Server() as good, Server(wrong=1.0) as bad:
        found = sy.run("sums.toml", "openai:M", "openai:M", name=["old", "new"], base_url=[good.url, bad.url], timeout=[10, 20])
    assert [model.measurement.estimate for model in found.models if model.measurement] == [1.0, 0.0]


def test_the_judge_of_two_endpoints_needs_an_address_of_its_own(steelyard: Command) -> None:
    rubric = '[scorer]\nrubric = "{answer}"\nmodel = "openai:J"\n'
    Path("judged.toml").write_text(TASK.replace('"number"', '"judge"') + rubric)
    with Server() as one, Server() as two, Server(say=lambda _: "SCORE: 1") as judge:
        words = ("run", "judged.toml", *TWO[2:], "--base-url", one.url, "--base-url", two.url, "--n", "5")
        answer = steelyard(*words)
        assert answer.code == 3
        assert "Which server is the judge's? There are 2 base URLs, one for each model." in answer.err
        assert not one.seen
        Path("judged.toml").write_text(TASK.replace('"number"', '"judge"') + rubric + f'base_url = "{judge.url}"\n')
        assert steelyard(*words).code == 0
        assert len(judge.seen) == 10


def test_a_key_for_one_server_is_not_sent_to_the_judge_at_another(steelyard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ONE", "TWO"):
        monkeypatch.setenv(f"KEY_{name}", f"sk-{name}-0123456789")
    heard: list[Any] = []
    with Server() as one, Server() as two, Server(say=lambda asked: heard.append(asked) or "SCORE: 1") as judge:
        headers: list[str | None] = []
        handler = judge._http.RequestHandlerClass
        original = handler.do_POST  # type: ignore[attr-defined]

        def spying(self: Any) -> None:
            if self.server is judge._http:
                headers.append(self.headers.get("Authorization"))
            original(self)

        monkeypatch.setattr(handler, "do_POST", spying)
        table = f'[scorer]\nrubric = "{{answer}}"\nmodel = "openai:J"\nbase_url = "{judge.url}"\n'
        Path("judged.toml").write_text(TASK.replace('"number"', '"judge"') + table)
        urls = ("--base-url", one.url, "--base-url", two.url, "--key-env", "KEY_ONE", "--key-env", "KEY_TWO")
        assert steelyard("run", "judged.toml", *TWO[2:], *urls, "--n", "3").code == 0
    assert headers
    assert set(headers) == {None}


def test_a_suite_and_a_test_refuse_two_addresses_for_one_model(steelyard: Command) -> None:
    Path("suite.toml").write_text(
        '[[checks]]\ntask = "sums"\nmodel = "m"\nrun = {task = "sums.toml", model = "openai:M", base_url = ["http://a", "http://b"]}\n'
    )
    with Server() as server:
        assert steelyard("run", "sums.toml", "--model", "openai:M", "--base-url", server.url, "-o", "ref.jsonl").code == 0
    assert steelyard("record", "ref.jsonl", "--task", "sums", "--model", "m").code == 0
    answer = steelyard("run", "--suite", "suite.toml")
    assert answer.code == 3
    assert "2 values of base_url for 1 model" in answer.err
