"""Counters balance after any sequence of actions: each event is delivered, waiting, parked, or dropped for a reason."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from svctoolkit.sdk import ServiceClient

from .gateway import KEY, Gateway

OTHER = "other-key"
ANSWERS: dict[str, Any] = {
    "takes all": None,
    "is down": (503, {}, b"x"),
    "cuts": (200, {"Content-Length": "100"}, b"o"),
    "refuses some": (400, {}, b"no"),
    "knows no key": (401, {}, b"invalid write key"),
    "is disabled": (404, {}, b"source is disabled"),
}


class BalanceMachine(RuleBasedStateMachine):
    """A client, its data plane, its directory, and everything that can happen to them."""

    def __init__(self) -> None:
        super().__init__()
        self.gateway = Gateway()
        self.gateway.keys |= {OTHER}
        self.folder = Path(tempfile.mkdtemp())
        self.key = KEY

    @initialize(size=st.integers(1, 10), limit=st.integers(5, 30))
    def start(self, size: int, limit: int) -> None:
        self.client = ServiceClient(
            data_directory=self.folder / "data",
            data_plane_url=self.gateway.url,
            flush_queue_size=size,
            db_threshold_count=limit,
            sleep_timeout=3600,
            backoff=lambda _: 0.0,
            before_send=lambda event: None if event.get("event") == "unwanted" else event,
        )

    @rule(key=st.sampled_from([KEY, OTHER]))
    def initialize_client(self, key: str) -> None:
        self.client.initialize(key).wait(60)

    @rule(
        name=st.sampled_from(["e", "bad", "unwanted"]),
        number=st.integers(1, 8),
        user=st.sampled_from([None, "u-1", "u-2"]),
        size=st.sampled_from([0, 0, 0, 40_000]),
    )
    def track(self, name: str, number: int, user: str | None, size: int) -> None:
        for _ in range(number):
            self.client.track(name, {"text": "x" * size}, user_id=user)

    @rule()
    def identify_and_reset(self) -> None:
        self.client.identify("u-1", {"a": 1})
        self.client.reset()

    @rule(flag=st.booleans())
    def opt_out(self, flag: bool) -> None:
        self.client.opt_out(flag)

    @rule(what=st.sampled_from(sorted(ANSWERS)))
    def change_the_data_plane(self, what: str) -> None:
        answer = ANSWERS[what]
        if what == "refuses some":
            self.gateway.rule = lambda events: answer if "bad" in json.dumps([e.get("event") for e in events]) else None
        else:
            self.gateway.rule = lambda _: answer

    @rule()
    def flush(self) -> None:
        self.client.flush(0.3)

    @rule()
    def retry_parked(self) -> None:
        self.client.retry_parked()

    @rule()
    def shut_down(self) -> None:
        self.client.shutdown(0.3)

    @precondition(lambda self: (self.folder / "data").exists())
    @rule(how=st.sampled_from(["directory", "files"]))
    def destroy(self, how: str) -> None:
        if how == "directory":
            shutil.rmtree(self.folder / "data", ignore_errors=True)
        for file in (self.folder / "data").glob("queue-3.db*"):
            if how == "files":
                file.unlink(missing_ok=True)

    @invariant()
    def balance(self) -> None:
        stats = self.client.stats()
        gone = stats.delivered + stats.waiting + stats.parked + sum(stats.dropped.values())
        assert stats.recorded + stats.carried == gone, stats

    def teardown(self) -> None:
        self.client.shutdown(0.1)
        self.gateway.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def test_counters_balance_after_any_sequence():
    """Any calls, answers, keys, restarts and lost files."""
    run_state_machine_as_test(
        BalanceMachine, settings=hypothesis_settings(max_examples=10, stateful_step_count=20, deadline=None)
    )


@pytest.mark.parametrize("look", ["stats", "track"])
def test_events_of_a_file_that_was_removed_after_shutdown_count_as_dropped(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, look: str
) -> None:
    """Nothing can move them, because the file is not open; the client reports the loss when it opens a new one."""
    gateway = Gateway()
    gateway.rule = lambda _: (503, {}, b"down")
    client = ServiceClient(
        data_directory=tmp_path / "data", data_plane_url=gateway.url, track_lifecycle_events=False, sleep_timeout=3600
    )
    try:
        client.initialize(KEY).wait(60)
        client.track("one")
        client.track("two")
        client.shutdown(0.1)
        shutil.rmtree(tmp_path / "data")
        if look == "track":
            client.track("three")
        stats = client.stats()
    finally:
        client.shutdown(0.1)
        gateway.close()

    assert stats.dropped == {"damaged file": 2}
    assert stats.recorded == (3 if look == "track" else 2)
    assert stats.waiting == stats.recorded - 2
    assert "2 stored event(s) are lost" in caplog.text


def test_parked_events_of_a_removed_file_count_as_dropped(tmp_path: Path) -> None:
    """A deleted file takes refused events with it: they are counted, and the numbers still balance."""
    gateway = Gateway()
    gateway.rule = lambda _: (400, {}, b"no")
    client = ServiceClient(
        data_directory=tmp_path / "data",
        data_plane_url=gateway.url,
        flush_queue_size=1,
        sleep_timeout=3600,
        backoff=lambda _: 0.0,
    )
    try:
        client.initialize(KEY).wait(60)
        client.track("refused")
        client.flush(30)
        before = client.stats()
        shutil.rmtree(tmp_path / "data")
        client.track("next")
        client.flush(30)  # notices that the file is missing
        after = client.stats()
    finally:
        client.shutdown(0.1)
        gateway.close()

    assert before.parked > 0
    assert sum(after.dropped.values()) == before.parked
    assert after.recorded + after.carried == after.delivered + after.waiting + after.parked + sum(
        after.dropped.values()
    )
