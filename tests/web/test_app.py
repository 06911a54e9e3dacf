"""The pages without a browser: what they show, that nothing planted is markup, and that odd addresses are answered with advice."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from steelyard.history.store import open_history
from steelyard.questions.plan.detect import plan_detect
from steelyard.web import app as app_module
from steelyard.web import views as looking
from steelyard.web.pages import plain_link
from web.board_samples import PLANTED, Project, Visitor

GSM = {"task": "gsm8k", "model": "llama-3.1-8b", "spec": {"quant": "FP8"}}


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    def links(self) -> list[str]:
        return [attrs["href"] or "" for tag, attrs in self.found if tag == "a" and "href" in attrs]


def every_page(ids: Mapping[str, str]) -> dict[str, str]:
    """A path for each page, by the ids of the runs."""
    planted = {"model": PLANTED, "spec": {"quant": PLANTED}}
    a, b = ids["gsm8k-2"], ids["gsm8k-11"]
    return {
        "overview": "/",
        "overview of a task": plain_link("/", task=PLANTED),
        "runs": "/runs",
        "runs filtered": plain_link("/runs", task="planted", model=PLANTED, spec=planted["spec"], since="2026-09-01", until="2027-01-01"),
        "series": plain_link("/series", **GSM, metric="accuracy"),
        "planted series": plain_link("/series", task="planted", **planted),
        "drift": plain_link("/drift", **GSM),
        "nights": "/nights",
        "planted nights": plain_link("/nights", series=PLANTED),
        "run": f"/runs/{b}",
        "planted run": f"/runs/{ids['planted']}",
        "planted task": f"/runs/{ids['planted task']}",
        "proposal": f"/runs/{b}/record",
        "planted proposal": f"/runs/{ids['planted']}/record",
        "compare": f"/compare?a={a}&b={b}",
        "compare, nothing asked": "/compare",
        "plan": "/plan?theta=0.01&discordance=0.04",
        "plan, nothing asked": "/plan",
        "references": "/references",
        "reference": plain_link("/reference", **GSM),
        "planted reference": plain_link("/reference", task="planted", **planted),
        "sign in": "/sign-in",
    }


NAMES = list(every_page(defaultdict(str)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", [False, True], ids=["anyone", "signed in"])
def test_every_page_is_whole_and_escapes_what_was_planted(project: Project, name: str, known: bool) -> None:
    visitor = project.visitor().sign_in() if known else project.visitor()
    reply = visitor.get(every_page(project.ids)[name])
    assert reply.status == 200, reply.text
    assert reply.text.rstrip().endswith("</html>")
    tags = Tags(reply.text)
    scripts = [attrs for tag, attrs in tags.found if tag == "script"]
    assert [set(each) for each in scripts] == [{"src", "defer"}]
    assert not [tag for tag, attrs in tags.found if tag == "img" or any(key.startswith("on") or key == "style" for key in attrs)]
    addresses = [attrs.get(key) or "" for tag, attrs in tags.found for key in ("href", "src", "action") if key in attrs]
    assert all(each.startswith(("/", "#")) and not each.startswith("//") for each in addresses)


@pytest.mark.parametrize("name", ["overview", "planted series", "planted run", "planted task", "planted reference", "planted proposal"])
def test_what_was_planted_is_read_as_it_is(project: Project, name: str) -> None:
    assert PLANTED in "".join(Tags(project.visitor().get(every_page(project.ids)[name]).text).said)


def test_every_link_leads_somewhere(project: Project, visitor: Visitor) -> None:
    """From the overview, page by page; nothing that is offered is missing."""
    seen: set[str] = set()
    todo = ["/"]
    while todo and len(seen) < 120:
        path = todo.pop(0)
        if path in seen:
            continue
        seen.add(path)
        reply = visitor.get(path)
        refused = "The name of the task must be" in reply.text  # a run of the planted task, which no file can be named after
        assert reply.status == (400 if refused else 200), (path, reply.text)
        if not path.endswith("/report"):
            todo += [each for each in Tags(reply.text).links() if each.startswith("/")]
    assert any(path.startswith("/compare?a=") for path in seen)
    assert any(path.startswith("/drift") for path in seen)


def test_the_overview_tells_the_last_verdict_of_each_series(visitor: Visitor) -> None:
    text = visitor.get("/?task=gsm8k").text
    assert "1 series" in text
    assert "REGRESSION" in text
    assert "<svg" in text
    assert "PASS" in visitor.get("/?task=mmlu").text
    worse = visitor.get("/?verdict=regression").text
    assert "3 series" in worse
    assert " PASS</span>" not in worse
    assert " PASS</span>" in visitor.get("/").text
    assert "No series match these filters" in visitor.get("/?verdict=inconclusive").text


def test_the_references_page_does_not_call_threshold_what_a_bare_score_is_held_to(visitor: Visitor) -> None:
    page = visitor.get("/references").text
    assert "Bare-score threshold" in page
    assert ">Threshold<" not in page


def test_a_series_says_what_changed_and_draws_shape_band_and_threshold(visitor: Visitor) -> None:
    text = visitor.get(plain_link("/series", **GSM)).text
    assert "protocol prompt: v3 → v4" in text
    assert "commit 08c0ffee → 09c0ffee" in text
    for drawn in (
        'class="band"',
        'class="goal"',
        "mark regression",
        "mark record",
        "threshold of each run: a worse score is a regression",
        "(Wilson)",
    ):
        assert drawn in text
    assert text.count('class="point"') == 13


def test_a_series_by_pages_misses_nothing_and_repeats_nothing(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "CHART_RUNS", 5)
    path, found = plain_link("/series", **GSM), []
    while path:
        tags = Tags(visitor.get(path).text)
        found += [unquote(each) for each in dict.fromkeys(tags.links()) if re.fullmatch("/runs/[0-9a-f]{32}", each)]
        path = next((each for each in tags.links() if each.startswith("/series") and "after=" in each), "")
    assert len(found) == len(set(found)) == 13


def test_a_run_shows_the_same_report_as_the_command(project: Project, visitor: Visitor) -> None:
    run = project.runs["gsm8k-11"]
    shown = " ".join("".join(Tags(visitor.get(f"/runs/{run.id}").text).said).split())
    report = visitor.get(f"/runs/{run.id}/report")
    assert report.headers["content-disposition"].startswith("attachment")
    main = report.text[report.text.index("<article") : report.text.index("</article>")]
    assert " ".join("".join(Tags(main).said).split()) in shown


def test_compare_lists_every_item_that_changed(project: Project, visitor: Visitor) -> None:
    a, b = project.runs["gsm8k-2"], project.runs["gsm8k-11"]
    with open_history(project.url) as history:
        then, now = history.items(a.id), history.items(b.id)
    assert then is not None
    assert now is not None
    changed = {id_ for id_ in then if then[id_] != now[id_]}
    text = visitor.get(f"/compare?a={a.id}&b={b.id}").text
    assert set(re.findall(r"<td>(gsm8k-\d{4})</td>", text)) == changed
    assert f"All {len(changed)} items." in text


def test_the_plan_is_that_of_the_command(visitor: Visitor) -> None:
    said = plan_detect(theta=0.01, discordance=0.04).conclusion
    assert said in visitor.get("/plan?theta=0.01&discordance=0.04").text
    wrong = visitor.get("/plan?theta=much")
    assert wrong.status == 400
    assert "theta must be" in wrong.text
    assert visitor.get("/plan?theta=0.01&n=99999999999&sigma=.5").status == 400


ODD = {
    "/runs/../../etc/passwd": 404,
    "/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd": 404,
    "/runs/0123": 404,
    "/runs/" + "0" * 32: 404,
    "/runs/" + "0" * 32 + "/report": 404,
    "/static/../app.py": 404,
    "/static/%2e%2e/app.py": 404,
    "/static/app.py": 404,
    "/reference?task=..%2F..%2Fsecret&model=m": 400,
    "/reference?task=%2Fetc%2Fpasswd&model=m": 400,
    "/reference?task=nothing&model=m": 400,
    "/reference?task=gsm8k": 400,
    "/references?task=..%2Fx": 400,
    "/series?task=gsm8k": 400,
    "/series?task=nothing&model=m": 400,
    "/series?task=gsm8k&model=m&spec=notjson": 400,
    "/series?task=gsm8k&model=m&spec=%5B1%5D": 400,
    "/series?task=gsm8k&task=mmlu&model=m": 400,
    "/?page=0": 400,
    "/?page=-1": 400,
    "/?page=%D9%A3": 400,
    "/?page=99999999999": 400,
    "/?task=" + "a" * 3000: 400,
    "/runs?after=zz": 400,
    "/runs?after=ffffffff": 400,
    "/?verdict=maybe": 400,
    "/runs?verdict=maybe": 400,
    "/runs?since=yesterday": 400,
    "/compare?a=%27%3B--&b=ffff": 400,
    "/compare?a=0000&b=ffff": 400,
    "/nowhere": 404,
}


@pytest.mark.parametrize("path", ODD)
def test_odd_addresses_get_a_page_and_no_traceback(visitor: Visitor, path: str) -> None:
    reply = visitor.get(path)
    assert reply.status == ODD[path]
    assert "Traceback" not in reply.text
    assert "<h1>" in reply.text
    assert "root:" not in reply.text


def test_a_fault_of_ours_shows_nothing_of_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(request: Any) -> Any:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(app_module.looking, "overview", broken)
    reply = project.visitor().get("/")
    assert reply.status == 500
    assert "secret" not in reply.text
    assert "a secret detail" in caplog.text


def test_a_result_that_cannot_be_read_still_has_its_page(own_project: Project) -> None:
    import sqlite3

    run = own_project.runs["gsm8k-1"]
    con = sqlite3.connect(own_project.root / "runs.db")
    con.execute("UPDATE steelyard_runs SET result = ? WHERE id = ?", [json.dumps({"kind": "verdict", "schema": 99}), run.id])
    con.commit()
    con.close()
    reply = own_project.visitor().get(f"/runs/{run.id}")
    assert reply.status == 200
    assert "cannot show" in reply.text


def test_the_head_of_a_page_is_that_of_the_page(visitor: Visitor) -> None:
    assert visitor.ask("HEAD", "/").status == 200
    assert visitor.ask("HEAD", "/nowhere").status == 404


def test_an_empty_history_says_how_to_fill_it(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'empty.db'}"
    open_history(url).close()
    visitor = Project(root=tmp_path, url=url, runs={}).visitor(config=None, directory=tmp_path / "references")
    assert "No runs yet" in visitor.get("/").text
    assert visitor.get("/runs").status == 200
    assert "No references" in visitor.get("/references").text


def test_nights_show_the_evidence_its_line_the_alarms_and_who_acknowledged_them(project: Project) -> None:
    page = project.visitor().get("/nights").text
    assert "Evidence over time" in page
    assert "alarm line: 365" in page
    assert "alarm: regression" in page
    assert "a regression that nobody has acknowledged" in page
    assert "On average at most about 1 false alarm a year over the whole suite" in page
    assert "Acknowledgements" in page


def test_without_nights_the_page_says_how_to_have_some(project: Project, tmp_path: Path) -> None:
    open_history(f"sqlite:///{tmp_path}/runs.db").close()
    visitor = project.visitor(history=f"sqlite:///{tmp_path}/runs.db")
    assert "No nights yet." in visitor.get("/nights").text
