"""Which column plays which part: found, given, refused."""

from __future__ import annotations

import pandas as pd
import pytest

from cases import every
from steelyard.errors import AmbiguityError, DataError, SourceError, UsageError
from steelyard.read.open_source import open_source
from steelyard.read.roles import RECOGNISED, assign, may_use

pytestmark = pytest.mark.usefixtures("shared_engine")
ALL = [(role, name) for role, names in RECOGNISED.items() for name in names]


@every(("role", "name"), ALL)
@every("change", [str, str.upper, str.title])
def test_every_recognised_name_in_any_case(role: str, name: str, change: object) -> None:
    assert assign([change(name), "other"], {}).roles == {role: change(name)}


@pytest.mark.parametrize("name", ["weight", "ratio", "truths", "my_label", "subject"])
def test_no_other_name_is_taken(name: str) -> None:
    assert assign([name], {}).roles == {}


def test_two_candidates_are_an_error_with_the_option() -> None:
    with pytest.raises(
        AmbiguityError,
        match=r"2 columns could be the truth: 'label', 'Gold'\. Hint: choose one with truth='label'",
    ):
        assign(["label", "Gold", "pred"], {})
    with pytest.raises(AmbiguityError, match=r"2 columns could be the model: 'model', 'system'\..*model="):
        assign(["model", "system"], {})
    with pytest.raises(AmbiguityError, match=r"2 columns could be the truth: 'truth', 'Truth'\."):
        assign(["truth", "Truth"], {})


def test_a_given_column_ends_the_ambiguity() -> None:
    assert assign(["label", "gold", "pred"], {"truth": "GOLD"}).roles == {"truth": "gold", "prediction": "pred"}
    assert assign(["sample", "score"], {"group": "sample"}).roles == {"score": "score", "group": "sample"}
    assert assign(["Truth", "truth"], {"truth": "truth"}).roles == {"truth": "truth"}


def test_an_unknown_column_names_the_nearest() -> None:
    with pytest.raises(
        UsageError,
        match=r"No column 'answr' for truth=; the columns are 'answer', 'pred'\. Did you mean 'answer'\?",
    ):
        assign(["answer", "pred"], {"truth": "answr"})
    with pytest.raises(UsageError, match=r"No column 'language' for by=; the columns are 'answer'\."):
        assign(["answer"], {"by": ("language",)})
    with pytest.raises(AmbiguityError, match=r"Several columns match 'ANSWER': 'Answer', 'answer'\."):
        assign(["Answer", "answer"], {"truth": "ANSWER"})


def test_duplicate_names_are_refused() -> None:
    with pytest.raises(SourceError, match=r"The column name 'x' occurs 2 times\."):
        assign(["x", "x", "score"], {})


def test_group_none_ignores_with_a_warning() -> None:
    found = assign(["score", "passage"], {"group": "none"})
    assert found.roles == {"score": "score"}
    assert found.warnings == (
        "groups ignored (group='none'): the items of column 'passage' are treated as independent, so intervals may be too narrow",
    )
    assert assign(["score"], {"group": "none"}).warnings == ()


def test_subject_category_and_task_are_only_offered() -> None:
    found = assign(["score", "subject", "Task", "category"], {"by": ("category",)})
    assert found.roles == {"score": "score"}
    assert found.hints == ("column 'subject' could be used with by= or group=", "column 'Task' could be used with by= or group=")


def test_given_only_roles() -> None:
    found = assign(["score", "weight", "n", "d"], {"weight": "weight", "ratio": ("n", "d")})
    assert found.roles == {"score": "score", "weight": "weight"}
    assert found.ratio == ("n", "d")
    with pytest.raises(UsageError, match=r"ratio= must be .* not 'n'"):
        assign(["n"], {"ratio": "n"})
    with pytest.raises(UsageError, match="Unknown argument 'colour'"):
        assign(["n"], {"colour": "n"})
    with pytest.raises(UsageError, match=r"Unknown argument 'truht'\. Did you mean 'truth'\?"):
        assign(["n"], {"truht": "n"})
    with pytest.raises(UsageError, match=r"The column 'label' is both truth and prediction\."):
        assign(["label"], {"truth": "label", "prediction": "label"})
    with pytest.raises(UsageError, match=r"truth= must be the name of a column.*, not list"):
        assign(["label"], {"truth": [1, 2]})


def test_readers_keep_only_what_could_be_asked_for() -> None:
    keep = may_use({"by": ("Language",), "truth": "my truth", "weight": None})
    assert [name for name in ("language", "my truth", "PRED", "prompt") if keep(name)] == ["language", "my truth", "PRED"]


MODELS = pd.DataFrame({"system": ["a", "b", "a"], "score": [1, 0, 1]})


def test_several_models_in_one_source() -> None:
    with pytest.raises(
        AmbiguityError,
        match=r"Column 'system' has 2 models, 'a', 'b', which cannot be measured as one\..*split the source by model",
    ):
        open_source(MODELS, columns={})
    source = open_source(MODELS, columns={"by": ("model",)})
    assert source.by == ("system",)
    assert source.tabulate(["score"], by="system") == source.tabulate(["score"], by="model") == [("a", 1.0, 2), ("b", 0.0, 1)]
    assert open_source(MODELS.query("system == 'a'"), columns={}).roles["model"] == "system"
    many = pd.DataFrame({"model": [f"m{i:02}" for i in range(20)], "score": 1})
    with pytest.raises(
        AmbiguityError,
        match=r"Column 'model' has 20 models, 'm00', 'm01', 'm02', 'm03', 'm04', 'm05', 'm06', 'm07', 'm08',.*'m11' and 8 more",
    ):
        open_source(many, columns={})


@pytest.mark.parametrize("kind", ["memory", "engine"])
def test_ids(kind: str, tmp_path: object) -> None:
    def opened(columns: dict[str, list[object]], **given: object) -> object:
        if kind == "memory":
            return open_source(columns, columns=given)
        pd.DataFrame(columns).to_parquet(tmp_path / "a.parquet")
        return open_source(tmp_path / "a.parquet", columns=given)

    opened({"id": ["a", "b"], "score": [1, 0]}).check_ids()
    twice = {"id": ["c", "a", "b", "a", "c", "c"], "score": [1.0] * 6}
    message = r"Duplicate ids: 2 ids occur in 5 rows, such as .*'a'.*\. Hint: name the column that .* with repeat=, or drop"
    for ask in (lambda s: s.check_ids(), lambda s: s.items(), lambda s: s.tabulate(["score"])):
        with pytest.raises(DataError, match=message):
            ask(opened(twice))
    opened({**twice, "run": [0, 0, 0, 1, 1, 2]}).check_ids()
    with pytest.raises(DataError, match=r"Duplicate ids: 1 pair of id and repeat occurs in 2 rows, such as \('c', '0'\)\."):
        opened({**twice, "run": [0, 0, 0, 1, 0, 2]}).check_ids()
    with pytest.raises(DataError, match=r"2 of 3 rows have no id; the first is row 2\."):
        opened({"id": ["a", None, None], "score": [1, 0, 1]}).items()
    with pytest.raises(DataError, match=r"1 of 2 rows have no repeat; the first is row 1\."):
        opened({"id": ["a", "b"], "run": [None, "1"], "score": [1, 0]}).items()
    only_five = opened({"id": [i // 2 for i in range(20)], "score": [1] * 20})
    with pytest.raises(DataError, match=r"Duplicate ids: 10 ids occur in 20 rows, such as '0', '1', '2', '3', '4'\."):
        only_five.check_ids()


def test_a_role_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"No truth column; the columns are 'score'\. Hint: name it with truth="):
        open_source({"score": [1]}, columns={}).tabulate(["truth"])
    with pytest.raises(UsageError, match=r"'lang' is not among the columns named when the source was opened: it has no slice columns"):
        open_source({"score": [1]}, columns={}).tabulate(["score"], by="lang")
