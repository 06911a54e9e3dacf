"""Programs as models: lines in, lines out, in any order; crashes, silence, floods and nonsense told clearly; nothing left running."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import SourceError, UsageError
from steelyard.evaluate.asking.asking import ask_all
from steelyard.evaluate.asking.asks import Ask, Case
from steelyard.evaluate.models.command import RESTARTS, CommandModel

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process groups of POSIX")

Make = Callable[..., CommandModel]


def ask(id_: Any, input_: Any = None, repeat: int = 1, messages: Any = None) -> Ask:
    case = Case(id=str(id_), input=f"q{id_}" if input_ is None else input_, truth="secret", row={"truth": "secret"}, messages=messages)
    return Ask(case=case, repeat=repeat, seed=99)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Make]:
    """A command made of a Python program; `line` is what it reads, `say` writes an object."""
    made: list[CommandModel] = []

    def make(body: str, **options: Any) -> CommandModel:
        script = tmp_path / f"program{len(made)}.py"
        head = """
            import json, os, sys, time
            def say(**told):
                print(json.dumps(told), flush=True)
            lines = map(json.loads, sys.stdin)
        """
        script.write_text(textwrap.dedent(head) + textwrap.dedent(body))
        command = CommandModel(f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}", **{"timeout": 60.0, **options})
        made.append(command)
        return command

    yield make
    for command in made:
        command.close()


ECHO = """
    for line in lines:
        say(id=line["id"], prediction=line["input"].upper())
"""


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet counts as ended."""
    for _ in range(500):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False


# ---- lines in, lines out ---------------------------------------------------------------------------------------------


def test_one_program_answers_all(program: Make) -> None:
    command = program(ECHO)
    with ask_all([ask(i) for i in range(200)], [command], None) as answers:
        assert [answer.said for _, answer in answers] == [f"Q{i}" for i in range(200)]
    assert command._starts == 1
    assert (command.batch, command.concurrency) == (1, 1)


def test_what_it_is_told(program: Make) -> None:
    """The truth is not among it."""
    command = program("for line in lines: say(id=line['id'], said=json.dumps(line))")
    messages = ({"role": "user", "content": "é\n"},)
    first, second = (json.loads(command.ask([each])[0].said) for each in (ask(7, "é\n", 2, messages), ask("8", [1.5, float("nan")])))
    assert first == {"id": "7", "input": "é\n", "messages": [{"role": "user", "content": "é\n"}], "repeat": 2, "seed": 99}
    assert second == {"id": "8", "input": [1.5, None], "repeat": 1, "seed": 99}


def test_batches_in_any_order(program: Make) -> None:
    command = program(
        """
        while batch := [line for _, line in zip(range(4), lines)]:
            for line in reversed(batch):
                say(id=line["id"], repeat=line["repeat"], prediction=f"{line['id']}.{line['repeat']}", tokens_out=3)
        """,
        batch=4,
    )
    found = command.ask([ask("a", repeat=1), ask("b"), ask("a", repeat=2), ask("c")])
    assert [answer.said for answer in found] == ["a.1", "b.1", "a.2", "c.1"]
    assert [answer.tokens_out for answer in found] == [3] * 4
    assert all(answer.seconds is not None for answer in found)


def test_items_that_the_program_could_not_do(program: Make) -> None:
    command = program(
        """
        for line in lines:
            say(id=line["id"], **{"1": {"error": "too long\\nreally"}, "2": {"prediction": None}, "3": {}}.get(line["id"], {"said": 4}))
        """
    )
    found = [command.ask([ask(i)])[0] for i in range(1, 5)]
    assert found[0].error == "too long"
    assert found[1].error.startswith("no answer")  # type: ignore[union-attr]
    assert found[2].error.startswith("no answer")  # type: ignore[union-attr]
    assert found[3].said == 4


def test_large_lines_and_a_program_that_reads_everything_first(program: Make) -> None:
    """Both pipes overflow at once: whoever writes before it reads would wait for ever."""
    command = program(
        """
        print("x" * 1000000, file=sys.stderr)
        for line in lines:
            say(id=line["id"], said=line["input"])
        """,
        batch=8,
    )
    text = "y" * 300_000
    assert [answer.said for answer in command.ask([ask(i, text) for i in range(8)])] == [text] * 8


def test_what_waits_for_its_turn_is_not_begun_after_an_early_end(program: Make, tmp_path: Path) -> None:
    """Eight threads take turns at one program, which waits until the run has been ended before it answers the second line."""
    flag = tmp_path / "ended"
    command = program(
        f"""
        for line in lines:
            while line["id"] != "0" and not os.path.exists({str(flag)!r}):
                time.sleep(0.01)
            say(id=line["id"], said="yes")
        """
    )
    stop = command.stop
    command.stop = lambda: (stop(), flag.touch())[0]  # type: ignore[method-assign]
    with ask_all([ask(i) for i in range(99)], [command], None, concurrency=8) as answers:
        assert next(answers)[1].said == "yes"
    assert answers.asked.failed == 0
    assert command.ask([ask(1)])[0].error == "stopped: the run has ended"


# ---- faults ----------------------------------------------------------------------------------------------------------


def test_a_crash_costs_the_items_in_flight_and_it_is_started_again(program: Make) -> None:
    command = program(
        """
        for line in lines:
            if line["id"] == "bad":
                print("cannot digest this", file=sys.stderr)
                sys.exit(7)
            say(id=line["id"], said="ok")
        """
    )
    found = [command.ask([ask(id_)])[0] for id_ in ("1", "bad", "2", "bad", "3", "bad", "4")]
    assert [answer.said for answer in found] == ["ok", None, "ok", None, "ok", None, "ok"]
    assert found[1].error == "crash: the program ended with exit code 7; cannot digest this"
    assert command._starts == RESTARTS + 1
    with pytest.raises(SourceError, match=r"failed 4 times: .*exit code 7; at last it said 'cannot digest this'.*run it by hand"):
        command.ask([ask("bad")])


def test_answers_before_a_crash_count(program: Make) -> None:
    command = program("for line in lines:\n    say(id=line['id'], said=1)\n    os.kill(os.getpid(), 9)", batch=3)
    one, two, three = command.ask([ask(1), ask(2), ask(3)])
    assert one.said == 1
    assert two.error == three.error == "crash: the program ended with signal SIGKILL"


def test_a_program_that_never_works_is_given_up(program: Make) -> None:
    command = program("import no_such_module_of_anybody")
    with (
        pytest.raises(SourceError, match=r"failed 4 times: .*exit code 1.*no_such_module_of_anybody"),
        ask_all([ask(i) for i in range(99)], [command], None, max_error_rate=1.0) as a,
    ):
        list(a)


def test_silence_is_not_waited_for_for_ever(program: Make) -> None:
    """One does not flush its output, the mistake everybody makes once; one does not even read."""
    unflushed = "out = open(1, 'w')\nfor line in lines: out.write(json.dumps({'id': line['id'], 'said': 1}) + '\\n')"
    for body in (unflushed, "time.sleep(1000)"):
        command = program(body, timeout=0.4)
        found = command.ask([ask(1, "x" * 200_000)])[0]
        assert found.error == "timeout: silent for 0.4 seconds"
        command._starts = RESTARTS + 1
        with pytest.raises(SourceError, match=r"flush=True"):
            command.ask([ask(1)])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("print('Loading model ...', flush=True)\ntime.sleep(99)", r"the line 'Loading model \.\.\.'.*standard error"),
        ("for line in lines: print('[1]', flush=True)", "one JSON object a line"),
        ("for line in lines: say(id='other', said=1)", "not asked, or is answered already"),
        ("for line in lines: say(id=line['id'], repeat=2, said=1)", "not asked, or is answered already"),
        ("for line in lines: say(said=1)", "an answer without id"),
        ("while True: say(id='1', said=1)", "not asked, or is answered already"),
        ("for line in lines: say(id=line['id'], said=1); say(id=line['id'], said=1)", "not asked, or is answered already"),
    ],
)
def test_nonsense_ends_the_run(program: Make, body: str, words: str) -> None:
    command = program(body)
    with pytest.raises(SourceError, match=words):
        list(map(command.ask, ([ask(i)] for i in range(1, 4))))
    assert command._process is None


def test_an_answer_that_may_be_to_two_repeats(program: Make) -> None:
    command = program("for line in lines: say(id=line['id'], said=1)", batch=2)
    with pytest.raises(SourceError, match="may be to 2 repeats"):
        command.ask([ask(1, repeat=1), ask(1, repeat=2)])


def test_a_line_without_end(program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.evaluate.models.command.LONGEST", 2**20)
    with pytest.raises(SourceError, match="a line of more than"):
        program("while True: sys.stdout.write('x' * 100000)").ask([ask(1)])


def test_standard_error_is_passed_on(program: Make, capsys: pytest.CaptureFixture[str]) -> None:
    command = program("print('warming up', file=sys.stderr, flush=True)" + textwrap.dedent(ECHO))
    command.ask([ask(1)])
    command.close()
    assert "warming up" in capsys.readouterr().err


# ---- not to be started, not to be left -------------------------------------------------------------------------------


def test_programs_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("hello")
    for text in ("no-such-program-anywhere --x", str(tmp_path / "plain.txt"), str(tmp_path)):
        with pytest.raises(UsageError, match=r"that can be executed.*chmod"):
            CommandModel(text)
    with pytest.raises(UsageError, match=r"The command is empty\."):
        CommandModel("  ")
    with pytest.raises(UsageError, match="No closing quotation"):
        CommandModel("echo 'x")
    (tmp_path / "nonsense").write_bytes(b"\x00\x01\x02")
    (tmp_path / "nonsense").chmod(0o755)
    with pytest.raises(UsageError, match=r"Cannot run .*Exec format error"):
        CommandModel(str(tmp_path / "nonsense")).ask([ask(1)])
    for wrong in ({"batch": 0}, {"timeout": 0.0 - 1}, {"timeout": float("inf")}):
        with pytest.raises(UsageError, match=r"must be at least 1|must be a number of seconds"):
            CommandModel(sys.executable, **wrong)  # type: ignore[arg-type]


def test_no_shell(tmp_path: Path) -> None:
    CommandModel(f"{sys.executable} -c pass ; touch {tmp_path}/made").close()
    command = CommandModel(f"echo $(touch {tmp_path}/made) ; touch {tmp_path}/made")
    with pytest.raises(SourceError, match="the line"):
        command.ask([ask(1)])
    assert not (tmp_path / "made").exists()


def test_nothing_is_left_running(program: Make) -> None:
    """A polite program ends when its input does, another is ended; a child of its own too, which holds none of the pipes."""
    polite = program("for line in lines: say(id=line['id'], said=os.getpid())")
    stubborn = program(
        """
        import signal, subprocess
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for line in lines:
            say(id=line["id"], said=f"{os.getpid()} {child.pid}")
        while True:
            time.sleep(1)
        """
    )
    pids = [polite.ask([ask(1)])[0].said, *map(int, stubborn.ask([ask(1)])[0].said.split())]
    assert all(os.kill(pid, 0) is None for pid in pids), "they run"
    polite.close()
    process, stubborn._process = stubborn._process, None
    assert process is not None
    process.kill()
    assert all(gone(pid) for pid in pids)


def test_a_program_that_says_much_at_its_end_may_finish(program: Make, tmp_path: Path) -> None:
    """More than waits in our queue and in the pipe: if nobody read it, the program would never come to its last line."""
    finished = tmp_path / "finished"
    command = program(
        f"""
        for line in lines:
            say(id=line["id"], said="yes")
        for _ in range(5000):
            print("x" * 100)
        open({str(finished)!r}, "w").close()
        """
    )
    command.ask([ask(1)])
    command.close()
    assert finished.exists()


def test_a_stubborn_program_is_asked_twice_and_then_ended(program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.evaluate.models.command.GRACE", 0.2)
    loop = "for line in lines: say(id=line['id'], said=os.getpid())\nwhile True: time.sleep(1)"
    deaf = program(f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n{loop}")
    flooding = program("for line in lines:\n  say(id=line['id'], said=os.getpid())\n  break\nwhile True: print('{}')")
    for command in (deaf, flooding):
        pid = command.ask([ask(1)])[0].said
        command.close()
        assert gone(pid)
