"""Hundreds of asks in one thread: the same answers as from threads, the same faults survived, and nothing asked twice."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluate.models.test_endpoint import KEY, QUICK, an_ask, endpoint, one
from evaluate.models.test_http_client import certificate, inside, no_proxy, proxied  # noqa: F401
from evaluate.openai_server import Server
from steelyard.errors import SourceError
from steelyard.evaluate.asking.asking import SharedThread, ask_all, pool_of
from steelyard.evaluate.asking.asks import Answer, Ask
from steelyard.evaluate.asking.journal import Journal
from steelyard.evaluate.models.conversations import Conversations
from steelyard.evaluate.models.endpoint import Endpoint, RateLimiter
from steelyard.evaluate.models.http_client import Timeouts

pytestmark = pytest.mark.skipif(not Conversations.possible(), reason="this system watches few sockets, and threads ask there")


def answers(model: Endpoint, asks: Sequence[Ask], journal: Journal | None = None, **options: Any) -> list[Answer]:
    with ask_all(asks, [model], journal, **{"max_error_rate": 1.0, **options}) as asking:
        return [answer for _, answer in asking]


def talking() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name in ("asking", "connecting")]


def eventually(true: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not true() and time.monotonic() < until:
        time.sleep(0.005)
    return true()


def test_an_endpoint_is_asked_by_one_thread_and_a_judge_by_many() -> None:
    with Server() as server, endpoint(server) as model:
        assert isinstance(pool_of(model, None, None, 4), SharedThread)
        assert not isinstance(pool_of(model, None, lambda _, answer: answer, 4), SharedThread)


def test_every_answer_once_in_order_over_as_many_connections_as_are_under_way(tmp_path: Path) -> None:
    with Server(gate=20) as server, endpoint(server, concurrency=20) as model, Journal.open(tmp_path / "j", model.identity) as journal:
        found = answers(model, [an_ask(i) for i in range(300)], journal)
        assert [answer.said for answer in found] == [str(i + 2) for i in range(300)]
        assert {answer.attempts for answer in found} == {1}
        assert max(seen.under_way for seen in server.seen) == 20
        assert server.connections == model._wire.opened == 20
        assert (len(server.seen), len(journal)) == (300, 300)
        assert eventually(lambda: not talking()), "the threads end with the run"
        assert one(model).said == "3", "and their connections are kept for what follows"
        assert model._wire.opened == 20


def test_fewer_at_once_than_the_model_allows() -> None:
    with Server(latency=0.002) as server, endpoint(server, concurrency=16) as model:
        answers(model, [an_ask(i) for i in range(60)], concurrency=3)
        assert max(seen.under_way for seen in server.seen) <= 3


@pytest.mark.parametrize(
    "fault",
    [
        "429",
        "500",
        "503",
        "torn",
        "cut-chunk",
        "garbage",
        "empty",
        "wrong-json",
        "no-choices",
        "huge",
        "bomb",
        "400",
        "chunked",
        "gzip",
        "old",
        "close",
    ],
)
def test_faults_end_as_they_do_with_a_thread_for_each(fault: str) -> None:
    """The prompt of one item meets the fault for good, that of another once; the other items never hear of it."""
    script = {"5 + 2 =": [fault] * 6, "7 + 2 =": [fault]}
    asks = [an_ask(i) for i in range(12)]
    with Server(script=script) as server, endpoint(server, concurrency=4, patience=QUICK) as model:
        together = answers(model, asks)
        counted = model.faults
    with Server(script=script) as server, endpoint(server, concurrency=4, patience=QUICK) as model:
        single = [one(model, ask) for ask in asks]
        assert [(each.said, each.error, each.attempts) for each in together] == [(each.said, each.error, each.attempts) for each in single]
        assert counted == model.faults


@pytest.mark.parametrize(
    ("fault", "timeouts", "words"),
    [
        ("hang", Timeouts(connect=30, read=0.2, total=60), "nothing came for 0.2 s"),
        ("drip", Timeouts(connect=30, read=60, total=0.3), "no whole answer within 0.3 s"),
        ("drip-head", Timeouts(connect=30, read=60, total=0.3), "no whole answer within 0.3 s"),
    ],
)
def test_silence_and_a_slow_drip_end_while_the_others_go_on(fault: str, timeouts: Timeouts, words: str) -> None:
    with Server(script={"5 + 2 =": [fault] * 3}) as server, endpoint(server, concurrency=2, timeouts=timeouts) as model:
        found = answers(model, [an_ask(i) for i in range(12)])
        assert [place for place, answer in enumerate(found) if answer.error is not None] == [5]
        assert (found[5].error, found[5].attempts) == (f"timeout: {words}", 3)


def test_a_connection_that_breaks_every_time_is_an_error_after_six_attempts() -> None:
    with Server(script={"5 + 2 =": ["reset"] * 20}) as server, endpoint(server, concurrency=4) as model:
        found = answers(model, [an_ask(i) for i in range(12)])
        assert [(place, answer.attempts) for place, answer in enumerate(found) if answer.error is not None] == [(5, 6)]
        assert str(found[5].error).startswith("connection lost")


def test_a_kept_connection_that_breaks_before_a_byte_is_tried_once_more_on_a_fresh_one() -> None:
    with Server(first=["", "reset", ""]) as server, endpoint(server, concurrency=1) as model:
        assert [answer.attempts for answer in answers(model, [an_ask(1), an_ask(2)])] == [1, 1]
        assert (model._wire.opened, model._wire.resent, len(server.seen)) == (2, 1, 3)


def test_a_request_larger_than_a_socket_holds_is_sent_whole() -> None:
    text = "3 + 4 " + "x" * (8 << 20)
    ask = Ask(case=an_ask().case.__class__(id="1", input=text, truth=7, row={}))
    with Server(say=lambda asked: str(len(asked["messages"][0]["content"]))) as server, endpoint(server) as model:
        assert [answer.said for answer in answers(model, [ask, an_ask()])] == [str(len(text)), "7"]


@pytest.mark.parametrize(("fault", "words"), [("401", "denied access"), ("404", "refused the request"), ("redirect", "redirects")])
def test_what_no_ask_survives_ends_the_run(fault: str, words: str) -> None:
    with Server(shares={fault: 1.0}) as server, endpoint(server, key=KEY) as model, pytest.raises(SourceError, match=words) as told:
        answers(model, [an_ask(i) for i in range(40)])
    assert KEY not in str(told.value)
    assert eventually(lambda: not talking())


def test_nobody_there_is_told_once_the_attempts_are_used_up() -> None:
    with Server() as server:
        gone = server.url
    with endpoint(server, url=gone) as model, pytest.raises(SourceError, match="Cannot reach the server"):
        answers(model, [an_ask(i) for i in range(3)])


def test_everybody_waits_as_long_as_the_server_asks() -> None:
    with (
        Server(first=["429"], retry_after={"retry-after-ms": "300"}) as server,
        endpoint(server, concurrency=4, pace=RateLimiter(4)) as model,
    ):
        began = time.monotonic()
        assert [answer.error for answer in answers(model, [an_ask(i) for i in range(30)])] == [None] * 30
        assert time.monotonic() - began >= 0.3
        assert model.pace.lowest == 2


def test_an_early_end_waits_for_what_is_under_way_and_for_nothing_else() -> None:
    """Two are asked and answered; one rests before a retry for a minute, and is told at once that the run has ended."""
    with Server(script={"2 + 2 =": ["503"]}, retry_after={"Retry-After": "55"}) as server, endpoint(server, concurrency=3) as model:
        with ask_all([an_ask(i) for i in range(1, 200)], [model], None, max_error_rate=1.0) as asking:
            assert next(asking)[1].said == "3"
            assert eventually(lambda: model.faults["503"] == 1)
        assert asking.asked.in_flight == 0
        assert len(server.seen) < 20
        assert eventually(lambda: not talking())


def test_somebody_who_forgets_to_close_leaves_no_threads() -> None:
    with Server() as server, endpoint(server, concurrency=2) as model:
        asking = ask_all([an_ask(i) for i in range(50)], [model], None)
        next(asking)
        del asking
        gc.collect()
        assert eventually(lambda: not talking())


@pytest.mark.needs_system
def test_tls_and_the_tunnel_of_a_proxy(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    import ssl

    trusted = ssl.create_default_context(cafile=str(certificate))
    with Server(tls=inside(certificate), say=lambda _: "x" * 70_000) as server, Server() as unused:
        with endpoint(server, tls=trusted, concurrency=8) as model:
            assert {len(answer.said) for answer in answers(model, [an_ask(i) for i in range(16)])} == {70_000}
            assert model._wire.opened <= 8
        with proxied(unused, server.port) as (proxy, seen):
            monkeypatch.setenv("HTTPS_PROXY", f"http://me:secret@{proxy}")
            with endpoint(server, url="https://model.example/v1", tls=trusted, concurrency=2) as model:
                assert [len(answer.said) for answer in answers(model, [an_ask(i) for i in range(6)])] == [70_000] * 6
            assert {where for where, _ in seen} == {"model.example:443"}
