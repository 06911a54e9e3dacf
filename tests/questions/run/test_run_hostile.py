"""Whatever a model, a command, a server, a judge or a scorer returns: an error of that item or of the run, never a crash."""

from __future__ import annotations

import http.server
import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from answers import Command
from steelyard.evaluate.asking.asks import Answer

N = 20
DEEP = "[" * 60_000


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rows = [{"id": f"q{i}", "a": i, "b": 2 * i + 1, "answer": 3 * i + 1} for i in range(N)]
    Path("sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("sums.toml").write_text(task())
    return tmp_path


def task(scorer: str = "number", more: str = "") -> str:
    return f'[task]\nname = "sums"\ndata = "sums.jsonl"\ninput = "{{a}} + {{b}} ="\ntruth = "answer"\nscorer = "{scorer}"\n{more}'


class Fails:
    """An object that fails wherever it is looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("__class__", "__init__"):
            return object.__getattribute__(self, name)
        raise RuntimeError(f"no {name}")


class Undecided:
    def __bool__(self) -> bool:
        raise RuntimeError("neither")


class Itself:
    def tolist(self) -> Any:
        return self


class Listed(dict[str, Any]):
    def get(self, *_: Any) -> Any:
        raise RuntimeError("no get")


def around() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def inside(depth: int) -> Any:
    found: Any = "x"
    for _ in range(depth):
        found = [found]
    return found


HOSTILE: dict[str, Any] = {
    "a list that contains itself": around(),
    "a mapping with such a list": {"said": "1", "extra": around()},
    "a list in a list without end": inside(100_000),
    "a number of 400 digits": 10**400,
    "a number of 5,000 digits": 10**5000,
    "a number of 5,000 digits in a mapping": {"said": 10**5000},
    "so many tokens": {"said": "1", "tokens_in": 10**5000},
    "endless seconds": {"said": "1", "seconds": float("inf")},
    "seconds that are none": {"said": "1", "seconds": float("nan")},
    "not a number": float("nan"),
    "an array that is its own list": Itself(),
    "an object that fails": Fails(),
    "a mapping that fails": Listed(said="1"),
    "an answer with an object": Answer(said=object()),
    "an answer with itself in it": Answer(said="1", more={"logprobs": around()}),
    "an answer with strange fields": Answer(said="1", tokens_in="many", attempts=None),  # type: ignore[arg-type]
    "an answer whose error is no text": Answer(error=ValueError("no")),  # type: ignore[arg-type]
    "a set": {1, 2},
    "bytes": b"\xff",
    "a class": int,
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_a_function_returns_is_an_error_of_that_item(what: str) -> None:
    def model(text: str) -> Any:
        return HOSTILE[what] if text.startswith("7 ") else str(sum(int(word) for word in text.rstrip("= ").split(" + ")))

    found = sy.run("sums.toml", model, name="m", missing="drop", max_error_rate=1, output="out.jsonl")
    rows = {row["id"]: row for row in map(json.loads, Path("out.jsonl").read_text().splitlines())}
    assert rows["q7"]["error"], rows["q7"]
    assert sum(row["error"] is not None for row in rows.values()) == 1
    assert found.measurement is not None
    assert found.measurement.estimate == 1.0


def test_lone_surrogates_go_through() -> None:
    found = sy.run("sums.toml", lambda text: "\ud800 5", name="m\udc00", output="out.jsonl")
    assert found.n == N
    assert str(found)


@pytest.mark.parametrize(
    "line",
    [DEEP, '{"id": "ID", "prediction": ' + DEEP, '{"id": "ID", "prediction": ' + "9" * 5000 + "}", '{"id": "ID", "prediction": 1e999}'],
    ids=["brackets", "brackets inside", "digits", "infinity"],
)
def test_a_line_of_a_command_that_cannot_be_held_is_an_error_of_that_item(steelyard: Command, line: str) -> None:
    Path("line.txt").write_text(line)
    Path("predict.py").write_text(
        "import json, sys\n"
        "bad = open('line.txt').read()\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    good = json.dumps({'id': asked['id'], 'prediction': eval(asked['input'].rstrip('='))})\n"
        "    print(bad.replace('ID', asked['id']) if asked['id'] == 'q7' else good, flush=True)\n"
    )
    words = ("--missing", "drop", "--max-error-rate", "1", "-o", "out.jsonl")
    answer = steelyard("run", "sums.toml", "--model", f"command:{sys.executable} predict.py", *words)
    assert answer.code == 0, answer
    rows = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows if row["error"]] == ["q7"]


def test_a_command_that_only_prints_brackets_is_exit_3(steelyard: Command) -> None:
    Path("predict.py").write_text("import sys\nfor line in sys.stdin:\n    print('[' * 300000, flush=True)\n")
    for batch in ("1", "4"):
        answer = steelyard("run", "sums.toml", "--model", f"command:{sys.executable} predict.py", "--batch", batch)
        assert answer.code == 3, answer


class _Says(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body, status = b"", 200

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(self.body)))
        self.send_header("Location", "http://[::1")
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def says() -> Iterator[type[_Says]]:
    kind = type("Says", (_Says,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    kind.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield kind
    server.shutdown()
    server.server_close()
    thread.join()


def chat(content: Any = "1", **more: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop", **more.pop("choice", {})}], **more}).encode()


REPLIES: dict[str, tuple[int, bytes]] = {
    "brackets": (200, DEEP.encode()),
    "brackets inside": (200, b'{"choices": [{"message": {"content": ' + DEEP.encode()),
    "deep content": (200, b'{"choices": [{"message": {"content": ' + b"[" * 900 + b"]" * 900 + b"}}]}"),
    "digits": (200, b'{"choices": ' + b"9" * 5000 + b"}"),
    "tokens": (200, b'{"choices": [{"message": {"content": "1"}}], "usage": {"prompt_tokens": ' + b"9" * 4000 + b"}}"),
    "logprobs": (200, chat(choice={"logprobs": {"content": [{"token": "1", "logprob": 10**400}]}})),
    "infinity": (200, b'{"choices": [{"message": {"content": "1"}, "logprobs": {"content": [{"token": "1", "logprob": -Infinity}]}}]}'),
    "surrogates": (200, b'{"choices": [{"message": {"content": "\\ud800"}, "finish_reason": "\\udfff"}], "model": "\\ud800"}'),
    "lists": (200, b'{"choices": [{"message": {"content": [1, null, {"text": 5}]}, "finish_reason": {}}], "usage": []}'),
    "deep error": (400, b'{"error": {"message": ' + b"[" * 900 + b"]" * 900 + b"}}"),
    "error of digits": (400, b'{"error": {"message": ' + b"9" * 5000 + b"}}"),
    "error code": (200, b'{"error": {"code": ' + b"9" * 300 + b', "message": "x"}}'),
    "redirect": (302, b""),
    "bytes": (400, bytes(range(256)) * 100),
    "nothing": (200, b""),
}


@pytest.mark.parametrize("what", REPLIES)
def test_what_a_server_replies_never_crashes(steelyard: Command, says: Any, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.evaluate.models import endpoint as pace

    monkeypatch.setattr(pace.RetryPolicy, "wait", lambda *_: 0.0)
    says.status, says.body = REPLIES[what]
    Path("sums.toml").write_text(task(more="[sampling]\nlogprobs = true\n"))
    answer = steelyard("run", "sums.toml", "--model", "openai:m", "--base-url", says.url, "-o", "out.jsonl", "--n", "4")
    assert answer.code in (0, 3), answer
    assert "internal error" not in answer.err
    assert "Traceback" not in answer.err


JUDGED = [
    DEEP,
    '{"score": ' + "[" * 5000 + "}",
    '{"score": 1e999}',
    '{"score": ' + "9" * 5000 + "}",
    "SCORE: " + "9" * 100,
    '{"score": NaN}',
    "\ud800",
]


@pytest.mark.parametrize("judgement", JUDGED, ids=range(len(JUDGED)))
def test_what_a_judge_says_never_crashes(judgement: str) -> None:
    rows = [{"id": i, "question": "q", "truth": "a"} for i in range(3)]
    table = {"name": "t", "data": rows, "input": "{question}", "truth": "truth", "scorer": "judge"}
    Path("judge_module.py").write_text(
        f"import json\nsaid = json.loads({json.dumps(json.dumps(judgement))})\ndef judge(text): return said\n"
    )
    sys.modules.pop("judge_module", None)
    found = sy.run({"task": table, "scorer": {"rubric": "{answer}", "model": "python:judge_module:judge"}}, lambda text: "x", name="m")
    assert found.models[0].counts["unextracted"] == 3


WORTH: dict[str, Any] = {
    "a large number": 10**400,
    "not a number": float("nan"),
    "a list that contains itself": around(),
    "such a prediction": {"score": 1, "prediction": around()},
    "extracted, or not": {"score": 1, "extracted": Undecided()},
    "an object that fails": Fails(),
}


@pytest.mark.parametrize("what", WORTH)
def test_what_a_scorer_returns_is_told(what: str) -> None:
    class Task:
        name = "t"
        input = "{question}"
        data = [{"id": 1, "question": "q"}]  # noqa: RUF012

        def score(self, answer: Any, row: Any) -> Any:
            return WORTH[what]

    with pytest.raises(sy.DataError, match=r"item .1.|Cannot write down"):
        sy.run(Task, lambda text: "x", name="m")


@pytest.mark.parametrize("pattern", ["(" * 3000 + ")" * 3000, "a{99999999999999999999}", "(?P<a", 5])
def test_a_pattern_that_cannot_be_compiled_is_told(pattern: Any) -> None:
    table = {"name": "t", "data": [{"id": 1, "q": "q"}], "input": "{q}", "scorer": "regex"}
    with pytest.raises(sy.UsageError, match="pattern"):
        sy.run({"task": table, "scorer": {"pattern": pattern, "presence": True}}, lambda text: "x", name="m")
