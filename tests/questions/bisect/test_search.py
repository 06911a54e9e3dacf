"""The search without git: whom it asks, what it names, when it gives up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from steelyard.errors import DataError
from steelyard.questions.bisect.search import (
    CHANGED,
    NOT_BACK,
    NOTHING_LEFT,
    SPENT,
    WHOLE,
    Answers,
    Scores,
    SearchOptions,
    SearchOutcome,
    SkippedCommitError,
    search,
    told_apart,
)


class World:
    """Commits at which items have their own chance of being right; who asked what is counted."""

    def __init__(
        self, commits: int = 64, first_bad: int = 23, *, items: int = 400, broken: int = 20, flaky: float = 0.02, seed: int = 0
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.first_bad, self.ids = first_bad, [f"q{i}" for i in range(items)]
        usual = np.where(np.arange(items) % 5 == 0, flaky, 1 - flaky)
        self.chance = np.tile(usual, (commits, 1))
        self.chance[first_bad:, [i for i in range(items) if i % 5 == 1][:broken]] = flaky
        self.asked: Counter[tuple[int, str]] = Counter()
        self.skips: set[int] = set()
        self.commits = [f"{i:040x}" for i in range(commits)]

    def run(self, commit: int, ids: Sequence[str] | None = None) -> dict[str, float]:
        return {id_: float(self.rng.random() < self.chance[commit, int(id_[1:])]) for id_ in ids or self.ids}

    def ask(self, commit: int, ids: Sequence[str]) -> Scores:
        assert len(set(ids)) == len(ids) > 0
        if commit in self.skips:
            raise SkippedCommitError("does not build")
        self.asked.update((commit, id_) for id_ in ids)
        return self.run(commit, ids)

    def search(self, answers: Answers | None = None, **options: object) -> tuple[SearchOutcome, Answers]:
        answers = answers or Answers(self.commits)
        found = search(self.run(0), self.run(len(self.commits) - 1), answers, self.ask, SearchOptions(**options))  # type: ignore[arg-type]
        return found, answers


def test_the_first_bad_commit_is_named_with_a_tenth_of_the_calls() -> None:
    for seed in range(5):
        world = World(first_bad=[1, 23, 40, 62, 63][seed], seed=seed)
        found, answers = world.search()
        assert found.named == range(world.first_bad, world.first_bad + 1)
        assert found.method == CHANGED
        assert answers.calls == sum(world.asked.values()) < 400 * 6 / 10
        assert found.posterior[world.first_bad - 1] >= 0.95
        assert {id_ for _, id_ in world.asked} <= set(found.changed)


def test_a_deterministic_command_is_asked_once_for_an_item_at_a_commit() -> None:
    world = World(flaky=0.0, broken=9)
    found, _ = world.search()
    assert found.named == range(23, 24)
    assert set(world.asked.values()) == {1}


def test_a_command_that_varies_is_asked_three_times_at_most() -> None:
    world = World(flaky=0.2, broken=20, items=100, commits=4, first_bad=2)
    found, _ = world.search(whole_runs="never", delta=1e-30, max_calls=10_000)
    assert found.named is None
    assert found.why == NOTHING_LEFT
    assert max(world.asked.values()) == 3


def test_kept_answers_are_not_asked_again_and_count() -> None:
    world = World()
    kept: dict[str, dict[str, list[float]]] = {}
    good, bad = world.run(0), world.run(63)
    first = search(good, bad, Answers(world.commits, kept), world.ask, SearchOptions())
    before = sum(world.asked.values())
    again = Answers(world.commits, kept)
    second = search(good, bad, again, world.ask, SearchOptions())
    assert sum(world.asked.values()) == before == again.reused
    assert again.calls == 0
    assert second.named == first.named
    assert second.posterior == pytest.approx(first.posterior)


def test_answers_are_saved_before_the_next_commit_is_asked() -> None:
    world = World()
    seen: list[int] = []
    kept: dict[str, dict[str, list[float]]] = {}

    def save() -> None:
        seen.append(sum(len(scores) for items in kept.values() for scores in items.values()))
        assert seen[-1] == sum(world.asked.values())

    world.search(Answers(world.commits, kept, save))
    assert len(seen) > 3


def test_a_skipped_commit_joins_the_next_and_the_range_is_named() -> None:
    world = World(first_bad=23)
    world.skips = {21, 22, 23, 40}
    found, _ = world.search()
    assert found.named == range(21, 25)
    assert set(found.skipped) <= world.skips
    assert found.posterior[20:24].sum() >= 0.95


def test_a_range_without_a_commit_that_can_be_judged_is_not_named() -> None:
    world = World(commits=8, first_bad=3)
    world.skips = set(range(1, 7))
    found, _ = world.search()
    assert found.named is None
    assert found.why == NOTHING_LEFT


def test_two_commits_need_no_search_beyond_the_ends() -> None:
    world = World(commits=2, first_bad=1)
    found, _ = world.search()
    assert found.named == range(1, 2)
    assert {commit for commit, _ in world.asked} == {0, 1}


def test_a_loss_that_was_luck_is_not_found() -> None:
    world = World(broken=0, flaky=0.06, seed=3)
    good, bad = world.run(0), world.run(63)
    while sum(good.values()) <= sum(bad.values()):
        good, bad = world.run(0), world.run(63)
    found = search(good, bad, Answers(world.commits), world.ask, SearchOptions(whole_runs="never"))
    assert found.why == NOT_BACK
    assert found.named is None
    assert found.posterior == pytest.approx(1 / 63)


def test_a_loss_that_is_spread_is_found_by_whole_runs() -> None:
    world = World(commits=16, first_bad=6, broken=0, items=2000, seed=2)
    world.chance = np.full((16, 2000), 0.85)
    world.chance[6:] = 0.81
    found, answers = world.search()
    assert found.method == WHOLE
    assert found.named == range(6, 7)
    assert found.noise == pytest.approx((0.85 * 0.15 / 2000) ** 0.5, rel=0.5)
    assert "whole runs" in found.warnings[0]
    assert answers.calls == sum(world.asked.values())


def test_whole_runs_of_a_deterministic_command() -> None:
    world = World(commits=16, first_bad=6, flaky=0.0, broken=5)
    found, _ = world.search(whole_runs="always")
    assert found.named == range(6, 7)
    assert max(count for (commit, _), count in world.asked.items() if 0 < commit < 15) == 1


def test_too_few_changed_items_are_refused() -> None:
    world = World(flaky=0.0, broken=7)
    with pytest.raises(DataError, match="Only 7 of 400 items") as refused:
        world.search()
    assert "whole_runs='always'" in str(refused.value)
    assert not world.asked


def test_ends_that_are_swapped_or_share_nothing_are_refused() -> None:
    world = World(flaky=0.0)
    good, bad = world.run(0), world.run(63)
    with pytest.raises(DataError, match="not worse than the good end"):
        search(bad, good, Answers(world.commits), world.ask, SearchOptions())
    with pytest.raises(DataError, match="share no items"):
        search(good, {"other": 0.0}, Answers(world.commits), world.ask, SearchOptions())
    assert not world.asked


def test_no_more_calls_than_allowed() -> None:
    for most in (1, 30, 90):
        world = World()
        found, answers = world.search(max_calls=most)
        assert answers.calls <= most
        assert found.why == SPENT
        assert found.named is None


def test_changed_items_of_scores_are_those_that_fell_by_more_than_most_moved() -> None:
    rng = np.random.default_rng(5)
    good = {f"q{i}": 0.7 + 0.01 * rng.normal() for i in range(100)}
    bad = {id_: score + 0.01 * rng.normal() - (0.3 if id_ in ("q3", "q50") else 0) for id_, score in good.items()}
    _, changed = told_apart(good, bad, higher_is_better=True)
    assert {"q3", "q50"} <= set(changed)
    assert len(changed) < 15
    lower = {id_: -score for id_, score in good.items()}
    assert told_apart(lower, {id_: -score for id_, score in bad.items()}, higher_is_better=False)[1] == changed


def test_scores_are_right_where_they_are_nearer_to_the_good_end() -> None:
    commits = [f"{i:040x}" for i in range(32)]
    rng = np.random.default_rng(7)
    good = {f"q{i}": 0.8 for i in range(60)}
    bad = {id_: 0.5 if int(id_[1:]) < 20 else 0.8 for id_ in good}

    def ask(commit: int, ids: Sequence[str]) -> Scores:
        return {id_: (bad if commit >= 9 else good)[id_] + 0.05 * float(rng.normal()) for id_ in ids}

    assert search(good, bad, Answers(commits), ask, SearchOptions()).named == range(9, 10)
