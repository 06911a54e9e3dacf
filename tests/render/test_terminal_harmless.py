"""What a user wrote is shown, never obeyed."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from cases import every
from steelyard.render.markdown import code_span, markdown
from steelyard.render.terminal import ascii_text, harmless, label


@every(
    ("text", "shown"),
    [
        ("cat", "cat"),
        ("été 猫", "été 猫"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202egnp.exe", "a\\u202egnp.exe"),
        ("a\nb\r\tc\x00", "a\\nb\\r\\tc\\x00"),
        ("\u2028\ufeff\U000e0041", "\\u2028\\ufeff\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_terminal(text: str, shown: str) -> None:
    assert harmless(text) == shown


def test_the_empty_name_is_visible() -> None:
    assert (label(""), markdown("")) == ("(empty)", "(empty)")


def test_ascii_text() -> None:
    assert ascii_text("猫\x1b") == "\\u732b\\x1b"


@every(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("`x` *y* _z_", "\\`x\\` \\*y\\* \\_z\\_"),
        ("[l](http://e.vil)", "\\[l\\](http:<!-- -->//e.vil)"),
        ("<img src=x onerror=x>", "&lt;img src=x onerror=x&gt;"),
        ("&lt;", "&amp;lt;"),
        ("@all a@b.c", "@<!-- -->all a@<!-- -->b.c"),
        ("see #12", "see #<!-- -->12"),
        ("see GH-7, gh-8 and HGH-2", "see GH<!-- -->-7, gh<!-- -->-8 and HGH-2"),
        ("# head", "\\# head"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("www.evil.com", "www<!-- -->.evil.com"),
        (":tada: 10:30", "\\:tada: 10:30"),
        ("a\n\n| x |", "a\\\\n\\\\n\\| x \\|"),
        ("well-known (fine), 0.5!", "well-known (fine), 0.5!"),
    ],
)
def test_markdown(text: str, shown: str) -> None:
    assert markdown(text) == shown


def test_code_span_outgrows_its_backticks() -> None:
    assert code_span("a|b") == "`a|b`"
    assert code_span("`` x") == "``` `` x ```"


@given(st.text(alphabet=st.characters()))
def test_nothing_is_obeyed(text: str) -> None:
    for shown in (harmless(text), markdown(text), code_span(text), ascii_text(text)):
        assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in shown)
        shown.encode()
    assert "<" not in markdown(text).replace("<!-- -->", "")
