"""A small project to look at: references, a history with verdicts of all kinds, and names that would like to be markup."""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

from starlette.datastructures import Headers

from steelyard.history.nights import FIXED, NIGHT, REFERENCE, JudgedValues, NightEvent, ValueParcel, add_events
from steelyard.history.store import History, open_history
from steelyard.questions.guard.check import check
from steelyard.questions.record.record import record
from steelyard.web.app import make_app
from steelyard.web.settings import Serving

PLANTED = '"><script>document.title="pwned"</script><img src=x onerror=alert(1)>'
TOKEN = "a-token-of-the-tests-0123456789"
START = datetime(2026, 10, 1, 3, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Project:
    """Where it is, and the runs by name."""

    root: Path
    url: str
    runs: dict[str, Any]

    @property
    def ids(self) -> dict[str, str]:
        return {name: run.id for name, run in self.runs.items()}

    def serving(self, **more: Any) -> Serving:
        given: dict[str, Any] = {"history": self.url, "shown": "sqlite:///runs.db", "config": self.root / "steelyard.toml", "token": TOKEN}
        return Serving(**{**given, **more})

    def visitor(self, host: str = "127.0.0.1:8765", **more: Any) -> Visitor:
        """Somebody before a server of their own."""
        return Visitor(make_app(self.serving(**more)), host)


def outcomes(rng: random.Random, base: dict[str, int], churn: float, loss: float) -> dict[str, int]:
    """Another run on the same items: some answers waver, as many up as down, and some are lost."""
    flips = {1: churn / 2 / 0.8, 0: churn / 2 / 0.2}
    return {id_: 0 if right and rng.random() < loss else right ^ (rng.random() < flips[right]) for id_, right in base.items()}


class Visitor:
    """A browser without a window: it asks the application itself, keeps its cookie and sends forms as browsers do."""

    def __init__(self, app: Any, host: str = "127.0.0.1:8765") -> None:
        self.app, self.host, self.cookie = app, host, ""

    def ask(self, method: str, path: str, *, body: bytes = b"", **headers: str) -> Reply:
        """One request. A header that is given as "" is left out."""
        route, _, query = path.partition("?")
        sent = {"host": self.host, "cookie": self.cookie, **{name.replace("_", "-"): value for name, value in headers.items()}}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "root_path": "",
            "path": unquote(route),
            "raw_path": route.encode(),
            "query_string": query.encode(),
            "server": ("127.0.0.1", 8765),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items() if value],
        }
        messages: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        asyncio.run(self.app(scope, receive, send))
        found = Headers(raw=messages[0]["headers"])
        if "set-cookie" in found:
            self.cookie = found["set-cookie"].partition(";")[0]
        text = b"".join(message.get("body", b"") for message in messages[1:]).decode()
        return Reply(status=messages[0]["status"], headers=found, text=text)

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def form_token(self, path: str = "/sign-in") -> str:
        found = re.search(r'name="form_token" value="([0-9a-f]{64})"', self.get(path).text)
        assert found is not None
        return found[1]

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        body = urlencode(fields).encode()
        own = {"origin": f"http://{self.host}", "content_type": "application/x-www-form-urlencoded"}
        return self.ask("POST", path, body=body, **{**own, **headers})

    def sign_in(self) -> Visitor:
        reply = self.post("/sign-in", {"token": TOKEN, "next": "/", "form_token": self.form_token()})
        assert reply.status == 303
        return self


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Headers
    text: str


def columns(scores: dict[str, int]) -> dict[str, list[Any]]:
    return {"id": list(scores), "score": list(scores.values())}


def make_project(root: Path, *, nights: int = 12, items: int = 300) -> Project:
    """A project on disk. The last nights of gsm8k are worse; one task has planted names everywhere."""
    (root / "steelyard.toml").write_text('history = "sqlite:///runs.db"\nspec_keys = ["quant"]\n', encoding="utf-8")
    config, url = root / "steelyard.toml", f"sqlite:///{root / 'runs.db'}"
    rng = random.Random(7)
    runs: dict[str, Any] = {}
    with open_history(url) as history:
        for task, model, spec, loss in (("gsm8k", "llama-3.1-8b", {"quant": "FP8"}, 0.09), ("mmlu", "llama-3.1-8b", {}, 0.0)):
            base = {f"{task}-{i:04d}": int(rng.random() < 0.8) for i in range(items)}
            done = record(columns(base), task=task, model=model, spec=spec, theta=0.04, deterministic=True, config=config, reason="first")
            history.append(done, items=base, time=START - timedelta(days=1), by="ada", commit="0a0a0a0a")
            for night in range(nights):
                lost = loss if night >= nights - 3 else 0.0
                scores = outcomes(rng, base, 0.03, lost)
                verdict = check(columns(scores), task=task, model=model, spec=spec, config=config)
                protocol = {"prompt": "v4" if night >= nights - 3 and lost else "v3"}
                kept = history.append(
                    verdict, items=scores, time=START + timedelta(days=night), by="ci", commit=f"{night:02x}c0ffee", protocol=protocol
                )
                runs[f"{task}-{night}"] = kept
        planted = {f"{PLANTED}{i}": int(i % 5 > 0) for i in range(60)}
        base = columns(planted)
        done = record(base, task="planted", model=PLANTED, spec={"quant": PLANTED}, deterministic=True, config=config, reason=PLANTED)
        history.append(done, items=planted, time=START, by=PLANTED, commit=PLANTED, protocol={PLANTED: PLANTED})
        worse = {id_: 0 if i % 3 == 0 else right for i, (id_, right) in enumerate(planted.items())}
        verdict = check(columns(worse), task="planted", model=PLANTED, spec={"quant": PLANTED}, config=config)
        kept = history.append(verdict, items=worse, time=START + timedelta(days=1), by=PLANTED, commit=PLANTED, protocol={PLANTED: "v2"})
        runs["planted"] = kept
        runs["planted task"] = history.append(verdict, task=PLANTED, items=worse, time=START + timedelta(hours=5))
        _add_nights(history)
    return Project(root=root, url=url, runs=runs)


def _add_nights(history: History) -> None:
    """Twenty nights of a suite: worse from the tenth, acknowledged after the fourteenth; planted names everywhere."""
    rng = random.Random(5)
    usual = {f"{PLANTED}{i}": int(i % 6 > 0) for i in range(60)}

    def add(place: int, kind: str, facts: dict[str, Any], parcel: ValueParcel, night: str | None = None) -> None:
        when = (START + timedelta(days=place)).isoformat()[:19]
        event = NightEvent(series=PLANTED, place=place, kind=kind, facts=facts, night=night, time=when, by=PLANTED, commit=PLANTED)
        add_events(history, [event], parcel=parcel)

    def tasks(loss: float, parcel: ValueParcel) -> dict[str, Any]:
        scores = outcomes(rng, usual, 0.03, loss)
        return {PLANTED: parcel.add(JudgedValues(ids=list(scores), values=[float(x) for x in scores.values()]))}

    parcel = ValueParcel()
    add(0, REFERENCE, {"runs": [{"run": f"r{i}", "tasks": tasks(0.0, parcel)} for i in range(3)]}, parcel)
    budget = {"false_alarms_per_year": 1.0, "runs_per_year": 365.0, "confirm": False, "target": "items"}
    for place in range(1, 22):
        parcel = ValueParcel()
        if place == 15:
            add(place, FIXED, {"reason": PLANTED}, parcel)
        else:
            add(place, NIGHT, {"tasks": tasks(0.5 if 10 <= place < 15 else 0.0, parcel), "budget": budget}, parcel, f"{PLANTED}{place}")
