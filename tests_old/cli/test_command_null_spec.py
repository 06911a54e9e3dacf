"""A spec that means nothing, written as a text that means something."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from answers import Command


@pytest.mark.parametrize("word", ["null", "~"])
def test_a_spec_is_for_other_readers_what_it_is_for_us(runs: Path, steelyard: Command, word: str) -> None:
    done = steelyard("record", "a.jsonl", "--task", "u", "--model", "m", "--spec", f"quant_algo={word}")
    if done.code == 3:
        return
    (entry,) = yaml.safe_load(Path("references/u.yaml").read_text())["m"]
    absent_for_us = steelyard("check", "b.jsonl", "--task", "u", "--model", "m").code != 3
    assert absent_for_us == (entry.get("quant_algo") is None)
