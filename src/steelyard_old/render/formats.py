"""The formats of `--format`, by name: the one place where a command finds them. Most write pages, and so know every kind of result.

What people read is made of steady numbers (`digits.steadied`), so that every processor prints and draws the same; JSON keeps all digits.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from json.encoder import encode_basestring
from math import isfinite
from typing import TYPE_CHECKING, Any

from steelyard_old.errors import UsageError, with_article
from steelyard_old.late_dataclass import dataclass
from steelyard_old.late_pattern import late_pattern

if TYPE_CHECKING:  # help names the formats, and needs no page for that
    from steelyard_old.render.page import Page
    from steelyard_old.results.base import Result

# Inside JSON these can stand only in strings, where an escape means the same: lone surrogates cannot be encoded at all,
# the others act on a terminal or break lines of a log.
_ESCAPED = late_pattern("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def result_json(result: Result) -> str:
    """The result as JSON text with a newline at its end; a NaN in it is an error of ours and raises."""
    text = _indented(result.to_dict(), "\n")
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


_WRITTEN: dict[type, Callable[[Any], str]] = {
    str: encode_basestring,
    int: int.__repr__,
    float: lambda x: float.__repr__(x) if isfinite(x) else _by_library(x, "\n"),
    bool: lambda x: "true" if x else "false",
    type(None): lambda x: "null",
}


def _indented(value: Any, line: str) -> str:
    """What `json.dumps` gives with an indent of two, in a third of its time: the library indents scalar by scalar.

    >>> print(_indented({"low": [0.5, None], "rows": []}, "\\n"))
    {
      "low": [
        0.5,
        null
      ],
      "rows": []
    }
    """
    if not value and type(value) in (dict, list, tuple):
        return "{}" if type(value) is dict else "[]"
    kind, deeper = type(value), line + "  "
    if kind is dict and all(type(key) is str for key in value):
        told = [
            f"{encode_basestring(key)}: {_WRITTEN[type(each)](each) if type(each) in _WRITTEN else _indented(each, deeper)}"
            for key, each in value.items()
        ]
        return f"{{{deeper}{f',{deeper}'.join(told)}{line}}}"
    if kind in (list, tuple):
        told = [_WRITTEN[type(each)](each) if type(each) in _WRITTEN else _indented(each, deeper) for each in value]
        return f"[{deeper}{f',{deeper}'.join(told)}{line}]"
    return _by_library(value, line)


def _by_library(value: Any, line: str) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False, indent=2).replace("\n", line)


def result_text(result: Any, **options: Any) -> str:
    """Text for a terminal."""
    from steelyard_old.render.page import page_of
    from steelyard_old.render.text import page_text

    return page_text(page_of(result), **options)


def result_markdown(result: Any, **options: Any) -> str:
    """Markdown for a page or a comment."""
    from steelyard_old.render.markdown import page_markdown
    from steelyard_old.render.page import page_of

    return page_markdown(page_of(result), **options)


def result_svg(result: Any) -> str:
    """The curve of a plan as a picture."""
    from steelyard_old.render.digits import steadied
    from steelyard_old.render.pictures.plane import plan_svg
    from steelyard_old.results.plan import Plan

    if not isinstance(result, Plan):
        raise _not_written("A picture", "a Plan", result)
    return plan_svg(steadied(result))


def result_junit(result: Any) -> str:
    """Verdicts as test cases."""
    from steelyard_old.render.junit import page_junit

    return page_junit(_of_guards(result, "JUnit XML"))


def result_github(result: Any) -> str:
    """Verdicts as annotations of a workflow."""
    from steelyard_old.render.github import page_github

    return page_github(_of_guards(result, "annotations"))


def _of_guards(result: Any, what: str) -> Page:
    """The page of a verdict or a suite; no other is about guards."""
    from steelyard_old.render.page import page_of

    page = page_of(result)
    if not page.cases and page.suite is None:
        raise _not_written(what, "a Verdict or a Suite", result)
    return page


def _not_written(what: str, need: str, result: Any) -> UsageError:
    kind = type(result).__name__
    return UsageError(f"{what} can be written of {need}, not of {with_article(kind)}.", got=kind, need=need)


def result_html(result: Any) -> str:
    """A page of its own."""
    from steelyard_old.render.html.page import report_html

    return report_html([result])


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFormat:
    """A format of answers. endings: of files that ask for it. answers: which ones can be written so: any, plans, guards."""

    write: Callable[..., str]
    endings: tuple[str, ...] = ()
    answers: str = "any"


FORMATS: dict[str, OutputFormat] = {
    "text": OutputFormat(write=result_text, endings=("", ".txt", ".text", ".log")),
    "json": OutputFormat(write=result_json, endings=(".json",)),
    "markdown": OutputFormat(write=result_markdown, endings=(".md", ".markdown")),
    "html": OutputFormat(write=result_html, endings=(".html", ".htm")),
    "svg": OutputFormat(write=result_svg, endings=(".svg",), answers="plans"),
    "junit": OutputFormat(write=result_junit, endings=(".xml",), answers="guards"),
    "github": OutputFormat(write=result_github, answers="guards"),
}


def formats_of(answers: str) -> tuple[str, ...]:
    """The names of the formats in which a command can write its answers.

    >>> formats_of("plans")
    ('text', 'json', 'markdown', 'html', 'svg')
    """
    return tuple(name for name, each in FORMATS.items() if each.answers in ("any", answers))


def format_of_ending(ending: str) -> str | None:
    """The format that the ending of a file asks for.

    >>> format_of_ending(".MD"), format_of_ending(".txt")
    ('markdown', 'text')
    """
    return next((name for name, each in FORMATS.items() if ending.lower() in each.endings), None)
