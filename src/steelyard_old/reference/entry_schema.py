"""One entry of a task file: which keys it may have, of which type each is, and which key is its value.

The value stands under the name of its metric. An entry has at most one such key: `accuracy`, or the entry's own `metric`, or
the task's, or any name that is known as a metric, here or elsewhere (`wer`, `rouge1`, `perplexity`). Everything else that is
no spec key, no setting and no record is an error that names the nearest key, so that a slip of the pen never becomes a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from steelyard_old.did_you_mean import NEAR, did_you_mean
from steelyard_old.errors import SourceError, UsageError
from steelyard_old.options.option import is_share_of_reference
from steelyard_old.reference.entry import PLAIN_KEY, SPEC_DEFAULTS, Entry
from steelyard_old.reference.strict_yaml import MappingNode, Node, ScalarNode

SCALES = ("percent", "fraction", "raw")
KEYS = Entry.declared_keys()


def is_metric(name: str) -> bool:
    """Is this the name of a metric, ours or one of the others?

    >>> [is_metric(name) for name in ("accuracy", "macro_f1", "pass@5", "wer", "acuracy", "sigma")]
    [True, True, True, True, False, False]
    """
    from steelyard_old.metrics.catalogue import NAMES_ELSEWHERE, find

    return find(name) is not None or name in NAMES_ELSEWHERE


def check_spec_keys(spec_keys: Iterable[str]) -> tuple[str, ...]:
    """Declared spec keys, each once; an error for a name that already means something else in an entry."""
    declared = tuple(dict.fromkeys(spec_keys))
    for key in declared:
        if key in KEYS or is_metric(key):
            raise UsageError(
                f"{key!r} cannot be a spec key: entries have a key of that name already.",
                got="a key that entries have anyway",
                need="a name of its own",
            )
        if not key or key != key.strip():
            raise UsageError(
                f"A spec key must be a name without spaces around it, not {key!r}.", got=repr(key), need="a name without spaces around it"
            )
    return declared


def normal_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Only what differs from the defaults: null and the default are the same as absent.

    >>> normal_spec({"dtype": "auto", "quant_algo": "FP8", "spec_dec_algo": None})
    {'quant_algo': 'FP8'}
    """
    return {key: value for key, value in spec.items() if value is not None and value != SPEC_DEFAULTS.get(key)}


def entry_of(node: MappingNode, model: str, shown: str, *, spec_keys: Iterable[str] = (), metric: str | None = None) -> Entry:
    """The entry that a mapping says, every key known and of its type. `spec_keys` have been checked."""
    return _EntryReader(node, model, shown, tuple(spec_keys), metric).entry()


class _EntryReader:
    """One entry while it is read: what it is called in messages, and what was found so far."""

    def __init__(self, node: MappingNode, model: str, shown: str, spec_keys: tuple[str, ...], metric: str | None) -> None:
        self.node, self.model, self.shown = node, model, shown
        self.spec_keys = (*SPEC_DEFAULTS, *spec_keys)
        self.metric = metric

    def entry(self) -> Entry:
        spec: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        value: tuple[str, float, int] | None = None
        for key, node in self.node.pairs:
            name = str(key.value)
            if name in self.spec_keys:
                spec[name] = self._scalar(name, node).value
            elif name in KEYS:
                fields[name] = self._field(name, node)
            elif not self._may_be_value(name):
                self._unknown(name, key.line)
            elif value is not None:
                got = f"two values, {value[0]} in line {value[2]} and {name}"
                self.refuse(key.line, f"it has {got}", got, "one value in an entry", "make two entries, or remove one of the values")
            else:
                value = (name, self._number(name, node), key.line)
        if value is None and fields.get("threshold") is None:
            got = "neither a value nor a threshold"
            self.refuse(self.node.line, f"it has {got}", got, "the metric's value", "write the metric's value, as in `accuracy: 74.2`")
        found = {name: content for name, content in fields.items() if content is not None}
        if value is not None:
            found["value_key"] = value[0]
        elif metric := found.get("metric") or self.metric:
            found["value_key"] = metric
        return Entry(model=self.model, value=value and value[1], spec=normal_spec(spec), line=self.node.line, **found)

    def _may_be_value(self, name: str) -> bool:
        own = self.node.get("metric")
        named = {self.metric, own.value if isinstance(own, ScalarNode) else None}
        return name in named or name in {str(metric).lower() for metric in named if metric} or is_metric(name)

    def _field(self, name: str, node: Node) -> Any:
        reads = KEYS[name]
        if reads not in ("protocol", "rates") and self._scalar(name, node).value is None:
            return None
        return getattr(self, f"_{reads}")(name, node)

    def _scalar(self, name: str, node: Node) -> ScalarNode:
        if not isinstance(node, ScalarNode):
            got = "a mapping" if isinstance(node, MappingNode) else "a list"
            self.refuse(node.line, f"{name} has to be a single value, not {got}", f"{got} as {name}", "one value")
        return node

    def _text(self, name: str, node: Node) -> str:
        """As it is written: a commit such as 1234567 stays the text that it is."""
        scalar = self._scalar(name, node)
        text = scalar.value if isinstance(scalar.value, str) else scalar.raw
        if not text.strip():
            self.refuse(node.line, f"{name} is empty", f"an empty {name}", "a text")
        return text

    def _number(self, name: str, node: Node) -> float:
        value = self._scalar(name, node).value
        if isinstance(value, bool) or not isinstance(value, int | float):
            if value is None:
                self.refuse(node.line, f"{name} is empty; it has to be a number", f"{name}: nothing", "a number")
            self._wrong(name, node, repr(value), "a number")
        try:
            return float(value)
        except OverflowError:
            digits = f"{len(str(value))} digits"
            self.refuse(node.line, f"{name} has {digits}, too many for a float", f"{name} of {digits}", "a number that fits a float")

    def _above(self, name: str, node: Node) -> float:
        number = self._number(name, node)
        if number <= 0:
            self._wrong(name, node, f"{number:g}", "a number above 0")
        return number

    def _not_below(self, name: str, node: Node) -> float:
        number = self._number(name, node)
        if number < 0:
            self._wrong(name, node, f"{number:g}", "0 or more")
        return number

    def _drop(self, name: str, node: Node) -> float | str:
        """A drop in the scale of the value, or as a share of it: 5%."""
        value = self._scalar(name, node).value
        if isinstance(value, str):
            if not is_share_of_reference(value):
                self._wrong(name, node, repr(value), "a number, or a share of the reference, as in 5%")
            return value
        return self._above(name, node) if name == "theta" else self._not_below(name, node)

    def _chance(self, name: str, node: Node) -> float:
        number = self._number(name, node)
        if not 0 < number < 1:
            self._wrong(name, node, f"{number:g}", "a number between 0 and 1")
        return number

    def _count(self, name: str, node: Node) -> int:
        value = self._scalar(name, node).value
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**53:
            self._wrong(name, node, repr(value), "a whole number above 0")
        return value

    def _flag(self, name: str, node: Node) -> bool:
        value = self._scalar(name, node).value
        if not isinstance(value, bool):
            self._wrong(name, node, repr(value), "true or false")
        return value

    def _scale(self, name: str, node: Node) -> str:
        text = self._text(name, node)
        if text not in SCALES:
            self._wrong(name, node, repr(text), f"one of {', '.join(SCALES)}", did_you_mean(text, SCALES, NEAR, str))
        return text

    def _protocol(self, name: str, node: Node) -> dict[str, str]:
        if isinstance(node, ScalarNode) and node.value is None:
            return {}
        if not isinstance(node, MappingNode):
            said, hint = "protocol has to be a mapping", "write keys with values, as in `num_fewshot: 5`"
            self.refuse(node.line, said, "a protocol that is no mapping", "keys with values", hint)
        return {str(key.value): self._protocol_value(str(key.value), value) for key, value in node.pairs}

    def _protocol_value(self, name: str, node: Node) -> str:
        scalar = self._scalar(f"protocol {name}", node)
        if scalar.value is None:
            self.refuse(node.line, f"protocol {name} is empty", f"nothing as protocol {name}", "a text or a number")
        if isinstance(scalar.value, bool):
            return "true" if scalar.value else "false"
        return scalar.value if isinstance(scalar.value, str) else scalar.raw

    def _rates(self, name: str, node: Node) -> dict[str, float]:
        if isinstance(node, ScalarNode) and node.value is None:
            return {}
        if not isinstance(node, MappingNode):
            said, hint = "rates has to be a mapping", "write names with shares, as in `truncated: 0.01`"
            self.refuse(node.line, said, "rates that are no mapping", "names with shares", hint)
        found = {str(key.value): self._not_below(f"rate {key.value}", value) for key, value in node.pairs}
        for name, share in found.items():
            if share > 1:
                self._wrong(f"rate {name}", node, f"{share:g}", "a share of the answers, between 0 and 1")
        return found

    def _unknown(self, name: str, line: int) -> NoReturn:
        from steelyard_old.metrics.catalogue import NAMES_ELSEWHERE

        known = [*self.spec_keys, *KEYS, PLAIN_KEY, *NAMES_ELSEWHERE]
        near = did_you_mean(name, known, shown=str)
        hint = f"{near} Else declare" if near else "declare"
        hint += " your own spec keys as spec_keys in steelyard.toml, and a metric that we do not know as `metric`"
        need = "a spec key, a setting, or the name of the metric"
        self.refuse(line, f"unknown key {name!r}", f"the unknown key {name!r}", need, hint)

    def _wrong(self, name: str, node: Node, got: str, need: str, hint: str = "") -> NoReturn:
        self.refuse(node.line, f"{name} has to be {need}, not {got}", f"{name}: {got}", need, hint)

    def refuse(self, line: int, said: str, got: str, need: str, hint: str = "") -> NoReturn:
        """said: what is wrong, as the end of a sentence."""
        what = f"Cannot read {self.shown!r}, line {line}, an entry of {self.model!r}: {said}."
        raise SourceError(what, got=got, need=need, hint=hint)


def same(one: Entry, other: Entry) -> bool:
    """Do two entries say the same, wherever they stand? Numbers by value, and true is not 1."""
    return _told(one) == _told(other)


def _told(entry: Entry) -> tuple[Any, ...]:
    spec = {key: (type(value) is bool, value) for key, value in normal_spec(entry.spec).items()}
    rest = {key: value for key, value in entry.to_plain().items() if key not in entry.spec}
    return entry.model, spec, rest
