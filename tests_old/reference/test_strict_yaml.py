"""Strict YAML: what a scalar means, what is refused and in which line, and that no text does anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard_old.errors import SourceError
from steelyard_old.reference import strict_yaml
from steelyard_old.reference.strict_yaml import DEPTH, MappingNode, ScalarNode, SequenceNode, comments, decode, leaves, parse, plain, typed

REAL = Path(__file__).parent / "trtllm"


def fault(call: Callable[[], object], kind: type[ValueError] = SourceError) -> ValueError | None:
    """The error of a call, None if there is none; any other kind of error is a failure."""
    try:
        call()
    except kind as error:
        return error
    return None


def load(text: str) -> object:
    return plain(parse(text, "t.yaml"))


@every(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("NULL", None),
        ("true", True),
        ("False", False),
        ("0", 0),
        ("-12", -12),
        ("74.00", 74.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("1e-3", 0.001),
        ("1E6", 1e6),
        ("no", "no"),
        ("off", "off"),
        ("Yes", "Yes"),
        ("y", "y"),
        ("1:30", "1:30"),
        ("2026-01-31", "2026-01-31"),
        ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
        ("1.2.3", "1.2.3"),
        ("12abc", "12abc"),
        ("=", "="),
        ("inf", "inf"),
        ("'012'", "012"),
        ('"true"', "true"),
        ("'~'", "~"),
        ('"\\u2028"', "\u2028"),
    ],
)
def test_a_scalar_means(text: str, value: object) -> None:
    found = load(f"a: {text}\n")
    assert found == {"a": value}
    assert type(found["a"]) is type(value)  # type: ignore[index]


@every(
    ("text", "advice"),
    [
        ("012", "write 12, or '012'"),
        ("-007", "write -7, or '-007'"),
        ("00.5", "write 0.5, or '00.5'"),
        ("0x1F", "write a decimal number, or '0x1F'"),
        ("0o17", "'0o17'"),
        ("0b11", "'0b11'"),
        ("1_000", "write 1000, or '1_000'"),
        ("+5", "write 5, or '+5'"),
        ("+.5", "write .5, or '+.5'"),
        (".inf", "'.inf'"),
        ("-.INF", "'-.INF'"),
        (".nan", "'.nan'"),
        ("1e999", "a smaller number, or '1e999'"),
        ("9" * 500, "if it is text"),
    ],
)
def test_a_number_in_a_dress_is_an_error(text: str, advice: str) -> None:
    with pytest.raises(SourceError, match="line 3") as caught:
        load(f"# first\na: 1\nb: {text}\n")
    assert advice in str(caught.value)


REFUSED = {
    "duplicate key": ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' is already in line 1"),
    "duplicate key, quoted": ("a: 1\n'a': 2\n", 2, "the key 'a' is already in line 1"),
    "number as key": ("a: 1\n12: 2\n", 2, "write '12'"),
    "bool as key": ("true: 2\n", 1, "write 'true'"),
    "null as key": ("a: 1\n?\n: 2\n", 2, "a key is empty"),
    "list as key": ("? [a]\n: 2\n", 1, "a list or mapping cannot be a key"),
    "anchor": ("a: &x 1\n", 1, "anchors and aliases ('x') are not allowed"),
    "alias": ("a: 1\nb: *x\n", 2, "anchors and aliases ('x') are not allowed"),
    "anchor on a mapping": ("a: &x\n  b: 1\n", 1, "anchor"),
    "merge key": ("a:\n  <<: {b: 1}\n", 2, "merge keys (<<) are not allowed"),
    "tag": ("a: !!python/object:os.system x\n", 1, "tag"),
    "tag on a list": ("a: !mine [1]\n", 1, "tags ('!mine') are not allowed"),
    "two documents": ("a: 1\n---\nb: 1\n", 2, "second document"),
    "document end": ("a: 1\n...\n", 2, "end of a document"),
    "directive": ("%YAML 1.1\n---\na: 1\n", 1, "directives are not allowed"),
    "tab": ("a:\n\tb: 1\n", 2, "it has a tab"),
    "control character": ("a: 1\nb: \x07\n", 2, "U+0007"),
    "escaped control character": ('a: 1\nb: "\\e[31m"\n', 2, "U+001B"),
    "escaped surrogate": ('a: "\\ud800"\n', 1, "U+D800"),
    "escape out of range": ('a: 1\nb: "\\U00110000"\n', 2, "well-formed"),
    "carriage return alone": ("a: 1\rb: 2\n", 1, "it has a carriage return without a line feed"),
    "odd line break": ("a: 1\u2028b: 2\n", 1, "U+2028"),
    "byte order mark inside": ("a: 1\n\ufeffb: 2\n", 2, "U+FEFF"),
    "bad indentation": ("a: 1\n  b: 2\n", 2, "well-formed"),
    "open bracket": ("a: [1,\n", 2, "well-formed"),
    "open quote": ('a: "x\n', 2, "well-formed"),
    "deep": ("[" * 100_000, 1, f"more than {DEPTH} levels"),
    "deep, over lines": ("[\n" * 100_000, DEPTH + 1, f"more than {DEPTH} levels"),
    "deep blocks": ("- " * 400 + "a", 1, f"more than {DEPTH} levels"),
}


@every("name", REFUSED)
def test_refused_with_its_line(name: str) -> None:
    text, line, words = REFUSED[name]
    with pytest.raises(SourceError, match=f"line {line}\\b") as caught:
        load(text)
    assert words in str(caught.value)
    assert "'t.yaml'" in str(caught.value)


def test_aliases_that_explode_do_not() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    with pytest.raises(SourceError, match="anchor"):
        load(bomb)


def test_byte_order_mark_and_crlf_are_kept_and_read() -> None:
    text = decode(b"\xef\xbb\xbfa: 1\r\nb: x\r\n", "t.yaml")
    tree = parse(text, "t.yaml")
    assert plain(tree) == {"a": 1, "b": "x"}
    assert isinstance(tree, MappingNode)
    assert [text[node.start : node.end] for node in leaves(tree)] == ["a", "1", "b", "x"]
    assert [node.line for node in leaves(tree)] == [1, 1, 2, 2]


@pytest.mark.parametrize(("data", "words"), [(b"a: 1\nb: \xff\n", "line 2"), (b"\xff\xfea\x00", "UTF-16")])
def test_other_encodings_are_named(data: bytes, words: str) -> None:
    with pytest.raises(SourceError, match=words):
        decode(data, "t.yaml")


def test_nodes_know_their_place() -> None:
    text = "# c\nm:\n  - a: |\n      x\n      y\n\n  # between\n  - {b: 1, c: [2]} # end\n"
    tree = parse(text, "t.yaml")
    assert isinstance(tree, MappingNode)
    listed = tree.get("m")
    assert isinstance(listed, SequenceNode)
    assert not listed.flow
    assert text[listed.start] == "-"
    first, second = listed.items
    assert text[first.start : first.end] == "a: |\n      x\n      y"
    assert isinstance(second, MappingNode)
    assert second.flow
    assert text[second.start : second.end] == "{b: 1, c: [2]}"
    assert (first.line, second.line) == (3, 8)
    assert comments(text, tree) == ["# c", "# between", "# end"]
    assert plain(tree) == {"m": [{"a": "x\ny\n"}, {"b": 1, "c": [2]}]}


def test_comments_are_not_looked_for_inside_texts() -> None:
    text = "a: 'x # no'\nb: y#no\nc: |\n  # no\nd: [1, # yes\n  2]#no\n".replace("]#no", "] # also")
    assert comments(text, parse(text, "t")) == ["# yes", "# also"]


def test_nothing_is_a_null_at_the_end() -> None:
    for text in ("", "# only\n", "---\n"):
        tree = parse(text, "t.yaml")
        assert isinstance(tree, ScalarNode)
        assert tree.value is None


@every("path", sorted(REAL.glob("*.yaml")), ids=lambda path: path.stem)
def test_real_files_read_as_pyyaml_reads_them(path: Path) -> None:
    """Golden: PyYAML's safe loader, which agrees with us on everything that these files hold."""
    text = decode(path.read_bytes(), path.name)
    assert plain(parse(text, path.name)) == yaml.safe_load(text)


def test_a_text_without_end_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_yaml, "LIMIT", 20)
    for call in (lambda: decode(b" " * 21, "t"), lambda: parse(" " * 21, "t")):
        with pytest.raises(SourceError, match="21 bytes"):
            call()
    assert parse(decode(b" " * 20, "t"), "t").end == 20


WORDS = ["a", "b", "012", "no", "1.5", ": ", "- ", "\n", "  ", "    ", "[", "]", "{", "}", ", ", "#", "'", '"', "|", ">", "&x", "*x", "!t"]
WORDS += ["? ", "---", "...", "%", "<<", "\\", "\\U", "\\x4", "\r\n", "\ufeff", "~", "@", "`", "\x85", "\t", "é", "\U0001f600", "|+", ">-2"]


@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=40).map("".join)))
def test_any_text_loads_or_names_a_line(text: str) -> None:
    if error := fault(lambda: parse(text, "t.yaml")):
        assert "line " in str(error)
        return
    tree = parse(text, "t.yaml")
    for node in leaves(tree):
        assert 0 <= node.start <= node.end <= len(text)
        assert node.line == text.count("\n", 0, node.start) + 1
    for comment in comments(text, tree):
        assert comment in text


@given(st.binary(max_size=60))
def test_any_bytes_load_or_name_a_line(data: bytes) -> None:
    error = fault(lambda: parse(decode(data, "t.yaml"), "t.yaml"))
    assert error is None or "line " in str(error)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6) | st.text("abc xyz:#'\"-é", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcd", min_size=1, max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN, st.booleans())
def test_what_pyyaml_writes_we_read(value: object, flow: bool) -> None:
    """Oracle: PyYAML's own writer, forced to quote texts; a float may come back as the whole number it is."""

    class Quoting(yaml.SafeDumper):
        def ignore_aliases(self, data: object) -> bool:
            return True

    Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
    assert (
        load(yaml.dump(value, Dumper=Quoting, allow_unicode=True, default_flow_style=flow, explicit_end=False).replace("\n...\n", "\n"))
        == value
    )


@given(st.text(max_size=12))
def test_typed_is_text_or_says_why(text: str) -> None:
    if error := fault(lambda: typed(text), ValueError):
        assert len(error.args) == 2
        assert any(char.isdigit() for char in text) or text.lower().lstrip("+-") in (".inf", ".nan")
        return
    value = typed(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        assert value == float(text)
    elif isinstance(value, str):
        assert value == text
