"""JUnit XML: valid whatever the names hold, read back by a parser, with the outcome that the verdict has."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from render.verdict_samples import BARE, HOSTILE, LEGACY, LEGACY_PASS, NIGHTLY, PAIRED, UNSURE, hostile, hostile_suite
from steelyard.errors import UsageError
from steelyard.render.junit import page_junit
from steelyard.render.page import page_of
from steelyard.results.verdict import Suite, Verdict


def suite_of(result: Verdict | Suite, **options: str) -> ET.Element:
    root = ET.fromstring(page_junit(page_of(result), **options))
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.tag == "testsuite"
    return suite


def properties(case: ET.Element) -> dict[str, str]:
    return {p.attrib["name"]: p.attrib["value"] for p in case.iterfind("properties/property")}


def test_a_regression_is_a_failure_with_the_numbers() -> None:
    suite = suite_of(PAIRED)
    assert {k: suite.attrib[k] for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "1",
        "failures": "1",
        "errors": "0",
        "skipped": "0",
    }
    (case,) = suite.iterfind("testcase")
    assert case.attrib == {"classname": "gsm8k", "name": "llama-3.1-8b [quant_algo=FP8]"}
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib == {"message": PAIRED.conclusion, "type": "regression"}
    assert "steelyard record RUN --task gsm8k" in str(failure.text)
    found = properties(case)
    assert float(found["value"]) == PAIRED.candidate["value"]
    assert float(found["reference"]) == PAIRED.reference["value"]
    assert float(found["p_value"]) == PAIRED.p_value
    assert float(found["difference"]) == PAIRED.difference["estimate"]
    assert (found["n"], found["design"], found["verdict"]) == ("1319", "paired", "regression")
    assert str(case.findtext("system-out")).startswith("REGRESSION  gsm8k")


def test_a_pass_has_its_numbers_and_nothing_else() -> None:
    (case,) = suite_of(LEGACY_PASS).iterfind("testcase")
    assert [child.tag for child in case] == ["properties", "system-out"]
    assert properties(case)["verdict"] == "pass"
    assert properties(next(suite_of(BARE).iterfind("testcase"))).keys() == {"verdict", "metric", "scale", "design"}


def test_inconclusive_is_skipped_or_a_failure_as_asked() -> None:
    suite = suite_of(UNSURE)
    assert suite.attrib["skipped"] == "1"
    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert skipped.attrib["message"].startswith("inconclusive: 0.88 is 0.005 below")
    suite = suite_of(UNSURE, inconclusive="failure")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["type"] == "inconclusive"
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("1", "0")
    with pytest.raises(UsageError, match="inconclusive must be skipped or failure, not 'pass'"):
        page_junit(page_of(UNSURE), inconclusive="pass")


def test_a_suite_has_a_case_per_guard_with_what_it_counted_as() -> None:
    suite = suite_of(NIGHTLY)
    cases = {(case.attrib["classname"], case.attrib["name"]): [child.tag for child in case] for case in suite.iterfind("testcase")}
    assert len(cases) == len(NIGHTLY.verdicts)
    outcome = {name[0]: next((tag for tag in tags if tag in ("failure", "skipped")), None) for name, tags in cases.items()}
    assert outcome == {
        "gsm8k": "failure",
        "triage": "skipped",
        "mmlu": None,  # passed, and unconfirmed without a theta: the suite passes it with a warning
        "voxpopuli": "skipped",
        "acceptance_length": "skipped",
        "triage-large": None,
    }
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("7", "1", "3")
    waived = next(case for case in suite.iterfind("testcase") if case.attrib["classname"] == "voxpopuli")
    skipped = waived.find("skipped")
    assert skipped is not None
    assert "waived (until 2026-12-01 by bo: new tokenizer" in skipped.attrib["message"]
    assert properties(waived)["counts_as"] == "waived"
    assert float(properties(waived)["p_adjusted"]) == 0.0005
    assert str(suite.findtext("system-out")).startswith("REGRESSION  suite nightly")


def test_unconfirmed_with_theta_counts_as_inconclusive() -> None:
    row = {"counts_as": "unconfirmed", "p_adjusted": 0.2}
    s = replace(NIGHTLY, verdict="inconclusive", verdicts=(replace(LEGACY, theta=3.0),), rows=(row,))
    assert suite_of(s).attrib["skipped"] == "1"
    assert suite_of(s, inconclusive="failure").attrib["failures"] == "1"


@every("word", HOSTILE)
def test_hostile_words_stay_words(word: str) -> None:
    suite = suite_of(hostile(word))
    assert [child.tag for child in suite] == ["testcase"]
    assert [child.tag for child in suite[0]] == ["properties", "failure", "system-out"]
    assert [child.tag for child in suite_of(hostile_suite(word))] == ["testcase", "testcase", "system-out"]


@given(st.text(st.characters(codec=None), max_size=20))
def test_any_name_gives_valid_xml_and_plain_names_come_back(name: str) -> None:
    text = page_junit(page_of(replace(LEGACY, task=name, model=name)))
    case = next(ET.fromstring(text).iter("testcase"))
    if name.isprintable():
        assert case.attrib["classname"] == name
    text.encode("utf-8")
