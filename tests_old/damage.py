"""Files damaged on purpose, and what the command owes for any of them: an answer, or one line of advice; never a traceback.

For tests/read/test_fuzz_*.py, which draw the damage by hypothesis, and tests/read/fuzz_readers.py, where atheris does.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import random
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOGS = Path(__file__).parent / "read" / "logs"
SECONDS = 30  # for one command on a file of a few kilobytes; a hang is longer
# What to put in the middle of a file: numbers beyond float64, nesting, bytes that are no text, what ends a line elsewhere.
TOKENS = (
    b"1e999", b"-1e308", b"9" * 400, b"NaN", b"-Infinity", b"null", b"[" * 3000, b'{"a":' * 3000, b"\0", b"\xff\xfe", b"\xed\xa0\x80",
    b'"', b'""', b"\\ud800", b"\\u0000", b"\r", b"\r\n", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b",", b"\n", b"\n\n", b"0" * 5000, b"\x1b[2J",
    b"'; DROP TABLE items; --", b"\x1f\x8b", b"PK\x03\x04", b"PAR1", b"\t", b";", b"%",
)  # fmt: skip
# In place of any node of a JSON value: every other type, and numbers and texts at the edge of what can be held.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**400, 2**63, -(10**30), 1e308, 1e75, -1e-320, "", " ", "0", "nan", "\x1b[2J\u202e", "\ud800", "\0",
    "a" * 5000, [], {}, [[]], [None], [1, 2], {"a": {"b": [1]}}, {"": None}, "5e-324", "N/A",
)  # fmt: skip


class OutOfTimeError(BaseException):
    """Not an Exception, so that no reader takes a hang for damaged data."""


@dataclass(frozen=True)
class Outcome:
    """What the command said."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        return json.loads(self.out, parse_constant=_no_constant)

    @property
    def n(self) -> int:
        return int(self.answer["n"])

    @property
    def warnings(self) -> list[str]:
        return list(self.answer["warnings"])


def _no_constant(text: str) -> Any:
    raise AssertionError(f"{text} in an answer")


def command(*words: object, seconds: float = SECONDS) -> Outcome:
    """The command in this process, within its time, its streams apart."""
    from steelyard_old.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _in_time(seconds):
        try:
            main([*map(str, words)])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Outcome(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def measured(path: Path, *words: object) -> Outcome:
    """`steelyard measure` of a file, checked: an answer in JSON without NaN, or one line of advice and nothing printed."""
    found = command("measure", path, "--format", "json", "--draws", 40, *words)
    if found.code == 0:
        assert found.n >= 1
        assert found.err == ""
        return found
    assert found.code == 3, found.err
    assert found.out == ""
    assert found.err.startswith("error: "), found.err
    assert found.err.count("\n") == 1, found.err
    assert "Traceback" not in found.err
    assert re.fullmatch(r"error: ([^a-z]|accuracy needs ).*[.?]( Hint: .+)?\n", found.err), found.err
    assert found.err.isprintable() or found.err.removesuffix("\n").isprintable(), ascii(found.err)
    return found


# ---- damage to bytes -----------------------------------------------------------------------------------------------------


def cut(data: bytes, place: float) -> bytes:
    return data[: int(place * len(data))]


def flipped(data: bytes, place: float, mask: int) -> bytes:
    at = min(int(place * len(data)), len(data) - 1)
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def inserted(data: bytes, place: float, token: bytes) -> bytes:
    at = int(place * len(data))
    return data[:at] + token + data[at:]


def spliced(data: bytes, start: float, length: float, place: float) -> bytes:
    """A piece of the file once more, elsewhere."""
    begin, at = int(start * len(data)), int(place * len(data))
    return data[:at] + data[begin : begin + int(length * len(data) / 4)] + data[at:]


def removed(data: bytes, start: float, length: float) -> bytes:
    begin = int(start * len(data))
    return data[:begin] + data[begin + 1 + int(length * len(data) / 8) :]


def doubled_line(data: bytes, place: float) -> bytes:
    lines = data.splitlines(keepends=True)
    at = min(int(place * len(lines)), len(lines) - 1)
    return b"".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])


KINDS = ("cut", "flipped", "inserted", "spliced", "removed", "doubled_line")


def damaged(data: bytes, kind: str, draw: random.Random) -> bytes:
    """One damage of a kind; where, by the draw."""
    first, second, third = draw.random(), draw.random(), draw.random()
    if kind == "cut":
        return cut(data, first)
    if kind == "flipped":
        return flipped(data, first, 1 << draw.randrange(8))
    if kind == "inserted":
        return inserted(data, first, draw.choice(TOKENS))
    if kind == "spliced":
        return spliced(data, first, second, third)
    return removed(data, first, second**4) if kind == "removed" else doubled_line(data, first)


# ---- damage to the structure ---------------------------------------------------------------------------------------------


def nodes(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every node of a JSON value, the root first."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, each in inside for path in nodes(each, (*at, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another node at the path; what is not on the way there is shared with the whole."""
    if not path:
        return new
    whole = copy.copy(value)
    whole[path[0]] = replaced(value[path[0]], path[1:], new)
    return whole


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """A copy without the node at the path; what is not on the way there is shared with the whole."""
    whole = copy.copy(value)
    if len(path) == 1:
        del whole[path[0]]
    else:
        whole[path[0]] = without(value[path[0]], path[1:])
    return whole


# ---- whole logs ------------------------------------------------------------------------------------------------------------

PARQUET = "lighteval/details/steel/model-a/2026-11-16T00-00-00.000000/details_sums_0_2026-11-16T00-00-00.000000.parquet"
DATED = "2026-11-16T02-44-5"


def one(pattern: str) -> str:
    (found,) = LOGS.glob(pattern)
    return str(found.relative_to(LOGS))


# file -> what to choose in it: one of each shape that a reader knows
FILES: dict[str, tuple[str, ...]] = {
    one("lm_eval/api/model-a/samples_arith_gen_*"): ("--filter", "strict-match"),
    one("lm_eval/api/model-a/results_*"): ("--filter", "strict-match"),
    one("lm_eval/dummy/first/samples_notes_ppl_*"): ("--score", "word_perplexity"),
    one("lm_eval/dummy/first/samples_pairs_f1_*"): ("--score", "f1"),
    "inspect/arith.eval": ("--scorer", "match"),
    "inspect/deflated.eval": ("--scorer", "match"),
    "inspect/died.eval": ("--missing", "drop"),
    "inspect/troubled.json": ("--scorer", "graded", "--missing", "drop"),
    "promptfoo/one.json": (),
    "promptfoo/lines.jsonl": ("--score", "right", "--missing", "drop"),
    "promptfoo/full.json": ("--model", "model-b", "--prompt", "completion", "--score", "right", "--missing", "drop"),
    "helm/a/per_instance_stats.json": ("--score", "exact_match"),
    "helm/a/run_spec.json": ("--score", "exact_match"),
    "helm/perturbed/per_instance_stats.json": ("--score", "exact_match"),
    PARQUET: ("--score", "em"),
    "openai_evals/fuzzy.jsonl": ("--score", "f1_score", "--missing", "drop"),
    "openai_evals/match_a.jsonl": ("--missing", "drop"),
    "every_eval_ever/arith.json": ("--score", "exact_match:strict-match"),
    "every_eval_ever/arith_samples.jsonl": ("--score", "exact_match:strict-match"),
    "every_eval_ever/levels_samples.jsonl": ("--missing", "drop"),
    "deepeval_run/two_metrics.json": ("--score", "helpfulness", "--missing", "drop"),
    "deepeval_run/conversation.json": (),
    "mlflow_table/eval_results_table.json": ("--score", "exact", "--missing", "drop"),
    "mlflow_table/genai.json": ("--score", "close", "--missing", "drop"),
    "mlflow_table/genai.jsonl": ("--score", "close", "--missing", "drop"),
    "mlflow_table/genai.parquet": ("--score", "close", "--missing", "drop"),
    "tau_bench/errors.json": ("--missing", "drop"),
    "tau2_bench/errors.json": ("--missing", "drop"),
}


def beside(file: str, folder: Path) -> Path:
    """A copy of a log with all that lies beside it: (the copy of) the file itself. What to measure is `asked(copy)`."""
    source = LOGS / file
    target = folder / source.parent.relative_to(LOGS)
    shutil.copytree(source.parent, target, dirs_exist_ok=True)
    return target / source.name


def asked(path: Path) -> Path:
    """What to measure to have a file read: itself, or the run it belongs to."""
    return path.parent if path.name == "run_spec.json" else path
