"""Changes through a page are those of the command: the file, its history, who and why; and never of something unseen."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from steelyard.history.store import open_history
from steelyard.questions.guard.check import check
from steelyard.questions.references.listing import show_reference
from steelyard.web.pages import plain_link
from web.board_samples import PLANTED, Project, Visitor, columns

GSM = {"task": "gsm8k", "model": "llama-3.1-8b", "spec": {"quant": "FP8"}}
REFERENCE = plain_link("/reference", **GSM)


def fields(visitor: Visitor, path: str) -> dict[str, str]:
    """The hidden fields of the form with a reason."""
    text = visitor.get(path).text
    form = text[text.index('class="change"') :]
    return {unescape(name): unescape(value) for name, value in re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', form)}


def entry(project: Project) -> dict[str, object]:
    found = show_reference(**GSM, config=project.root / "steelyard.toml").entry  # type: ignore[arg-type]
    return dict(found or {})


def last_change(project: Project, task: str = "gsm8k") -> dict[str, object]:
    lines = (project.root / "references" / f"{task}.history.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[str, object] = json.loads(lines[-1])
    return found


def test_an_approval_is_in_the_file_and_in_its_history(own_project: Project) -> None:
    visitor = own_project.visitor().sign_in()
    assert "NOT APPROVED" in visitor.get(REFERENCE).text
    reply = visitor.post("/reference/approve", {**fields(visitor, REFERENCE), "reason": "looked at\nall of it"})
    assert reply.status == 303
    assert "Approved." in visitor.get(reply.headers["location"]).text
    assert " by " in str(entry(own_project)["approved"])
    change = last_change(own_project)
    assert (change["action"], change["reason"]) == ("approve", "looked at all of it")


@pytest.mark.parametrize("reason", ["", "  \n ", "x" * 1001])
def test_without_a_reason_nothing_is_changed(own_project: Project, reason: str) -> None:
    visitor = own_project.visitor().sign_in()
    before = (own_project.root / "references" / "gsm8k.yaml").read_bytes()
    reply = visitor.post("/reference/approve", {**fields(visitor, REFERENCE), "reason": reason})
    assert reply.status == 400
    assert "needs a reason" in reply.text
    run = own_project.runs["gsm8k-2"]
    reply = visitor.post(f"/runs/{run.id}/record", {**fields(visitor, f"/runs/{run.id}/record"), "reason": reason})
    assert reply.status == 400
    assert (own_project.root / "references" / "gsm8k.yaml").read_bytes() == before


def test_an_entry_that_was_changed_meanwhile_is_not_approved(own_project: Project) -> None:
    visitor = own_project.visitor().sign_in()
    seen = fields(visitor, REFERENCE)
    path = own_project.root / "references" / "gsm8k.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("theta: 0.04", "theta: 0.4"), encoding="utf-8")
    reply = visitor.post("/reference/approve", {**seen, "reason": "fine"})
    assert reply.status == 400
    assert "changed meanwhile" in reply.text
    assert "approved" not in entry(own_project)
    assert visitor.post("/reference/approve", {**fields(visitor, REFERENCE), "reason": "fine"}).status == 303


def test_a_run_becomes_the_reference_with_its_items(own_project: Project) -> None:
    visitor = own_project.visitor().sign_in()
    run = own_project.runs["gsm8k-2"]
    path = f"/runs/{run.id}/record"
    before = entry(own_project)
    assert f"{run.estimate:.6g}" in visitor.get(path).text
    reply = visitor.post(path, {**fields(visitor, path), "reason": "a new tokenizer"})
    assert reply.status == 303, reply.text
    after = entry(own_project)
    assert after["accuracy"] == pytest.approx(run.estimate)
    assert after["accuracy"] != before["accuracy"]
    assert after["theta"] == before["theta"]
    assert str(after["reason"]).startswith(f"a new tokenizer (run {run.id[:8]}")
    assert last_change(own_project)["action"] == "update"
    with open_history(own_project.url) as history:
        newest = history.runs(limit=1)[0][0]
        items = history.items(run.id)
    assert newest.command == "record"
    assert items is not None
    again = check(columns(dict(items)), **GSM, config=own_project.root / "steelyard.toml")  # type: ignore[arg-type]
    assert (again.design, again.difference["estimate"]) == ("paired", 0)


def test_a_proposal_that_is_out_of_date_is_refused(own_project: Project) -> None:
    visitor = own_project.visitor().sign_in()
    path = f"/runs/{own_project.runs['gsm8k-2'].id}/record"
    seen = fields(visitor, path)
    assert visitor.post(path, {**seen, "reason": "one"}).status == 303
    reply = visitor.post(path, {**seen, "reason": "the same form again"})
    assert reply.status == 400
    assert "changed meanwhile" in reply.text


def test_a_record_is_no_run_to_be_recorded(own_project: Project) -> None:
    with open_history(own_project.url) as history:
        done = next(run for run in history.runs(task="gsm8k")[0] if run.command == "record")
    reply = own_project.visitor().get(f"/runs/{done.id}/record")
    assert reply.status == 400
    assert "a record, not a run" in reply.text


def test_hashed_ids_are_not_hashed_again(own_project: Project) -> None:
    config = own_project.root / "steelyard.toml"
    config.write_text(config.read_text(encoding="utf-8") + 'ids = "hashed"\n', encoding="utf-8")
    reply = own_project.visitor().get(f"/runs/{own_project.runs['gsm8k-2'].id}/record")
    assert reply.status == 400
    assert "hashes of its ids" in reply.text


def test_planted_names_can_be_approved_to_the_letter(own_project: Project) -> None:
    visitor = own_project.visitor().sign_in()
    path = plain_link("/reference", task="planted", model=PLANTED, spec={"quant": PLANTED})
    reply = visitor.post("/reference/approve", {**fields(visitor, path), "reason": PLANTED})
    assert reply.status == 303, reply.text
    assert visitor.get(reply.headers["location"]).status == 200
    change = last_change(own_project, "planted")
    assert (change["model"], change["reason"]) == (PLANTED, PLANTED)


def test_a_task_of_a_form_cannot_lead_out_of_the_directory(own_project: Project) -> None:
    visitor = own_project.visitor().sign_in()
    given = fields(visitor, REFERENCE)
    reply = visitor.post("/reference/approve", {**given, "task": "../references/gsm8k", "reason": "x"})
    assert reply.status == 400
    assert "approved" not in entry(own_project)
