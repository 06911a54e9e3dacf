"""The journal: what was written is read back, torn ends are cut, damage is told, one process at a time, and kill -9 loses nothing."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask, Case
from steelyard_old.evaluate.asking.journal import Journal
from steelyard_old.evaluate.asking.plain import answer_of, plain

IDENTITY = {"task": {"name": "sums", "scorer": "exact"}, "seed": 0, "repeats": 1}
KILLS = 100 if os.environ.get("STEELYARD_LONG") else 6


class Somebody:
    name = "somebody"
    batch = concurrency = 1

    def __init__(self, **identity: Any) -> None:
        self.identity = {"kind": "test", **identity}

    def ask(self, asks: Sequence[Ask]) -> list[Answer]:
        raise NotImplementedError

    def close(self) -> None: ...


SOMEBODY = Somebody()


def ask(id_: str = "1", **fields: Any) -> Ask:
    return Ask(case=Case(id=id_, input=fields.pop("input", f"what is {id_}?"), truth=None, row={}), **fields)


def filled(path: Path, n: int = 3) -> list[Answer]:
    with Journal.open(path, IDENTITY) as journal:
        return [journal.add(ask(str(i)), SOMEBODY, Answer(said=f"é {i}\n", tokens_in=i)) for i in range(n)]


def known(path: Path, n: int) -> list[Answer | None]:
    with Journal.open(path, IDENTITY) as journal:
        return [journal.answer(ask(str(i)), SOMEBODY) for i in range(n)]


# ---- what is written is read back ------------------------------------------------------------------------------------


@given(
    said=st.one_of(st.text(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.characters(categories=["Cs"])),
    more=st.dictionaries(st.text(), st.recursive(st.one_of(st.none(), st.integers(), st.text()), st.lists, max_leaves=5), max_size=3),
    tokens=st.one_of(st.none(), st.integers(0, 10**9)),
    finish=st.one_of(st.none(), st.text(max_size=5)),
)
@settings(max_examples=30, deadline=None)
def test_an_answer_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, said: Any, more: Any, tokens: Any, finish: Any) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    given_ = Answer(said=said, more=more, tokens_out=tokens, finish=finish, seconds=0.125, attempts=2, judgement="7")
    with Journal.open(path, IDENTITY) as journal:
        assert journal.add(ask(), SOMEBODY, given_) == given_
        assert journal.answer(ask(), SOMEBODY) == given_, "in the same run"
    with Journal.open(path, IDENTITY) as journal:
        assert journal.answer(ask(), SOMEBODY) == given_, "in the next one"
        assert type(journal.answer(ask(), SOMEBODY).said) is type(said)  # type: ignore[union-attr]
        assert len(journal) == 1


def test_what_differs_in_anything_that_was_asked_has_no_answer(tmp_path: Path) -> None:
    messages = ({"role": "user", "content": "hello"},)
    others = [ask("2"), ask(repeat=2), ask(seed=1), ask(model=1), ask(input="another")]
    others.append(Ask(case=Case(id="1", input="what is 1?", truth=None, row={}, messages=messages)))
    with Journal.open(tmp_path / "j", IDENTITY) as journal:
        journal.add(ask(), SOMEBODY, Answer(said="yes"))
        assert journal.answer(ask(), Somebody()) is not None, "the identity counts, not the object"
        assert all(journal.answer(other, SOMEBODY) is None for other in others)
        assert journal.answer(ask(), Somebody(name="another")) is None
        for number, other in enumerate(others):
            journal.add(other, SOMEBODY, Answer(said=number))
        assert [journal.answer(other, SOMEBODY).said for other in others] == list(range(len(others)))  # type: ignore[union-attr]


def test_an_error_is_not_an_answer_and_the_last_line_decides(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", IDENTITY) as journal:
        journal.add(ask(), SOMEBODY, Answer(error="HTTP 500: oops"))
        assert journal.answer(ask(), SOMEBODY) is None
        assert not journal.failed_before(ask(), SOMEBODY), "not when it was opened"
    with Journal.open(tmp_path / "j", IDENTITY) as journal:
        assert len(journal) == 0
        assert journal.failed_before(ask(), SOMEBODY)
        journal.add(ask(), SOMEBODY, Answer(said="first"))
        journal.add(ask(), SOMEBODY, Answer(said="second"))
    with Journal.open(tmp_path / "j", IDENTITY) as journal:
        assert journal.answer(ask(), SOMEBODY) == Answer(said="second")
        assert not journal.failed_before(ask(), SOMEBODY)


def test_values_are_made_plain_or_refused(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", IDENTITY) as journal:
        plain_ = journal.add(ask(), SOMEBODY, Answer(said=np.int64(3), more={"logprobs": np.array([0.5]), "at": date(2026, 1, 2)}))
        assert plain_ == Answer(said=3, more={"logprobs": [0.5], "at": "2026-01-02"}) == journal.answer(ask(), SOMEBODY)
        assert journal.add(ask("2"), SOMEBODY, Answer(said=b"yes")).error == "unusable answer: a bytes"
        assert journal.add(ask("2"), SOMEBODY, Answer(said=object())).error == "unusable answer: an object"
        assert journal.answer(ask("2"), SOMEBODY) is None
        journal.add(ask("3", input=np.array([1.5, np.nan])), SOMEBODY, Answer(said="a"))
        assert journal.answer(ask("3", input=[1.5, float("nan")]), SOMEBODY) == Answer(said="a"), "the same input, however it is held"
        journal.add(ask("4", input=b"\x00"), SOMEBODY, Answer(said="b"))
        assert journal.answer(ask("4", input=b"\x01"), SOMEBODY) is None


def test_plain_values_of_many_kinds() -> None:
    assert plain((np.float32(0.5), np.str_("a"), Decimal("1.50"), {1: np.bool_(True)})) == [0.5, "a", "1.50", {"1": True}]
    assert [type(plain(each)) for each in (np.float64(1), np.str_("a"), np.bool_(1), np.int8(1))] == [float, str, bool, int]
    with pytest.raises(DataError, match="holds a set"):
        plain({1})


def test_answers_of_what_models_return() -> None:
    assert answer_of(np.float64(2.5)).said == 2.5
    assert answer_of({"text": "a", "tokens_in": 3.0, "finish": "stop", "extra": 1}) == Answer(
        said="a", tokens_in=3, finish="stop", more={"extra": 1}
    )
    assert answer_of({"error": "broken\nmore"}).error == "broken"
    assert answer_of(Answer(said="x"), seconds=2.0) == Answer(said="x", seconds=2.0)
    for nothing in (None, float("nan"), float("inf"), np.nan, {}, {"said": None}, {"label": "a"}):
        assert answer_of(nothing).error.startswith("no answer"), nothing  # type: ignore[union-attr]
    for wrong in (
        [1],
        b"yes",
        object(),
        {"said": "a", "text": "b"},
        {"said": {"said": 1}},
        {"said": "a", "tokens_in": -1},
        {"said": "a", "x": {1}},
    ):
        found = answer_of(wrong)
        assert found.said is None
        assert found.error.startswith("unusable answer"), wrong  # type: ignore[union-attr]


# ---- torn, damaged, foreign ------------------------------------------------------------------------------------------


def test_torn_at_every_byte_of_the_last_record(tmp_path: Path) -> None:
    """Whatever part of the last line is missing, what was whole before is all there, and the file is sound after the next answer."""
    whole = tmp_path / "whole"
    answers = filled(whole)
    data = whole.read_bytes()
    start = data.rstrip(b"\n").rindex(b"\n") + 1
    path = tmp_path / "torn"
    for cut in range(start, len(data) + 1):
        path.write_bytes(data[:cut])
        with Journal.open(path, IDENTITY) as journal:
            found = [journal.answer(ask(str(i)), SOMEBODY) for i in range(3)]
            assert found[:2] == answers[:2], cut
            # A line without its line end is whole: its sum says so.
            assert found[2] == (answers[2] if cut >= len(data) - 1 else None), cut
            journal.add(ask("2"), SOMEBODY, answers[2])
            journal.add(ask("3"), SOMEBODY, Answer(said="next"))
        assert known(path, 4) == [*answers, Answer(said="next")], cut


def test_torn_in_the_first_line(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    filled(whole, 0)
    first = whole.read_bytes().partition(b"\n")[0]
    for cut in [*range(0, len(first), 5), len(first) - 1, len(first)]:
        path = tmp_path / "torn"
        path.write_bytes(first[:cut])
        assert filled(path) == known(path, 3), cut


def test_what_a_lost_power_leaves_is_cut(tmp_path: Path) -> None:
    answers = filled(tmp_path / "j")
    with open(tmp_path / "j", "ab") as file:
        file.write(b"\0" * 5000)
    assert known(tmp_path / "j", 3) == answers


def test_damage_before_the_end_is_told_with_its_line(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    data = (tmp_path / "j").read_bytes()
    ends = [place for place, byte in enumerate(data) if byte == 10]
    spoiled = tmp_path / "spoiled"
    for place in range(0, len(data) - 1, 3):
        spoiled.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        line = sum(end < place for end in ends) + 1
        with pytest.raises(SourceError, match=f"damage in line {line}|is not a journal"):
            Journal.open(spoiled, IDENTITY)
    spoiled.write_bytes(data[: ends[1] + 1] + b"\n" + data[ends[1] + 1 :])
    with pytest.raises(SourceError, match=r"damage in line 3.*take that line out"):
        Journal.open(spoiled, IDENTITY)


def test_a_file_that_is_no_journal_stays_as_it_is(tmp_path: Path) -> None:
    for content in (b"id,prediction\n1,2\n", b"precious", b'{"id": 1}\n'):
        (tmp_path / "j").write_bytes(content)
        with pytest.raises(SourceError, match=r"is not a journal\."):
            Journal.open(tmp_path / "j", IDENTITY)
        assert (tmp_path / "j").read_bytes() == content


# ---- identity --------------------------------------------------------------------------------------------------------


def test_another_run_does_not_continue_it(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    before = (tmp_path / "j").read_bytes()
    with pytest.raises(
        UsageError, match=r"task\.scorer was 'exact', is 'number'; seed was 0, is 1\b.*old settings.*another output=.*remove"
    ):
        Journal.open(tmp_path / "j", {"task": {"name": "sums", "scorer": "number"}, "seed": 1, "repeats": 1})
    with pytest.raises(UsageError, match=r"repeats was 1, is not there; until was not there, is 'decided'"):
        Journal.open(tmp_path / "j", {"task": IDENTITY["task"], "seed": 0, "until": "decided"})
    with pytest.raises(UsageError, match=r"and 2 more"):
        Journal.open(tmp_path / "j", dict.fromkeys("abc", 1) | IDENTITY | {"seed": 2, "repeats": 9})
    assert (tmp_path / "j").read_bytes() == before
    reordered = {"repeats": 1, "seed": 0, "task": {"scorer": "exact", "name": "sums"}}
    Journal.open(tmp_path / "j", reordered).close()


# ---- one process, full disks, permissions ----------------------------------------------------------------------------


def test_one_run_at_a_time_and_the_other_is_named(tmp_path: Path) -> None:
    with (
        Journal.open(tmp_path / "j", IDENTITY),
        pytest.raises(UsageError, match=rf"another run is writing it \(process {os.getpid()}\).*wait"),
    ):
        Journal.open(tmp_path / "j", IDENTITY)
    Journal.open(tmp_path / "j", IDENTITY).close()


def test_a_journal_that_was_removed_is_begun_anew(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path / "j", IDENTITY)
    journal.add(ask(), SOMEBODY, Answer(said=1))
    journal.remove()
    assert not (tmp_path / "j").exists()
    assert known(tmp_path / "j", 1) == [None]
    with pytest.raises(UsageError, match="closed"):
        journal.add(ask(), SOMEBODY, Answer(said=1))
    journal.close()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    filled(tmp_path / "j")
    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o600
    (tmp_path / "j").chmod(0o644)
    filled(tmp_path / "j")
    assert stat.S_IMODE((tmp_path / "j").stat().st_mode) == 0o600


def test_places_where_no_journal_can_be(tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "j", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(UsageError, match="Cannot open the journal"):
            Journal.open(path, IDENTITY)


FULL = """
    import resource, sys
    from pathlib import Path
    sys.path.insert(0, sys.argv[3])
    import test_journal as t
    from steelyard_old.evaluate.asking.journal import Journal
    journal = Journal.open(Path(sys.argv[1]), t.IDENTITY)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), -1))
    try:
        for i in range(100):
            journal.add(t.ask(str(i)), t.SOMEBODY, t.Answer(said=str(i)))
    except t.SourceError as fault:
        print(i, fault)
    try:
        journal.close()
    except t.SourceError:
        print("told again")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit on the size of files stands in for a full disk")
def test_a_full_disk_ends_the_run_and_leaves_a_sound_journal(tmp_path: Path) -> None:
    """The limit lies inside a line: the kernel takes a part of it, then refuses."""
    path = tmp_path / "j"
    argv = [sys.executable, "-c", textwrap.dedent(FULL), str(path), "2000", str(Path(__file__).parent)]
    found = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    kept = int(found.split()[0])
    assert f"after {kept} answers: File too large. Hint: the answers so far are kept" in found
    assert "told again" in found
    assert path.stat().st_size < 1990, "no part of a line is left"
    assert known(path, kept + 1) == [*(Answer(said=str(i)) for i in range(kept)), None]


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "j", IDENTITY) as journal:

        def write(part: int) -> None:
            for i in range(40):
                journal.add(ask(f"{part}.{i}"), SOMEBODY, Answer(said="x" * random.Random(i).randrange(3000)))
                assert journal.answer(ask(f"{part}.{i}"), SOMEBODY) is not None

        threads = [threading.Thread(target=write, args=(part,)) for part in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(journal) == 320
    with Journal.open(tmp_path / "j", IDENTITY) as journal:
        assert len(journal) == 320
    lines = (tmp_path / "j").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 320 + 3


def test_lines_reach_the_disk_and_a_fault_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = threading.Event()
    journal = Journal.open(tmp_path / "j", IDENTITY)
    monkeypatch.setattr("steelyard_old.evaluate.asking.journal.SYNC_SECONDS", 0.01)
    monkeypatch.setattr("os.fsync", lambda handle: synced.set())
    journal.add(ask(), SOMEBODY, Answer(said=1))
    assert synced.wait(30), "without another answer, and without closing"

    def refuse(handle: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(SourceError, match="Input/output error"):
        journal.close()


# ---- kill -9 ---------------------------------------------------------------------------------------------------------

CHILD = """
    import os, sys, time
    from pathlib import Path
    from steelyard_old.evaluate.asking.asking import ask_all, interleaved
    from steelyard_old.evaluate.asking.asks import Case
    from steelyard_old.evaluate.asking.journal import Journal
    from steelyard_old.evaluate.models.opening import model_of

    log = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    def slow(text, seed, repeat):
        os.write(log, f"{text} {repeat}\\n".encode())
        time.sleep(0.001 + seed % 7 / 1000)
        return f"{text} {seed}"
    cases = [Case(id=str(i), input=f"q{i}", truth=None, row={}) for i in range(int(sys.argv[4]))]
    with Journal.open(Path(sys.argv[1]), {"run": 1}) as journal:
        asks = list(interleaved(cases, 2, [0], 7))
        with ask_all(asks, [model_of(slow)], journal, concurrency=4) as answers, open(sys.argv[3], "w") as out:
            for ask, answer in answers:
                out.write(f"{ask.case.id} {ask.repeat} {answer.said}\\n")
    print("done", flush=True)
"""


def answered_in(path: Path) -> set[tuple[str, int]]:
    """Every answer of which the journal has a whole line, by an own reading of the file."""
    if not path.exists():
        return set()
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    return {(f"q{line['id']}", line["repeat"]) for line in lines if "key" in line and "error" not in line["answer"]}


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def test_killed_again_and_again(tmp_path: Path) -> None:
    """kill -9 at random moments until done: the same answers as without, and nothing asked of which an answer was written down."""
    n = 20 * KILLS
    script, rng = tmp_path / "child.py", random.Random(0)
    script.write_text(textwrap.dedent(CHILD))

    def start(name: str) -> subprocess.Popen[bytes]:
        files = [str(tmp_path / f"{name}.{end}") for end in ("journal", "log", "out")]
        return subprocess.Popen([sys.executable, str(script), *files, str(n)], stdout=subprocess.PIPE)

    calm = start("calm")
    assert calm.communicate()[0] == b"done\n"
    journal, log = tmp_path / "wild.journal", tmp_path / "wild.log"
    log.touch()
    kills = 0
    while True:
        before, size = answered_in(journal), log.stat().st_size
        child = start("wild")
        if kills < KILLS:
            goal = size_of(journal) + rng.randrange(1, 4000)  # bytes: a line has two hundred
            while child.poll() is None and size_of(journal) < goal:
                time.sleep(0.002)
            time.sleep(rng.choice([0, rng.random() / 100]))
            child.kill()
            kills += 1
        done = child.communicate()[0] == b"done\n"
        asked = log.read_bytes()[size:].decode().splitlines()
        again = {(text, int(repeat)) for text, repeat in (line.split() for line in asked)} & before
        assert not again, "asked although it was answered"
        assert before <= answered_in(journal), "nothing is lost"
        if done:
            break
    assert kills == KILLS
    assert (tmp_path / "wild.out").read_bytes() == (tmp_path / "calm.out").read_bytes()
    assert len(answered_in(journal)) == 2 * n
    shutil.rmtree(tmp_path)
