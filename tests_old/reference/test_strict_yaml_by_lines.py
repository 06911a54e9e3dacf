"""Files read line by line have the tree that the whole parser gives, to the last place in the text; what it would refuse is left to it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from cases import seldom
from steelyard_old.errors import SourceError
from steelyard_old.reference import strict_yaml

PLAIN = """\
# what we hold models against
m-1/a.b:
  - accuracy: 74.20   # from the paper
    num_samples: 1000
    recorded: "2026-11-18T06:30:55Z"
    by: 'A. Person (team)'
    tool: steelyard 0.1.0
    spec:
      quant_algo: FP8
      kv: -0.5

  - accuracy: .5
    deterministic: true
other:
- one
- -2
- key: null
last: no
"""


def whole(text: str) -> strict_yaml.Node:
    return strict_yaml._Builder(text, "t.yaml").tree()


def test_a_file_as_people_write_it() -> None:
    found = strict_yaml._by_lines(PLAIN)
    assert found is not None
    assert found == whole(PLAIN)
    assert strict_yaml.plain(found)["m-1/a.b"][0]["by"] == "A. Person (team)"


PIECES = (
    *("a", "bc", "d-e", "x/y", "f.g", "_h", "no", "true", "null", "12", "0x1F", "012", "-3", "1e5", ".5", "-.5", "~", "1:30", "a:b"),
    *(
        "http://x/y",
        "v 2",
        "v  2",
        "(x)",
        "a (b)",
        "a # b",
        "a #b",
        "a#b",
        "'q r'",
        '"q r"',
        "'it''s'",
        '"a\\n"',
        "[1, 2]",
        "{a: 1}",
        "&x",
        "*x",
    ),
    *("!t", "|", ">", "?", "-", "--", "---", "...", "..", "%", "@a", "a@b", "a,b", "a%", "<<", "é", "", "", ""),
)


def line(rng: random.Random) -> str:
    indent = " " * rng.choice((0, 0, 0, 1, 2, 2, 2, 3, 4, 4, 6))
    dash = rng.choice(("", "", "- ", "- ", "-  ", "- - "))
    key = rng.choice(("", f"{rng.choice(PIECES)}: ", f"{rng.choice(PIECES[:8])}: ", f"{rng.choice(PIECES[:8])}:"))
    end = rng.choice(("", "", "", " ", " # said", "#x"))
    return indent + dash + key + rng.choice(PIECES) + end


def block(rng: random.Random, column: int, depth: int) -> list[str]:
    """A mapping or a list that is right, now and then but for one value."""
    listed, out = rng.random() < 0.4, []
    for i in range(rng.choice((1, 2, 3))):
        head = " " * column + ("- " if listed else f"k{i}:")
        if depth and rng.random() < 0.4:
            if listed:
                first, *more = [each[column + 2 :] for each in block(rng, column + 2, depth - 1)]
                out += [head + first, *(" " * (column + 2) + each for each in more)]
            else:
                out += [head, *block(rng, column + rng.choice((0, 1, 2, 4)), depth - 1)]
        else:
            out.append(f"{head}{'' if listed else ' '}{rng.choice(PIECES[:20] * 4 + PIECES)}{rng.choice(('', '', ' # said'))}")
        if rng.random() < 0.1:
            out.append(rng.choice(("", "# a line", "   # a line", "  ")))
    return out


@pytest.mark.parametrize("seed", [*range(12), *seldom(*range(12, 40))])
def test_whatever_is_read_by_lines_is_what_the_parser_reads(seed: int) -> None:
    """Texts of pieces that mean something in YAML, most of them wrong: never another tree, never a tree where the parser refuses."""
    rng = random.Random(seed)
    read = 0
    for _ in range(500):
        lines = [line(rng) for _ in range(rng.choice((1, 2, 2, 3, 3, 4, 6)))]
        if rng.random() < 0.3:  # half right: the piece of a good file with one strange line
            good = PLAIN.split("\n")
            lines = good[: rng.randrange(len(good))] + lines[:1] + good[rng.randrange(len(good)) :]
        if rng.random() < 0.6:
            lines = block(rng, 0, 3)
        text = "\n".join(lines) + rng.choice(("", "\n", "\n\n"))
        found = strict_yaml._by_lines(text)
        if found is not None:
            read += 1
            assert found == whole(text), text
    assert read > 50, "the texts are too strange to prove anything"


@pytest.mark.parametrize(
    "text", ["", "a:\n", "a: 1\na: 2\n", "a: 012\n", "a: b\n  c\n", "- a\n b: 1\n", "a: 1\r\nb: 2\r\n", "true: 1\n", "word\n"]
)
def test_the_rest_is_left_to_the_parser(text: str) -> None:
    assert strict_yaml._by_lines(text) is None


def test_mistakes_are_worded_by_the_parser() -> None:
    with pytest.raises(SourceError, match=r"'t\.yaml', line 3: the key 'a' is already in line 1"):
        strict_yaml.parse("a: 1\nb: 2\na: 3\n", "t.yaml")


def test_pyyaml_is_not_loaded_for_a_file_of_lines(tmp_path: Path) -> None:
    place = tmp_path / "t.yaml"
    place.write_text(PLAIN, encoding="utf-8")
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from steelyard_old.reference.strict_yaml import parse\n"
        f"parse(Path({str(place)!r}).read_text(encoding='utf-8'), 't.yaml')\n"
        "assert 'yaml' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_work_grows_with_the_text() -> None:
    """Ten thousand keys of one mapping are looked up, not searched for."""
    text = "".join(f"k{i}: {i}\n" for i in range(10_000))
    found = strict_yaml._by_lines(text)
    assert isinstance(found, strict_yaml.MappingNode)
    assert len(found.pairs) == 10_000


@pytest.mark.parametrize("line", ["a:{}[1]", "{}a: [1]", "a: b{}x:", "a: '{}", "- {}[1]"])
def test_a_line_of_blanks_is_looked_at_once(line: str) -> None:
    """A megabyte of them: were they tried in all ways, this would take days."""
    assert strict_yaml._by_lines(line.format(" " * 1_000_000)) is None


def test_what_is_nested_too_deep_is_left_to_the_parser() -> None:
    text = "".join("  " * i + f"k{i}:\n" for i in range(strict_yaml.DEPTH)) + "  " * strict_yaml.DEPTH + "- x\n"
    assert strict_yaml._by_lines(text) is None
    with pytest.raises(SourceError, match="nested"):
        strict_yaml.parse(text, "t.yaml")
