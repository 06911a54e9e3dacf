"""Working out: points to a summary, order and processes that change nothing, a state file that survives damage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import SourceError
from steelyard.proof import catalogue, running
from steelyard.proof.claims import Band, Claim, Point, Setting, generator, share_error, words
from steelyard.proof.running import key_of, read_state, summary, tried, work_out


def coin(sides: int, setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    runs = int(setting["runs"])
    for side in range(1, sides):
        share = float((rng.integers(0, sides, runs) < side).mean())
        yield Point(f"{words(setting)} side={side}", share, share_error(share, runs), width=float(side))


def broken(setting: Setting, rng: np.random.Generator) -> Iterator[Point]:
    yield Point("here", 0.9)
    raise ArithmeticError("no root")


SETTINGS = tuple({"runs": runs} for runs in (10, 40, 90, 160))


def claim(method: str = "coin", kind: str = "coverage", sides: int = 6) -> Claim:
    return Claim(
        family="dice",
        method=method,
        kind=kind,
        nominal=0.5,
        says="a die is fair",
        documented="docs/certificate.md",
        band=Band(),
        quick=SETTINGS[:2],
        full=SETTINGS,
        work=partial(coin, sides),
    )


def without_seconds(found: dict[str, list[running.CertifiedSetting]]) -> dict[str, list[running.CertifiedSetting]]:
    return {name: [replace(each, seconds=0.0) for each in settings] for name, settings in found.items()}


def test_summary_against_numpy() -> None:
    one = claim(sides=8)
    points = list(coin(8, SETTINGS[3], generator(0, one.name, SETTINGS[3])))
    found, errors = np.array([p.found for p in points]), np.array([p.error for p in points])
    made = summary(one, SETTINGS[3], points)
    assert made.points == 7
    assert (made.least, made.most) == (found.min(), found.max())
    assert made.least_at == points[int(found.argmin())].where
    assert made.most_error == points[int(found.argmax())].error
    assert made.mean == pytest.approx(found.mean(), abs=1e-15)
    assert made.mean_error == pytest.approx(np.sqrt((errors**2).sum()) / 7)
    assert made.off == pytest.approx(np.maximum(0.5 - found, 0).mean())
    assert made.width == pytest.approx(4.0)
    as_size = summary(claim(kind="size"), SETTINGS[3], points)
    assert as_size.off == pytest.approx(np.maximum(found - 0.5, 0).mean())
    assert as_size.worst("size") == (made.most, made.most_at, made.most_error)
    assert made.worst("coverage") == made.worst("power") == (made.least, made.least_at, made.least_error)


def test_no_width_unless_every_point_has_one() -> None:
    assert summary(claim(), SETTINGS[0], [Point("a", 0.5, width=1.0), Point("b", 0.5)]).width is None


def test_the_worst_of_equal_points_is_the_first_of_them() -> None:
    """Coverage at p and at 1 - p is one number: where it is worst must not depend on its last bits, which differ by processor."""
    made = summary(claim(), SETTINGS[0], [Point("a", 0.95), Point("b", 0.8 + 1e-16), Point("c", 0.8 - 1e-16), Point("d", 0.95 + 1e-16)])
    assert (made.least_at, made.most_at) == ("b", "a")


def test_a_method_that_raises_is_an_answer() -> None:
    found = tried(replace(claim(), work=broken), SETTINGS[0], 0)
    assert found.broken == "ArithmeticError: no root"
    assert found.least == 0.0
    assert tried(replace(claim(kind="size"), work=broken), SETTINGS[0], 0).most == 1.0
    nothing = tried(replace(claim(), work=lambda setting, rng: [Point("x", float("nan"))]), SETTINGS[0], 0)
    assert nothing.broken is not None


def test_data_of_a_setting_follow_from_seed_family_and_setting_alone() -> None:
    one, other = claim("one"), claim("other")
    together = without_seconds(work_out([one, other], "full"))
    alone = without_seconds(work_out([other], "full"))
    assert together[other.name] == alone[other.name]
    assert together[one.name] == together[other.name]  # methods of a family see the same data
    assert tried(replace(one, family="cards"), SETTINGS[3], 0).mean != tried(one, SETTINGS[3], 0).mean
    assert without_seconds(work_out([other], "full", seed=1)) != alone
    assert [each.setting for each in alone[other.name]] == [words(s) for s in SETTINGS]


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    work_out([claim()], "full", done=lambda done, total, seconds: told.append((done, total)))
    assert told == [(i, 4) for i in range(5)]


def test_resumed_is_uninterrupted(tmp_path: Path) -> None:
    """A run that ends in the middle, a torn line, a foreign line: the rest is worked out, and nothing differs."""
    state, claims = tmp_path / "state", [claim("one"), claim("other")]
    whole = without_seconds(work_out(claims, "full"))

    def stop(done: int, total: int, seconds: float) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_out(claims, "full", state=state, done=stop)
    assert len(read_state(state)) == 3
    lines = state.read_text(encoding="utf-8").splitlines()
    state.write_text("\n".join([lines[0], "pizza", '{"key": 3}', lines[1], lines[2][: len(lines[2]) // 2]]), encoding="utf-8")
    assert len(read_state(state)) == 2
    told: list[int] = []
    assert without_seconds(work_out(claims, "full", state=state, done=lambda done, *_: told.append(done))) == whole
    assert told[0] == 2
    assert len(read_state(state)) == 8
    told.clear()
    assert without_seconds(work_out(claims, "full", state=state, done=lambda done, *_: told.append(done))) == whole
    assert told == [8]


def test_a_broken_setting_is_not_kept(tmp_path: Path) -> None:
    state = tmp_path / "state"
    work_out([replace(claim(), work=broken)], "quick", state=state)
    assert not state.exists()


def test_key_changes_with_what_matters_and_with_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    one = claim()
    base = key_of(one, SETTINGS[0], 0)
    assert key_of(replace(one, band=Band(low=0.1), says="other words", default=True), SETTINGS[0], 0) == base
    changed = [
        key_of(claim("other"), SETTINGS[0], 0),
        key_of(replace(one, nominal=0.6), SETTINGS[0], 0),
        key_of(one, SETTINGS[1], 0),
        key_of(one, SETTINGS[0], 1),
        key_of(one, {"runs": 10.0}, 0),
    ]
    monkeypatch.setattr(running, "__version__", "9.9.9")
    changed.append(key_of(one, SETTINGS[0], 0))
    monkeypatch.undo()
    monkeypatch.setattr(running, "code_digest", lambda module: "other code")
    changed.append(key_of(one, SETTINGS[0], 0))
    assert len({base, *changed}) == len(changed) + 1


def test_digest_knows_code_from_comments_and_from_what_is_said(tmp_path: Path) -> None:
    texts = {
        "a": '"""Doc."""\nx = {"wald": ("fails", Band(low=0.1)), "n": 1}\n',
        "b": '"""Other."""\n\nx = {"wald": ("covers", Band(low=0.9)), "n": 1}  # why\n',
        "c": '"""Doc."""\nx = {"wald": ("fails", Band(low=0.1)), "n": 2}\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    a, b, c = (running._digest_of(tmp_path / name) for name in texts)
    assert a == b
    assert a != c


@pytest.fixture
def small_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of two families: the first imports a module of another room, which imports another late, and types only from a third."""
    texts = {
        "proof/first.py": "from steelyard.infer.one import x\n",
        "proof/second.py": "import steelyard.infer.three\nfrom steelyard.render import page\n",
        "infer/one.py": "if TYPE_CHECKING:\n    from steelyard.infer.three import T\n\ndef x():\n    from steelyard.infer import two\n",
        "infer/two.py": "y = 1\n",
        "infer/three.py": "T = 1\n",
        "render/page.py": "z = 1\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(running, "TREE", tmp_path)
    running.code_digest.cache_clear()
    return tmp_path


def test_a_family_rests_on_what_it_imports_early_or_late(small_tree: Path) -> None:
    assert running.modules_of("steelyard.proof.first") == {"steelyard.proof.first", "steelyard.infer.one", "steelyard.infer.two"}
    assert running.modules_of("steelyard.proof.second") == {"steelyard.proof.second", "steelyard.infer.three"}


def test_an_edit_costs_the_families_that_import_it_and_no_others(small_tree: Path) -> None:
    def keys() -> tuple[str, str]:
        for cached in (running.code_digest, running._imports, running._digest_of):
            cached.cache_clear()
        first, second = (key_of(replace(claim(), module=f"steelyard.proof.{name}"), SETTINGS[0], 0) for name in ("first", "second"))
        return first, second

    before = keys()
    (small_tree / "infer/two.py").write_text("y = 2\n", encoding="utf-8")
    after = keys()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_every_claim_names_the_module_that_declares_it() -> None:
    places = {claim.module for claim in catalogue.every_claim()}
    assert places == {f"steelyard.proof.{family}" for family in catalogue.FAMILIES}
    assert all(running._file(place).exists() for place in places)


def test_state_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"Cannot write '.*state'"):
        work_out([claim()], "quick", state=tmp_path / "no" / "such" / "state")
    with pytest.raises(SourceError, match=r"Cannot read '.*': Is a directory"):
        work_out([claim()], "quick", state=tmp_path)


def test_state_is_plain_json_lines(tmp_path: Path) -> None:
    work_out([claim()], "quick", state=tmp_path / "state")
    for line in (tmp_path / "state").read_text(encoding="utf-8").splitlines():
        assert set(json.loads(line)) == {"key", "claim", "tried"}


@pytest.mark.long
def test_processes_change_nothing() -> None:
    claims = [each for each in catalogue.every_claim() if "jeffreys" in each.name]
    assert without_seconds(work_out(claims, "quick", jobs=2)) == without_seconds(work_out(claims, "quick", jobs=1))
