"""Many items in a small file: nothing is left out, any order of rows gives the same file, and damage is told."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import every
from steelyard_old.errors import SourceError
from steelyard_old.items import DIGITS, Items, Labels, WholeNumbers
from steelyard_old.reference import outcomes as outcomes_module
from steelyard_old.reference import packed_items
from steelyard_old.reference.outcomes import Outcomes, load, outcomes_of, sweep_items
from steelyard_old.tally.design import take

MOST = 10**DIGITS - 1
KEYS = (
    st.lists(st.integers(-MOST, MOST) | st.integers(-9, 120), min_size=1, max_size=20, unique=True),
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=20, unique=True),
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


def save(home: Path, outcomes: Outcomes, least: int = 1) -> str:
    """Saved as if so many items were many."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packed_items, "MANY", least)
        return outcomes_module.save(home, "t", "m", outcomes)


def labels(values: list[str | None]) -> Labels:
    names = tuple(dict.fromkeys(value for value in values if value is not None))
    return Labels(np.array([-1 if value is None else names.index(value) for value in values], np.int64), names)


def ids(keys: list[int] | list[str]) -> Labels:
    if isinstance(keys[0], str):
        return labels(list(map(str, keys)))
    numbers, codes = np.unique(np.array(keys, np.int64), return_inverse=True)
    return Labels(codes, WholeNumbers(numbers))


def many(keys: list[int] | list[str], truths: list[str | None], groups: list[str | None]) -> Items:
    n = len(keys)
    bits = np.random.default_rng(n).integers(0, 2, n).astype(float)
    return Items(n=n, id=ids(keys), score=bits, truth=labels(truths), group=labels(groups))


def is_packed(home: Path) -> bool:
    (file,) = (home / "t.items").glob("*.items")
    return file.read_bytes().startswith(b"steelyard-items 2 ")


@settings(max_examples=15)
@given(st.one_of(KEYS), st.data())
def test_what_is_packed_comes_back_whole_and_in_any_order_as_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, keys: list[int] | list[str], data: st.DataObject
) -> None:
    truths, groups = (data.draw(st.lists(TEXT | st.none(), min_size=len(keys), max_size=len(keys))) for _ in range(2))
    items = many(keys, truths, groups)
    for hashed in (False, True):
        written = set()
        for order in (np.arange(items.n), np.arange(items.n)[::-1], np.random.default_rng(0).permutation(items.n)):
            home = tmp_path_factory.mktemp("references")
            outcomes = outcomes_of([take(items, order)], roles={"score"}, hashed=hashed)
            file = save(home, outcomes)
            assert is_packed(home)
            loaded = load(home, "t", file)
            for name in ("keys", "content", "group", "hashed", "items_hash"):
                assert getattr(loaded, name) == getattr(outcomes, name)
            np.testing.assert_array_equal(loaded.runs[0].score, outcomes.runs[0].score)  # type: ignore[arg-type]
            written.add(tuple((path.name, path.read_bytes()) for path in sorted((home / "t.items").iterdir())))
        assert len(written) == 1


def test_a_packed_file_and_a_list_of_lines_say_the_same(tmp_path: Path) -> None:
    keys = [5, 1, 10, 2, 100, -7]
    items = many(keys, ["a", "b", None, "a", "c", "a"], ["g", None, "h", "g", "g", "-"])
    found: list[Outcomes] = []
    for least in (1, 10):
        home = tmp_path / str(least)
        file = save(home, outcomes_of([items], roles={"score"}), least)
        assert is_packed(home) == (least == 1)
        found.append(load(home, "t", file))
    for name in ("keys", "content", "group", "hashed", "items_hash"):
        assert getattr(found[0], name) == getattr(found[1], name)
    assert list(found[0].keys) == ["-7", "1", "10", "100", "2", "5"]


def recorded(home: Path, n: int = 300, least: int = 1) -> tuple[str, Path]:
    truths: list[str | None] = [f"t{i % 7}" for i in range(n)]
    groups: list[str | None] = [f"g{i % 5}" for i in range(n)]
    file = save(home, outcomes_of([many([i * i for i in range(n)], truths, groups)], roles={"score"}), least)
    (items,) = (home / "t.items").glob("*.items")
    return file, items


def block(data: bytes, heading: str, change: Callable[[bytes], bytes]) -> bytes:
    """The file with what is packed under a heading changed."""
    start = data.index(f"# {heading}\n".encode()) + len(heading) + 3
    end = data.index(b"\n", start)
    packed = base64.b64encode(zlib.compress(change(zlib.decompress(base64.b64decode(data[start:end])))))
    return data[:start] + packed + data[end:]


BOMB = base64.b64encode(zlib.compress(bytes(50_000_000)))
DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut short": (lambda d: d[:-5], "cut short"),
    "cut at a line": (lambda d: d[: d.rindex(b"\n#") + 1], "'nothing' where the block|fewer lines"),
    "another version": (lambda d: d.replace(b"items 2", b"items 3", 1), "steelyard-items 3"),
    "another kind": (lambda d: d.replace(b"2 text", b"2 bits", 1), "the first line"),
    "fewer items": (lambda d: d.replace(b"text 300", b"text 299", 1), "another size"),
    "no items": (lambda d: d.replace(b"text 300", b"text 0", 1), "a header"),
    "items below 0": (lambda d: d.replace(b"text 300", b"text -1", 1), "the first line"),
    "more items than can be": (lambda d: d.replace(b"text 300", b"text 999999999", 1), "at most"),
    "more digits than a number": (lambda d: d.replace(b"text 300", b"text " + b"9" * 5000, 1), "the first line"),
    "no header": (lambda d: re.sub(rb"\{.*\}", b"{}", d), "a header"),
    "a header that is no JSON": (lambda d: re.sub(rb"\{.*\}", b"[[[", d), "a header"),
    "a header of another shape": (lambda d: d.replace(b'"content": [7, 1]', b'"content": [7]', 1), "a header"),
    "contents below 0": (lambda d: d.replace(b'"content": [7, 1]', b'"content": [-7, 1]', 1), "a header"),
    "contents that are no number": (lambda d: d.replace(b'"content": [7, 1]', b'"content": [true, 1]', 1), "a header"),
    "an unknown key": (lambda d: d.replace(b'"content"', b'"more": 1, "content"', 1), "a header"),
    "numbers of nine bytes": (lambda d: d.replace(b'"content": [7, 1]', b'"content": [7, 9]', 1), "a header"),
    "a start beyond all numbers": (lambda d: d.replace(b'"numbers", 0,', b'"numbers", 99999999999999999999,', 1), "a header"),
    "a bomb": (lambda d: re.sub(rb"# contents\n.*", b"# contents\n" + BOMB, d), "another size"),
    "no base64": (lambda d: re.sub(rb"# contents\n.", b"# contents\n!", d), "cannot be unpacked"),
    "no zlib": (lambda d: re.sub(rb"# contents\n.*", b"# contents\nAAAA", d), "cannot be unpacked"),
    "a block of another name": (lambda d: d.replace(b"# groups", b"# group", 1), "where the block 'groups' should begin"),
    "a line too many": (lambda d: d + b"x\n", "more lines"),
    "a key twice": (lambda d: block(d, "keys", lambda b: b"\0" + b[1:]), "repeated or too large"),
    "another key": (lambda d: block(d, "keys", lambda b: b"\2" + b[1:]), "other content"),
    "another content": (lambda d: block(d, "contents", lambda b: bytes([b[0] ^ 1]) + b[1:]), "other content"),
    "a content twice": (lambda d: block(d, "contents", lambda b: b[:8] * 2 + b[16:]), "repeated"),
    "a content that nobody has": (lambda d: block(d, "content of each item", lambda b: b.replace(b"\7", b"\1")), "no item has"),
    "a content beyond the last": (lambda d: block(d, "content of each item", lambda b: b"\xff" + b[1:]), "no item has"),
    "contents in another order": (lambda d: block(d, "content of each item", lambda b: b"\2\1" + b[2:]), "no item has"),
    "groups that are no text": (lambda d: block(d, "groups", lambda b: b"\xff" + b[1:]), "not UTF-8"),
    "groups that are fewer": (lambda d: block(d, "groups", lambda b: b.replace(b"\n", b"x", 1)), "4 texts"),
    "a group without a name": (lambda d: block(d, "groups", lambda b: b[:-3] + b"x\n-"), "one that is missing"),
    "line ends": (lambda d: d.replace(b"\n", b"\r\n"), "line ends"),
}


@every("name", DAMAGE)
def test_damage_is_told_with_the_file(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    home = tmp_path_factory.mktemp("references")
    file, items = recorded(home)
    damage, words = DAMAGE[name]
    before = items.read_bytes()
    items.write_bytes(damage(before))
    assert items.read_bytes() != before
    with pytest.raises(SourceError, match=words) as told:
        load(home, "t", file)
    assert repr(str(items)) in str(told.value)
    assert "git checkout the file, or record the reference again" in str(told.value)


def test_steps_that_add_up_beyond_all_numbers_are_damage(tmp_path: Path) -> None:
    file, items = recorded(tmp_path)
    wide = items.read_bytes().replace(b'["numbers", 0, 2]', b'["numbers", 0, 8]', 1)
    assert wide != items.read_bytes()
    items.write_bytes(block(wide, "keys", lambda b: b"\xff" * (8 * 299)))
    with pytest.raises(SourceError, match="repeated or too large"):
        load(tmp_path, "t", file)


def test_any_byte_that_changes_is_found_or_changes_nothing(tmp_path: Path) -> None:
    """A few bits at the end of a packed block mean nothing; all others are found."""
    file, items = recorded(tmp_path)
    whole, before, silent = load(tmp_path, "t", file), items.read_bytes(), 0
    rng = np.random.default_rng(0)
    for _ in range(200):
        at, bit = int(rng.integers(len(before))), int(rng.integers(8))
        items.write_bytes(before[:at] + bytes([before[at] ^ (1 << bit)]) + before[at + 1 :])
        try:
            again = load(tmp_path, "t", file)
        except SourceError:
            continue
        silent += 1
        assert (again.keys, again.content, again.group) == (whole.keys, whole.content, whole.group)
    assert silent < 5


def test_a_file_that_another_zlib_wrote_is_the_same_file_and_stays(tmp_path: Path) -> None:
    file, items = recorded(tmp_path)
    before = items.read_bytes()
    start = before.index(b"# keys\n") + 7
    end = before.index(b"\n", start)
    other = base64.b64encode(zlib.compress(zlib.decompress(base64.b64decode(before[start:end])), 1))
    items.write_bytes(before[:start] + other + before[end:])
    assert items.read_bytes() != before
    load(tmp_path, "t", file)
    recorded(tmp_path)
    assert items.read_bytes() != before
    assert sweep_items(tmp_path, "t") == ()
    items.write_bytes(b"steelyard-items 2 text 300\nbroken\n")
    recorded(tmp_path)
    assert items.read_bytes() == before  # what is damaged is mended by the next record


def test_few_items_stay_lines_that_people_read(tmp_path: Path) -> None:
    _, items = recorded(tmp_path, least=packed_items.MANY)
    assert items.read_bytes().startswith(b"steelyard-items 1 text 300\n0\t")


def test_ids_that_are_long_texts_stay_lines(tmp_path: Path) -> None:
    keys = [f"{i}" + "x" * 300 for i in range(5)]
    save(tmp_path, outcomes_of([many(keys, [None] * 5, [None] * 5)], roles={"score"}))
    assert not is_packed(tmp_path)


def test_an_item_of_right_or_wrong_is_less_than_four_bytes(tmp_path: Path) -> None:
    """So that a million of them are less than four megabytes."""
    n = 200_000
    rng = np.random.default_rng(0)
    numbers = np.cumsum(rng.integers(1, 2000, n))  # ids with gaps
    truth = Labels(rng.integers(0, 4, n), ("A", "B", "C", "D"))
    items = Items(n=n, id=Labels(np.arange(n), WholeNumbers(numbers)), score=(rng.random(n) < 0.7).astype(float), truth=truth)
    file = save(tmp_path, outcomes_of([items], roles={"score"}), packed_items.MANY)
    assert sum(path.stat().st_size for path in (tmp_path / "t.items").iterdir()) < 4 * n
    loaded = load(tmp_path, "t", file)
    assert loaded.n == n
    assert loaded.runs[0].score is not None
    assert loaded.runs[0].score.sum() == items.score.sum()  # type: ignore[union-attr]
