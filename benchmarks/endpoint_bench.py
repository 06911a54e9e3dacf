"""2,000 requests to a server that takes 200 ms for each, 64 at once: throughput, and CPU time of the runner per request.

The server is the one of the tests, in a process of its own: 64 at once and 200 ms allow 320 requests a second. Throughput is by
the clock on the wall, since it is waiting that is measured; CPU time is that of the client's process alone. Ours is the whole
runner with its journal. The peer is lm-eval's `local-completions`, its model class asked directly, without tasks, metrics and
cache; it runs if LM_EVAL_PYTHON names a Python that has lm-eval[api] (best in an environment of its own).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.timing import Row, Unmeasured, Wrong, scratch, seconds, unjudged

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

LATENCY, AT_ONCE = 0.2, 64
ALLOWED = AT_ONCE / LATENCY

LM_EVAL = """
import json, sys, time
import logging; logging.disable(logging.WARNING)
from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI
url, n, at_once = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
text = {"tokenized_requests": False, "tokenizer_backend": None}
model = LocalCompletionsAPI(model="m", base_url=url + "/completions", num_concurrent=at_once, **text)
how = {"until": ["\\n"], "max_gen_toks": 16}
asks = [Instance(request_type="generate_until", doc={}, arguments=(f"{i} + 2 =", how), idx=i) for i in range(n)]
wall, cpu = time.perf_counter(), time.process_time()
said = model.generate_until(asks, disable_tqdm=True)
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "said": said}))
"""


def rows(*, quick: bool) -> Iterator[Row | Unmeasured]:
    for row in asked(quick=quick):
        yield unjudged(row) if quick else row
    if quick:
        yield Unmeasured(("endpoint.throughput", "endpoint.overhead"), "640 requests were made, where the start weighs more than in 2,000")


def asked(*, quick: bool) -> Iterator[Row]:
    from evaluate.openai_server import spawned

    n, rounds = (640, 1) if quick else (2000, 3)
    ours, peer = [], []
    for _ in range(rounds):  # a fresh server for each, turn and turn about
        with spawned("--latency", str(LATENCY)) as server:
            ours.append(_ours(server.url, n))
            _once_each(server.asked(), n)
        if os.environ.get("LM_EVAL_PYTHON"):
            with spawned("--latency", str(LATENCY)) as server:
                peer.append(_lm_eval(server.url, n))
                _once_each(server.asked(), n)
    absent = "" if peer else "; lm-eval was not there: LM_EVAL_PYTHON names no Python that has lm-eval[api]"
    title = f"{n:,} requests of {LATENCY * 1e3:g} ms, {AT_ONCE} at once"
    best, theirs = max(n / wall for wall, _ in ours), max((n / wall for wall, _ in peer), default=0.0)
    yield Row(
        key="endpoint.throughput",
        value=best / ALLOWED,
        what=f"{title}: share of the {ALLOWED:g} requests/s that this allows",
        ours=f"{best / ALLOWED:.0%}",
        peer=f"{theirs / ALLOWED:.0%}" if peer else "",
        times=tuple(their / our for (our, _), (their, _) in zip(ours, peer, strict=False)),
        note=f"best of the rounds; the peer is lm-eval local-completions{absent}",
    )
    cost = min(cpu for _, cpu in ours) / n
    yield Row(
        key="endpoint.overhead",
        value=cost,
        what=f"{title}: CPU time of the runner per request",
        ours=seconds(cost),
        peer=seconds(min(cpu for _, cpu in peer) / n) if peer else "",
        times=tuple(their / our for (_, our), (_, their) in zip(ours, peer, strict=False)),
    )


def _ours(url: str, n: int) -> tuple[float, float]:
    """Seconds and CPU seconds of the whole runner: asks made, sent, answered, written to the journal, handed out in order."""
    from steelyard.evaluate.asking.asking import ask_all, interleaved
    from steelyard.evaluate.asking.asks import Case
    from steelyard.evaluate.asking.journal import Journal
    from steelyard.evaluate.models.endpoint import Endpoint

    model = Endpoint("m", url, key="none", api="completions", sampling={"temperature": 0, "max_tokens": 16}, concurrency=AT_ONCE)

    cases = [Case(id=str(i), input=f"{i} + 2 =", truth=i + 2, row={}) for i in range(n)]
    with scratch() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        with Journal.open(Path(folder, "journal"), model.identity) as journal:
            asks = interleaved(cases, 1, 1, 0)
            with ask_all(asks, [model], journal, total=n) as asking:
                found = [answer.said for _, answer in asking]
            taken = time.perf_counter() - wall, time.process_time() - cpu
    model.close()
    _right(found)
    return taken


def _lm_eval(url: str, n: int) -> tuple[float, float]:
    env = {**os.environ, "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    argv = [os.environ["LM_EVAL_PYTHON"], "-c", LM_EVAL, url, str(n), str(AT_ONCE)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Wrong(f"lm-eval ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    told = json.loads(done.stdout.splitlines()[-1])
    _right(told["said"])
    return told["wall"], told["cpu"]


def _right(found: list[object]) -> None:
    if [str(each).strip() for each in found] != [str(i + 2) for i in range(len(found))]:
        raise Wrong("the answers of the endpoint are not the sums")


def _once_each(asked: dict[str, int], n: int) -> None:
    if len(asked) != n or set(asked.values()) != {1}:
        raise Wrong(f"{sum(asked.values())} requests for {n} prompts")
