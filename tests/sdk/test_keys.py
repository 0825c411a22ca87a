"""Events and user belong to a write key, device and opt-out to the data directory; no client sends for another."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from svctoolkit.errors import ConfigError
from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.queue.location import FILE, fingerprint

from .gateway import KEY, Gateway

ROOT = Path(__file__).parents[2]


def test_a_stored_event_keeps_its_key(make, gateway: Gateway):
    """A client with another key in the same directory does not send refused events, and says that they wait."""
    gateway.keys = {"KEY_BLOG"}
    shop = make("KEY_SHOP")
    shop.track("secret of shop")
    assert not shop.flush()
    shop.shutdown(0.1)
    errors: list[Exception] = []
    blog = make("KEY_BLOG", on_error=errors.append)
    blog.track("of blog")
    assert blog.flush()

    assert gateway.names == ["of blog"]
    (error,) = errors
    assert "1 event(s) wait in" in str(error)
    assert "under another write key" in str(error)
    assert "KEY_" not in str(error)
    gateway.keys.add("KEY_SHOP")
    assert make("KEY_SHOP").flush()
    assert gateway.names == ["of blog", "secret of shop"]


def test_a_client_can_move_its_own_events_to_another_key(make, gateway: Gateway):
    """Initialized again with another key, it sends the events it recorded itself; those of others keep their key."""
    other = make("WRONG")
    other.track("of another client")
    other.shutdown(0.1)
    client = make("WRONG")
    client.identify("u-1")
    client.track("one")
    assert not client.flush()
    client.initialize(KEY)
    client.track("two")
    assert client.flush()

    assert gateway.names == ["identify", "one", "two"]
    assert gateway.events[-1]["userId"] == "u-1"


@pytest.mark.parametrize("memory", [True, False])
def test_events_in_memory_move_to_the_new_key_too(make, gateway: Gateway, memory: bool, tmp_path: Path):
    """Without a file, or with an unwritable one, initializing again loses nothing."""
    (tmp_path / "file").write_text("")
    client = make("WRONG", data_directory=":memory:" if memory else tmp_path / "file" / "data")
    client.track("one")
    assert not client.flush()
    client.initialize(KEY)

    assert client.flush()
    assert gateway.names == ["one"]
    stats = client.stats()
    assert (stats.recorded, stats.delivered, stats.waiting, stats.carried) == (1, 1, 0, 0)


def test_adopt_moves_waiting_events_of_an_old_key(make, gateway: Gateway):
    """`adopt=[old]` sends the old key's events with the new one, and keeps user and opt-out."""
    gateway.keys = {"NEW"}
    old = make("OLD")
    old.identify("u-1")
    old.track("one")
    old.flush()
    old.shutdown(0.1)
    new = ServiceClient(**old._configuration)  # the same settings, another object
    new.initialize("NEW", {"adopt": ["OLD"]})
    new.track("two")
    assert new.flush()

    assert gateway.names == ["identify", "one", "two"]
    assert {event["userId"] for event in gateway.events} == {"u-1"}
    new.shutdown()


def test_adopt_accepts_only_a_list_of_keys():
    """Anything else is an error, which does not show the keys."""
    with pytest.raises(Exception, match="adopt") as caught:
        ServiceClient(adopt="SECRET_KEY")  # type: ignore[arg-type]

    assert "must be a list of write keys" in str(caught.value)
    assert "SECRET_KEY" not in str(caught.value)


def test_the_user_belongs_to_the_key(make, gateway: Gateway):
    """Two keys in one directory have different users."""
    gateway.keys.add("OTHER")
    one = make()
    one.identify("alice", {"email": "alice@example.com"})
    other = make("OTHER")
    other.track("two")
    assert other.flush()

    assert [event.get("userId") for event in gateway.events if event["event"] == "two"] == [None]
    assert "alice" not in json.dumps(gateway.events[-1])


def test_the_device_belongs_to_the_directory(make, gateway: Gateway):
    """Device ID, anonymous ID, push token, advertising ID and the release survive a change of the write key."""
    gateway.keys.add("OTHER")
    settings = {"track_lifecycle_events": True, "application_name": "shop"}
    old = make(**settings, application_version="1")
    old.put_anonymous_id("anon")
    old.put_device_token("token")
    old.put_advertising_id("ad")
    old.track("old")
    assert old.flush()
    old.shutdown()
    new = make("OTHER", **settings, application_version="2")
    new.track("new")
    assert new.flush()

    assert gateway.names[-3:] == ["Application Updated", "Application Opened", "new"]
    assert "Application Installed" not in gateway.names[3:]
    before, after = (_device(gateway, name) for name in ("old", "new"))
    assert after == before
    assert (after["anonymousId"], after["token"], after["advertisingId"]) == ("anon", "token", "ad")


def test_a_client_does_not_undo_what_another_key_has_stored(make, gateway: Gateway):
    """Storing its own user leaves the device as the other client has set it."""
    gateway.keys.add("OTHER")
    one, other = make(), make("OTHER")
    other.put_device_token("token of other")
    one.identify("alice")
    for client in (one, other):
        client.shutdown()
    last = make()
    last.track("last")
    assert last.flush()

    assert _device(gateway, "last")["token"] == "token of other"


def test_an_opt_out_holds_for_every_key(make, gateway: Gateway, caplog):
    """It belongs to the person: whoever opted out is not tracked under another key, and the log says so once."""
    gateway.keys.add("OTHER")
    make().opt_out(True)
    assert not caplog.messages
    for _ in range(2):
        other = make("OTHER", track_lifecycle_events=True)
        other.track("two")
        assert other.flush()
        other.shutdown()

    assert gateway.names == []
    (text,) = caplog.messages
    assert text.startswith("tracking is off: this installation has opted out (data in ")
    assert "another write key" in text
    assert "KEY" not in text.replace("write key", "")
    make("OTHER").opt_out(False)
    back = make()
    back.track("with consent")
    assert back.flush()
    assert gateway.names == ["with consent"]


def test_a_live_client_with_another_key_follows_an_opt_out(make, gateway: Gateway):
    """The worker of a running client sees it within a tick."""
    gateway.keys.add("OTHER")
    one, other = make(), make("OTHER")
    one.opt_out(True)
    assert other.flush()  # a tick
    other.track("two")
    assert other.flush()

    assert gateway.names == []
    assert other.stats().dropped == {"opted out": 1}


@pytest.mark.parametrize("key", ["OLD", "NEW"])
def test_stores_of_earlier_versions_are_migrated(make, gateway: Gateway, tmp_path: Path, key: str):
    """They kept everything for each key. The key's own values come first, else those of the key that ran last."""
    gateway.keys = {"OLD", "NEW"}
    _store_as_before(make, tmp_path, {"OLDER": "device-0", "OLD": "device-1"})
    client = make(key, track_lifecycle_events=True, application_version="2")
    client.track("after")
    assert client.flush()

    assert gateway.names == ["Application Updated", "Application Opened", "after"]
    device = _device(gateway, "after")
    assert (device["id"], device["token"], device["anonymousId"]) == ("device-1", "T-device-1", "A-device-1")
    assert gateway.events[-1].get("userId") == ("u-device-1" if key == "OLD" else None)


@pytest.mark.parametrize("key", ["OLD", "OLDER", "NEW"])
def test_an_opt_out_of_an_earlier_version_holds_for_every_key(make, gateway: Gateway, tmp_path: Path, key: str, caplog):
    """Also if only one of several keys has it."""
    gateway.keys = {"OLD", "OLDER", "NEW"}
    _store_as_before(make, tmp_path, {"OLDER": "device-0", "OLD": "device-1"}, opted_out="OLDER")
    client = make(key, track_lifecycle_events=True)
    client.track("after")
    assert client.flush()

    assert gateway.names == []
    assert bool(caplog.messages) == (key != "OLDER")


def _device(gateway: Gateway, name: str) -> dict[str, str]:
    (event,) = [event for event in gateway.events if event.get("event") == name]
    return {**event["context"]["device"], "anonymousId": event["anonymousId"]}


def _store_as_before(make, tmp_path: Path, devices: dict[str, str], opted_out: str = "") -> None:
    """Make a data directory in which version 0.1.0 of November 2026 has stored the state of some keys."""
    make().shutdown()
    with sqlite3.connect(tmp_path / "data" / FILE) as connection:
        connection.execute("DELETE FROM state")
        for key, device in devices.items():
            identity = {"anonymousId": f"A-{device}", "userId": f"u-{device}", "deviceToken": f"T-{device}"}
            values = {"device_id": device, "identity": json.dumps(identity)}
            values["release"] = json.dumps({"version": "1", "build": ""})
            if key == opted_out:
                values["opt_out"] = "true"
            for name, value in values.items():
                connection.execute("INSERT INTO state VALUES(?,?)", (f"{fingerprint(key)} {name}", value))
    connection.close()


PROGRAM = """
import sys
from svctoolkit.errors import ConfigError
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_plane_url="http://127.0.0.1:9", track_lifecycle_events=False)
c.initialize(sys.argv[1])
if len(sys.argv) > 2: c.identify(sys.argv[2])
c.track("one")
print(c._engine.database.path)
print(c._engine.recorder.identity.user_id)
"""


def _run(home: Path, *arguments: str, cwd: Path | None = None) -> tuple[str, str]:
    environment = {**os.environ, "XDG_DATA_HOME": str(home), "HOME": str(home), "PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, check=True
    )
    path, user = result.stdout.split("\n")[:2]
    return path, user


def test_programs_with_the_same_name_share_nothing(tmp_path: Path):
    """Two `manage.py` in different folders have separate files; a symlink counts as its target."""
    scripts = [tmp_path / name / "manage.py" for name in ("shop", "blog")]
    for script in scripts:
        script.parent.mkdir()
        script.write_text(PROGRAM)
    (tmp_path / "link.py").symlink_to(scripts[0])
    shop = _run(tmp_path / "home", str(scripts[0]), "K", "alice")
    blog = _run(tmp_path / "home", str(scripts[1]), "K")
    again = _run(tmp_path / "home", str(tmp_path / "link.py"), "K")

    assert shop[1] == "alice"
    assert (blog[1], again[1]) == ("", "alice")
    assert again[0] == shop[0] != blog[0]
    assert Path(shop[0]).parent.name.startswith("manage-")


@pytest.mark.parametrize("how", ["-c", "-m", "stdin"])
def test_code_without_a_script_keeps_events_in_memory(tmp_path: Path, how: str):
    """`-c`, `-m` and a pipe do not identify a program: nothing is shared unless it has a name."""
    (tmp_path / "program.py").write_text(PROGRAM)
    named = PROGRAM.replace('"http://127.0.0.1:9"', '"http://127.0.0.1:9", application_name="shop"')
    arguments = {"-c": ["-c", PROGRAM], "-m": ["-m", "program"], "stdin": ["-c", named]}[how]
    path, _ = _run(tmp_path / "home", *arguments, "K", cwd=tmp_path)

    assert (path == ":memory:") == (how != "stdin")
    assert how != "stdin" or Path(path).parent.name == "shop"


PLACE = """
import sys
from svctoolkit.errors import ConfigError
from svctoolkit.sdk import ServiceClient
c = ServiceClient(data_plane_url="http://127.0.0.1:9", track_lifecycle_events=False)
c.initialize("K")
c.track("one")
print(c._engine.database.path)
"""


@pytest.mark.parametrize(
    ("how", "why"), [("-m", "no script identifies the program"), ("-c", "no script identifies the program")]
)
def test_a_queue_in_memory_is_reported_once_with_what_to_set(tmp_path: Path, how: str, why: str):
    """A warning on the standard error, without any logging configuration."""
    (tmp_path / "program.py").write_text(PLACE)
    arguments = [how, PLACE if how == "-c" else "program"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert done.stdout == ":memory:\n"
    assert done.stderr.count(f"{why}") == 1
    assert "Set data_directory or application_name." in done.stderr


@pytest.mark.skipif(not hasattr(os, "setuid") or os.geteuid() != 0, reason="needs another user")
def test_a_user_without_a_home_directory_can_start(tmp_path: Path):
    """As in many containers: the queue is in memory, and a warning says so."""
    script = tmp_path / "program.py"
    # What is imported later is imported first: this user may not be able to read Python's own files.
    start = """
import encodings.idna, datetime, gzip, hashlib, http.client, locale, logging, os, platform, platformdirs.unix
import urllib.request
from svctoolkit.sdk import ServiceClient
os.setgid(54321), os.setuid(54321), os.environ.pop("HOME", None)
"""
    script.write_text(start + PLACE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG")}
    done = subprocess.run(
        [sys.executable, str(script)], env={**environment, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )

    assert (done.returncode, done.stdout) == (0, ":memory:\n"), done.stderr
    assert "the user has no home directory" in done.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_child_of_multiprocessing_has_the_queue_of_its_script(tmp_path: Path, method: str):
    """A client at module level is created again while the child imports the main file."""
    script = tmp_path / "program.py"
    script.write_text(
        PLACE.replace("print(c._engine.database.path)", "PLACE = c._engine.database.path")
        + f"""
def place(_):
    return PLACE

if __name__ == "__main__":
    import multiprocessing
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(PLACE, *pool.map(place, [1]))
"""
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True)

    parent, child = done.stdout.split()
    assert parent == child != ":memory:"


@pytest.mark.parametrize(
    ("directory", "text"),
    [
        (":memory:", "data_directory is :memory:.*Set data_directory"),
        (None, "Set data_directory"),
        ("file/data", r"file/data/queue-3\.db cannot be opened: .*Choose another data_directory"),
    ],
)
def test_a_client_that_must_be_durable_does_not_start_in_memory(tmp_path: Path, directory: str | None, text: str):
    """`durable="required"`: the error says why, and what to set."""
    (tmp_path / "file").write_text("not a directory")
    where = tmp_path / directory if directory == "file/data" else directory
    client = ServiceClient(data_directory=where, durable="required", data_plane_url="http://127.0.0.1:9")
    with pytest.raises(ConfigError, match=f'durable is "required".*{text}'):
        client.initialize(KEY)
    durable = ServiceClient(data_directory=tmp_path / "data", durable="required", data_plane_url="http://127.0.0.1:9")
    durable.initialize(KEY)
    durable.shutdown(0)


def test_under_pytest_events_stay_in_memory(gateway: Gateway):
    """A client without a directory writes no file, so parallel runs do not interfere."""
    client = ServiceClient(data_plane_url=gateway.url)
    client.initialize(KEY)
    client.opt_out(True)
    path = client._engine.database.path
    client.shutdown()

    assert path == ":memory:"


@pytest.mark.skipif(os.name != "posix", reason="POSIX rights")
def test_only_the_owner_may_read_the_file(make, tmp_path: Path):
    """The queue holds personal data: its files have mode 0600, its directory 0700."""
    client = make()
    client.track("one")

    modes = {file.name: oct(file.stat().st_mode & 0o777) for file in (tmp_path / "data").iterdir()}
    assert set(modes.values()) == {"0o600"}
    assert oct((tmp_path / "data").stat().st_mode & 0o777) == "0o700"
