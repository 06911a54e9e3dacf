"""An endpoint with everything that goes wrong there: the right answer after a retry, or an error that tells; the key nowhere."""

from __future__ import annotations

import json
import logging
import socket
import threading
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from evaluate.openai_server import Server, spawned
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.evaluate.asking.asks import Answer, Ask, Case, Model
from steelyard.evaluate.models.endpoint import Endpoint, RateLimiter, RetryPolicy
from steelyard.evaluate.models.http_client import Reply, Timeouts, TransportError
from steelyard.evaluate.models.replies import ErrorReply, Unreadable, answer_in, words_of

KEY = "sk-test-4711-do-not-show"
QUICK = RetryPolicy(first=0.001)


def an_ask(i: int = 1, seed: int = 0, messages: Sequence[dict[str, str]] | None = None) -> Ask:
    case = Case(id=str(i), input=f"{i} + 2 =", truth=i + 2, row={}, messages=None if messages is None else tuple(messages))
    return Ask(case=case, seed=seed)


@contextmanager
def endpoint(server: Server, **options: Any) -> Iterator[Endpoint]:
    made = Endpoint(options.pop("name", "m"), options.pop("url", server.url), **{"patience": QUICK, **options})
    try:
        yield made
    finally:
        made.close()


def one(model: Endpoint, ask: Ask | None = None) -> Answer:
    (answer,) = model.ask([ask or an_ask()])
    return answer


def all_of(model: Endpoint, n: int, threads: int) -> list[Answer]:
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda i: one(model, an_ask(i)), range(n)))


# ---- without faults --------------------------------------------------------------------------------------------------


def test_an_answer_has_all_that_the_server_told() -> None:
    with Server(style="The answer is {answer}.") as server, endpoint(server) as model:
        answer = one(model)
        assert answer == Answer(
            said="The answer is 3.",
            finish="stop",
            tokens_in=4,
            tokens_out=4,
            seconds=answer.seconds,
            served_by="m-0613",
            more={"fingerprint": "fp_1"},
        )
        assert answer.seconds is not None
        assert answer.seconds > 0


def test_no_fault_one_request_each_and_connections_are_used_again() -> None:
    with Server(latency=0.002) as server, endpoint(server, concurrency=8) as model:
        answers = all_of(model, 200, 8)
        assert [answer.said for answer in answers] == [str(i + 2) for i in range(200)]
        assert {answer.attempts for answer in answers} == {1}
        assert set(server.asked.values()) == {1}
        assert (len(server.seen), model.requests, model.faults) == (200, 200, Counter())
        assert server.connections == model._wire.opened <= 8


def test_what_is_sent() -> None:
    chat = [{"role": "system", "content": "Add."}, {"role": "user", "content": "4 + 4"}]
    with Server() as server:
        with endpoint(server, sampling={"temperature": 0.5, "max_tokens": 7}) as model:
            model.ask([an_ask(seed=2**40 + 5), an_ask(messages=chat)])
        with endpoint(server, api="completions", seeds=False) as model:
            assert one(model).said == "3"
        sent = [seen.asked for seen in server.seen]
    first = {"model": "m", "messages": [{"role": "user", "content": "1 + 2 ="}], "temperature": 0.5, "max_tokens": 7, "n": 1, "seed": 5}
    assert sent == [first, {**first, "messages": chat, "seed": 0}, {"model": "m", "prompt": "1 + 2 =", "n": 1}]


@every(
    ("sampling", "chat", "completions"),
    [
        ({"logprobs": True}, (True, 0), (0, None)),
        ({"logprobs": True, "top_logprobs": 3}, (True, 3), (3, None)),
        ({"logprobs": 2}, (True, 2), (2, None)),
        ({"logprobs": 0}, (True, 0), (0, None)),
        ({"logprobs": False}, (None, None), (None, None)),
        ({}, (None, None), (None, None)),
    ],
)
def test_logprobs_may_be_written_into_the_sampling(sampling: dict[str, Any], chat: Any, completions: Any) -> None:
    for api, want in (("chat", chat), ("completions", completions)):
        model = Endpoint("m", "http://127.0.0.1:1", api=api, sampling=sampling)  # type: ignore[arg-type]
        asked = model.request(an_ask())
        assert (asked.get("logprobs"), asked.get("top_logprobs")) == want
        assert model.identity["sampling"] == {}, "to be told more is not another model"


def test_a_seed_in_the_sampling_is_the_one_that_is_sent() -> None:
    assert Endpoint("m", "http://127.0.0.1:1", sampling={"seed": 7}).request(an_ask(seed=1))["seed"] == 7


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_logprobs_look_alike_whichever_api(api: Any) -> None:
    with Server() as server, endpoint(server, api=api, logprobs=2) as model:
        assert one(model).more["logprobs"] == [{"token": "3", "logprob": -0.125, "top": {"3": -0.125, "?": -9.0}}]
        asked = server.seen[0].asked
        assert (asked["logprobs"], asked.get("top_logprobs")) == ((True, 2) if api == "chat" else (2, None))
        assert model.warnings == []


def test_a_server_without_logprobs_is_told_of_once() -> None:
    with Server() as server, endpoint(server, logprobs=0) as model:
        model.request = lambda ask: {"model": "m", "messages": [{"role": "user", "content": "1 + 1"}]}  # type: ignore[method-assign]
        answers = model.ask([an_ask(), an_ask()])
        assert [answer.more["logprobs"] for answer in answers] == [None, None]
        assert model.warnings == ["log-probabilities were asked for, and the server does not give them"]


def test_it_is_a_model_with_an_identity() -> None:
    model: Model = Endpoint("m", "http://me:pw@model.example/v1/?key=abcdefghij", sampling={"temperature": 0})
    want = {"kind": "openai", "model": "m", "base_url": "http://model.example/v1", "api": "chat", "sampling": {"temperature": 0}}
    assert model.identity == want
    assert (model.batch, model.concurrency, model.name) == (1, 16, "m")
    json.dumps(model.identity)
    other = Endpoint("m", "http://model.example", api="completions", seeds=False)
    assert (other.identity["api"], other.identity["seeds"]) == ("completions", False)


def test_a_key_without_encryption_is_warned_of_unless_it_stays_here() -> None:
    assert Endpoint("m", "http://model.example", key=KEY).warnings == [
        "the key is sent to http://model.example/v1 without encryption: use https:// if the server has it"
    ]
    for url, key in (
        ("http://model.example", None),
        ("https://model.example", KEY),
        ("http://127.0.0.1:1", KEY),
        ("http://localhost:1", KEY),
    ):
        assert Endpoint("m", url, key=key).warnings == []


# ---- answers that are answers ----------------------------------------------------------------------------------------


@every(
    ("shape", "want"),
    [
        ("length", {"said": "1", "finish": "length"}),
        ("refusal", {"said": "", "refusal": "I cannot help with that."}),
        ("silent", {"said": "", "refusal": None}),
        ("null", {"said": ""}),
        ("parts", {"said": "12"}),
        ("thinking", {"said": "12", "more": {"fingerprint": "fp_1", "reasoning_characters": 14}}),
        ("chunked", {"said": "12"}),
        ("gzip", {"said": "12"}),
        ("old", {"said": "12"}),
    ],
)
def test_shapes_of_answers(shape: str, want: dict[str, Any]) -> None:
    with Server(first=[shape]) as server, endpoint(server) as model:
        answer = one(model, an_ask(10))
        assert (answer.error, answer.attempts, len(server.seen)) == (None, 1, 1)
        assert {name: getattr(answer, name) for name in want} == want


# ---- faults that are retried -----------------------------------------------------------------------------------------

RETRIED = {
    "408": "408",
    "409": "409",
    "425": "425",
    "429": "429",
    "500": "500",
    "503": "503",
    "529": "529",
    "torn": "torn",
    "cut-chunk": "torn",
    "garbage": "torn",
    "reset": "connection",
    "empty": "unreadable",
    "wrong-json": "unreadable",
    "no-choices": "unreadable",
    "error-200": "502",
}


@every("fault", RETRIED)
def test_a_fault_and_then_the_right_answer(fault: str) -> None:
    with Server(first=[fault, fault]) as server, endpoint(server) as model:
        answer = one(model)
        assert (answer.said, answer.error, answer.attempts) == ("3", None, 3)
        assert (len(server.seen), model.requests, model.faults) == (3, 3, Counter({RETRIED[fault]: 2}))


WORDS = {
    "429": "rate limited (429): you were told 429",
    "500": "server error (500): you were told 500",
    "409": "refused (409): you were told 409",
    "torn": "torn answer: the body ended too early",
    "wrong-json": "unreadable answer: a body that is not JSON",
    "empty": "unreadable answer: an empty body",
    "no-choices": "unreadable answer: no choices",
    "error-200": "server error (502): the provider is down",
}


@every("fault", WORDS)
def test_a_fault_that_stays_is_an_error_of_the_item_after_six_attempts(fault: str) -> None:
    with Server(shares={fault: 1.0}) as server, endpoint(server) as model:
        answer = one(model)
        assert (answer.said, answer.error, answer.attempts) == (None, WORDS[fault], 6)
        assert len(server.seen) == 6


@pytest.mark.parametrize(("fault", "timeouts"), [("hang", Timeouts(read=0.1, total=60)), ("drip", Timeouts(total=0.2))])
def test_timeouts_are_tried_three_times(fault: str, timeouts: Timeouts) -> None:
    with Server(script={"1 + 2": [fault] * 9, "2 + 2": [fault]}) as server, endpoint(server, timeouts=timeouts) as model:
        answer = one(model)
        assert answer.error is not None
        assert answer.error.startswith("timeout: no")
        assert (answer.attempts, len(server.seen), model.faults) == (3, 3, Counter(timeout=3))
    with Server(first=[fault]) as server, endpoint(server, timeouts=Timeouts(read=0.5, total=0.5)) as model:
        answer = one(model)
        assert (answer.said, answer.attempts) == ("3", len(server.seen))


# ---- faults that are not ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["400", "413", "422", "451"])
def test_a_request_that_was_wrong_is_not_sent_again(status: str) -> None:
    with Server(first=[status]) as server, endpoint(server) as model:
        answer = one(model)
        assert (answer.error, answer.attempts) == (f"refused ({status}): you were told {status}", 1)
        assert len(server.seen) == 1
        assert one(model).said == "3", "the next item is asked all the same"


def test_an_answer_that_is_too_large_is_not_asked_for_again() -> None:
    with Server(first=["huge"]) as server, endpoint(server) as model:
        answer = one(model)
        assert answer.error == "unusable answer: an answer of 99,999,999,999 bytes, more than 67,108,864"
        assert len(server.seen) == 1


@every(
    ("fault", "words"),
    [
        ("401", "OPENAI_API_KEY"),
        ("402", "no credit"),
        ("403", "may not be allowed"),
        ("404", "model's name 'm'"),
        ("405", "usually ends with /v1"),
        ("redirect", "The server redirects (status 307) to http://elsewhere.example/v1/chat/completions"),
    ],
)
def test_what_no_ask_survives_ends_the_run(fault: str, words: str) -> None:
    with Server(shares={fault: 1.0}, key=KEY) as server, endpoint(server, key=KEY) as model:
        with pytest.raises(SourceError) as told:
            one(model)
        assert words in str(told.value)
        assert len(server.seen) == 1
        assert KEY not in str(told.value)


def test_403_after_answers_is_about_the_item() -> None:
    """Relays say 403 of a prompt that their moderation refuses."""
    with Server(first=["", "403"]) as server, endpoint(server) as model:
        assert [answer.error for answer in model.ask([an_ask(1), an_ask(2), an_ask(3)])] == [None, "refused (403): you were told 403", None]


def test_a_quota_that_is_used_up_ends_the_run() -> None:
    spent = json.dumps(
        {"error": {"message": "You exceeded your current quota", "type": "insufficient_quota", "code": "insufficient_quota"}}
    )
    with Server() as server, endpoint(server) as model:
        model._wire.send = lambda *_: _reply(429, spent)  # type: ignore[method-assign]
        with pytest.raises(SourceError, match=r"exceeded your current quota.*used up"):
            one(model)


def _reply(status: int, body: str) -> Any:
    return Reply(status, {}, body.encode())


def test_a_wrong_path() -> None:
    with Server() as server, endpoint(server, url=f"http://127.0.0.1:{server.port}/elsewhere") as model:
        with pytest.raises(SourceError, match="usually ends with /v1"):
            one(model)
        assert not server.seen


def test_nobody_there_is_told_once_the_attempts_are_used_up() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        model = Endpoint("m", f"http://127.0.0.1:{taken.getsockname()[1]}", patience=QUICK)
        with pytest.raises(
            SourceError, match=r"Cannot reach the server at http://127\.0\.0\.1:\d+/v1: connection lost:.* 6 times.*is it running"
        ):
            one(model)


def test_a_server_that_goes_away_in_between_is_an_error_of_the_item() -> None:
    with Server() as server:
        model = Endpoint("m", server.url, patience=QUICK)
        assert one(model).said == "3"
    answer = one(model)
    model.close()
    assert answer.error is not None
    assert answer.error.startswith("connection lost: ")
    assert answer.attempts == 6


def test_a_name_that_nobody_knows_ends_the_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def unknown(*_: object, **__: object) -> None:
        tried.append(1)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with Server() as server, endpoint(server) as model:
        with monkeypatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", unknown)
            with pytest.raises(SourceError, match=r"Cannot find the server: no address is known for 127\.0\.0\.1"):
                one(model)
        assert tried == [1]
        assert one(model).said == "3"
        model._wire.close()  # no connection is kept any more, so the name is looked up anew
        model._wire._idle.clear()
        with monkeypatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", unknown)
            assert one(model).error == f"connection lost: no address is known for 127.0.0.1:{server.port}"
        assert len(tried) == 7, "once it was reached, a name that is lost may come back"


def test_tls_that_fails_once_answers_have_come_is_tried_again() -> None:
    with Server() as server, endpoint(server) as model:
        assert one(model).said == "3"
        model._wire.send = _no_tls  # type: ignore[method-assign]
        assert (one(model).error, one(model).attempts) == ("connection lost: handshake failure", 6)


def _no_tls(*_: object) -> Any:
    raise TransportError("tls", "handshake failure", connecting=True)


def test_tls_that_is_none_ends_the_run() -> None:
    with Server() as server, endpoint(server, url=server.url.replace("http:", "https:")) as model:
        with pytest.raises(SourceError, match=r"TLS with the server failed: 127\.0\.0\.1:\d+"):
            one(model)
        assert model._wire.opened == 0


# ---- mistakes of ours ------------------------------------------------------------------------------------------------


@every(
    ("options", "words"),
    [
        ({"api": "responses"}, "chat or completions"),
        ({"sampling": {"logprobs": "all"}}, "from 0 to 20"),
        ({"sampling": {"stream": True}}, "the run sets it"),
        ({"sampling": {"temperature": float("nan")}}, "JSON can hold"),
        ({"sampling": {"stop": {1}}}, "JSON can hold"),
        ({"logprobs": 21}, "from 0 to 20"),
        ({"logprobs": True}, "from 0 to 20"),
        ({"concurrency": 0}, "at least 1"),
        ({"key": "sk-1 2"}, "no header can hold"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Endpoint("m", "http://127.0.0.1:1", **options)


def test_an_input_that_is_no_text() -> None:
    features = Ask(case=Case(id="7", input=[1.0, 2.0], truth=1, row={}))
    for api in ("chat", "completions"):
        with pytest.raises(DataError, match=r"Item '7' has an input of type list; a language model needs text\."):
            Endpoint("m", "http://127.0.0.1:1", api=api).ask([features])  # type: ignore[arg-type]


# ---- adaptation ------------------------------------------------------------------------------------------------------


def test_a_burst_of_refusals_halves_what_is_under_way() -> None:
    """16 at once are refused together; after that the server sees 8, and one more for each full window of successes."""
    with Server(first=["429"] * 16, gate=16, latency=0.003) as server, endpoint(server, concurrency=16) as model:
        answers = all_of(model, 120, 16)
        assert [answer.said for answer in answers] == [str(i + 2) for i in range(120)]
        assert max(seen.under_way for seen in server.seen[:16]) == 16
        assert model.faults == Counter({"429": 16})
        assert model.pace.lowest == 8
        for done, seen in enumerate(server.seen[16:]):
            assert seen.under_way <= 8 + done // 8


def test_a_server_with_room_for_four_is_met() -> None:
    patience = RetryPolicy(attempts=50, first=0.001)
    with Server(capacity=4, gate=5, latency=0.004) as server, endpoint(server, concurrency=16, patience=patience) as model:
        answers = all_of(model, 200, 16)
        assert {answer.error for answer in answers} == {None}
        assert model.faults["429"] == sum(seen.fault == "429" for seen in server.seen) > 0
        assert model.pace.lowest <= 8


def test_everybody_waits_as_long_as_the_server_asks() -> None:
    """The clock moves only by sleeping, so nobody can have begun before the pause was over."""
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    def pace() -> RateLimiter:
        return RateLimiter(4, clock=lambda: now[0], sleep=sleep, luck=lambda: 0.0)

    with Server(first=["429"], retry_after={"Retry-After": "17"}) as server, endpoint(server, pace=pace()) as model:
        assert one(model).said == "3"
        assert slept == [17.0]
    with Server(first=["503", "503"], retry_after={"retry-after-ms": "99999999"}) as server, endpoint(server, pace=pace()) as model:
        assert one(model).said == "3"
        assert slept == [17.0, 60.0, 60.0], "capped"


def test_stop_lets_nobody_wait() -> None:
    with Server(shares={"429": 1.0}, retry_after={"Retry-After": "60"}) as server:
        model = Endpoint("m", server.url, concurrency=2)
        found: list[Answer] = []
        threads = [threading.Thread(target=lambda i=i: found.append(one(model, an_ask(i)))) for i in range(6)]
        for thread in threads:
            thread.start()
        with server.lock:
            server.lock.wait_for(lambda: len(server.seen) >= 1, 20)
        model.stop()
        for thread in threads:
            thread.join(20)
        model.close()
        assert len(found) == 6
        assert all(answer.error and "stopped" in answer.error for answer in found)
        assert len(server.seen) <= 2, "the first refusal holds everybody"


# ---- many at once ----------------------------------------------------------------------------------------------------


def test_a_storm_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Every kind of fault at once: each item right in the end, and asked exactly as often as the attempts say."""
    faults = ["429=0.06", "500=0.04", "503=0.02", "torn=0.03", "wrong-json=0.03", "empty=0.02", "cut-chunk=0.02", "no-choices=0.02"]
    options = [part for fault in faults for part in ("--share", fault)]
    with spawned(*options, "--times", "4", "--retry-after-ms", "2", "--latency", "0.001", key=KEY) as server:
        model = Endpoint("m", server.url, key=KEY, concurrency=12, patience=QUICK)
        answers = all_of(model, 400, 12)
        model.close()
        rows = server.rows()
    assert [answer.said for answer in answers] == [str(i + 2) for i in range(400)]
    assert Counter(row["prompt"] for row in rows) == {f"{i} + 2 =": answer.attempts for i, answer in enumerate(answers)}
    assert sum(model.faults.values()) == sum(row["fault"] != "" for row in rows) > 40
    assert KEY not in json.dumps(rows)


# ---- the key ---------------------------------------------------------------------------------------------------------


def test_the_key_is_in_the_header_and_nowhere_else(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    texts: list[str] = []
    with Server(key=KEY, first=["429", "500", "torn", "wrong-json", "400", ""]) as server, endpoint(server, key=KEY) as model:
        answers = model.ask([an_ask(1), an_ask(2)])
        assert [answer.error is None for answer in answers] == [False, True]
        assert server.denied == 0
        texts += [repr(answers), repr(model), str(model), json.dumps(model.identity), repr(vars(model)["_headers"]), repr(model.warnings)]
        texts += [repr(seen.asked) for seen in server.seen]
    with Server(key="another") as server, endpoint(server, key=KEY) as model:  # this server repeats the key in its words
        with pytest.raises(SourceError) as told:
            one(model)
        assert "Incorrect API key provided: ***" in str(told.value)
        texts += ["".join(traceback.format_exception(told.value)), repr(told.value), repr(vars(told.value))]
    texts += [*capfd.readouterr(), caplog.text]
    for text in texts:
        assert KEY not in text


@given(st.text(max_size=300), st.integers(0, 300))
def test_words_of_a_server_are_short_and_without_the_key(noise: str, place: int) -> None:
    model = Endpoint("m", "http://127.0.0.1:1", key=KEY)
    words = model._public(noise[:place] + KEY + noise[place:] + KEY)
    assert KEY not in words
    assert len(words) <= 200
    assert KEY[:12] not in words, "cut only after the key was taken out"


# ---- replies ---------------------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "text", "usage", "error", "code", "logprobs", "tokens", "model", "refusal"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(json_values, st.sampled_from(["chat", "completions"]))
def test_whatever_a_server_says_is_an_answer_or_a_known_failure(value: Any, api: str) -> None:
    for body in (value, {"choices": [value]}, {"choices": [{"message": value, "logprobs": value, "text": "x"}], "usage": value}):
        try:
            answer = answer_in(json.dumps(body).encode(), api=api, logprobs=True)
        except (Unreadable, ErrorReply):
            continue
        assert isinstance(answer.said, str)
        assert answer.error is None
        json.dumps([answer.said, answer.more], allow_nan=False, ensure_ascii=False).encode()
        assert answer.tokens_in is None or answer.tokens_in >= 0


def test_what_json_allows_and_files_do_not() -> None:
    """Half a surrogate pair, and minus infinity: both have been seen in replies."""
    body = rb"""{"choices": [{"message": {"content": "a\ud83d"}, "logprobs": {"content": [
        {"token": "\ud83d", "logprob": -Infinity,
         "top_logprobs": [{"token": "b", "logprob": NaN}, {"token": "\ude00", "logprob": -1}]}]}}]}"""
    answer = answer_in(body, api="chat", logprobs=True)
    assert answer.said == "a?"
    assert answer.more["logprobs"] == [{"token": "?", "logprob": None, "top": {"b": None, "?": -1}}]


@given(st.binary(max_size=200))
def test_bytes_that_are_no_json_are_unreadable(body: bytes) -> None:
    with pytest.raises((Unreadable, ErrorReply)):
        answer_in(b"{" + body, api="chat", logprobs=False)
    words = words_of(body)
    assert "\n" not in words
    assert words == words.strip()


@every(
    ("body", "words"),
    [
        (b'{"error": "model is loading"}', "model is loading"),
        (b'{"detail": [{"loc": ["body", "seed"], "msg": "extra"}]}', '[{"loc": ["body", "seed"], "msg": "extra"}]'),
        (b'{"message": "vLLM says\\tthis"}', "vLLM says this"),
        (b"<html>\n<h1>502 Bad Gateway</h1>", "<html> <h1>502 Bad Gateway</h1>"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", ""),
        (b"[1]", "[1]"),
    ],
)
def test_words_of_errors_as_servers_write_them(body: bytes, words: str) -> None:
    assert words_of(body) == words
