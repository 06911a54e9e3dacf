"""The dashboard over 10,000 and 100,000 runs: how long the server takes to answer for its main pages; and all runs as CSV."""

from __future__ import annotations

import asyncio
import csv
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.timing import Row, Unmeasured, Wrong, below, milliseconds, scratch, seconds

OF_MANY = ("serve.many-runs", "serve.many-first", "serve.export")
RUNS, MANY, TASKS, MODELS, ITEMS = 10_000, 100_000, 20, 10, 1000


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    if find_spec("starlette") is None:
        yield Unmeasured(
            ("serve.first-paint", "serve.many-runs", "serve.many-first", "serve.export"), "starlette is not installed (extra `serve`)"
        )
        return
    from steelyard.web.app import make_app
    from steelyard.web.pages import plain_link
    from steelyard.web.settings import Serving

    with scratch() as folder:
        url = f"sqlite:///{Path(folder, 'runs.db')}"
        last = filled(url, RUNS)
        app = make_app(Serving(history=url))
        pages = {
            "overview": "/",
            "overview, page 5": "/?page=5",
            "overview, last verdict a regression": "/?verdict=regression",
            "runs, filtered by verdict": "/runs?verdict=regression",
            "one series": plain_link("/series", task=last.task, model=last.model, spec=last.spec, metric=last.metric),
            "one run": f"/runs/{last.id}",
        }
        asked(app, "/static/page.css")
        for name, path in pages.items():
            taken = [asked(app, path) for _ in range(3 if quick else 15)]
            note = f"median of {len(taken)}; first {milliseconds(taken[0])}"
            yield below("serve.first-paint", f"{name}, {RUNS:,} runs in SQLite, server time", median(taken), milliseconds, note)

    if quick:
        yield Unmeasured(OF_MANY, "a history of 100,000 runs takes half a minute to make")
    else:
        yield from many_runs()


def many_runs() -> Iterator[Row]:
    """The pages that look at every run, and the export of all, with ten times as many. The first call is that of a fresh server."""
    from steelyard.questions.history.export import export_runs
    from steelyard.web.app import make_app
    from steelyard.web.settings import Serving

    with scratch() as folder:
        url = f"sqlite:///{Path(folder, 'runs.db')}"
        filled(url, MANY)
        app = make_app(Serving(history=url))
        asked(app, "/static/page.css")
        for name, path in (("overview", "/"), ("overview, page 5", "/?page=5"), ("overview, last verdict", "/?verdict=regression")):
            taken = [asked(app, path) for _ in range(15)]
            note = f"median of {len(taken)}; first {milliseconds(taken[0])}"
            if path == "/":
                yield below("serve.many-first", f"{name}, {MANY:,} runs in SQLite, first call of a fresh server", taken[0], milliseconds)
            yield below("serve.many-runs", f"{name}, {MANY:,} runs in SQLite, server time", median(taken), milliseconds, note)
        begun = time.perf_counter()
        written = export_runs(Path(folder, "runs.csv"), url)
        taken_by_export = time.perf_counter() - begun
        with Path(folder, "runs.csv").open(newline="", encoding="utf-8") as lines:
            if written != MANY or sum(1 for _ in csv.reader(lines)) != MANY + 1:
                raise Wrong(f"{written:,} runs exported of {MANY:,}")
        yield below("serve.export", f"{MANY:,} runs in SQLite as CSV", taken_by_export, seconds)


def filled(url: str, many: int) -> Any:
    """A history of verdicts, each with its whole answer, as `check` keeps them; a few with their items."""
    from steelyard.history.store import open_history, pack
    from steelyard.questions.guard.check import check
    from steelyard.questions.record.record import record

    folder = Path(url.removeprefix("sqlite:///")).parent
    base = {f"item-{i:05d}": int(i % 5 > 0) for i in range(ITEMS)}
    columns = {"id": list(base), "score": list(base.values())}
    record(columns, task="bench", model="m", deterministic=True, directory=folder / "references")
    worse = {"id": list(base), "score": [0 if i % 37 == 0 else right for i, right in enumerate(base.values())]}
    verdict = check(worse, task="bench", model="m", directory=folder / "references")
    start = datetime(2025, 1, 1, tzinfo=UTC)
    packed = pack(base)
    with open_history(url) as history, history._place.writing():
        sql = _insert(history, verdict, packed.digest, start)
        for i in range(many):
            sql(i)
    with open_history(url) as history:
        return history.runs(limit=1)[0][0]


def _insert(history: Any, verdict: Any, digest: str, start: datetime) -> Any:
    """One row after another in one transaction: making the history is not what is measured."""
    import uuid

    from steelyard.history.entries import entry_of, utc
    from steelyard.history.schema import COLUMNS
    from steelyard.history.schema import RUNS as TABLE
    from steelyard.history.store import _row
    from steelyard.results.history import PastRun

    said = entry_of(verdict)
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    text = json.dumps(verdict.to_dict())

    def put(i: int) -> None:
        own = {"id": uuid.uuid4().hex, "time": utc(start + timedelta(minutes=20 * i)), "task": f"task-{i % TASKS}"}
        own |= {"model": f"model-{i // TASKS % MODELS}", "spec": {"quant": "FP8" if i % 3 else "INT4"}, "verdict": _verdict(i)}
        row = dict(zip(COLUMNS, _row(PastRun(**{**said, **own, "result": None, "commit": f"{i:08x}", "outcomes": digest})), strict=True))
        history._place.run(
            f"INSERT INTO {TABLE} ({names}) VALUES ({', '.join('?' * len(COLUMNS))})", list({**row, "result": text}.values())
        )

    return put


def _verdict(i: int) -> str:
    return "regression" if i % 11 == 0 else "inconclusive" if i % 17 == 0 else "pass"


def asked(app: Any, path: str) -> float:
    """Seconds for one answer of the application."""
    route, _, query = path.partition("?")
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": route, "query_string": query.encode(), "root_path": ""}
    scope |= {"headers": [(b"host", b"127.0.0.1")], "scheme": "http", "server": ("127.0.0.1", 80)}
    messages: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        messages.append(message)

    begun = time.perf_counter()
    asyncio.run(app(scope, receive, send))
    taken = time.perf_counter() - begun
    if messages[0]["status"] != 200:
        raise Wrong(f"{path}: {messages[0]['status']}")
    return taken
