"""Programs written for other SDKs run after changing the import."""

from __future__ import annotations

import datetime as dt
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from svctoolkit.sdk.compat.client import Client

from .gateway import KEY, Gateway

ROOT = Path(__file__).parents[2]
PROGRAM = """
import logging
from svctoolkit.sdk.compat import {name} as analytics

logging.basicConfig()
analytics.write_key = "2RdemoWriteKey"
analytics.{host} = {url!r}
analytics.debug = False
analytics.on_error = lambda error, items: print("error", error)

analytics.track(user_id="user", event="simple_track", properties={{"key1": "val1"}})
analytics.identify("user_id", {{"key1": "val1"}})
analytics.page("user", category="Docs", name="Home", properties=None, context=None)
analytics.screen(None, name="Start", anonymous_id="anonymous", properties={{"a": 1}})
analytics.group(7, 70, {{"name": "Acme"}}, {{"ip": "203.0.113.9"}}, anonymous_id=None)
analytics.alias("old", "new")
{end}
"""


@pytest.mark.parametrize(
    ("name", "host", "end"),
    [
        ("rudder", "dataPlaneUrl", "analytics.shutdown()"),
        ("rudder", "data_plane_url", "analytics.flush()"),
        ("rudder", "host", ""),
        ("segment", "host", "analytics.shutdown()"),
    ],
)
def test_a_program_runs_after_changing_its_import(gateway: Gateway, tmp_path: Path, name: str, host: str, end: str):
    """Settings as variables, calls of the module, `shutdown`, `flush`, or nothing at the end: all six events arrive."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(name=name, host=host, url=gateway.url + "/", end=end))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    result = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr

    track, identify, page, screen, group, alias = gateway.events
    assert [event["type"] for event in gateway.events] == ["track", "identify", "page", "screen", "group", "alias"]
    assert (track["event"], track["userId"], track["properties"]) == ("simple_track", "user", {"key1": "val1"})
    assert identify["context"]["traits"] == {"userId": "user_id", "id": "user_id", "key1": "val1"}
    assert (page["category"], page["name"], page["properties"]) == ("Docs", "Home", {})
    assert (screen["anonymousId"], screen["properties"]) == ("anonymous", {"a": 1, "name": "Start"})
    assert (group["userId"], group["groupId"], group["context"]["ip"]) == ("7", "70", "203.0.113.9")
    assert group["traits"] == {"name": "Acme"}
    assert (alias["previousId"], alias["userId"]) == ("old", "new")
    assert {event["channel"] for event in gateway.events} == {"server"}
    assert "anonymousId" not in track


def test_segments_settings_are_accepted(gateway: Gateway, tmp_path: Path):
    """`log_handler` gets the log; for OAuth settings a message says that the write key is used instead."""
    script = tmp_path / "program.py"
    script.write_text(f"""
import logging, sys
from svctoolkit.sdk.compat import segment as analytics

analytics.write_key, analytics.host = {KEY!r}, {gateway.url!r}
analytics.log_handler = logging.StreamHandler(sys.stdout)
analytics.oauth_client_id, analytics.oauth_client_key, analytics.oauth_key_id = "id", "secret", "key"
analytics.track("u-1", "e")
analytics.shutdown()""")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    result = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)

    assert (result.returncode, gateway.names) == (0, ["e"]), result.stderr
    assert "OAuth" in result.stdout
    assert "write key alone" in result.stdout
    assert "secret" not in result.stdout


def test_an_unknown_setting_is_rejected():
    """Like a call with a wrong keyword in Python."""
    with pytest.raises(TypeError, match="no setting 'max_retry'"):
        Client(KEY, max_retry=3)  # type: ignore[call-arg]


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    made = Client(KEY, host=gateway.url, sync_mode=True)
    yield made
    made.service.shutdown(0.2)


def test_every_argument_of_a_call_is_used(client: Client, gateway: Gateway):
    """Time, context, integrations, anonymous ID and message ID; `sync_mode` sends before the call returns."""
    taken, message = client.track(
        "u-1",
        "Paid",
        {"revenue": 1},
        {"ip": "203.0.113.9"},
        dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "a-1",
        {"All": False, "Slack": {"channel": "#x"}},
        "m-1",
    )

    (event,) = gateway.events
    assert (taken, message["messageId"]) == (True, "m-1")
    assert (event["userId"], event["anonymousId"], event["messageId"]) == ("u-1", "a-1", "m-1")
    assert (event["originalTimestamp"], event["context"]["ip"]) == ("2026-01-02T00:00:00.000Z", "203.0.113.9")
    assert event["integrations"] == {"All": False, "Slack": {"channel": "#x"}}


def test_calls_store_no_state(client: Client, gateway: Gateway):
    """As in those SDKs, a user's traits are not in the next event, and an anonymous user may have traits."""
    client.identify(anonymous_id="a-1", traits={"plan": "pro"})
    client.track("u-2", "Paid")

    identify, track = gateway.events
    assert identify["context"]["traits"] == {"anonymousId": "a-1", "plan": "pro"}
    assert "userId" not in identify
    assert track["context"]["traits"] == {"userId": "u-2", "id": "u-2"}


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.track(None, "Paid"),
        lambda client: client.track("u-1", None),
        lambda client: client.track("u-1", "Paid", ["no mapping"]),
        lambda client: client.track("u-1", "Paid", context="no mapping"),
        lambda client: client.track("u-1", "Paid", timestamp="2026-01-02"),
        lambda client: client.identify(),
        lambda client: client.group("u-1", None),
        lambda client: client.alias(None, "u-1"),
        lambda client: Client(None),
    ],
)
def test_wrong_arguments_raise_assertion_errors(client: Client, call):
    """As in those SDKs, for programs that catch `AssertionError`."""
    with pytest.raises(AssertionError):
        call(client)


def test_send_false_records_nothing(gateway: Gateway):
    """The setting for tests."""
    client = Client(KEY, host=gateway.url, send=False)
    assert client.track("u-1", "Paid")[0]
    client.shutdown()

    assert gateway.requests == []


@pytest.mark.parametrize("name", ["rudder", "segment"])
def test_the_modules_list_their_calls(name: str):
    """Every call in `__all__` exists and has a docstring."""
    module = importlib.import_module(f"svctoolkit.sdk.compat.{name}")

    assert all(getattr(module, call).__doc__ for call in module.__all__)


def test_returned_messages_and_queue_have_the_names_of_the_wire(gateway: Gateway, tmp_path: Path):
    """Health checks read `queue.qsize()`; programs log or store the message that a call returns."""
    client = Client(KEY, host="http://127.0.0.1:9", upload_interval=3600)
    _, track = client.track("u-1", "Order", {"revenue": 10}, context={"ip": "203.0.113.9"}, anonymous_id="a-1")
    _, group = client.group("u-1", "g-1", {"plan": "plus"})
    _, alias = client.alias("old", "new")
    _, page = client.page("u-1", "Docs", "Home")

    assert track == {
        "type": "track",
        "messageId": track["messageId"],
        "userId": "u-1",
        "anonymousId": "a-1",
        "event": "Order",
        "properties": {"revenue": 10},
        "context": {"ip": "203.0.113.9"},
    }
    assert (group["groupId"], group["traits"], group["userId"]) == ("g-1", {"plan": "plus"}, "u-1")
    assert (alias["previousId"], alias["userId"]) == ("old", "new")
    assert (page["name"], page["category"], page["properties"]) == ("Home", "Docs", {})
    assert (client.queue.qsize(), client.queue.empty(), client.queue.full()) == (4, False, False)
    client.join()
