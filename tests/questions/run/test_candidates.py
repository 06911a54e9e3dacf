"""Several candidates against one baseline: asked once, each judged as if it were alone at its share of alpha."""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from evaluate.openai_server import Server, prompt_of
from steelyard.cli.main import main
from steelyard.errors import DataError, UsageError
from steelyard.questions.report.card import card_details
from steelyard.questions.run.task import prepare
from steelyard.render.formats import FORMATS
from steelyard.results.catalogue import result_of

N = 900
ROWS = [{"id": f"q{i}", "x": i, "y": "yes", "passage": i // 4} for i in range(N)]
TASK = {"task": {"name": "coins", "data": ROWS, "input": "{x}", "truth": "y", "scorer": "exact"}}
LOST = {"base": 0.03, "same": 0.03, "worse": 0.2, "other": 0.02}
NAMES = list(LOST)
WISH: dict[str, Any] = {"until": "decided", "theta": 0.05}


class Asked:
    """Models that are right but for a share of the items, and count what they are asked; after `most` questions of one it breaks."""

    def __init__(self, breaks: str = "", most: int = 10**9) -> None:
        self.counts: Counter[str] = Counter()
        self.questions: Counter[tuple[str, str]] = Counter()
        self.breaks, self.most = breaks, most

    def model(self, name: str) -> Callable[[str], str]:
        def answer(question: str) -> str:
            if name == self.breaks and self.counts[name] >= self.most:
                raise RuntimeError("the machine is gone")
            self.counts[name] += 1
            self.questions[name, question] += 1
            return "yes" if random.Random(f"{name} {question}").random() > LOST[name] else "no"

        return answer

    def all(self, names: list[str] = NAMES) -> list[Callable[[str], str]]:
        return [self.model(name) for name in names]


def plain(found: sy.Evaluation) -> dict[str, Any]:
    """An answer without the times it took, what was wasted and the directory it is in."""
    told = json.loads(json.dumps(found.to_dict()))
    for model in told["run"]["models"]:
        model["output"] = Path(model["output"]).name
        model.pop("usage")
        model["counts"].pop("wasted", None)
    return told


def test_each_is_judged_as_if_it_were_alone_and_the_baseline_is_asked_once(tmp_path: Path) -> None:
    asked = Asked()
    found = sy.run(TASK, *asked.all(), name=NAMES, output=tmp_path / "out.jsonl", **WISH)
    assert found.verdict is None
    assert found.candidates is not None
    verdicts = {verdict.model: verdict for verdict in found.candidates.verdicts}
    assert {name: verdict.verdict for name, verdict in verdicts.items()} == {"same": "pass", "worse": "regression", "other": "pass"}
    for name, verdict in verdicts.items():
        alone = sy.run(TASK, *Asked().all(["base", name]), name=["base", name], alpha=0.05 / 3, **WISH)
        assert alone.verdict == verdict
        assert asked.counts[name] == alone.n == verdict.n
        assert verdict.alpha == 0.05 / 3
    assert asked.counts["base"] == max(verdict.n for verdict in verdicts.values()) == found.n
    assert len(set(asked.counts.values())) > 1, "or nobody was let go of before the others"
    assert set(asked.questions.values()) == {1}
    stopping = found.candidates.stopping
    assert stopping is not None
    assert stopping["calls"] == sum(asked.counts.values())
    assert stopping["calls_baseline"] == asked.counts["base"]
    assert (found.exit_code, found.candidates.verdict, stopping["named"]) == (1, "regression", ("worse",))
    assert found.candidates.conclusion == "1 of 3 candidates is worse than base: worse."
    for place, side in enumerate(["baseline", "candidate1", "candidate2", "candidate3"]):
        rows = (tmp_path / f"out.{side}.jsonl").read_text().splitlines()
        assert len(rows) == asked.counts[NAMES[place]]
        notes = json.loads((tmp_path / f"out.{side}.jsonl.run").read_text())
        assert (notes["model"], notes["n"]) == (NAMES[place], len(rows))
        assert notes["stopping"]["candidates"] == {"alpha": 0.05, "names": NAMES[1:]}
    assert sorted(path.name for path in tmp_path.iterdir() if "journal" in path.name) == []


def test_two_candidates_one_and_twenty() -> None:
    alone = sy.run(TASK, *Asked().all(["base", "same"]), name=["base", "same"], **WISH)
    assert alone.candidates is None
    assert alone.verdict is not None
    asked = Asked()
    both = sy.run(TASK, *asked.all(["base", "same", "base"]), name=["a", "b", "again"], **WISH)
    assert both.candidates is not None
    again = both.candidates.verdicts[1]
    assert (again.verdict, again.flips and again.flips["baseline_only"]) == ("pass", 0), "a candidate may be the baseline itself"
    assert [verdict.alpha for verdict in both.candidates.verdicts] == [0.025, 0.025]
    names = ["base", *[f"c{i}" for i in range(20)]]
    many = sy.run(TASK, *Asked().all(["base", *["same", "worse"] * 10]), name=names, **WISH)
    assert many.candidates is not None
    assert [verdict.verdict for verdict in many.candidates.verdicts] == ["pass", "regression"] * 10
    assert many.candidates.conclusion == "10 of 20 candidates are worse than base: c1, c3, c5 and 7 more."


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> sy.Evaluation:
    """A run that nothing ended but the decision."""
    return sy.run(TASK, *Asked().all(), name=NAMES, output=tmp_path_factory.mktemp("whole") / "out.jsonl", **WISH)


def test_a_run_that_broke_off_goes_on_at_the_same_look_and_asks_nothing_twice(whole: sy.Evaluation, tmp_path: Path) -> None:
    for breaks, most in (("worse", 40), ("base", 90)):  # before and after one of them is decided
        asked = Asked(breaks, most)
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(DataError, match="has no answer"):
            sy.run(TASK, *asked.all(), name=NAMES, output=tmp_path / "out.jsonl", **WISH)
        assert not (tmp_path / "out.baseline.jsonl").exists()
        asked.breaks = ""
        found = sy.run(TASK, *asked.all(), name=NAMES, output=tmp_path / "out.jsonl", **WISH)
        assert plain(found) == plain(whole)
        assert set(asked.questions.values()) == {1}


def test_a_limit_ends_those_that_are_open_and_a_higher_one_goes_on(whole: sy.Evaluation, tmp_path: Path) -> None:
    asked, out = Asked(), tmp_path / "out.jsonl"
    most = whole.candidates.stopping["calls"]  # type: ignore[index, union-attr]
    cut = sy.run(TASK, *asked.all(), name=NAMES, output=out, max_calls=most - 3, **WISH)
    assert sum(asked.counts.values()) <= most - 3
    assert cut.candidates is not None
    assert cut.limit is not None
    kinds = {verdict.model: verdict.verdict for verdict in cut.candidates.verdicts}
    assert kinds["worse"] == "regression", "decided before the limit was reached"
    assert "inconclusive" in kinds.values()
    assert cut.exit_code == 1
    open_ = next(place for place, kind in enumerate(kinds.values(), 1) if kind == "inconclusive")
    told = json.loads((tmp_path / f"out.candidate{open_}.jsonl.run").read_text())["stopping"]
    assert "limit of" in told["ended"]["said"]
    assert "ended" not in json.loads((tmp_path / "out.candidate2.jsonl.run").read_text())["stopping"]
    found = sy.run(TASK, *asked.all(), name=NAMES, output=out, **WISH)
    assert plain(found) == plain(whole)
    assert set(asked.questions.values()) == {1}
    healthy = ["base", "same", "other"]
    first = prepare(TASK).cases[0].id
    path = tmp_path / "base.csv"
    path.write_text("id,prediction\n" + "".join(f"{row['id']},yes\n" for row in ROWS if row["id"] != first))
    unseen = sy.run(TASK, f"file:{path}", *Asked().all(healthy[1:]), name=healthy, max_calls=3, missing="drop", max_error_rate=1.0, **WISH)
    assert unseen.candidates is not None
    assert [(verdict.verdict, verdict.n) for verdict in unseen.candidates.verdicts] == [("inconclusive", 0)] * 2
    assert len(unseen.pairs) == 2
    assert str(unseen)
    early = sy.run(TASK, *Asked().all(healthy), name=healthy, max_calls=3, **WISH)
    assert early.candidates is not None
    assert (early.exit_code, early.n, early.candidates.verdict) == (2, 1, "inconclusive")
    assert early.candidates.conclusion.startswith("2 of 2 candidates are not decided against base: same, other (the limit of 3 calls")


def test_another_set_of_candidates_does_not_mix_with_a_journal(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    sy.run(TASK, *Asked().all(), name=NAMES, output=out, max_calls=100, **WISH)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith(".lock")}
    for names in (NAMES[:2], NAMES[:3], [*NAMES, "same"]):
        asked = Asked()
        with pytest.raises(UsageError, match="begun with other settings"):
            sy.run(TASK, *asked.all(names), name=[f"n{i}" for i in range(len(names))], output=out, **WISH)
        assert not asked.counts
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "need until='decided'"),
        ({"until": "n=50"}, "need until='decided'"),
        ({"until": "width=.1"}, "needs one model"),
        ({**WISH, "against": "m"}, "4 models are compared with each other"),
        ({**WISH, "name": ["a", "b", "c", "b"]}, "Two models have the name 'b'"),
        ({**WISH, "name": ["a", "b"]}, "Got 2 names for 4 models"),
        ({"until": "decided"}, "needs theta"),
        ({**WISH, "max_calls": 3}, "does not allow a single item, which takes 4 calls"),
        ({**WISH, "strata": "auto"}, "side by side"),
    ],
)
def test_what_several_candidates_cannot_have_is_said_before_anything_is_asked(wrong: Mapping[str, Any], said: str) -> None:
    asked = Asked()
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        sy.run(TASK, *asked.all(), **{"name": NAMES, **wrong})
    assert not asked.counts


def test_a_candidate_that_answers_nothing_ends_the_run_and_says_so(tmp_path: Path) -> None:
    down = [True]

    def broken(question: str) -> str:
        if down:
            raise TimeoutError("no server")
        return "yes"

    out, small = tmp_path / "out.jsonl", {"task": {**TASK["task"], "data": ROWS[:60]}}
    names = ["base", "same", "broken"]
    for missing, rate in (("error", 0.02), ("drop", 1.0)):
        asked = Asked()
        with pytest.raises(DataError, match="no answer"):
            sy.run(small, *asked.all(names[:2]), broken, name=names, output=out, missing=missing, max_error_rate=rate, **WISH)
        assert (tmp_path / "out.jsonl.journal").exists(), "what was paid for is kept"
        asked.counts.clear()
    down.clear()
    found = sy.run(small, *asked.all(names[:2]), broken, name=names, output=out, missing="drop", max_error_rate=1.0, **WISH)
    assert found.candidates is not None
    assert found.n == 60
    assert asked.counts["base"] == asked.counts["same"] == 0, "only what failed is asked again"


def test_items_that_one_candidate_leaves_out_are_still_the_others(tmp_path: Path) -> None:
    """The looks of the candidates then fall on different items."""
    path = tmp_path / "some.csv"
    known = [row for row in ROWS if row["x"] % 7]  # type: ignore[operator]
    path.write_text("id,prediction\n" + "".join(f"{row['id']},yes\n" for row in known))
    asked, wish = Asked(), {**WISH, "missing": "drop", "max_error_rate": 1.0}
    found = sy.run(TASK, asked.model("base"), f"file:{path}", asked.model("same"), name=["base", "some", "same"], **wish)
    assert found.candidates is not None
    some, same = found.candidates.verdicts
    alone = sy.run(TASK, Asked().model("base"), f"file:{path}", name=["base", "some"], alpha=0.025, **wish)
    assert alone.verdict is not None
    assert some == alone.verdict
    assert same == sy.run(TASK, *Asked().all(["base", "same"]), name=["base", "same"], alpha=0.025, **WISH).verdict
    assert set(asked.questions.values()) == {1}


def test_groups_are_looked_at_whole(tmp_path: Path) -> None:
    task = {"task": {**TASK["task"], "group": "passage", "whole_groups": True}}
    asked = Asked()
    found = sy.run(task, *asked.all(NAMES[:3]), name=NAMES[:3], output=tmp_path / "out.jsonl", **WISH)
    assert found.candidates is not None
    for place, verdict in enumerate(found.candidates.verdicts, 1):
        names = ["base", NAMES[place]]
        assert verdict == sy.run(task, *Asked().all(names), name=names, alpha=0.025, **WISH).verdict
        assert len((tmp_path / f"out.candidate{place}.jsonl").read_text().splitlines()) == verdict.n
    assert len((tmp_path / "out.baseline.jsonl").read_text().splitlines()) == found.n


def test_a_score_outside_the_range_ends_that_candidate_alone() -> None:
    def score(answer: str, row: Mapping[str, Any]) -> float:
        return float(answer)

    task = {"name": "t", "data": ROWS, "input": "{x}", "truth": "y", "metric": "mean", "score": staticmethod(score), "range": (0, 1)}
    made = type("Task", (), task)
    strange = sorted(ROWS, key=lambda row: random.Random(f"{row['id']}").random())[0]["x"]

    def odd(question: str) -> str:
        return "7" if int(question) % 50 == int(str(strange)) % 50 else "0.8"

    asked: Counter[str] = Counter()

    def even(question: str) -> str:
        asked[question] += 1
        return f"{0.8 + random.Random(question).choice((-0.1, 0.1))}"

    found = sy.run(made, even, odd, lambda question: "0.8", name=["base", "odd", "even"], **WISH)
    assert found.candidates is not None
    odd_one, even_one = found.candidates.verdicts
    assert (odd_one.verdict, even_one.verdict, found.exit_code) == ("inconclusive", "pass", 2)
    assert "outside 0 to 1" in odd_one.conclusion
    assert odd_one.n < even_one.n == len(asked)


def test_the_answer_goes_everywhere_that_a_verdict_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["base", "same", "worse"]
    found = sy.run(TASK, *Asked().all(names), name=names, output="out.jsonl", **WISH)
    told = found.to_dict()
    assert (told["kind"], told["verdict"], told["correction"]) == ("suite", "regression", "bonferroni")
    back = result_of(json.loads(json.dumps(told)))
    assert isinstance(back, sy.Evaluation)
    assert back.to_dict() == told
    for form in ("text", "markdown", "html", "json"):
        assert "worse" in FORMATS[form].write(back)
    assert FORMATS["junit"].write(back.judged).count("<testcase") == 2
    assert "worse" in FORMATS["github"].write(back.judged)
    sy.keep_run(found, history="sqlite:///runs.db")
    with sy.open_history("sqlite:///runs.db") as store:
        kept, _, _ = store.runs()
    assert sorted((run.model, run.verdict, run.command) for run in kept) == [("same", "pass", "run"), ("worse", "regression", "run")]
    with pytest.raises(UsageError, match="several candidates"):
        card_details([("coins", found)])
    with pytest.raises(DataError, match="stopped early"):
        sy.record("out.candidate1.jsonl", task="coins", model="same", directory="references")
    full = sy.run(TASK, Asked().model("base"), name="base", output="full.jsonl", against="none")
    sy.record("full.jsonl", task="coins", model="same", directory="references", deterministic=True)
    with pytest.raises(DataError, match="comparison with another model"):
        sy.check("out.candidate1.jsonl", task="coins", model="same", directory="references")
    assert replace(found, candidates=None).judged is None
    assert full.pairs == (full,)


def test_the_command_takes_any_number_of_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("id,x,y\n" + "".join(f"q{i},{i},yes\n" for i in range(400)))
    (tmp_path / "task.toml").write_text('[task]\nname = "t"\ndata = "data.csv"\ninput = "{x}"\ntruth = "y"\nscorer = "exact"\n')
    for name, lost in (("old", 0), ("new", 0), ("small", 4)):
        said = "".join(f"q{i},{'no' if lost and i % lost == 0 else 'yes'}\n" for i in range(400))
        (tmp_path / f"{name}.csv").write_text("id,prediction\n" + said)
    models = [word for name in ("old", "new", "small") for word in ("--model", f"file:{name}.csv", "--name", name)]

    def code_of(*words: str) -> Any:
        with pytest.raises(SystemExit) as end:
            main(["run", "task.toml", *models, *words])
        return end.value.code or 0

    assert code_of("--until", "decided", "--theta", ".1", "-o", "out.jsonl", "--answer", "answer.xml") == 1
    capsys.readouterr()
    assert code_of("--until", "decided", "--theta", ".1", "-o", "out.jsonl") == 1
    assert "1 of 2 candidates is worse than old: small." in capsys.readouterr().out
    assert (tmp_path / "answer.xml").read_text().count("<testcase") == 2
    assert code_of("--until", "decided", "--theta", ".1", "--dry-run") == 0
    assert "new, small against old" in capsys.readouterr().out
    assert code_of() == 3
    assert "Three models or more need" in capsys.readouterr().err


class Arrivals(Server):
    """A server that writes every arrival into a list that it shares with others."""

    def __init__(self, name: str, arrived: list[tuple[str, int]], **more: Any) -> None:
        super().__init__(**more)
        self.name, self.arrived = name, arrived

    def arrive(self, asked: Mapping[str, Any], connection: int) -> Any:
        self.arrived.append((self.name, int(prompt_of(asked).split()[0])))
        return super().arrive(asked, connection)


@pytest.mark.parametrize("many", [2, 3])
def test_endpoints_are_asked_in_the_same_batch(many: int) -> None:
    """All get item i before any gets item i + batch, though one of the servers is slow: what changes with time meets all alike."""
    every, at_once, n = 16, 4, 96
    rows = [{"id": i, "a": i, "b": i % 7, "sum": i + i % 7} for i in range(n)]
    task = {"task": {"name": "sums", "data": rows, "input": "{a} and {b}", "truth": "sum", "scorer": "number"}}
    arrived: list[tuple[str, int]] = []
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Arrivals(f"s{i}", arrived, latency=0.004 if i == 1 else 0.0)) for i in range(many)]
        found = sy.run(
            task,
            *["openai:m"] * many,
            name=[server.name for server in servers],
            base_url=[server.url for server in servers],
            concurrency=at_once,
            every=every,
            until="decided",
            theta=0.02,
        )
    assert found.n == n
    assert len(arrived) == many * n
    order = [case.id for case in prepare(task).cases]
    batch = 2 * at_once + 1 if many == 2 else every  # as far ahead as is asked; of several candidates, nothing beyond the next look
    first: dict[tuple[str, int], int] = {}
    for place, (name, item) in enumerate(arrived):
        first.setdefault((name, item), place)
    for place, item in enumerate(order[: n - batch]):
        beyond = order[place + batch] if many == 2 else order[place // every * every + every]
        assert max(first[server.name, int(item)] for server in servers) < min(first[server.name, int(beyond)] for server in servers)
