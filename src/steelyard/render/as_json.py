"""The answer for machines: `to_dict` in its own order. A number that cannot be known is null, never NaN."""

from __future__ import annotations

import json
import re

from steelyard.results.base import Result

# Inside JSON these can stand only in strings, where an escape means the same: lone surrogates cannot be encoded at all,
# the others act on a terminal or break lines of a log.
_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def result_json(result: Result) -> str:
    """The result as JSON text with a newline at its end; a NaN in it is an error of ours and raises."""
    text = json.dumps(result.to_dict(), allow_nan=False, ensure_ascii=False, indent=2)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"
