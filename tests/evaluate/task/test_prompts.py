"""Samples, subsets in hash order, and models asked for answers."""

from __future__ import annotations

import hashlib
import random
from types import SimpleNamespace

import pytest

from steelyard.errors import DataError
from steelyard.evaluate.task.prompts import (
    PromptSample,
    answers,
    hash_ordered,
    named_once,
    picked,
    sample_of,
    sample_of_evaluator,
    score_of,
    text_of,
)


def some(n: int) -> list[PromptSample]:
    return [PromptSample(id=str(i), prompt=i, reference=i) for i in range(n)]


def test_hash_order_is_that_of_sha256() -> None:
    found = [sample.id for sample in hash_ordered(some(20), "7")]
    assert found == sorted(map(str, range(20)), key=lambda i: hashlib.sha256(b"7\0" + i.encode()).digest())


def test_subsets_are_nested_and_know_no_file_order() -> None:
    samples = some(300)
    shuffled = random.Random(0).sample(samples, len(samples))
    one, other = hash_ordered(samples, "0"), hash_ordered(shuffled, "0")
    assert one == other
    assert hash_ordered(samples[:200], "0") == [sample for sample in one if int(sample.id) < 200], "samples that are added displace none"
    assert hash_ordered(samples, "1") != one


def test_a_subset_is_like_a_random_one() -> None:
    """Each third of the file has its share, within 4 standard errors of drawing without replacement, for 50 seeds together."""
    first = sum(int(sample.id) < 100 for seed in range(50) for sample in hash_ordered(some(300), str(seed))[:60])
    error = (50 * 60 * (1 / 3) * (2 / 3) * (240 / 299)) ** 0.5
    assert abs(first - 1000) <= 4 * error


def test_samples_as_people_write_them() -> None:
    assert sample_of({"id": 3, "prompt": "p", "reference": "r", "group": 1}) == PromptSample(id="3", prompt="p", reference="r", group="1")
    assert sample_of(("p", "r")).id == sample_of({"prompt": "p", "reference": "x"}).id != sample_of(("q", "r")).id
    assert sample_of_evaluator(("p", {"temperature": 0}, "r", 1, 2)).more == (1, 2)
    with pytest.raises(DataError, match=r"A sample has no reference; its keys are prompt\."):
        sample_of({"prompt": "p"})
    for wrong, kind in (("text", "str"), (("a", "b", "c"), "tuple")):
        with pytest.raises(DataError, match=f"must be a mapping with prompt and reference, or a pair of them, not a {kind}"):
            sample_of(wrong)
    with pytest.raises(DataError, match="generate_samples"):
        sample_of_evaluator(("p", "r"))


def test_ids_must_tell_samples_apart() -> None:
    with pytest.raises(DataError, match=r"Two samples have the id '1'\."):
        named_once([*some(3), *some(2)[1:]])
    with pytest.raises(DataError, match="no samples"):
        named_once([])


def test_picked_in_the_order_asked_for() -> None:
    assert [sample.id for sample in picked(some(9), ["7", "2"])] == ["7", "2"]
    with pytest.raises(DataError, match=r"2 of 3 recorded items are no longer in the task, such as '10'\."):
        picked(some(9), ["1", "10", "11"])


def test_sampling_arguments_stay_with_their_sample() -> None:
    samples = [PromptSample(id="a", prompt="a", reference="", sampling={"top_p": 1}), PromptSample(id="b", prompt="b", reference="")]
    assert answers(lambda prompt, **more: (prompt, more), samples, n=2) == [("a", {"n": 2, "top_p": 1}), ("b", {"n": 2})]


@pytest.mark.parametrize("said", ["one text", ["too", "few"]])
def test_a_batch_needs_an_answer_to_every_prompt(said: object) -> None:
    with pytest.raises(DataError, match="to 3 prompts"):
        answers(SimpleNamespace(generate=lambda prompts: said), some(3), batch=8)


def test_texts_and_scores() -> None:
    assert text_of(SimpleNamespace(outputs=[SimpleNamespace(text="x")])) == "x"
    assert text_of("x") == "x"
    sample = some(1)[0]
    assert (score_of(True, sample), score_of("0.5", sample)) == (1.0, 0.5)
    for wrong in (None, "right", float("nan"), float("inf")):
        with pytest.raises(DataError, match="The score of item"):
            score_of(wrong, sample)
