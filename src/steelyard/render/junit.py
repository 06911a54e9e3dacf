"""Verdicts as JUnit XML, which GitLab, Jenkins and most dashboards read: one test case per guard.

A regression is a failure. An inconclusive verdict is `skipped`: the question was asked and not answered, and a report
that fails for it would teach people to ignore failures; `inconclusive="failure"` is for those who gate on it. Waived and
advisory guards that are red are skipped as well, with the reason; a guard that a correction over the suite left
unconfirmed counts as inconclusive where theta is set, and passes where it is not, as the suite's own verdict does.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from steelyard.errors import UsageError
from steelyard.render.page import page_of
from steelyard.render.pages.suite import GuardLine, guards
from steelyard.render.pages.verdict import next_step, spec_text, waiver_text
from steelyard.render.terminal import harmless
from steelyard.render.text import page_text
from steelyard.results.verdict import Suite, Verdict

CHOICES = ("skipped", "failure")
WIDTH = 100
# Noncharacters, which XML 1.0 forbids (the last two of the first plane) or parsers dislike (of the others).
_FORBIDDEN = re.compile("[\ufdd0-\ufdef]|" + "|".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)))


def verdict_junit(result: Verdict | Suite, *, inconclusive: str = "skipped") -> str:
    """One <testsuite> with a <testcase> per verdict: classname is the task, name the model and its spec."""
    if inconclusive not in CHOICES:
        raise UsageError("cannot write JUnit XML", got=f"inconclusive={inconclusive!r}", need=f"one of {', '.join(CHOICES)}")
    found = guards(result) if isinstance(result, Suite) else [GuardLine(verdict=result, row={})]
    suite = ET.Element("testsuite", {"name": _name(result)})
    cases = [_case(g, inconclusive) for g in found]
    suite.attrib |= {"tests": str(len(cases)), "failures": _count(cases, "failure"), "errors": "0", "skipped": _count(cases, "skipped")}
    suite.extend(cases)
    if isinstance(result, Suite):
        ET.SubElement(suite, "system-out").text = xml_text(page_text(page_of(result), width=WIDTH))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _name(result: Verdict | Suite) -> str:
    return xml_word(f"steelyard {result.name}" if isinstance(result, Suite) and result.name else "steelyard")


def _count(cases: list[ET.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def _case(g: GuardLine, inconclusive: str) -> ET.Element:
    v = g.verdict
    spec = spec_text(v.spec)
    case = ET.Element("testcase", {"classname": xml_word(v.task), "name": xml_word(v.model + (f" [{spec}]" if spec else ""))})
    properties = ET.SubElement(case, "properties")
    for name, value in _properties(g).items():
        if value is not None and value != "":
            ET.SubElement(properties, "property", {"name": name, "value": xml_word(str(value))})
    tag, message = outcome(g, inconclusive)
    if tag == "failure":
        failure = ET.SubElement(
            case, tag, {"message": xml_word(message), "type": "regression" if g.counts_as == "regression" else "inconclusive"}
        )
        sentence, command = next_step(v, g.counts_as)
        failure.text = "\n".join(xml_word(line) for line in (v.conclusion, sentence, " ".join(command)) if line)
    elif tag == "skipped":
        ET.SubElement(case, tag, {"message": xml_word(message)})
    ET.SubElement(case, "system-out").text = xml_text(page_text(page_of(v), width=WIDTH))
    return case


def outcome(g: GuardLine, inconclusive: str) -> tuple[str | None, str]:
    """failure, skipped or None (passed), and its message."""
    v, counted = g.verdict, g.counts_as
    said = v.conclusion or v.verdict
    if counted == "regression":
        return "failure", said
    if counted == "inconclusive" or (counted == "unconfirmed" and v.theta is not None):
        return inconclusive, f"{counted}: {said}"
    if counted == "waived":
        return "skipped", f"waived ({waiver_text(g.waiver)}): {said}" if g.waiver else f"waived: {said}"
    if counted == "advisory" and v.verdict != "pass":
        return "skipped", f"advisory, {v.verdict}: {said}"
    return None, said


def _properties(g: GuardLine) -> Mapping[str, Any]:
    v = g.verdict
    return {
        "verdict": v.verdict,
        "counts_as": g.counts_as if g.counts_as != v.verdict else None,
        "metric": v.metric,
        "scale": v.scale,
        "value": v.candidate.get("value"),
        "reference": v.reference.get("value"),
        "threshold": v.threshold,
        "difference": v.difference.get("estimate"),
        "difference_lower": v.difference.get("lower"),
        "p_value": v.p_value,
        "p_adjusted": g.row.get("p_adjusted"),
        "mde": v.mde,
        "n": v.n,
        "design": v.design,
        "tier": g.tier,
        "signature": v.signature,
    }


def xml_word(text: str) -> str:
    """A user's word in XML 1.0: control characters, lone surrogates and noncharacters stay visible as escapes."""
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", harmless(text))


def xml_text(text: str) -> str:
    """Lines of ours, whose words are harmless already."""
    return "\n".join(xml_word(line) for line in text.split("\n"))
