"""The guards of a page as JUnit XML, which GitLab, Jenkins and most dashboards read: one test case per guard.

A regression is a failure. An inconclusive verdict is `skipped`: the question was asked and not answered, and a report
that fails for it would teach people to ignore failures; `inconclusive="failure"` is for those who gate on it. Waived and
advisory guards that are red are skipped as well, with the reason; a guard that a correction over the suite left
unconfirmed counts as inconclusive where theta is set, and passes where it is not, as the suite's own verdict does.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from steelyard_old.options.option import unknown_word
from steelyard_old.render.page import Page, PageCase
from steelyard_old.render.terminal import harmless
from steelyard_old.render.text import page_text

CHOICES = ("skipped", "failure")
WIDTH = 100
# Noncharacters, which XML 1.0 forbids (the last two of the first plane) or parsers dislike (of the others).
_FORBIDDEN = re.compile("[\ufdd0-\ufdef]|" + "|".join(chr(plane << 16 | last) for plane in range(17) for last in (0xFFFE, 0xFFFF)))


def page_junit(page: Page, *, inconclusive: str = "skipped") -> str:
    """One <testsuite> with a <testcase> per guard: classname is the task, name the model and its spec."""
    if inconclusive not in CHOICES:
        raise unknown_word("inconclusive", inconclusive, CHOICES)
    suite = ET.Element("testsuite", {"name": xml_word(f"steelyard {page.suite}" if page.suite else "steelyard")})
    cases = [_case(each, inconclusive) for each in page.cases]
    suite.attrib |= {"tests": str(len(cases)), "failures": _count(cases, "failure"), "errors": "0", "skipped": _count(cases, "skipped")}
    suite.extend(cases)
    if page.suite is not None:
        ET.SubElement(suite, "system-out").text = xml_text(page_text(page, width=WIDTH))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _count(cases: list[ET.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def _case(each: PageCase, inconclusive: str) -> ET.Element:
    case = ET.Element("testcase", {"classname": xml_word(each.group), "name": xml_word(each.name)})
    properties = ET.SubElement(case, "properties")
    for name, value in each.facts.items():
        if value is not None and value != "":
            ET.SubElement(properties, "property", {"name": name, "value": xml_word(str(value))})
    tag = inconclusive if each.outcome == "inconclusive" else each.outcome
    if tag == "failure":
        kind = "regression" if each.word == "regression" else "inconclusive"
        ET.SubElement(case, tag, {"message": xml_word(each.message), "type": kind}).text = "\n".join(map(xml_word, each.remedy))
    elif tag == "skipped":
        ET.SubElement(case, tag, {"message": xml_word(each.message)})
    ET.SubElement(case, "system-out").text = xml_text(page_text(each.page(), width=WIDTH))
    return case


def xml_word(text: str) -> str:
    """A user's word in XML 1.0: control characters, lone surrogates and noncharacters stay visible as escapes."""
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", harmless(text))


def xml_text(text: str) -> str:
    """Lines of ours, whose words are harmless already."""
    return "\n".join(xml_word(line) for line in text.split("\n"))
