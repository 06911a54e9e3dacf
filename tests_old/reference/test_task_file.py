"""Task files: the real ones load as they are, mistakes have a line, and a change touches nothing but its entry."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cases import every
from steelyard_old.errors import SourceError, SteelyardError, UsageError
from steelyard_old.reference import task_file
from steelyard_old.reference.entry import SPEC_DEFAULTS, Entry, provenance
from steelyard_old.reference.entry_schema import is_metric, same
from steelyard_old.reference.strict_yaml import MappingNode, comments
from steelyard_old.reference.task_file import TaskFile, load_task_file, renamed, task_file_of, with_entry, without_entry

REAL = Path(__file__).parent / "trtllm"
TASKS = sorted(path for path in REAL.glob("*.yaml") if path.stem != "acceptance_length")


def read(text: str, **options: Any) -> TaskFile:
    return task_file_of(text.encode(), "t.yaml", **options)


# The real files


@every("path", TASKS, ids=lambda path: path.stem)
def test_real_files_hold_what_pyyaml_says(path: Path) -> None:
    found = load_task_file(path)
    rows = [(model, row) for model, listed in yaml.safe_load(path.read_text(encoding="utf-8")).items() for row in listed]
    assert [(entry.model, entry.to_plain()) for entry in found.entries] == [
        (model, {key: value for key, value in row.items() if (key, value) != ("dtype", "auto")}) for model, row in rows
    ]
    lines = path.read_text(encoding="utf-8").split("\n")
    assert all(lines[entry.line - 1].lstrip().startswith("- ") for entry in found.entries)
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_all_589_rows_of_15_files() -> None:
    """The count of the survey of these files: 587 accuracies and 2 word error rates."""
    entries = [entry for path in TASKS for entry in load_task_file(path).entries]
    assert len(TASKS) == 15
    assert len(entries) == 589
    assert sum(entry.value_key == "wer" for entry in entries) == 2
    assert sum(entry.num_samples is not None for entry in entries) == 7


def test_acceptance_lengths_are_imported_not_read() -> None:
    with pytest.raises(SourceError, match=r"line 1.*sy.import_references"):
        load_task_file(REAL / "acceptance_length.yaml")


# The schema


@every("text", ["", "{}", "{}\n", "# nothing yet\n", "null\n", "---\n", "m: []\n"])
def test_a_file_without_entries(text: str) -> None:
    assert read(text).entries == ()


def test_every_field_of_an_entry_can_be_read() -> None:
    text = """
m:
  - {dtype: auto, quant_algo: FP8, mtp_enabled: true, max_draft_len: 3, hardware: h20, wer: 6.2, num_samples: 300, sigma: 0,
     alpha: 0.5, beta: .2, higher_is_better: false, margin: 0, theta: 1, threshold: 7, scale: percent, metric: wer, positive: 1, runs: 5,
     sums: errors/words,
     sigma_run: .3, deterministic: false, recorded: 2026-11-16T01:51:56Z, by: ada, commit: 1234567, tool: steelyard 1.0,
     reason: first, reference_note: none, items: t.m.out, items_hash: ab, protocol: {shots: 5, chat: true, t: 0.50, p: x},
     rates: {truncated: 0.01, empty: 0},
     approved: ada, first_value: 6.1}
"""
    (entry,) = read(text, spec_keys=("hardware",)).entries
    assert entry.spec == {"quant_algo": "FP8", "mtp_enabled": True, "max_draft_len": 3, "hardware": "h20"}
    assert (entry.value, entry.value_key, entry.commit, entry.positive) == (6.2, "wer", "1234567", "1")
    assert entry.protocol == {"shots": "5", "chat": "true", "t": "0.50", "p": "x"}
    assert entry.rates == {"truncated": 0.01, "empty": 0.0}
    unread = [each.name for each in fields(Entry) if getattr(entry, each.name) in (None, {})]
    assert not unread
    assert {"model", "value", "value_key", "spec", "line", *Entry.declared_keys()} == {each.name for each in fields(Entry)}


def test_null_and_the_default_are_absent() -> None:
    one, other = read("m:\n  - {dtype: auto, quant_algo: null, num_samples: ~, accuracy: 1}\n  - accuracy: 1\n").entries
    assert same(one, other)
    assert one.spec == {}


def test_the_value_stands_under_its_metric() -> None:
    assert read("m: [{macro_f1: .5}]").entries[0].value_key == "macro_f1"
    assert read("m: [{rouge1: 20}]").entries[0].value_key == "rouge1"
    assert read("m: [{metric: my_score, my_score: 3}]").entries[0].value_key == "my_score"
    assert read("m: [{my_score: 3}]", metric="My_Score").entries[0].value_key == "my_score"
    assert read("m: [{accuracy: 3}]", metric="wer").entries[0].value_key == "accuracy"
    assert read("m: [{threshold: 3}]").entries[0].value is None
    assert not any(is_metric(name) for name in (*SPEC_DEFAULTS, *Entry.declared_keys()))


WRONG = {
    "a list": ("- accuracy: 1\n", 1, "model names"),
    "one value": ("hello\n", 1, "model names"),
    "nothing under a model": ("a: [{accuracy: 1}]\nm:\n", 2, "write []"),
    "no dash": ("m:\n  accuracy: 1\n", 1, "begin each entry with a dash"),
    "an entry that is text": ("m:\n  - accuracy:1\n", 2, "keys with values"),
    "an entry that is a list": ("m:\n  - [1]\n", 2, "a list"),
    "an empty entry": ("m:\n  - {}\n", 2, "neither a value nor a threshold"),
    "no value": ("m:\n  - accuracy: 1\n  - dtype: x\n", 3, "neither a value nor a threshold"),
    "two values": ("m:\n  - accuracy: 1\n    wer: 2\n", 3, "two values, accuracy in line 2 and wer"),
    "a slip in the value": ("m:\n  - acuracy: 1\n", 2, "Did you mean accuracy?"),
    "a slip in a spec key": ("m:\n  - accuracy: 1\n    quant_alg: FP8\n", 3, "Did you mean quant_algo?"),
    "a spec key of another task": ("m:\n  - accuracy: 1\n    hardware: h20\n", 3, "spec_keys in steelyard.toml"),
    "text as value": ("m:\n  - accuracy: high\n", 2, "accuracy has to be a number, not 'high'"),
    "nothing as value": ("m:\n  - accuracy:\n", 2, "accuracy is empty; it has to be a number"),
    "true as value": ("m:\n  - accuracy: true\n", 2, "accuracy has to be a number, not True"),
    "a number too large": (f"m:\n  - accuracy: {'9' * 350}\n", 2, "too many for a float"),
    "samples": ("m:\n  - accuracy: 1\n    num_samples: 0\n", 3, "a whole number above 0"),
    "samples with a point": ("m:\n  - accuracy: 1\n    num_samples: 3.5\n", 3, "a whole number above 0"),
    "samples that are true": ("m:\n  - accuracy: 1\n    num_samples: true\n", 3, "a whole number above 0"),
    "sigma": ("m:\n  - accuracy: 1\n    sigma: -1\n", 3, "sigma has to be 0 or more, not -1"),
    "alpha": ("m:\n  - accuracy: 1\n    alpha: 1\n", 3, "between 0 and 1"),
    "beta": ("m:\n  - accuracy: 1\n    beta: 0\n", 3, "between 0 and 1"),
    "theta": ("m:\n  - accuracy: 1\n    theta: 0\n", 3, "above 0"),
    "margin": ("m:\n  - accuracy: 1\n    margin: -2\n", 3, "margin has to be 0 or more, not -2"),
    "scale": ("m:\n  - accuracy: 1\n    scale: percents\n", 3, "Did you mean percent?"),
    "direction": ("m:\n  - accuracy: 1\n    higher_is_better: yes\n", 3, "true or false"),
    "spec list": ("m:\n  - accuracy: 1\n    dtype: [a]\n", 3, "dtype has to be a single value, not a list"),
    "protocol": ("m:\n  - accuracy: 1\n    protocol: x\n", 3, "protocol has to be a mapping"),
    "protocol of lists": ("m:\n  - accuracy: 1\n    protocol:\n      a: [1]\n", 4, "protocol a has to be a single value, not a list"),
    "protocol of nothing": ("m:\n  - accuracy: 1\n    protocol:\n      a:\n", 4, "protocol a is empty"),
    "reason is empty": ("m:\n  - accuracy: 1\n    reason: ''\n", 3, "reason is empty"),
    "the same model twice": ("m: []\nm: []\n", 2, "the key 'm' is already in line 1"),
}


@every("name", WRONG)
def test_mistakes_have_a_line(name: str) -> None:
    text, line, words = WRONG[name]
    with pytest.raises(SourceError, match=f"line {line}\\b") as caught:
        read(text)
    assert words in str(caught.value)


@pytest.mark.parametrize("key", ["sigma", "reason", "accuracy", "", " a"])
def test_a_spec_key_must_be_a_name_of_its_own(key: str) -> None:
    with pytest.raises(UsageError, match="spec key"):
        read("", spec_keys=(key,))


# Changes, by example

FILE = """\
# head
a/b:
  # above the first
  - accuracy: 74.20 # measured twice
    # inside
    num_samples: 300

  # above the second
  - quant_algo: FP8
    accuracy: 72.85
# above c
c:
- accuracy: 1
"""


def test_a_new_value_changes_one_line() -> None:
    old = read(FILE)
    new = with_entry(old, replace(old.entries[0], value=75.0), replace=old.entries[0])
    assert new == FILE.replace("74.20", "75.0")


def test_keys_go_and_come_and_comments_stay() -> None:
    old = read(FILE)
    new = with_entry(old, Entry(model="a/b", value=0.5, spec={"dtype": "x"}, protocol={"shots": "5"}), replace=old.entries[0])
    assert new == FILE.replace(
        "  - accuracy: 74.20 # measured twice\n    # inside\n    num_samples: 300\n",
        '  - accuracy: 0.5 # measured twice\n    # inside\n    dtype: x\n    protocol:\n      shots: "5"\n',
    )


def test_the_first_key_can_go() -> None:
    old = read(FILE)
    new = with_entry(old, Entry(model="a/b", value=None, threshold=70.0, num_samples=300), replace=old.entries[0])
    assert new == FILE.replace(
        "  - accuracy: 74.20 # measured twice\n    # inside\n    num_samples: 300\n",
        "    # inside\n  - num_samples: 300\n    threshold: 70.0\n",
    )


def test_append_to_a_model_and_a_new_model() -> None:
    old = read(FILE)
    more = with_entry(old, Entry(model="c", value=2.0, spec={"max_draft_len": 4}))
    assert more == FILE + "- max_draft_len: 4\n  accuracy: 2.0\n"
    assert with_entry(old, Entry(model="a/b", value=3.0)) == FILE.replace("72.85\n", "72.85\n  - accuracy: 3.0\n")
    assert with_entry(old, Entry(model="no: one", value=2.0)) == FILE + '"no: one":\n  - accuracy: 2.0\n'


def test_remove() -> None:
    old = read(FILE)
    first = FILE.replace("  - accuracy: 74.20 # measured twice\n    # inside\n    num_samples: 300\n", "")
    assert without_entry(old, old.entries[0]) == first
    assert without_entry(old, old.entries[2]) == FILE.replace("c:\n- accuracy: 1\n", "")
    text = FILE
    while read(text).entries:
        text = without_entry(read(text), read(text).entries[0])
    assert [line.strip() for line in text.split("\n") if line] == ["# head", "# above the first", "# above the second", "# above c"]


def test_rename() -> None:
    old = read(FILE)
    assert renamed(old, "a/b", "012") == FILE.replace("a/b:", '"012":')
    with pytest.raises(UsageError, match=r"The name 'c' is taken already, in line 12\."):
        renamed(old, "a/b", "c")
    with pytest.raises(UsageError, match=r"No model 'x' in 't\.yaml'\."):
        renamed(old, "x", "y")


@every(
    ("text", "expected"),
    [
        ("", "m:\n  - accuracy: 1.0\n"),
        ("{}", "\nm:\n  - accuracy: 1.0\n".removeprefix("\n")),
        ("# c\n{} # d\n", "# c\n # d\nm:\n  - accuracy: 1.0\n"),
        ("{ # e\n}\n", "\n# e\nm:\n  - accuracy: 1.0\n"),
        ("---\n", "---\nm:\n  - accuracy: 1.0\n"),
        ("--- {}\n", "--- \nm:\n  - accuracy: 1.0\n"),
        ("x: []", "x: []\nm:\n  - accuracy: 1.0\n"),
        ("m: []\n", "m:\n  - accuracy: 1.0\n"),
        ("m: [] # c\n", "m:\n  - accuracy: 1.0 # c\n"),
        ("\ufeff", "\ufeff\nm:\n  - accuracy: 1.0\n"),
        ("x: []\r\n", "x: []\r\nm:\r\n  - accuracy: 1.0\r\n"),
        ("  x: []\n", "  x: []\n  m:\n    - accuracy: 1.0\n"),
        ("m:\n  - accuracy: 9", "m:\n  - accuracy: 9\n  - accuracy: 1.0\n"),
        (
            "m:\n  - reason: |\n      a\n      b\n    accuracy: 9\n",
            "m:\n  - reason: |\n      a\n      b\n    accuracy: 9\n  - accuracy: 1.0\n",
        ),
        ("m: [{accuracy: 9}]\nx: []\n", "m:\n  - accuracy: 9.0\n  - accuracy: 1.0\nx: []\n"),
        ("m: [{accuracy: 9}, # c\n  ]\n", "m:\n  # c\n  - accuracy: 9.0\n  - accuracy: 1.0\n"),
    ],
)
def test_append_to_files_of_all_shapes(text: str, expected: str) -> None:
    assert with_entry(read(text), Entry(model="m", value=1.0)) == expected


@every(
    ("text", "expected"),
    [
        ("m:\n  - {accuracy: 9} # c\n  - threshold: 3\n", "m:\n  - accuracy: 1.0\n    sigma: 2.0 # c\n  - threshold: 3\n"),
        ("m:\n  - {accuracy: 9, # d\n     beta: .2} # c\n", "m:\n  # d\n  - accuracy: 1.0\n    sigma: 2.0 # c\n"),
        ("m:\n  -\n    # c\n    accuracy: 9\n", "m:\n  -\n    # c\n    accuracy: 1.0\n    sigma: 2.0\n"),
        ("m:\n  - sigma: # c\n    accuracy: 9\n", "m:\n  - sigma: 2.0 # c\n    accuracy: 1.0\n"),
        (
            "m:\n  - dtype: auto\n    quant_algo: ~\n    accuracy: 9\n",
            "m:\n  - dtype: auto\n    quant_algo: ~\n    accuracy: 1.0\n    sigma: 2.0\n",
        ),
        ("m:\r\n  - accuracy: 9\r\n    # c\r\n    sigma: 1\r\n", "m:\r\n  - accuracy: 1.0\r\n    # c\r\n    sigma: 2.0\r\n"),
        ("m:\n  - reason: >\n      a\n\n      b\n    accuracy: 9\n", "m:\n  - accuracy: 1.0\n    sigma: 2.0\n"),
        ("m: [{accuracy: 9}]", "m:\n  - accuracy: 1.0\n    sigma: 2.0"),
    ],
)
def test_replace_in_files_of_all_shapes(text: str, expected: str) -> None:
    old = read(text)
    assert with_entry(old, Entry(model="m", value=1.0, sigma=2.0), replace=old.entries[0]) == expected


def test_what_cannot_be_changed_is_said() -> None:
    braces = read("{m: [{accuracy: 1}]}")
    for change in (
        lambda: with_entry(braces, Entry(model="x", value=1.0)),
        lambda: with_entry(braces, Entry(model="m", value=1.0)),
        lambda: with_entry(braces, Entry(model="m", value=2.0), replace=braces.entries[0]),
        lambda: without_entry(braces, braces.entries[0]),
    ):
        with pytest.raises(SourceError, match="at the start of a line"):
            change()
    assert renamed(braces, "m", "new") == "{new: [{accuracy: 1}]}"
    old = read(FILE)
    with pytest.raises(UsageError, match=r"An entry of 'a/b' cannot be replaced by one of 'c'\."):
        with_entry(old, Entry(model="c", value=1.0), replace=old.entries[0])
    with pytest.raises(UsageError, match=r"No such entry of 'c' in line 0 of 't\.yaml'\."):
        without_entry(old, Entry(model="c", value=1.0))


@every(
    ("entry", "words"),
    [
        (Entry(model="m\x07", value=1.0), "U+0007"),
        (Entry(model="m", value=1.0, reason="\ud800"), "U+D800"),
        (Entry(model="m" * 2000, value=1.0), "at most 1000"),
        (Entry(model="m", value=float("nan")), "finite"),
        (Entry(model="m", value=None), "neither a value nor a threshold"),
        (Entry(model="m", value=1.0, spec={"hardware": "x"}), "hardware"),
        (Entry(model="m", value=1.0, spec={"dtype": ["x"]}), "list"),
        (Entry(model="m", value=1.0, value_key="sore"), "sore"),
        (Entry(model="m", value=1.0, alpha=2.0), "between 0 and 1"),
        (Entry(model="m", value=1.0, reason=" "), "reason is empty"),
    ],
)
def test_an_entry_that_would_not_be_read_is_not_written(entry: Entry, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_entry(read(FILE), entry)
    assert words in str(caught.value)


# Changes, in general

TEXT = st.one_of(
    st.sampled_from(
        ["FP8", "no", "012", "1e3", "~", "null", "a: b", "a #b", " x", "x ", "-", "- a", "? a", "it's", '"q"', "a\nb", "\n", "é\u2028"]
    ),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12),
    st.text("ab:#-'\"\\\n\t []{},&*!|>%@`?~=", min_size=1, max_size=8),
).filter(lambda text: text.strip() and not any(ord(char) in (0xFFFE, 0xFFFF) for char in text))
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
SPEC = st.dictionaries(
    st.sampled_from([*SPEC_DEFAULTS, "hardware"]), st.one_of(TEXT, st.integers(-9, 9), st.booleans(), NUMBER), max_size=3
)
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "num_samples": st.integers(1, 10**6),
    "sigma": st.floats(0, 100),
    "alpha": st.floats(0.001, 0.999),
    "higher_is_better": st.booleans(),
    "threshold": NUMBER,
    "scale": st.sampled_from(["percent", "fraction", "raw"]),
    "reason": TEXT,
    "commit": TEXT,
    "protocol": st.dictionaries(TEXT, TEXT, max_size=2),
    "first_value": NUMBER,
}


@st.composite
def entries(draw: st.DrawFn, model: st.SearchStrategy[str] = TEXT) -> Entry:
    chosen = draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=4, unique=True))
    values = {name: draw(OPTIONS[name]) for name in chosen}
    spec = {key: value for key, value in draw(SPEC).items() if value != SPEC_DEFAULTS.get(key)} if draw(st.booleans()) else {}
    value = draw(NUMBER) if draw(st.integers(0, 9)) or "threshold" not in values else None
    return Entry(model=draw(model), value=value, spec=spec, **values)


@st.composite
def files(draw: st.DrawFn) -> str:
    """A file of several styles, with comments in the places where people put them."""
    lines = []
    for number, model in enumerate(draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=3))):
        rows = draw(st.integers(1, 3))
        style = draw(st.sampled_from(["block", "dashes at the margin", "flow", "flow items", "dash alone"]))
        lines += [f"# above {model}", f"{model}:"] if draw(st.booleans()) else [f"{model}:"]
        dash = "" if style == "dashes at the margin" else "  "
        if style == "flow":
            lines[-1] += " [" + ", ".join(f"{{quant_algo: q{row}, accuracy: {row}.5}}" for row in range(rows)) + "]"
            continue
        for row in range(rows):
            items = [f"quant_algo: q{row}", f"accuracy: 7{number}{row}.50"]
            lines += [f"{dash}# above {model} {row}"] if draw(st.booleans()) else []
            if style == "flow items":
                lines.append(f"{dash}- {{{', '.join(items)}}} # on the line")
            elif style == "dash alone":
                lines += [f"{dash}-", *(f"{dash}    {item}" for item in items)]
            else:
                lines.append(f"{dash}- {items[0]}" + (f" # behind {row}" if draw(st.booleans()) else ""))
                lines += [f"{dash}  # inside {model} {row}", ""] if draw(st.booleans()) else []
                lines.append(f"{dash}  {items[1]}")
    lines += ["# end"] if draw(st.booleans()) else []
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n"]))


def stripped(found: list[str]) -> list[str]:
    return sorted(comment.strip() for comment in found)


def other_models(found: TaskFile, model: str) -> tuple[str, str]:
    """The text before a model's name and from the next name on: nobody may touch it."""
    keys = [key for key, _ in found.root.pairs] if isinstance(found.root, MappingNode) else []
    names = [key.value for key in keys]
    if model not in names:
        return found.text, ""
    place = names.index(model)
    return found.text[: keys[place].start], found.text[keys[place + 1].start :] if place + 1 < len(keys) else ""


QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@QUICK
@given(entries())
def test_save_then_load_is_identity(entry: Entry) -> None:
    old = read("", spec_keys=("hardware",))
    (found,) = read(with_entry(old, entry), spec_keys=("hardware",)).entries
    assert replace(found, line=0) == entry
    assert with_entry(old, found) == with_entry(old, entry)


@QUICK
@given(files(), entries(st.sampled_from("abcde")), st.data())
def test_one_more_entry_changes_nothing_else(text: str, entry: Entry, data: st.DataObject) -> None:
    old = read(text, spec_keys=("hardware",))
    new_text = with_entry(old, entry)
    new = read(new_text, spec_keys=("hardware",))
    place = next(
        i for i, found in enumerate(new.entries) if same(found, entry) and (i == len(old.entries) or not same(found, old.entries[i]))
    )
    rest = [found for i, found in enumerate(new.entries) if i != place]
    assert all(map(same, rest, old.entries))
    assert len(rest) == len(old.entries)
    assert stripped(comments(new_text, new.root)) == stripped(comments(text, old.root))
    before, after = other_models(old, entry.model)
    assert new_text.startswith(before)
    assert new_text.endswith(after)


@QUICK
@given(files(), entries(), st.data())
def test_a_replaced_entry_changes_nothing_else(text: str, entry: Entry, data: st.DataObject) -> None:
    old = read(text, spec_keys=("hardware",))
    assume(old.entries)
    place = data.draw(st.integers(0, len(old.entries) - 1))
    entry = replace(entry, model=old.entries[place].model)
    new_text = with_entry(old, entry, replace=old.entries[place])
    new = read(new_text, spec_keys=("hardware",))
    expected = [entry if i == place else found for i, found in enumerate(old.entries)]
    assert all(map(same, new.entries, expected))
    lost = set(comments(text, old.root)) - set(comments(new_text, new.root))
    assert all(comment.startswith("# behind") for comment in lost)  # it stood on the line of a key that went
    before, after = other_models(old, entry.model)
    assert new_text.startswith(before)
    assert new_text.endswith(after)


@QUICK
@given(files(), st.data())
def test_a_removed_entry_changes_nothing_else(text: str, data: st.DataObject) -> None:
    old = read(text)
    assume(old.entries)
    place = data.draw(st.integers(0, len(old.entries) - 1))
    new_text = without_entry(old, old.entries[place])
    new = read(new_text)
    assert all(map(same, new.entries, [found for i, found in enumerate(old.entries) if i != place]))
    lost = [comment for comment in comments(text, old.root) if comment not in comments(new_text, new.root)]
    assert not [comment for comment in lost if comment.startswith(("# above", "# end"))]
    more = with_entry(new, old.entries[place])
    assert len(read(more).entries) == len(old.entries)


@QUICK
@given(files(), TEXT)
def test_a_renamed_model_changes_its_name_only(text: str, name: str) -> None:
    old = read(text)
    assume(old.entries and name not in old.models())
    first = old.models()[0]
    new = read(renamed(old, first, name))
    assert [replace(found, model=first) if found.model == name else found for found in new.entries] == list(old.entries)


@every("path", TASKS, ids=lambda path: path.stem)
def test_every_row_of_the_real_files_can_be_rewritten(path: Path) -> None:
    """One row in forty: a new value touches one line; what is written back as it was is the same bytes."""
    old = load_task_file(path)
    before = old.text.split("\n")
    for entry in old.entries[::40]:
        assert with_entry(old, entry, replace=entry) == old.text
        after = with_entry(old, replace(entry, value=12.5), replace=entry).split("\n")
        assert len(after) == len(before)
        assert sum(map(str.__ne__, before, after)) == 1


def test_a_damaged_result_is_never_handed_out() -> None:
    """A nasty layout: the list stands behind a question mark. Either the change is right, or there is none."""
    text = "? m\n: - accuracy: 1\n"
    old = read(text)
    with pytest.raises(SteelyardError):
        with_entry(old, Entry(model="m", value=2.0), replace=old.entries[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Witnessed(Entry):
    """An entry with one key more."""

    witnesses: int | None = provenance("How many people looked at it.", "count")


def test_a_key_is_one_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard_old.reference.entry_schema.Entry", Witnessed)
    monkeypatch.setattr("steelyard_old.reference.entry_schema.KEYS", Witnessed.declared_keys())
    file = read("m:\n  - accuracy: 74.2\n    witnesses: 3\n")
    entry = file.entries[0]
    assert isinstance(entry, Witnessed)
    assert entry.witnesses == 3
    assert with_entry(file, replace(entry, witnesses=4), replace=entry) == "m:\n  - accuracy: 74.2\n    witnesses: 4\n"
    with pytest.raises(SourceError, match="witnesses"):
        read("m:\n  - accuracy: 74.2\n    witnesses: many\n")
    with pytest.raises(SourceError, match="Did you mean witnesses"):
        read("m:\n  - accuracy: 74.2\n    witneses: 3\n")


def test_the_same_bytes_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite asks one file hundreds of times; a file that changed is another file, whatever its times say."""
    read: list[str] = []
    parse = task_file.parse
    monkeypatch.setattr(task_file, "parse", lambda text, path: read.append(text) or parse(text, path))
    path = tmp_path / "t.yaml"
    for value in (0.5, 0.5, 0.75, 0.5):
        path.write_text(f"m:\n  - accuracy: {value}\n")
        assert task_file.load_task_file(path).entries[0].value == value
    assert len(read) == 2
