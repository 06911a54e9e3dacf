"""The history on SQLite and on PostgreSQL: what is added is there, whole, in order, by pages; nothing else can be done to it."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from cases import every
from steelyard.errors import DataError, SourceError, UsageError
from steelyard.history.address import parse_address
from steelyard.history.schema import COLUMNS, RUNS, VERSION
from steelyard.history.store import LISTED, History, open_history, pack, page_query, unpack
from steelyard.results.history import PastRun
from steelyard.results.stopping import EarlyStopping
from steelyard.results.verdict import Recorded, Verdict

FIXTURE = Path(__file__).parents[1] / "fixtures" / "history" / "version1.db"
WRITERS, EACH = 8, 12


def verdict(value: float = 0.8, **more: Any) -> Verdict:
    facts: dict[str, Any] = {
        "verdict": "pass",
        "task": "gsm8k",
        "model": "llama",
        "spec": {"quant_algo": "FP8", "tp": 2},
        "n": 100,
        "p_value": 0.4,
        "candidate": {"value": value, "n": 100},
        "reference": {"value": 0.81, "n": 100, "runs": 5, "sigma_run": 0.01},
        "difference": {"estimate": value - 0.81, "lower": -0.03, "upper": 0.01},
        "design": "paired",
        "signature": "task:gsm8k|steelyard:0.1.0",
    }
    return Verdict.from_dict({"kind": "verdict", "schema": 1, **facts, **more})


# ---- adding and reading ------------------------------------------------------------------------------------------------------


def test_a_verdict_comes_back_as_it_went_in(url: str) -> None:
    with open_history(url) as history:
        kept = history.append(
            verdict(theta=0.02),
            items={"a": 1, "b": 0, "c": 1},
            protocol={"prompt": "v3"},
            by="Ada",
            commit="abc",
            time="2026-11-16T04:30:00Z",
        )
    with open_history(url, create=False) as history:
        found = history.run(kept.id)
        assert found == kept
        assert (found.estimate, found.difference, found.lower, found.upper) == (0.8, 0.8 - 0.81, -0.03, 0.01)
        assert (found.command, found.verdict, found.theta, found.design, found.by, found.commit) == (
            "check",
            "pass",
            0.02,
            "paired",
            "Ada",
            "abc",
        )
        assert found.spec == {"quant_algo": "FP8", "tp": "2"}
        assert found.protocol == {"prompt": "v3"}
        assert found.reference == {"value": 0.81, "n": 100, "runs": 5, "sigma_run": 0.01}
        assert found.time == "2026-11-16T04:30:00.000000Z"
        assert found.result == json.loads(json.dumps(verdict(theta=0.02).to_dict()))
        assert history.items(kept.id[:8]) == {"a": 1.0, "b": 0.0, "c": 1.0}


def test_a_history_says_where_it_is(tmp_path: Path) -> None:
    with open_history(f"sqlite:///{tmp_path}/h.db") as history:
        assert repr(history) == f"<History: {history.shown}>"
    assert repr(history) == f"<History: {history.shown}>", "closed: it opens nothing to say what it is"


def test_a_measurement_and_a_record_are_kept_too(url: str) -> None:
    with open_history(url) as history:
        measured = history.append(sy.measure(sy.Counts.of(85, 100)), task="t", model="m")
        recorded = history.append(
            Recorded(
                task="t", model="m", spec={}, metric="accuracy", scale="fraction", value=0.85, n=100, runs=3, sigma_run=0.02, signature="x"
            )
        )
        assert (measured.command, measured.estimate, measured.n, measured.verdict) == ("measure", 0.85, 100, None)
        assert measured.tally is not None
        assert measured.tally["cells"] == [[0, 0, 85], [0, 1, 15]]
        assert recorded.reference == {"value": 0.85, "n": 100, "runs": 3, "sigma_run": 0.02}
        assert [run.id for run in history.runs()[0]] == [recorded.id, measured.id]
        assert history.items(measured.id) is None


def test_a_run_with_a_verdict_is_a_run(url: str) -> None:
    from steelyard.results.evaluation import Answered, Evaluation

    model = Answered(name="llama", output=None, counts={"asked": 100}, measurement=sy.measure(sy.Counts.of(80, 100)))
    told = Evaluation(task="gsm8k", n=100, available=100, repeats=1, models=(model,), signature="s")
    with open_history(url) as history:
        bare = history.append(told)
        judged = history.append(
            Evaluation(task="gsm8k", n=60, available=100, repeats=1, models=(model,), verdict=verdict(), stopping=EarlyStopping(n_used=60))
        )
    assert (bare.command, bare.model, bare.estimate, bare.verdict) == ("run", "llama", 0.8, None)
    assert (judged.command, judged.verdict, judged.tally) == ("run", "pass", {"stopped": True})


def test_what_cannot_be_kept_is_refused_and_leaves_nothing(url: str) -> None:
    with open_history(url) as history:
        with pytest.raises(UsageError, match="The result has no task and no model, so it cannot be stored in the"):
            history.append(sy.measure(sy.Counts.of(1, 2)))
        with pytest.raises(UsageError, match="a verdict, a record"):
            history.append(object())
        with pytest.raises(UsageError, match="not of 'guess'"):
            history.append(verdict(), command="guess")
        with pytest.raises(DataError, match="finite"):
            history.append(verdict(), items={"a": float("nan")})
        with pytest.raises(UsageError, match="no database holds"):
            history.append(verdict(model="\ud800"))
        with pytest.raises(UsageError, match="finite numbers"):
            history.append(verdict(details={"stopping": {"observed": float("inf")}}))
        with pytest.raises(UsageError, match="must be a date or a time in ISO 8601"):
            history.append(verdict(), time="yesterday")
        assert history.runs()[2] == 0


def test_a_run_whose_items_fail_is_not_there_at_all(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_history(url) as history:

        def fails(*_: Any) -> None:
            raise RuntimeError("between the two")

        monkeypatch.setattr(history, "_keep", fails)
        with pytest.raises(RuntimeError):
            history.append(verdict(), items={"a": 1.0})
        assert history.runs()[2] == 0
        monkeypatch.undo()
        history.append(verdict(), items={"a": 1.0})
        assert history.runs()[2] == 1


def test_the_history_can_only_be_added_to_but_for_kept_answers() -> None:
    said = {name for name in dir(History) if not name.startswith("_")}
    assert said == {"append", "append_once", "close", "items", "run", "runs", "version", "keep_answers", "answers", "drop_answers"}


def test_filters_and_pages(url: str) -> None:
    with open_history(url) as history:
        for i in range(23):
            word = "regression" if i % 5 == 0 else "pass"
            history.append(verdict(model=f"m{i % 2}", spec={} if i % 3 else {"tp": 1}, verdict=word), time=f"2026-11-{i + 1:02d}")
        every = history.runs(limit=100)[0]
        assert [run.time for run in every] == sorted((run.time for run in every), reverse=True)
        oracle = [(i, "m" + str(i % 2), not i % 3, not i % 5) for i in range(23)]
        assert history.runs(model="m1")[2] == sum(m == "m1" for _, m, _, _ in oracle)
        assert history.runs(spec={"tp": "1"}, model="m0")[2] == sum(m == "m0" and s for _, m, s, _ in oracle)
        assert history.runs(spec={})[2] == sum(not s for _, _, s, _ in oracle)
        assert history.runs(verdict="regression", since="2026-11-03", until="2026-11-12")[2] == 2  # the 6th and the 11th
        assert history.runs(task="other") == ([], None, 0)
        seen, after = [], None
        while True:
            page, after, total = history.runs(limit=5, after=after)
            assert total == 23 + len(seen) // 5
            seen += page
            if after is None:
                break
            history.append(verdict(model="meanwhile"), time="2026-12-24")  # moves nothing
        assert [run.id for run in seen] == [run.id for run in every]


def test_runs_of_one_moment_are_paged_without_loss(url: str) -> None:
    with open_history(url) as history:
        ids = {history.append(verdict(), time="2026-11-16").id for _ in range(7)}
        seen: list[str] = []
        after = None
        while True:
            page, after, _ = history.runs(limit=2, after=after)
            seen += [run.id for run in page]
            if after is None:
                break
    assert set(seen) == ids
    assert len(seen) == 7


def test_an_id_may_be_cut_but_must_be_one(url: str) -> None:
    with open_history(url) as history:
        kept = history.append(verdict())
        assert history.run(kept.id[:6]).id == kept.id
        for wrong in ("zzzz", "ab", "", "%_%_"):
            with pytest.raises(UsageError, match=f"its id or at least 4 letters of its beginning, not by {re.escape(repr(wrong))}"):
                history.run(wrong)
        with pytest.raises(DataError, match=f"No run has an id that begins with '{'0' * 32}'"):
            history.run("0" * 32)
        for limit in (0, 10_001):
            with pytest.raises(UsageError, match="limit must be 1 to"):
                history.runs(limit=limit)


def test_hostile_texts_are_only_texts(url: str) -> None:
    name = "Robert'); DROP TABLE steelyard_runs;-- ? %s {bytes} \u202e"
    with open_history(url) as history:
        history.append(verdict(model=name), items={name: 1.0, "ü": 0.0})
        (run,), _, _ = history.runs(model=name)
        assert run.model == name
        assert history.items(run.id) == {name: 1.0, "ü": 0.0}


# ---- many writers ------------------------------------------------------------------------------------------------------------


def write(url: str, writer: int, gate: Any, answers: Any) -> None:
    """One process: opens the history together with all others, which makes its tables, and adds its runs."""
    gate.wait()
    try:
        with open_history(url) as history:
            answers.put([history.append(verdict(model=f"w{writer}", n=i), items={"a": i % 2, "b": 1.0}).id for i in range(EACH)])
    except Exception as fault:  # the parent must hear of it
        answers.put(repr(fault))


def test_many_writers_lose_nothing_and_readers_see_whole_runs(url: str) -> None:
    context = multiprocessing.get_context("fork")
    gate, answers = context.Barrier(WRITERS), context.Queue()
    writers = [context.Process(target=write, args=(url, i, gate, answers)) for i in range(WRITERS)]
    for each in writers:
        each.start()
    told, half = [], 0
    while len(told) < WRITERS:
        try:
            told.append(answers.get(timeout=0.05))
        except Exception:  # nobody has finished: look at what is there
            half += not _whole(url)
    for each in writers:
        each.join()
    assert not [fault for fault in told if isinstance(fault, str)]
    assert half == 0
    with open_history(url, create=False) as history:
        runs, following, total = history.runs(limit=1000)
        assert total == WRITERS * EACH
        assert following is None
        assert {run.id for run in runs} == {id_ for ids in told for id_ in ids}
        assert {(run.model, run.n) for run in runs} == {(f"w{w}", i) for w in range(WRITERS) for i in range(EACH)}
        assert all(history.items(run.id) is not None for run in runs[:50])


def _whole(url: str) -> bool:
    """Whether every run that can be seen has its items."""
    try:
        history = open_history(url, create=False)
    except SourceError as early:
        return "no runs of steelyard" in str(early) or "o such file" in str(early)
    with history:
        return all(history.items(run.id) is not None for run in history.runs(limit=20)[0])


# ---- the tables --------------------------------------------------------------------------------------------------------------


def test_a_history_of_version_1_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(FIXTURE, path)
    with open_history(f"sqlite:///{path}", create=False) as history:
        assert history.version == VERSION == 2
        new, old = history.runs()[0]
        assert (new.verdict, old.verdict) == ("regression", "pass")
        assert old.spec == {"quant_algo": "FP8"}
        assert old.protocol == {}
        assert old.outcomes is None
        assert history.run("aaaa").result == {"kind": "verdict", "verdict": "pass"}
        history.append(verdict(), items={"q1": 1.0})
    with open_history(f"sqlite:///{path}") as again:
        assert again.runs()[2] == 3
    con = sqlite3.connect(path)
    assert con.execute("SELECT version FROM steelyard_versions ORDER BY version").fetchall() == [(1,), (2,)]
    con.close()


def test_a_step_that_fails_leaves_the_old_version(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(FIXTURE, path)
    con = sqlite3.connect(path)
    con.execute(f"CREATE INDEX {RUNS}_by_verdict ON {RUNS} (verdict)")  # in the way of version 2
    con.commit()
    con.close()
    with pytest.raises(SourceError, match="already exists"):
        open_history(f"sqlite:///{path}")
    con = sqlite3.connect(path)
    assert con.execute("SELECT MAX(version) FROM steelyard_versions").fetchone() == (1,)
    assert "protocol" not in [row[1] for row in con.execute(f"PRAGMA table_info({RUNS})")]
    con.close()


def test_a_later_version_is_refused(url: str) -> None:
    with open_history(url) as history:
        history._place.run("INSERT INTO steelyard_versions VALUES (?, ?)", [VERSION + 1, "2030-01-01"])
    for create in (True, False):
        with pytest.raises(SourceError, match=r"written by a newer steelyard \(version 3"):
            open_history(url, create=create)


def test_a_database_without_a_history_is_told(url: str) -> None:
    with open_history(url) as history:
        history._place.run("DROP TABLE steelyard_versions")
    with pytest.raises(SourceError, match=r"^The database .* has no runs of steelyard\."):
        open_history(url, create=False)


def test_a_row_has_every_field_of_a_run() -> None:
    assert set(COLUMNS) == set(PastRun.__slots__)
    assert set(LISTED) == set(COLUMNS) - {"result"}


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({}, "by_time"),
        ({"task": "t"}, "by_series"),
        ({"task": "t", "model": "m"}, "by_task"),
        ({"model": "m"}, "by_model"),
        ({"verdict": "pass"}, "by_verdict"),
    ],
)
def test_a_page_is_found_by_an_index(sqlite_url: str, asked: dict[str, str], index: str) -> None:
    with open_history(sqlite_url) as history:
        where = [(f'"{name}" = ?', value) for name, value in asked.items()]
        values = [*asked.values(), 50]
        plan = " ".join(str(row[-1]) for row in history._place.run(f"EXPLAIN QUERY PLAN {page_query(where)}", values))
        assert f"USING INDEX steelyard_runs_{index}" in plan
        assert plan.startswith("SEARCH" if asked else "SCAN")
        if "model" in asked or not asked or "verdict" in asked:  # in order already; nothing is sorted
            assert "TEMP B-TREE" not in plan


# ---- faults ------------------------------------------------------------------------------------------------------------------


def test_files_that_are_no_history(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("not a database, but long enough to look at")
    cases = {
        f"sqlite:///{other}": "it is not a SQLite database",
        f"sqlite:///{tmp_path}": "a directory or a device",
        f"sqlite:///{tmp_path}/no/where/runs.db": "its directory does not exist",
    }
    for address, said in cases.items():
        with pytest.raises(SourceError, match=said):
            open_history(address)
    with pytest.raises(SourceError, match=r"No history at .*history="):
        open_history(f"sqlite:///{tmp_path}/none.db", create=False)
    assert not (tmp_path / "none.db").exists()


def test_a_full_disk_is_told_and_keeps_what_was_there(sqlite_url: str) -> None:
    with open_history(sqlite_url) as history:
        first = history.append(verdict())
        pages = history._place.run("PRAGMA page_count")[0][0]
        history._place.run(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(SourceError, match=r"Cannot use the history sqlite:///.*disk is full"):
            history.append(verdict(details={"stopping": {"why": "x" * 50_000}}), items={str(i): i / 7 for i in range(5000)})
        assert history.run(first.id).id == first.id
        history._place.run("PRAGMA max_page_count = 1000000")
        history.append(verdict())


def test_a_history_for_reading_only(sqlite_url: str) -> None:
    with open_history(sqlite_url) as history:
        history.append(verdict())
    with open_history(f"{sqlite_url}?mode=ro") as history:
        assert history.runs()[2] == 1
        with pytest.raises(SourceError, match=r"Cannot use the history sqlite:///.* .*readonly"):
            history.append(verdict())


@pytest.fixture
def nobody() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """A moment without the rights of root, whom no permission binds; who is not root has none to lay down."""

    @contextlib.contextmanager
    def bound() -> Iterator[None]:
        before = os.geteuid()
        if before == 0:
            os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(before)

    return bound


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@every("mode", ["", "?mode=ro"])
def test_a_history_in_a_directory_that_is_read_only_is_read(
    mode: str, nobody: Callable[[], contextlib.AbstractContextManager[None]]
) -> None:
    place = Path(tempfile.mkdtemp())  # not tmp_path, which nobody but its owner may enter
    try:
        url = f"sqlite:///{place}/runs.db"
        with open_history(url) as history:
            history.append(verdict(), items={"a": 1.0, "b": 0.0})
        (place / "runs.db").chmod(0o444)
        place.chmod(0o555)
        with nobody(), open_history(f"{url}{mode}", create=False) as history:
            (found,), _, total = history.runs()
            assert (found.task, total, history.items(found.id)) == ("gsm8k", 1, {"a": 1.0, "b": 0.0})
            with pytest.raises(SourceError, match=r"Cannot use the history .*readonly"):
                history.append(verdict())
        assert sorted(path.name for path in place.iterdir()) == ["runs.db"]
        place.chmod(0o755)
        (place / "runs.db-wal").write_bytes(b"what is in here alone would be left out")
        place.chmod(0o555)
        with nobody(), pytest.raises(SourceError, match="Cannot use the history"):
            open_history(f"{url}{mode}", create=False)
    finally:
        place.chmod(0o755)
        shutil.rmtree(place)


def test_an_old_history_for_reading_only(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    shutil.copy(FIXTURE, path)
    with pytest.raises(SourceError, match=r"The history sqlite:///.* has version 1, which cannot be upgraded to 2 in"):
        open_history(f"sqlite:///{path}?mode=ro")


def test_a_damaged_file_is_told(tmp_path: Path, sqlite_url: str) -> None:
    with open_history(sqlite_url) as history:
        for _ in range(50):
            history.append(verdict(), items={str(i): float(i) for i in range(100)})
    path = tmp_path / "runs.db"
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    with pytest.raises(SourceError, match="Cannot use the history"), open_history(sqlite_url) as history:
        history.runs()


@pytest.mark.needs_system
def test_a_server_that_goes_away_is_told_without_the_password(postgres_url: str) -> None:
    import psycopg

    password = parse_address(postgres_url).settings["password"]
    with open_history(postgres_url) as history:
        assert password not in history.shown
        assert "tester" not in history.shown
        history.append(verdict())
        with psycopg.connect(postgres_url, autocommit=True) as other:
            ours = "application_name = 'steelyard' AND datname = current_database()"  # other tests use the same server meanwhile
            other.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")
        with pytest.raises(SourceError, match="Cannot use the history") as told:
            history.append(verdict())
        assert password not in str(told.value)
        history.append(verdict())  # made anew
        assert history.runs()[2] == 2


@pytest.mark.needs_system
def test_faults_of_a_server_without_the_password(postgres_url: str) -> None:
    settings = parse_address(postgres_url).settings
    wrong = postgres_url.replace(settings["password"], "hunter2hunter2")
    gone = postgres_url.replace(f":{settings['port']}/", ":1/")
    for url, said in ((wrong, "authentication failed"), (gone, "refused"), (postgres_url + "_none", "does not exist")):
        with pytest.raises(SourceError, match=said) as told:
            open_history(url)
        assert "hunter2" not in str(told.value)
        assert settings["password"] not in str(told.value)


# ---- addresses and packing -----------------------------------------------------------------------------------------------------


@every(
    "address",
    [
        "runs.db",
        "sqlite://runs.db",
        "sqlite:///",
        "sqlite:///a.db?cache=shared",
        "mysql://u:secret@h/d",
        "postgresql://u:secret@h:port/d",
        "",
    ],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UsageError, match=r"The address of |not a history address") as told:
        parse_address(address)
    assert "secret" not in str(told.value)


def test_an_address_does_not_show_its_secret() -> None:
    found = parse_address("postgresql://ada:s%40cret@db:5433/team?sslmode=require")
    assert found.settings["password"] == "s@cret"
    assert found.settings["sslmode"] == "require"
    assert "cret" not in repr(found)
    assert found.shown == "postgresql://db:5433/team"


@given(
    st.dictionaries(
        st.text(max_size=8), st.one_of(st.sampled_from([0.0, 1.0]), st.floats(allow_nan=False, allow_infinity=False)), min_size=1
    )
)
def test_items_come_back_as_they_went_in(scores: dict[str, float]) -> None:
    packed = pack(scores)
    assert unpack(packed.n, packed.ids, packed.packing, packed.scores) == scores
    assert pack(dict(reversed(scores.items()))).digest == packed.digest


def test_right_or_wrong_takes_a_bit() -> None:
    packed = pack({f"item-{i}": float(i % 3 == 0) for i in range(8000)})
    assert packed.packing == "bits"
    assert len(packed.scores) < 1000


def test_damaged_items_are_refused() -> None:
    packed = pack({"a": 1.0, "b": 0.5})
    for n, ids, scores in ((3, packed.ids, packed.scores), (2, packed.ids[:-3], packed.scores), (2, packed.ids, b"junk")):
        with pytest.raises(SourceError, match="damaged"):
            unpack(n, ids, packed.packing, scores)
