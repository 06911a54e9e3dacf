"""Texts in a task file that other YAML readers take for something else: `no` for false, a date for a date, `1e-5` for a text."""

from __future__ import annotations

from steelyard.questions.references.lint_values import LintedFile
from steelyard.reference.yaml_tree import MappingNode, Node, ScalarNode, SequenceNode

KINDS = {"bool": "true or false", "int": "a number", "float": "a number", "null": "nothing", "timestamp": "a date", "str": "a text"}
SHOWN = 5


def check_readers(desk: LintedFile) -> None:
    """Keys and values that PyYAML, and with it most programs, would read as another value than we do.

    Dates that version 0.1.0 wrote behind `recorded` are noted; all else is a warning, since a program would look for another
    model, or find none.
    """
    dates: list[tuple[ScalarNode, str]] = []
    others: list[tuple[ScalarNode, str]] = []
    for name, leaf in _leaves(desk.file.root):
        other = _other_kind(leaf, desk.file.text)
        if other is not None:
            (dates if name == "recorded" and other == "a date" else others).append((leaf, other))
    for level, found in (("note", dates), ("warning", others)):
        if found:
            shown = "; ".join(f"line {leaf.line}: {leaf.raw} is {kind}" for leaf, kind in found[:SHOWN])
            more = f"; and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
            texts = "1 text is" if len(found) == 1 else f"{len(found):,} texts are"
            desk.say(level, "yaml", f'{texts} something else for other YAML readers ({shown}{more}): write "{found[0][0].raw}" in quotes')


def _leaves(node: Node, name: str = "") -> list[tuple[str, ScalarNode]]:
    """Keys and values, each with the key that it is or stands behind."""
    if isinstance(node, ScalarNode):
        return [(name, node)]
    if isinstance(node, SequenceNode):
        return [leaf for item in node.items for leaf in _leaves(item, name)]
    out = []
    for key, value in node.pairs if isinstance(node, MappingNode) else ():
        out += [(str(key.value), key), *_leaves(value, str(key.value))]
    return out


def _other_kind(leaf: ScalarNode, text: str) -> str | None:
    """What PyYAML takes a plain scalar for, if that is not what we do."""
    from yaml.nodes import ScalarNode as Scalar
    from yaml.resolver import Resolver

    if text[leaf.start : leaf.start + 1] in ('"', "'", "|", ">"):
        return None
    tag = str(Resolver().resolve(Scalar, leaf.raw, (True, False)))
    there = KINDS.get(tag.rpartition(":")[2], "something else")
    here = KINDS[{"NoneType": "null"}.get(type(leaf.value).__name__, type(leaf.value).__name__)]
    return there if there != here else None
