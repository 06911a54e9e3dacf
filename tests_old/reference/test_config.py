"""The configuration: which file counts, what it says, and that every mistake in it is named."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from steelyard_old.errors import SourceError
from steelyard_old.reference import config as module
from steelyard_old.reference.config import Config, Policy, find_config
from steelyard_old.reference.entry import TaskDefaults

WHOLE = """\
directory = "refs"
spec_keys = ["hardware"]
ids = "hashed"

[policy]
max_theta = 3
require_provenance = true
stale_days = 180

[tasks.mmlu]
metric = "accuracy"
scale = "percent"
higher_is_better = true
alpha = 0.05
beta = 0.2
sigma = 50
num_samples = 4096
theta = 3.5
margin = 0
ratio = "errors/words"
chance = 25
tier = "critical"
spec_keys = ["rack"]
protocol = { num_fewshot = 5, chat = true, prompt = "Q:" }

[tasks."other.one"]
"""


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "steelyard.toml").write_text(WHOLE)
    found = find_config(tmp_path)
    assert found.path == tmp_path / "steelyard.toml"
    assert found.directory == tmp_path / "refs"
    assert (found.spec_keys, found.ids) == (("hardware",), "hashed")
    assert found.policy == Policy(max_theta=3.0, require_provenance=True, stale_days=180)
    task = found.task("mmlu")
    assert (task.sigma, task.num_samples, task.scale, task.tier) == (50.0, 4096, "percent", "critical")
    assert task.protocol == {"num_fewshot": "5", "chat": "true", "prompt": "Q:"}
    assert not [each.name for each in fields(TaskDefaults) if getattr(task, each.name) in (None, {})]
    assert found.task("other.one") == found.task("never heard of") == TaskDefaults()
    assert found.spec_keys_of("mmlu") == ("hardware", "rack")
    assert found.spec_keys_of("other.one") == ("hardware",)


def test_every_field_of_a_task_has_a_check() -> None:
    assert set(module._TASK) - {"spec_keys"} == {each.name for each in fields(TaskDefaults)}
    assert set(module._POLICY) == {each.name for each in fields(Policy)}


def test_without_a_file_everything_is_a_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FILE", "no such name.toml")
    monkeypatch.setattr(module, "_PROJECT", "nor this.toml")
    assert find_config(tmp_path) == Config(path=None, directory=tmp_path / "references")


def test_the_nearest_file_counts(tmp_path: Path) -> None:
    low = tmp_path / "a" / "b"
    low.mkdir(parents=True)
    (tmp_path / "steelyard.toml").write_text('directory = "top"')
    assert find_config(low).directory == tmp_path / "top"
    (tmp_path / "a" / "pyproject.toml").write_text('[project]\nname = "steelyard-user"\n')
    assert find_config(low).directory == tmp_path / "top"  # a project that says nothing to us
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.steelyard]\ndirectory = "middle"')
    assert find_config(low).directory == tmp_path / "a" / "middle"
    (tmp_path / "a" / "steelyard.toml").write_text("")
    found = find_config(low)
    assert found.directory == tmp_path / "a" / "references"  # an empty file counts, too
    assert found.path == tmp_path / "a" / "steelyard.toml"
    assert find_config(tmp_path).directory == tmp_path / "top"


def test_a_file_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other.toml"
    other.write_text('directory = "here"')
    assert find_config("/", other).directory == tmp_path / "here"
    monkeypatch.chdir(tmp_path)
    assert find_config("/", "other.toml").directory == tmp_path / "here"
    with pytest.raises(SourceError, match=r"No such file: .*\."):
        find_config(tmp_path, tmp_path / "absent.toml")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(SourceError, match=r"has no table \[tool\.steelyard\]\."):
        find_config(tmp_path, tmp_path / "pyproject.toml")


def test_an_absolute_directory_and_one_above(tmp_path: Path) -> None:
    (tmp_path / "steelyard.toml").write_text('directory = "/elsewhere"')
    assert find_config(tmp_path).directory == Path("/elsewhere")


WRONG = {
    'directroy = "x"': "Unknown key directroy in ",
    'reference = "x"\n': "the keys are directory, spec_keys, ids, history, policy, tasks",
    "directory = 3": "must be a text, not 3",
    'directory = ""': "must be a text",
    'spec_keys = "x"': "a list of names",
    'spec_keys = ["sigma"]': " must be names of their own, not 'sigma' cannot be a spec key: entries have a",
    'ids = "hash"': "ids must be kept or hashed, not 'hash'",
    "policy = 3": "a table, [policy]",
    "[policy]\nmax_thet = 3": "Did you mean policy.max_theta?",
    "[policy]\nstale_days = 1.5": "a whole number above 0",
    '[policy]\nrequire_provenance = "yes"': "true or false",
    "tasks = [1]": "a table, [tasks]",
    "[tasks]\nmmlu = 3": "a table, [tasks.mmlu]",
    "[tasks.mmlu]\nsigmas = 3": "Did you mean tasks.mmlu.sigma?",
    '[tasks.mmlu]\ndirection = "up"': "write higher_is_better",
    "[tasks.mmlu]\nalpha = 5": "between 0 and 1",
    "[tasks.mmlu]\nsigma = -1": "0 or more",
    "[tasks.mmlu]\nsigma = nan": "a finite number",
    "[tasks.mmlu]\nsigma = true": "a finite number",
    "[tasks.mmlu]\ntheta = 0": "a number above 0",
    "[tasks.mmlu]\nnum_samples = true": "a whole number above 0",
    '[tasks.mmlu]\nscale = "percents"': "tasks.mmlu.scale must be percent, fraction or raw, not 'percents'",
    '[tasks.mmlu]\ntier = "vital"': "must be critical, supporting or advisory",
    "[tasks.mmlu]\nprotocol = { a = [1] }": "tasks.mmlu.protocol.a",
    "a = 1\nb = = 2": "line 2",
    "a = 1\nb = [1": "line 2",
    "a = 1\na = 2\n": "line 2",
    "a = " + "[" * 100_000: "is nested too deeply.",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: repr(text)[:40])
def test_mistakes_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "steelyard.toml").write_text(text)
    with pytest.raises(SourceError) as caught:
        find_config(tmp_path)
    assert WRONG[text] in str(caught.value)
    assert "steelyard.toml" in str(caught.value)


def test_mistakes_in_pyproject_and_in_the_encoding(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\nsteelyard = 3\n")
    with pytest.raises(SourceError, match=r"In .*, tool\.steelyard is not a table\."):
        find_config(tmp_path)
    (tmp_path / "steelyard.toml").write_bytes(b"# \n# \xff\n")
    with pytest.raises(SourceError, match="line 2"):
        find_config(tmp_path)
    (tmp_path / "steelyard.toml").write_bytes(b'\xef\xbb\xbfdirectory = "x"\r\n')
    assert find_config(tmp_path).directory == tmp_path / "x"


def test_loads_no_numpy_and_no_yaml() -> None:
    code = "from steelyard_old.reference.config import find_config; find_config('.'); import sys; print(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "scipy", "duckdb", "yaml", "click"} & set(run.stdout.split())
