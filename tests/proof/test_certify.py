"""certify as a whole, on the family that needs no draws: what it finds, what it names when a method is broken, what it is picked by."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.errors import UsageError
from steelyard.infer.intervals import proportion
from steelyard.infer.normal import wilson
from steelyard.proof import accuracy, catalogue, preferences
from steelyard.proof.catalogue import every_claim, picked
from steelyard.proof.certify import certify
from steelyard.proof.coverage import proportions

ROOM = Path(catalogue.__file__).parent
TINY = "a proportion: coverage of*"


@pytest.fixture
def proportions_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """One family and two settings: what a test has time for."""
    monkeypatch.setattr(catalogue, "FAMILIES", ("coverage.proportions",))
    monkeypatch.setattr(proportions, "QUICK", ({"n": 5}, {"n": 20}))


@pytest.mark.usefixtures("proportions_only")
def test_what_holds() -> None:
    """The minimum of Wilson at n = 20 is the .84 that Brown, Cai and DasGupta (2001), figure 5, show."""
    found = certify(only=TINY)
    assert found.exit_code == 0
    assert found.faults == ()
    assert len(found.claims) == 9
    by_name = {claim.method: claim for claim in found.claims}
    assert by_name["wilson"].default
    assert round(next(t.least for t in by_name["wilson"].settings if t.setting == "n=20"), 2) == 0.84
    assert found.coverage is not None
    assert found.coverage["worst"] == min(claim.worst for claim in found.claims if "low" in claim.band)
    assert found.size is None
    assert found.conclusion == "All 9 claims hold. Worst coverage: 0.8325, claimed at least 0.81 (a proportion, wilson, n=5 p=0.036)."
    assert {each.alternative for each in found.preferences} == set(by_name) - {"wilson"}
    assert found is not sy.certify
    assert isinstance(found, sy.Certificate)


@pytest.mark.usefixtures("proportions_only")
def test_a_broken_method_is_named_with_its_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wilson with z = 1.5 in place of 1.96 covers too little, and the certificate says where."""

    def narrow(k: float, n: float, level: float = 0.95, side: str = "two") -> tuple[float, float]:
        return wilson(k, n, level, side, critical=1.5)

    monkeypatch.setitem(proportion.METHODS, "wilson", narrow)
    found = certify(only="a proportion: coverage of wilson")
    assert found.exit_code == 1
    assert any(
        fault.startswith("a proportion: coverage of wilson at n=5 p=") and "claimed at least 0.81" in fault for fault in found.faults
    )
    assert any("on average" in fault for fault in found.faults)
    assert " faults: a proportion: coverage of wilson" in found.conclusion


@pytest.mark.usefixtures("proportions_only")
def test_a_method_that_raises_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(proportion.METHODS, "wilson", lambda k, n, level, side: (1 / (n - 20), 1.0))
    found = certify(only=TINY)
    assert found.exit_code == 1
    assert found.faults == ("a proportion: coverage of wilson at n=20: could not be computed: ZeroDivisionError: division by zero",)


@pytest.mark.usefixtures("proportions_only")
def test_a_default_without_a_reason_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(preferences.REASONS, ("a proportion", "mid-p"))
    found = certify(only=TINY)
    assert found.exit_code == 1
    assert len(found.faults) == 1
    assert found.faults[0].startswith("a proportion: mid-p covers 0.929 at worst, not 0.833 and falls short by ")
    assert found.faults[0].endswith("; no reason is given why wilson is the default")


@pytest.mark.usefixtures("proportions_only")
def test_a_closed_form_beyond_its_limit_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mpmath")
    form = next(each for each in accuracy.FORMS if each.name == "accuracy: normal tail")
    monkeypatch.setattr(accuracy, "FORMS", (accuracy.Form(name=form.name, cases=form.cases, limit=1e-17),))
    found = certify(only="normal tail")
    assert found.exit_code == 1
    assert found.faults[0].startswith("accuracy: normal tail at z=")


@pytest.mark.usefixtures("proportions_only")
def test_without_mpmath_it_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accuracy, "there", lambda: False)
    found = certify(only="wilson")
    assert found.exit_code == 0
    assert found.accuracy == ()
    assert found.warnings == (accuracy.LEFT_OUT,)
    assert "pip install mpmath" in " ".join(str(found).split())
    assert certify(only=TINY).warnings == ()


@pytest.mark.usefixtures("proportions_only")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"grid": "huge"}, "grid must be quick or full, not 'huge'"),
        ({"jobs": 0}, "jobs must be a whole number"),
        ({"only": "wilsson"}, "only='wilsson'"),
        ({"only": ["wilson", "pizza"]}, "only='pizza'"),
    ],
)
def test_usage(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        certify(**options)  # type: ignore[arg-type]


def test_picked() -> None:
    name = "a proportion: coverage of mid-p"
    assert picked(name, [])
    assert picked(name, ["MID-P"])
    assert picked(name, ["no", "a prop*mid-?"])
    assert not picked(name, ["mid*"])


# ---- nothing is forgotten ---------------------------------------------------------------------------------------------


def test_every_file_with_claims_is_in_the_catalogue() -> None:
    names = {claim.name for claim in every_claim()}
    for path in ROOM.glob("*.py"):
        if "\ndef claims() -> Iterator[Claim]:" in path.read_text(encoding="utf-8"):
            assert {claim.name for claim in import_module(f"steelyard.proof.{path.stem}").claims()} <= names, path.name


def test_every_method_offered_has_a_claim() -> None:
    from steelyard.estimate.difference_tests import TESTS
    from steelyard.estimate.named_intervals import INTERVALS
    from steelyard.estimate.named_intervals import intervals as of_one_system
    from steelyard.infer.sequential.stopping import RULES
    from steelyard.questions.learners.design import METHODS

    claims = every_claim()
    intervals = {claim.method for claim in claims if claim.kind == "coverage"}
    tests = {claim.method for claim in claims if claim.kind in ("size", "power")}
    missing = {name for name in (*of_one_system(), *INTERVALS) if name not in intervals}
    missing |= {name for name in (*TESTS, *METHODS, *RULES) if name not in tests}
    assert missing == set(catalogue.ABSENT)
    assert all(catalogue.ABSENT.values())


def test_every_claim_is_documented_where_it_says() -> None:
    root = Path(__file__).parents[2]
    for claim in every_claim():
        assert (root / claim.documented).is_file(), claim.name
        assert claim.says, claim.name
