"""The fifty digits themselves are held against other formulas, and an error that is put in is found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from steelyard.infer import normal, unpaired
from steelyard.infer.paired import mcnemar as flips

pytest.importorskip("mpmath")

from steelyard.proof import many_digits as exact
from steelyard.proof.accuracy import FORMS, Case, Form, accuracy, worst_error, z_exact

mp = exact.mpmath()
FAST = ("normal", "critical", "wald", "wilson", "agresti", "mean", "tango", "bonett", "newcombe", "pooled", "chance")


@pytest.mark.parametrize("form", [form for form in FORMS if any(word in form.name for word in FAST)], ids=lambda form: form.name)
def test_within_the_documented_limit(form: Form) -> None:
    found = worst_error(form)
    assert found.cases >= 5
    assert found.holds, found


@pytest.mark.long
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_all_within_the_documented_limit(form: Form) -> None:
    assert worst_error(form).holds


@pytest.mark.parametrize(("a", "b", "x"), [(31.5, 8.0, 0.8), (0.5, 60.5, 0.01), (0.5, 0.5, 0.3), (985.5, 334.5, 0.7), (3, 1, 0.999)])
def test_beta_tail_against_mpmath(a: float, b: float, x: float) -> None:
    low, high = exact.beta_tail(a, b, x)
    assert abs(low - mp.betainc(a, b, 0, x, regularized=True)) < mp.mpf(10) ** -40
    assert abs(low + high - 1) < mp.mpf(10) ** -40


def test_quantiles_against_mpmath() -> None:
    assert abs(exact.normal_quantile(mp.mpf("0.025"), -1.959963985) + mp.sqrt(2) * mp.erfinv(mp.mpf("0.95"))) < mp.mpf(10) ** -40
    assert abs(exact.student_quantile(mp.mpf("0.975"), 1, 12.706204736) - mp.tan(mp.pi * mp.mpf("0.475"))) < mp.mpf(10) ** -40
    assert abs(exact.beta_quantile(1, 3, mp.mpf("0.5"), 0.20629947) - (1 - mp.mpf("0.5") ** (mp.mpf(1) / 3))) < mp.mpf(10) ** -40


def test_f1_moments_against_an_integral() -> None:
    mean, sd = exact.f1_moments(3.5, 2.0)
    weight = lambda j: exact.beta_density(3.5, 2, j)  # noqa: E731
    first = mp.quad(lambda j: 2 * j / (1 + j) * weight(j), [0, 0.5, 1])
    second = mp.quad(lambda j: (2 * j / (1 + j)) ** 2 * weight(j), [0, 0.5, 1])
    assert abs(mean - first) < 1e-12
    assert abs(sd - mp.sqrt(second - first**2)) < 1e-12


def test_roots_satisfy_their_tests() -> None:
    """A root in fifty digits, put into our statistics, gives the critical value."""
    z = z_exact(0.95, "two")
    low = exact.tango(12, 2, 50, z, flips.tango(12, 2, 50)[0])
    assert flips.tango_z(12, 2, 50, float(low)) == pytest.approx(float(z), rel=1e-12)
    end = exact.miettinen_nurminen(56, 70, 48, 80, z, unpaired.miettinen_nurminen(56, 70, 48, 80)[0])
    p1, p2 = unpaired.constrained_shares(56, 70, 48, 80, float(end))
    score = (56 / 70 - 48 / 80 - float(end)) / ((p1 * (1 - p1) / 70 + p2 * (1 - p2) / 80) * 150 / 149) ** 0.5
    assert score == pytest.approx(float(z), rel=1e-10)


def test_wilson_solves_its_equation() -> None:
    z = z_exact(0.95, "two")
    for p in exact.wilson(12, 40, z):
        assert abs(40 * (mp.mpf(12) / 40 - p) ** 2 - z * z * p * (1 - p)) < mp.mpf(10) ** -40


def test_coins_in_whole_numbers() -> None:
    below, at = exact.coin_tails(6, 16)
    assert below == mp.mpf(sum([1, 22, 231, 1540, 7315, 26334])) / 2**22
    assert at == mp.mpf(74613) / 2**22


def test_an_error_is_found_and_told_where() -> None:
    def cases() -> Iterator[Case]:
        for z in (-3.0, -1.0, 2.0):
            true = exact.normal_tail(mp.mpf(z))
            yield f"z={z:g}", normal.lower_tail(z) * (1 + 1e-9 * (z == -1.0)), true, true

    found = worst_error(Form(name="accuracy: spoiled", cases=cases))
    assert not found.holds
    assert found.worst_at == "z=-1"
    assert found.worst == pytest.approx(1e-9, rel=1e-6)
    assert found.cases == 3


def test_zero_must_be_zero() -> None:
    nothing = mp.mpf(0)
    assert worst_error(Form(name="x", cases=lambda: iter([("here", 0.0, nothing, nothing)]))).holds
    assert not worst_error(Form(name="x", cases=lambda: iter([("here", 1e-300, nothing, nothing)]))).holds


def test_only() -> None:
    assert [each.name for each in accuracy(["critical"])] == ["accuracy: critical z"]


def test_the_users_precision_is_left_alone() -> None:
    import mpmath

    assert mpmath.mp.dps == 15
