"""The model-index of a front matter changed as text: our own results replaced, and not a byte that others wrote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, NoReturn

from steelyard_old.errors import SourceError
from steelyard_old.late_dataclass import dataclass
from steelyard_old.reference.entry_text import Splice, line_end, line_start

INDEX = "model-index"


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What is to stand in the index: under which name, on which line that name is written, and the lines of each result.

    `source` is what args.source of a metric says when it is one of ours.
    """

    name: str
    name_line: str
    items: Sequence[Sequence[str]]
    source: str


def with_results(front: str, new: Results, newline: str, shown: str, above: int = 1) -> str:
    """The front matter with these results of the model, in the place of those that were ours. `above` lines come before it.

    >>> new = Results(name="m", name_line="- name: m", items=[["- task:", "    type: x"]], source="us")
    >>> print(with_results("license: mit  # for now\\n", new, "\\n", "README.md"), end="")
    license: mit  # for now
    model-index:
    - name: m
      results:
      - task:
          type: x
    """
    index = _Index(front, shown, above, new.source)
    surgery = _Surgery(index, new, newline)
    changed = surgery.text()
    kept = list(_events(front, surgery.given_up))
    after = _Index(changed, shown, above, new.source)
    rest = _events(changed, [span for model in after.named(new.name) for span in after.own_spans(model)])
    if not all(event in rest for event in kept):  # in this order: `in` goes on where it stopped
        index.refuse(None, "its YAML cannot be changed without touching other entries", "plain block style")
    return changed


def names(front: str, shown: str, above: int = 1) -> list[str]:
    """The models that the index names."""
    index = _Index(front, shown, above, "")
    return [str(name.value) for model in index.models() if (name := _get(model, "name")) is not None]


def _get(node: Any, key: str) -> Any:
    """The value of a key of a mapping; None for all that is not there."""
    if node is None or node.id != "mapping":
        return None
    return next((value for name, value in node.value if name.id == "scalar" and name.value == key), None)


def _empty(node: Any) -> bool:
    """Nothing is written there yet: no value, null, or an empty list."""
    return (node.id == "scalar" and node.tag == "tag:yaml.org,2002:null") or (node.id == "sequence" and not node.value)


class _Index:
    """The tree of a front matter. PyYAML finds the places; what the values mean is nobody's business here."""

    def __init__(self, text: str, shown: str, above: int, source: str) -> None:
        self.text, self.shown, self.above, self.source = text, shown, above, source
        import yaml

        try:
            self.root = yaml.compose(text, yaml.SafeLoader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            parts = [part for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part]
            said = ", ".join(parts) or str(error).splitlines()[0]
            self.refuse(None if mark is None else mark.line, said, "well-formed YAML")
        except RecursionError:
            self.refuse(None, "it has too many levels", "a flatter front matter")
        if self.root is not None and (self.root.id != "mapping" or self.root.flow_style):
            self.refuse(self.root.start_mark.line, "it is not a mapping in block style", "lines such as `license: mit`")
        found: list[tuple[Any, Any]] = [
            (key, value) for key, value in (self.root.value if self.root else ()) if key.id == "scalar" and key.value == INDEX
        ]
        if len(found) > 1:
            self.refuse(found[1][0].start_mark.line, f"{INDEX} is there twice", f"{INDEX} once")
        self.key: Any = found[0][0] if found else None
        self.value: Any = found[0][1] if found else None

    def refuse(self, line: int | None, got: str, need: str) -> NoReturn:
        where = "" if line is None else f", line {line + 1 + self.above}"
        raise SourceError(
            f"Cannot change the front matter of {self.shown!r}{where}: {got}.",
            got=got,
            need=need,
            hint=f"it needs {need}; nothing was written",
        )

    def items(self, listed: Any, what: str) -> list[Any]:
        """The items of a list that can be added to by lines."""
        if listed is None or _empty(listed):
            return []
        if listed.id != "sequence" or listed.flow_style:
            self.refuse(listed.start_mark.line, f"{what} is not a list in block style", "one item a line, each behind a dash")
        return list(listed.value)

    def models(self) -> list[Any]:
        return [each for each in self.items(self.value, INDEX) if each.id == "mapping"]

    def named(self, name: str) -> list[Any]:
        """The models of this name: one, if all is well."""
        return [each for each in self.models() if (found := _get(each, "name")) is not None and found.value == name]

    def own(self, model: Any) -> list[tuple[Any, Any]]:
        """(list, item) for every result that is ours alone, and for every metric of ours in a result that is not."""
        results = _get(model, "results")
        found = []
        for result in self.items(results, "results") if results is not None else []:
            listed = _get(result, "metrics")
            metrics = list(listed.value) if listed is not None and listed.id == "sequence" else []
            ours = [metric for metric in metrics if self._is_ours(metric)]
            if ours and len(ours) == len(metrics):
                found.append((results, result))
            elif ours:
                self.items(listed, "metrics")
                found += [(listed, metric) for metric in ours]
        return found

    def _is_ours(self, metric: Any) -> bool:
        source = _get(_get(metric, "args"), "source")
        return source is not None and source.id == "scalar" and source.value == self.source

    def own_spans(self, model: Any) -> list[tuple[int, int]]:
        return [self.span(listed, item) for listed, item in self.own(model)]

    def span(self, listed: Any, item: Any) -> tuple[int, int]:
        """An item of a list, from the line of its dash to the end of its last line."""
        start, first = line_start(self.text, item.start_mark.index), listed.start_mark.index
        while start > first and not self.text[start:].lstrip(" ").startswith("-"):
            start = line_start(self.text, start - 1)
        return start, line_end(self.text, self.end(item), past=True)

    def end(self, node: Any) -> int:
        """Where a node ends, without the blank lines and comments behind it that PyYAML counts to some."""
        if node.id == "scalar" or node.flow_style or not node.value:
            start, stop = int(node.start_mark.index), int(node.end_mark.index)
            return start + len(self.text[start:stop].rstrip()) if node.id == "scalar" and node.style in ("|", ">") else stop
        last = node.value[-1]
        return self.end(last[1] if node.id == "mapping" else last)


@dataclass(slots=True)
class _Surgery:
    """The cuts, each found in the old text, made from its end to its beginning."""

    index: _Index
    new: Results
    newline: str
    cuts: list[Splice] = field(default_factory=list)
    given_up: list[tuple[int, int]] = field(default_factory=list)

    def text(self) -> str:
        models = self.index.named(self.new.name)
        if len(models) > 1:
            self.index.refuse(models[1].start_mark.line, f"the model {self.new.name!r} is there twice", "each model once")
        if models:
            self._update(models[0])
        elif self.index.value is None:
            margin = self.index.root.start_mark.column if self.index.root is not None else 0
            self._insert(len(self.index.text), margin, [f"{INDEX}:", *self._model()])
        elif _empty(self.index.value):
            self._fill(self.index.value, self.index.key, self._model(), 0)
        else:
            self._insert(self._behind(self.index.value), self.index.value.start_mark.column, self._model())
        whole = self.index.text
        for cut in sorted(self.cuts, key=lambda cut: (cut.start, cut.end), reverse=True):
            whole = cut.applied(whole)
        return whole

    def _model(self) -> list[str]:
        return [self.new.name_line, "  results:", *(f"  {line}" for line in self._lines())]

    def _lines(self) -> list[str]:
        return [line for item in self.new.items for line in item]

    def _update(self, model: Any) -> None:
        """The results of a model that is in the index: ours go, and the new ones come where the first of them was."""
        if model.flow_style:
            self.index.refuse(model.start_mark.line, "the model is written in braces", "block style, one key a line")
        key = next((name for name, _ in model.value if name.id == "scalar" and name.value == "results"), None)
        results = _get(model, "results")
        if key is None:
            self._insert(self._behind(model), model.start_mark.column, ["results:", *self._lines()])
            return
        if _empty(results):
            self._fill(results, key, self._lines(), model.start_mark.column)
            return
        self.index.items(results, "results")
        own = self.index.own(model)
        self.given_up = [self.index.span(*each) for each in own]
        whole = [span[0] for (listed, _), span in zip(own, self.given_up, strict=True) if listed is results]
        self.cuts += [Splice(start, end, "") for start, end in self.given_up]
        self._insert(whole[0] if whole else self._behind(results), results.start_mark.column, self._lines())

    def _fill(self, empty: Any, key: Any, lines: list[str], margin: int) -> None:
        """Lines below a key that has no value yet; a null or an empty list that is written there goes."""
        start, end = empty.start_mark.index, empty.end_mark.index
        self.given_up.append((start, max(end, start + 1)))
        self.cuts.append(Splice(start, end, ""))
        self._insert(line_end(self.index.text, max(end, key.end_mark.index), past=True), margin, lines)

    def _behind(self, node: Any) -> int:
        return line_end(self.index.text, self.index.end(node), past=True)

    def _insert(self, place: int, margin: int, lines: Sequence[str]) -> None:
        text, new = self.index.text, self.newline
        first = "" if place == 0 or text[:place].endswith("\n") else new
        self.cuts.append(Splice(place, place, first + "".join(f"{' ' * margin}{line}{new}" for line in lines)))


def _events(text: str, without: Sequence[tuple[int, int]]) -> Iterator[tuple[str, Any, Any, Any]]:
    """What a parser sees in the text, without these stretches. Aliases stay aliases, so no text can blow up."""
    import yaml

    for event in yaml.parse(text, yaml.SafeLoader):
        at = event.start_mark.index
        named = type(event).__name__
        if not named.startswith(("Stream", "Document")) and not named.endswith("EndEvent") and not any(a <= at < b for a, b in without):
            yield named, getattr(event, "value", None), getattr(event, "tag", None), getattr(event, "anchor", None)
