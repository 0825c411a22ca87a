"""The generator of mistakes, on a small sample: the corpus is fixed, and nearly every mistake is noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.wrong_greens import corpus
from tests.wrong_greens.__main__ import examples, judge_all
from tests.wrong_greens.green import runs
from tests.wrong_greens.mistakes import mistakes

#: Of the corpus as JSON: whoever changes the generator of events changes this, too.
DIGEST = "58cfcdb21627ff38"


def test_the_corpus_is_fixed() -> None:
    """2,000 events, each with its own ID, none of them in a suite."""
    events = corpus.events()
    text = json.dumps(events, sort_keys=True)

    assert len({event["messageId"] for event in events}) == len(events) == 2_000
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGEST


@pytest.mark.slow
def test_a_sample_of_mistakes_is_noticed(tmp_path: Path) -> None:
    """At least 97 of 100 mistakes with an effect, by `run`, `check`, policies or replay."""
    loaded = examples(tmp_path, ["starter"], 400)
    found = list(judge_all(mistakes(loaded, 60, seed=3)))
    effective = [(mistake, verdict) for mistake, verdict in found if verdict.effect]
    missed = [f"{mistake}: {verdict.effect}" for mistake, verdict in effective if not verdict.noticed_by]

    assert len(effective) > 30
    assert len(missed) <= len(effective) * 0.03, missed


@pytest.mark.slow
def test_unchanged_projects_pass_in_any_order_and_time_zone(tmp_path: Path) -> None:
    """A red run without a mistake would be a false alarm."""
    failed = [run for run in runs(tmp_path, 3, seed=1) if run.failures]

    assert failed == []
