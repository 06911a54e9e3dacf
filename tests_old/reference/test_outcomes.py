"""Item outcomes: saved and loaded without loss, small, the same bytes in any order; damage is told, never guessed around."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard_old.errors import DataError, SourceError, UsageError
from steelyard_old.items import Items, Labels
from steelyard_old.reference.outcomes import Outcomes, discard, hash_id, hash_ids, load, outcomes_of, save, sweep_items, to_items
from steelyard_old.tally.design import take
from steelyard_old.tally.pairs import match


def labels(values: list[str | None]) -> Labels:
    names = tuple(dict.fromkeys(value for value in values if value is not None))
    return Labels(np.array([-1 if value is None else names.index(value) for value in values], np.int64), names)


def texts(column: Labels | None) -> list[str | None] | None:
    return None if column is None else [None if code < 0 else column.names[code] for code in column.codes]


def rows_of(items: Items) -> list[tuple[Any, ...]]:
    """Every row with all it says, floats by their bits, so that -0.0 is not 0.0."""
    named = [texts(getattr(items, name)) for name in ("id", "group", "truth", "prediction")]
    numbers = [getattr(items, name) for name in ("score", "probability", "truth_value", "prediction_value", "weight")]
    numbers += items.ratio or (None, None)
    columns = [*named, *(None if column is None else [value.hex() for value in column.tolist()] for column in numbers)]
    return list(zip(*([None] * items.n if column is None else column for column in columns), strict=True))


def same(a: Outcomes, b: Outcomes) -> None:
    for name in ("keys", "content", "group", "hashed", "labels", "items_hash"):
        assert getattr(a, name) == getattr(b, name)
    pairs = [(a, b, ("truth", "truth_value", "weight"))]
    columns = ("score", "probability", "above", "below", "prediction", "prediction_value", "present")
    pairs += [(one, other, columns) for one, other in zip(a.runs, b.runs, strict=True)]  # type: ignore[misc, list-item]
    for one, other, names in pairs:
        for name in names:
            left, right = getattr(one, name), getattr(other, name)
            assert (left is None) == (right is None), name
            if left is not None:
                assert left.dtype == right.dtype
                np.testing.assert_array_equal(left, right)
                if left.dtype == np.float64:
                    np.testing.assert_array_equal(np.signbit(left[left == left]), np.signbit(right[right == right]))


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBER = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([-0.0, 1e308, -1e308, 5e-324, 0.1, 1.0])
BIT = st.sampled_from([0.0, 1.0])
COLUMNS = ["bit", "score", "probability", "ratio", "label", "value", "weight"]


@st.composite
def some_runs(draw: st.DrawFn) -> tuple[list[Items], set[str]]:
    """One to three runs over parts of the same items, each in its own order, with any columns."""
    ids = draw(st.lists(TEXT, min_size=1, max_size=12, unique=True))
    kinds = draw(st.sets(st.sampled_from(COLUMNS), min_size=1))
    kinds -= {"bit"} if "score" in kinds else set()
    kinds -= {"label"} if "value" in kinds else set()
    kinds |= {"bit"} if not kinds - {"weight"} else set()

    def column(of: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(of, min_size=len(ids), max_size=len(ids)))

    group = column(TEXT | st.none()) if draw(st.booleans()) else None
    truth, value, weight = column(TEXT), column(NUMBER), column(st.floats(0, 10))
    runs = []
    for _ in range(draw(st.integers(1, 3))):
        order = draw(st.permutations(range(len(ids))))
        order = order[: draw(st.integers(1, len(ids)))]
        whole = Items(
            n=len(ids),
            id=labels(ids),
            group=None if group is None else labels(group),
            truth=labels(truth) if "label" in kinds else None,
            prediction=labels(column(TEXT)) if "label" in kinds else None,
            truth_value=np.array(value) if "value" in kinds else None,
            prediction_value=np.array(column(NUMBER)) if "value" in kinds else None,
            score=np.array(column(BIT if "bit" in kinds else NUMBER)) if kinds & {"bit", "score"} else None,
            probability=np.array(column(st.floats(0, 1))) if "probability" in kinds else None,
            ratio=(np.array(column(NUMBER)), np.array(column(NUMBER))) if "ratio" in kinds else None,
            weight=np.array(weight) if "weight" in kinds else None,
        )
        runs.append(take(whole, np.array(order)))
    role = {"bit": {"score"}, "label": {"truth", "prediction"}, "value": {"truth", "prediction"}}
    return runs, set().union(*(role.get(kind, {kind}) for kind in kinds))


@given(some_runs(), st.booleans())
def test_save_then_load_is_identity(
    tmp_path_factory: pytest.TempPathFactory, given_runs: tuple[list[Items], set[str]], hashed: bool
) -> None:
    runs, roles = given_runs
    outcomes = outcomes_of(runs, roles=roles, hashed=hashed)
    home = tmp_path_factory.mktemp("references")
    file = save(home, "t", "m", outcomes)
    loaded = load(home, "t", file)
    same(outcomes, loaded)
    # And the rows are those that came, whatever is inside.
    back = to_items(loaded)
    came = [hash_ids(run) for run in runs] if hashed else runs
    for number, run in enumerate(came, 1):
        mine = back if back.repeat is None else take(back, np.array([name == str(number) for name in texts(back.repeat) or []]))
        assert sorted(rows_of(mine), key=repr) == sorted(rows_of(run), key=repr)
    assert (back.repeat is None) == (len(runs) == 1)


@given(some_runs(), st.randoms(use_true_random=False))
def test_the_bytes_do_not_depend_on_the_order_of_rows(
    tmp_path_factory: pytest.TempPathFactory, given_runs: tuple[list[Items], set[str]], random: Any
) -> None:
    runs, roles = given_runs
    home = tmp_path_factory.mktemp("references")
    contents = []
    for shuffled in (False, True):
        if shuffled:
            runs = [take(run, np.array(random.sample(range(run.n), run.n))) for run in runs]
        save(home, "t", "m", outcomes_of(runs, roles=roles))
        contents.append({path.name: path.read_bytes() for path in (home / "t.items").iterdir()})
    assert contents[0] == contents[1]


def bits(n: int, seed: int = 0) -> Items:
    rng = np.random.default_rng(seed)
    return Items(n=n, id=Labels(np.arange(n), tuple(f"q{i:06}" for i in range(n))), score=(rng.random(n) < 0.7).astype(float))


def test_gsm8k_takes_less_than_a_kilobyte(tmp_path: Path) -> None:
    file = save(tmp_path, "gsm8k", "m", outcomes_of([bits(1319)], roles={"score"}))
    assert file == "gsm8k.items/m.outcomes"
    assert (tmp_path / file).stat().st_size < 1000
    assert max(map(len, (tmp_path / file).read_text().split("\n"))) < 400


def changed_lines(a: str, b: str) -> int:
    return sum(line.startswith("+") for line in list(difflib.unified_diff(a.split("\n"), b.split("\n"), n=0))[2:])


@pytest.mark.parametrize("kind", ["bit", "float", "label"])
def test_one_item_that_changes_is_one_line_and_the_checksum(tmp_path: Path, kind: str) -> None:
    items = bits(1319)
    assert items.score is not None
    if kind == "float":
        items = replace(items, score=items.score + 0.25)
    roles = {"score"}
    if kind == "label":
        roles, items = {"prediction", "truth"}, replace(items, truth=labels(["a", "b", "c"] * 439 + ["a", "b"]))
        items = replace(items, prediction=items.truth)
    seen = []
    for at in (None, 700):
        if at is not None and kind == "label":
            assert items.truth is not None
            codes = items.truth.codes.copy()
            codes[at] = (codes[at] + 1) % 3
            items = replace(items, prediction=Labels(codes, items.truth.names))
        elif at is not None and items.score is not None:
            score = items.score.copy()
            score[at] = 1 - score[at]
            items = replace(items, score=score)
        seen.append((tmp_path / save(tmp_path, "t", "m", outcomes_of([items], roles=roles))).read_text())
    assert changed_lines(*seen) == 2
    assert len(list((tmp_path / "t.items").glob("*.items"))) == 1


def test_models_share_the_file_of_items(tmp_path: Path) -> None:
    for seed in range(3):
        save(tmp_path, "t", f"m{seed}", outcomes_of([bits(50, seed)], roles={"score"}))
    names = sorted(path.suffix for path in (tmp_path / "t.items").iterdir())
    assert names == [".items", *[".outcomes"] * 3]
    shared = next((tmp_path / "t.items").glob("*.items"))
    assert shared.stem == hashlib.sha256(shared.read_bytes()).hexdigest()[:12]


def test_the_files_as_people_see_them(tmp_path: Path) -> None:
    """The format, spelled out: what is written today must be readable for ever."""
    ids: list[str | None] = ["b", "a\tx", "ü", "-"]
    items = Items(
        n=4, id=labels(ids), group=labels(["g", None, "-", "g"]), truth=labels(["x", "y", "x", "x"]), score=np.array([1.0, 0, 1, 0])
    )
    items = replace(items, prediction=labels(["x", "z", "y", "x"]))
    twice = [items, take(items, np.array([1, 2, 3]))]
    file = save(tmp_path, "t", "m", outcomes_of(twice, roles={"score", "truth", "prediction"}))
    shared = next((tmp_path / "t.items").glob("*.items"))
    x, y = (hash_id(f'["{name}"]') for name in "xy")
    assert shared.read_text(encoding="utf-8") == f'steelyard-items 1 text 4\n"-"\t{x}\tg\n"a\\tx"\t{y}\t-\nb\t{x}\tg\nü\t{x}\t"-"\n'
    first, header, *rest = (tmp_path / file).read_text().split("\n")
    assert first == "steelyard-outcomes 1"
    digest = hashlib.sha256(shared.read_bytes()).hexdigest()
    plain = f'"columns":{{"prediction":"code","score":"bit"}},"items":"{digest}","labels":3,"n":4,"partial":[2],"runs":2'
    shape = f'{{{plain},"shared":{{"truth":"code"}}}}'
    payload = "# labels\nx\ny\nz\n# truth\n0 1 0 0\n# run 1 prediction\n0 2 0 1\n# run 1 score\n30\n"
    payload += "# run 2 present\nd0\n# run 2 prediction\n0 2 - 1\n# run 2 score\n10\n"
    assert "\n".join(rest) == payload
    seal = hashlib.sha256(f"{shape}\n{payload}".encode()).hexdigest()
    assert header == f'{{{plain},"sha256":"{seal}","shared":{{"truth":"code"}}}}'


# ---- from items ----------------------------------------------------------------------------------------------------


def test_every_repeat_is_a_run_in_the_order_of_its_name() -> None:
    repeated = Items(n=4, id=labels(["a", "a", "b", "a"]), repeat=labels(["10", "9", "9", "1"]), score=np.array([0.1, 0.9, 0.5, 0.3]))
    outcomes = outcomes_of([repeated, Items(n=1, id=labels(["b"]), score=np.array([0.7]))], roles={"score"})
    assert [run.score.tolist() for run in outcomes.runs if run.score is not None][1] == [0.9, 0.5]
    assert [None if run.present is None else run.present.tolist() for run in outcomes.runs] == [[1, 0], None, [1, 0], [0, 1]]
    back = to_items(outcomes)
    assert texts(back.id) == ["a", "a", "b", "a", "b"]
    assert texts(back.repeat) == ["1", "2", "2", "3", "4"]
    assert back.score is not None
    assert back.score.tolist() == [0.3, 0.9, 0.5, 0.1, 0.7]


def test_ids_of_integers_with_a_base_are_their_texts() -> None:
    items = Items(n=3, id=Labels(np.array([12, 7, 10]), tuple(map(str, range(7, 13))), base=7), score=np.array([1.0, 0, 0.5]))
    outcomes = outcomes_of([items], roles={"score"})
    assert outcomes.keys == ("10", "12", "7")
    assert outcomes.runs[0].score is not None
    assert outcomes.runs[0].score.tolist() == [0.5, 1, 0]


def test_labels_only_of_predictions_come_after_those_of_the_truth() -> None:
    items = Items(n=3, id=labels(["a", "b", "c"]), truth=labels(["10", "9", "9"]), prediction=labels(["10", "(missing)", "1"]))
    assert outcomes_of([items], roles={"truth", "prediction"}).labels == ("9", "10", "(missing)", "1")


def test_the_content_is_the_truth_and_what_is_named() -> None:
    items = Items(n=3, id=labels(["a", "b", "c"]), truth=labels(["x", "x", None]), score=np.ones(3), slices={"q": labels(["1", "2", None])})
    plain = outcomes_of([items], roles={"score"})
    assert plain.content[0] == plain.content[1] == hashlib.sha256(b'["x"]').hexdigest()[:16]
    assert plain.content[2] is None
    asked = outcomes_of([items], roles={"score"}, content=["q"])
    assert len(set(asked.content)) == 3
    assert asked.items_hash != plain.items_hash
    assert outcomes_of([replace(items, truth=None)], roles={"score"}).content == (None, None, None)
    with pytest.raises(UsageError, match=r"No column 'question' to hash in every run\."):
        outcomes_of([items], roles={"score"}, content=["question"])


def test_the_hash_of_the_items_is_the_same_with_hashed_ids() -> None:
    items = bits(30)
    kept, hashed = (outcomes_of([items], roles={"score"}, hashed=hashed) for hashed in (False, True))
    assert kept.items_hash == hashed.items_hash
    assert hashed.hashed
    assert all(re.fullmatch("[0-9a-f]{16}", key) for key in hashed.keys)
    assert outcomes_of([bits(31)], roles={"score"}).items_hash != kept.items_hash
    assert outcomes_of([bits(30, seed=5)], roles={"score"}).items_hash == kept.items_hash


def test_hashed_ids_and_groups_do_not_show_what_they_name_and_still_meet(tmp_path: Path) -> None:
    items = replace(bits(8), group=labels(["patient 7", "patient 8"] * 4))
    file = save(tmp_path, "t", "m", outcomes_of([items], roles={"score"}, hashed=True))
    for path in (tmp_path / "t.items").iterdir():
        assert b"patient" not in path.read_bytes()
        assert b"q00" not in path.read_bytes()
    pairs, report = match(to_items(load(tmp_path, "t", file)), hash_ids(items))
    assert report.matched == 8
    assert pairs.baseline.score is not None
    assert pairs.candidate.score is not None
    assert pairs.baseline.score.tolist() == pairs.candidate.score.tolist()


ONE = Items(n=2, id=labels(["a", "b"]), score=np.array([0.0, 1.0]), truth=labels(["x", "y"]), prediction=labels(["x", "x"]))
REFUSED: dict[str, tuple[list[Items], set[str], str]] = {
    "no ids": ([replace(ONE, id=None)], {"score"}, r"Run 1 has no ids\."),
    "a missing id": ([replace(ONE, id=labels(["a", None]))], {"score"}, r"A row of run 1 has no id\."),
    "a missing repeat": ([replace(ONE, repeat=labels(["a", None]))], {"score"}, r"A row of run 1 has no repeat\."),
    "an id twice": ([ONE, replace(ONE, id=labels(["a", "a"]))], {"score"}, "several rows of run 2, such as 'a'"),
    "NaN": ([replace(ONE, score=np.array([0.0, np.nan]))], {"score"}, "1 of 2 items"),
    "infinity": ([replace(ONE, score=np.array([0.0, np.inf]))], {"score"}, "not finite"),
    "a missing prediction": (
        [replace(ONE, prediction=labels(["x", None]))],
        {"truth", "prediction"},
        r"1 of 2 items have no prediction, or one that is not finite\.",
    ),
    "a missing truth": (
        [replace(ONE, truth=labels(["x", None]))],
        {"truth", "prediction"},
        r"1 of 2 items have no truth, or one that is not finite\.",
    ),
    "a missing column": ([ONE, replace(ONE, score=None)], {"score"}, r"Run 2 has no score column, which every run needs\."),
    "truths that differ": (
        [ONE, replace(ONE, truth=labels(["x", "x"]))],
        {"score"},
        r"1 items have another content in another run, such as 'b'\.",
    ),
    "groups that differ": (
        [replace(ONE, group=labels(["g", "g"])), ONE],
        {"score"},
        r"2 items have another group in another run, such as 'a'\.",
    ),
    "weights that differ": (
        [replace(ONE, weight=np.array([1.0, 2.0])), replace(ONE, weight=np.array([1.0, 3.0]))],
        {"score", "weight"},
        r"1 items have another weight in another run, such as 'b'\.",
    ),
    "labels and numbers": (
        [ONE, replace(ONE, prediction=None, prediction_value=np.ones(2))],
        {"prediction"},
        r"The prediction is a label in one run and a number in another\.",
    ),
    "counts": ([replace(ONE, count=np.array([1, 2]))], {"score"}, "stand for several items"),
    "no rows": ([Items(n=0, id=labels([]), score=np.zeros(0))], {"score"}, r"Run 1 has no items\."),
    "no runs": ([], {"score"}, r"No run to keep\."),
    "half a character": ([replace(ONE, id=labels(["a", "\ud800"]))], {"score"}, "lone surrogate"),
}


@every("name", REFUSED)
def test_what_cannot_be_kept_is_refused(name: str) -> None:
    runs, roles, match_ = REFUSED[name]
    with pytest.raises(DataError, match=match_):
        outcomes_of(runs, roles=roles)


def test_roles_are_checked() -> None:
    with pytest.raises(UsageError, match="not 'scores'"):
        outcomes_of([ONE], roles={"scores"})
    with pytest.raises(UsageError, match="no column of answers"):
        outcomes_of([ONE], roles={"truth", "id"})


# ---- damage --------------------------------------------------------------------------------------------------------


def recorded(home: Path) -> tuple[str, Path, Path]:
    items = replace(bits(600), probability=np.linspace(0, 1, 600))
    items = replace(items, truth=labels(["x", "y"] * 300), prediction=labels(["x", "y", "y"] * 200))
    part = take(items, np.arange(590))
    file = save(home, "t", "m", outcomes_of([items, part], roles={"score", "probability", "truth", "prediction"}))
    return file, home / file, next((home / "t.items").glob("*.items"))


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def reseal(data: bytes, old: bytes, new: bytes) -> bytes:
    """A damage whose author took care of the checksum."""
    first, header, payload = data.replace(old, new, 1).split(b"\n", 2)
    plain = re.sub(rb'"sha256":"[0-9a-f]{64}",', b"", header)
    seal = hashlib.sha256(plain + b"\n" + payload).hexdigest().encode()
    return b"\n".join([first, re.sub(rb'"sha256":"[0-9a-f]{64}"', b'"sha256":"' + seal + b'"', header), payload])


DAMAGE: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "cut": ("outcomes", cut, "cut short"),
    "cut at a line": ("outcomes", lambda d: cut(d).rpartition(b"\n")[0] + b"\n", "checksum"),
    "empty": ("outcomes", lambda d: b"", "this version cannot read"),
    "an edited bit": ("outcomes", lambda d: d.replace(b"# run 1 score\n", b"# run 1 score\nff", 1), "checksum"),
    "another version": ("outcomes", lambda d: d.replace(b"outcomes 1", b"outcomes 2", 1), "steelyard-outcomes 2"),
    "an edited header": ("outcomes", lambda d: d.replace(b'"n":600', b'"n":601', 1), "checksum"),
    "line ends": ("outcomes", lambda d: d.replace(b"\n", b"\r\n"), "line ends|cannot read"),
    "no JSON": ("outcomes", lambda d: d.replace(b"{", b"[", 1), "no JSON"),
    "not UTF-8": ("outcomes", lambda d: d + b"\xff\n", "not UTF-8"),
    "another n": ("outcomes", lambda d: reseal(d, b'"n":600', b'"n":601'), "601 items, where .* has 600"),
    "no n": ("outcomes", lambda d: reseal(d, b'"n":600,', b""), "a header that this version"),
    "a column nobody knows": ("outcomes", lambda d: reseal(d, b'"score":"bit"', b'"speed":"bit"'), "a header that this version"),
    "another kind": ("outcomes", lambda d: reseal(d, b'"score":"bit"', b'"score":"float"'), "values of 600|not numbers"),
    "too few runs": ("outcomes", lambda d: reseal(d, b'"runs":2', b'"runs":1'), "more lines"),
    "too many runs": ("outcomes", lambda d: reseal(d, b'"runs":2', b'"runs":3'), "'nothing' where the block"),
    "a code without label": ("outcomes", lambda d: reseal(d, b"# truth\n0", b"# truth\n2"), "codes without a label"),
    "a hole": ("outcomes", lambda d: reseal(d, b"# truth\n0", b"# truth\n-"), "codes without a label"),
    "NaN in the file": ("outcomes", lambda d: reseal(d, b"probability\n0.0", b"probability\nnan"), "not finite"),
    "no number": ("outcomes", lambda d: reseal(d, b"probability\n0.0", b"probability\nx"), "not numbers"),
    "a label twice": ("outcomes", lambda d: reseal(d, b"# labels\nx\ny", b"# labels\nx\nx"), "labels that are missing or repeated"),
    "a line too many": ("outcomes", lambda d: reseal(d + b"x\n", b"", b""), "more lines"),
    "bits beyond the end": ("outcomes", lambda d: reseal(d, b"# run 2 present\nff", b"# run 2 present\nffff"), "another number of items"),
    "no bits": ("outcomes", lambda d: reseal(d, b"# run 2 present\nf", b"# run 2 present\ng"), "not hexadecimal"),
    "cut items": ("items", cut, "cut short|items where"),
    "an edited item": ("items", lambda d: d.replace(b"q000001", b"q000001a", 1), "other content"),
    "items of another version": ("items", lambda d: d.replace(b"items 1", b"items 9", 1), "steelyard-items 9"),
    "an item twice": ("items", lambda d: d.replace(b"q000001", b"q000000", 1), "repeated or out of order"),
    "an item of two fields": ("items", lambda d: d.replace(b"q000000\t", b"q000000", 1), "2 fields instead of 3 in line 2"),
    "an empty field": ("items", lambda d: d.replace(b"q000001\t", b"\t", 1), "a field with nothing in it"),
    "line ends of items": ("items", lambda d: d.replace(b"\n", b"\r\n"), "line ends"),
    "an open quote": ("items", lambda d: d.replace(b"q000001", b'"q000001', 1), "a field that cannot be read"),
    "no text": ("items", lambda d: d.replace(b"q000001", b'"', 1), "a field that cannot be read"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_with_the_file_and_what_to_do(tmp_path: Path, name: str) -> None:
    file, outcomes, items = recorded(tmp_path)
    where, damage, match_ = DAMAGE[name]
    path = {"outcomes": outcomes, "items": items}[where]
    before = path.read_bytes()
    path.write_bytes(damage(before))
    assert path.read_bytes() != before
    with pytest.raises(SourceError, match=match_) as told:
        load(tmp_path, "t", file)
    assert repr(str(path)) in str(told.value)
    assert "git checkout the file, or record the reference again" in str(told.value)


def test_any_byte_that_changes_is_found(tmp_path: Path) -> None:
    file, outcomes, items = recorded(tmp_path)
    rng = np.random.default_rng(0)
    for path in (outcomes, items):
        before = path.read_bytes()
        for _ in range(60):
            at, bit = int(rng.integers(len(before))), int(rng.integers(8))
            path.write_bytes(before[:at] + bytes([before[at] ^ (1 << bit)]) + before[at + 1 :])
            with pytest.raises(SourceError):
                load(tmp_path, "t", file)
        path.write_bytes(before)
    load(tmp_path, "t", file)


def test_missing_files(tmp_path: Path) -> None:
    file, outcomes, items = recorded(tmp_path)
    for path in (items, outcomes):
        path.unlink()
        with pytest.raises(SourceError, match=r"No such file: .*\..*git checkout") as told:
            load(tmp_path, "t", file)
        assert path.name in str(told.value)


def test_damaged_items_are_mended_by_the_next_record(tmp_path: Path) -> None:
    file, _, items = recorded(tmp_path)
    items.write_bytes(b"broken")
    recorded(tmp_path)
    load(tmp_path, "t", file)


@pytest.mark.parametrize(
    "file", ["../t.items/m.outcomes", "t.items/../../m.outcomes", "u.items/m.outcomes", "t.items/m.yaml", "m.outcomes", ""]
)
def test_a_reference_cannot_point_elsewhere(tmp_path: Path, file: str) -> None:
    recorded(tmp_path)
    with pytest.raises(UsageError):
        load(tmp_path, "t", file)


def test_a_directory_of_items_that_leads_out_is_refused(tmp_path: Path) -> None:
    home, outside = tmp_path / "references", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (home / "t.items").symlink_to(outside)
    with pytest.raises(UsageError, match=r"is a link out of the directory .*, to .*\."):
        recorded(home)
    assert not list(outside.iterdir())


def test_where_nothing_can_be_saved(tmp_path: Path) -> None:
    (tmp_path / "t.items").write_bytes(b"")
    with pytest.raises(UsageError, match="Cannot make the directory"):
        recorded(tmp_path)


def test_items_that_nobody_uses_are_swept(tmp_path: Path) -> None:
    save(tmp_path, "t", "m", outcomes_of([bits(5)], roles={"score"}))
    save(tmp_path, "t", "n", outcomes_of([bits(6)], roles={"score"}))
    assert sweep_items(tmp_path, "t") == ()
    old = {path.name for path in (tmp_path / "t.items").glob("*.items")}
    file = save(tmp_path, "t", "m", outcomes_of([bits(7)], roles={"score"}))
    assert set(sweep_items(tmp_path, "t")) < old
    assert len(list((tmp_path / "t.items").glob("*.items"))) == 2
    load(tmp_path, "t", file)
    (tmp_path / "t.items" / "n.outcomes").write_bytes(b"broken")
    with pytest.raises(SourceError):
        sweep_items(tmp_path, "t")
    assert len(list((tmp_path / "t.items").glob("*.items"))) == 2


def test_outcomes_are_discarded_with_the_items_that_only_they_had(tmp_path: Path) -> None:
    file = save(tmp_path, "t", "m", outcomes_of([bits(5)], roles={"score"}))
    other = save(tmp_path, "t", "n", outcomes_of([bits(6)], roles={"score"}))
    assert discard(tmp_path, "t", file) == ()
    assert discard(tmp_path, "t", file) == ()  # gone is gone
    assert len(list((tmp_path / "t.items").iterdir())) == 2
    load(tmp_path, "t", other)


def test_damage_elsewhere_leaves_all_items_and_is_said(tmp_path: Path) -> None:
    file = save(tmp_path, "t", "m", outcomes_of([bits(5)], roles={"score"}))
    (tmp_path / "t.items" / "n.outcomes").write_bytes(b"broken")
    (said,) = discard(tmp_path, "t", file)
    assert "n.outcomes" in said
    assert not (tmp_path / file).exists()
    assert len(list((tmp_path / "t.items").glob("*.items"))) == 1


@pytest.mark.parametrize(
    "file", ["o.items/m.outcomes", "t.yaml", "t.items/m", "t.items/a/m.outcomes", "t.items/../x.outcomes", "/m.outcomes"]
)
def test_nothing_but_the_tasks_own_outcomes_can_be_discarded(tmp_path: Path, file: str) -> None:
    for victim in ("o.items/m.outcomes", "t.yaml", "t.items/m", "t.items/a/m.outcomes", "x.outcomes"):
        path = tmp_path / victim
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    with pytest.raises(UsageError):
        discard(tmp_path, "t", file)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 5


def test_nothing_else_in_the_room_loads_numpy() -> None:
    import subprocess
    import sys

    rooms = "from steelyard_old import atomic, locking; from steelyard_old.reference import changes, names, outcome_text"
    code = f"import sys; {rooms}; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
