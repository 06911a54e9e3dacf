"""The journal of a run: every answer is written down before it is used, so that a killed run continues and asks nothing twice.

JSON Lines, each with a checksum. The first line says what the run is (its identity); a line is one write, so that whatever ends
the process leaves whole lines and at most one torn end, which is cut off when the journal is opened again. Damage anywhere
else is an error. Lines reach the disk within a second.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any

from steelyard_old.atomic import sync_directory
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.evaluate.asking.asks import Answer, Ask, Model
from steelyard_old.evaluate.asking.plain import plain, plain_answer
from steelyard_old.locking import Lock, LockHeldError
from steelyard_old.redaction import redact, redacted, shortened

SCHEMA = 1
SYNC_SECONDS = 1.0
SHOWN = 3  # differences of identity that a message lists
# what nobody can read is said in words
DIGESTS = {
    "identity.stopping.record": "the reference has been recorded again since",
    "identity.items": "the items, their prompts or truths have changed since",
}
_BEGINS = b'{"journal":'
_SUM = len(',"sum":"01234567"}')
_compact = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_DEFAULTS = {field.name: field.default for field in fields(Answer) if field.name != "more"}


class Journal:
    """Answers on disk, by what was asked. `open` it; `answer` looks one up, `add` writes one down; both from any thread."""

    def __init__(self, path: Path, handle: int, lock: Lock) -> None:
        self.path = path
        self._handle = handle
        self._lock = lock
        self._complete = False
        self._reader = open(path, "rb", buffering=0)  # noqa: SIM115  lives as long as the journal
        self._places: dict[bytes, int] = {}  # key to offset and length, in one number: a million answers take 180 MB
        self._failed: set[bytes] = set()
        self._models: dict[int, tuple[Model, str]] = {}  # with their identity, written as it is hashed
        self._end = 0
        self._fault: SourceError | None = None
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._dirty, self._closing = threading.Event(), threading.Event()
        self._syncer: threading.Thread | None = None

    @classmethod
    def open(cls, path: Path, identity: Mapping[str, Any]) -> Journal:
        """Start a journal, or continue one of the same identity. Only one process at a time may have it open."""
        with contextlib.ExitStack() as undo:
            lock = _locked(path)
            undo.push(lock)
            handle = _opened(path)
            undo.callback(os.close, handle)
            journal = cls(path, handle, lock)
            undo.callback(journal._reader.close)
            journal._take_up(redacted(plain(identity, "the identity of a run")))
            undo.pop_all()  # all of it belongs to the journal now
        return journal

    def __len__(self) -> int:
        """How many answers there are; those with an error do not count."""
        return len(self._places)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def answer(self, ask: Ask, model: Model) -> Answer | None:
        """The answer that was written down for this ask. One with an error does not count: it is to be asked again."""
        place = self._places.get(self._key(ask, model))
        if place is None:
            return None
        offset, length = place >> 32, place & 0xFFFFFFFF
        with self._reading:
            self._reader.seek(offset)
            line = self._reader.read(length)
        if line is None or len(line) != length:
            raise self._damaged("a line that is gone since it was opened")
        return _answer_in(json.loads(line))

    def failed_before(self, ask: Ask, model: Model) -> bool:
        """Whether this ask had ended in an error when the journal was opened."""
        return self._key(ask, model) in self._failed

    def add(self, ask: Ask, model: Model, answer: Answer) -> Answer:
        """Write an answer down, and return it as it will be read back (NumPy's numbers as Python's, tuples as lists)."""
        answer = plain_answer(answer)
        self.add_all(model, [(ask, answer)])
        return answer

    def add_all(self, model: Model, answered: Sequence[tuple[Ask, Answer]]) -> None:
        """Write plain answers (`plain_answer`) of one model down, all in one write."""
        keys = [self._key(ask, model) for ask, _ in answered]
        lines = [_answer_line(key, ask, answer) for key, (ask, answer) in zip(keys, answered, strict=True)]
        with self._writing:
            offset = self._end
            self._append(b"".join(lines))
            for key, line, (_, answer) in zip(keys, lines, answered, strict=True):
                self._remember(key, offset, len(line), answer.error)
                offset += len(line)

    def close(self) -> None:
        """Everything on the disk, and the journal free for others."""
        if self._closing.is_set():
            return
        with self._writing:
            self._closing.set()
        self._dirty.set()
        if self._syncer is not None:
            self._syncer.join()
        try:
            if self._fault is None:
                self._sync()
        finally:
            self._let_go()
        if self._fault is not None:
            raise self._fault

    def remove(self) -> None:
        """The run is complete and its answers are elsewhere: the journal goes. Nobody can open it in between."""
        self._complete = True
        self.close()

    # ---- keys --------------------------------------------------------------------------------------------------------

    def _key(self, ask: Ask, model: Model) -> bytes:
        """All that makes an answer belong to an ask. The place of the model tells two equal models of one run apart."""
        known = self._models.get(id(model))
        if known is None or known[0] is not model:
            known = self._models[id(model)] = (model, _compact(plain(model.identity, "the identity of a model")))
        case = ask.case
        asked = [ask.model, case.id, plain(case.input, "an input", coded=True), plain(case.messages), ask.repeat, ask.seed]
        return hashlib.sha256(f"[{known[1]},{_compact(asked)[1:]}".encode()).digest()  # one list, of which the first is always the same

    def _remember(self, key: bytes, offset: int, length: int, error: Any) -> None:
        if error is None:
            self._places[key] = offset << 32 | length
        else:  # the last line of a key decides
            self._places.pop(key, None)

    # ---- writing -----------------------------------------------------------------------------------------------------

    def _append(self, line: bytes) -> None:
        """A line, or several, in one write; a part of it, which a full disk leaves, is taken back."""
        if self._fault is not None:
            raise self._fault
        if self._closing.is_set():  # a thread that was given up comes late; the handle may be another file's by now
            raise UsageError(f"The journal {str(self.path)!r} is closed.", got="one that is closed", need="an open one")
        try:
            written = os.write(self._handle, line)
            if written < len(line):  # the disk is full, and says so only at the next write
                written += os.write(self._handle, line[written:])
            if written < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as fault:
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, self._end)
            self._fault = self._unwritable(fault)
            raise self._fault from fault
        self._end += len(line)
        if self._syncer is None:
            self._syncer = threading.Thread(target=self._sync_now_and_then, name="journal", daemon=True)
            self._syncer.start()
        self._dirty.set()

    def _sync_now_and_then(self) -> None:
        while not self._closing.is_set():
            self._dirty.wait()
            self._closing.wait(SYNC_SECONDS)
            self._sync()

    def _sync(self) -> None:
        self._dirty.clear()
        try:
            os.fsync(self._handle)
        except OSError as fault:
            self._fault = self._fault or self._unwritable(fault)

    def _let_go(self) -> None:
        self._reader.close()
        os.close(self._handle)
        if self._complete:
            self.path.unlink(missing_ok=True)
        self._lock.__exit__(None, None, None)

    def _unwritable(self, fault: OSError) -> SourceError:
        return SourceError(
            f"Cannot write the journal {str(self.path)!r} after {len(self)} answers: {fault.strerror or fault}.",
            got=f"{fault.strerror or fault}, after {len(self)} answers",
            need="room on the disk",
            hint="the answers so far are kept: make room and give the same command again",
        )

    # ---- opening -----------------------------------------------------------------------------------------------------

    def _take_up(self, identity: dict[str, Any]) -> None:
        header = {"journal": SCHEMA, "identity": identity}
        number = 0
        for number, (offset, line) in enumerate(self._whole_lines(), 1):
            record = self._record(line, number)
            if number == 1:
                self._same_run(record, header)
            elif "key" in record:
                key, error = bytes.fromhex(record["key"]), record["answer"].get("error")
                self._remember(key, offset, len(line), error)
                if error is not None:
                    self._failed.add(key)
        self._failed.difference_update(self._places)
        if number == 0:
            self._append(_line(header))
            os.fsync(self._handle)
            sync_directory(self.path.parent)
        self._append(_line({"opened": os.getpid(), "time": round(time.time(), 3)}))

    def _whole_lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines and where they begin. What follows the last line end is torn: cut off, unless only its line end is missing."""
        with open(self.path, "rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    yield self._end, line
                    self._end += len(line)
                elif self._end and _sound(line + b"\n"):
                    start, self._end = self._end, self._end + len(line)
                    self._append(b"\n")
                    yield start, line + b"\n"
                    return
                else:
                    if not self._end and not (line.startswith(_BEGINS) or _BEGINS.startswith(line)):
                        raise self._foreign()
                    os.ftruncate(self._handle, self._end)
                    return

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        if number == 1 and not line.startswith(_BEGINS):
            raise self._foreign()
        if not _sound(line):
            raise self._damaged(f"damage in line {number}")
        record: dict[str, Any] = json.loads(line)
        return record

    def _same_run(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
        before, now = dict(_flat(old)), dict(_flat(new))
        changed = [key for key in {**before, **now} if key != "sum" and before.get(key, _ABSENT) != now.get(key, _ABSENT)]
        if not changed:
            return
        in_words = {key: words for key, words in DIGESTS.items() if before.get(key) and now.get(key)}
        changed.sort(key=lambda key: key not in in_words)
        told = [
            in_words.get(key) or f"{key.removeprefix('identity.')} was {_shown(before, key)}, is {_shown(now, key)}"
            for key in changed[:SHOWN]
        ]
        more = f"; and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
        raise UsageError(
            f"The journal {str(self.path)!r} was begun with other settings: {'; '.join(told)}{more}.",
            got=f"another run: {'; '.join(told)}{more}",
            need="the settings it was begun with, because answers to different questions must not be mixed",
            hint="finish it with the old settings, write to another output=, or remove the journal to begin anew",
        )

    def _damaged(self, got: str) -> SourceError:
        return SourceError(
            f"The journal {str(self.path)!r} is damaged: {got}.",
            got=got,
            need="whole lines, as they were written",
            hint="take that line out (its item is asked again), or remove the journal to begin anew",
        )

    def _foreign(self) -> SourceError:
        return SourceError(
            f"{str(self.path)!r} is not a journal.", got="a file that is no journal", need="a journal, or no file of that name"
        )


def begun_as(path: Path) -> Mapping[str, Any]:
    """The identity with which a journal was begun; nothing where there is none, or where its first line is not whole."""
    try:
        with open(path, "rb") as lines:
            line = lines.readline()
    except OSError:
        return {}
    if not line.startswith(_BEGINS) or not line.endswith(b"\n") or not _sound(line):
        return {}
    identity = json.loads(line).get("identity")
    return identity if isinstance(identity, Mapping) else {}


def _locked(path: Path) -> Lock:
    """The lock of a journal, taken at once or not at all: a run that has it may take hours."""
    what = f"Cannot open the journal {str(path)!r}"
    try:
        return Lock(path, timeout=0).__enter__()
    except LockHeldError as held:
        by = f" (process {held.pid})" if held.pid else ""
        raise UsageError(
            f"{what}: another run is writing it{by}.",
            got=f"a run that is writing it{by}",
            need="one run at a time",
            hint="wait until that run has ended, or write to another output=",
        ) from None
    except UsageError as fault:
        raise UsageError(f"{what}: {fault.got}.", got=fault.got, need=fault.need, hint=fault.hint or "write to another output=") from fault
    except ValueError as fault:  # a name with a NUL byte is no name
        raise UsageError(f"{what}: {fault}.", got=str(fault), need="the name of a file") from fault


def _opened(path: Path) -> int:
    """A handle on the file, made if it is not there, which only its owner may read."""
    what = f"Cannot open the journal {str(path)!r}"
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise UsageError(f"{what}: it is not a file.", got="something that is not a file", need="a file, or nothing there")
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o600)
    except OSError as fault:
        got = fault.strerror or str(fault)
        raise UsageError(f"{what}: {got}.", got=got, need="a directory that exists and can be written to") from fault
    with contextlib.suppress(OSError):
        os.chmod(path, 0o600)
    return handle


# ---- lines -----------------------------------------------------------------------------------------------------------


def _line(record: Mapping[str, Any]) -> bytes:
    # ASCII, so that no lone surrogate of a model's text can stop the run.
    body = redact(json.dumps(record, separators=(",", ":"))).encode()
    return b'%s,"sum":"%08x"}\n' % (body[:-1], zlib.crc32(body))


def _answer_line(key: bytes, ask: Ask, answer: Answer) -> bytes:
    told = {name: value for name, default in _DEFAULTS.items() if (value := getattr(answer, name)) != default or name == "said"}
    if answer.more:
        told["more"] = answer.more
    return _line({"key": key.hex(), "id": ask.case.id, "repeat": ask.repeat, "model": ask.model, "answer": told})


def _sound(line: bytes) -> bool:
    body = line[: -_SUM - 1] + b"}"
    return line[-_SUM - 1 :] == b',"sum":"%08x"}\n' % zlib.crc32(body)


def _answer_in(record: Mapping[str, Any]) -> Answer:
    return Answer(**record["answer"])


class _Absent:
    pass


_ABSENT = _Absent()


def _flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _flat(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):  # the models: which of them differs
        for number, each in enumerate(value, 1):
            yield from _flat(each, f"{path}.{number}")
    else:
        yield path, value


def _shown(values: Mapping[str, Any], key: str) -> str:
    text = repr(values[key]) if key in values else "not there"
    return shortened(text, 80)
