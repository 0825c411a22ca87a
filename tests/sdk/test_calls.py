"""The specified calls: argument checks, payloads, and stored state."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from svctoolkit.errors import ConfigError, InvalidCall
from svctoolkit.sdk import LogLevel, Response, ServiceClient
from svctoolkit.sdk.base.settings import settings

from .gateway import KEY, Gateway

CALLS = {
    "initialize": ("write_key", "configuration", "options"),
    "identify": ("user_id", "traits", "options"),
    "track": ("name", "properties", "options"),
    "group": ("group_id", "group_traits", "options"),
    "screen": ("screen_name", "properties", "options"),
    "alias": ("new_id", "options"),
    "reset": (),
    "optOut": ("flag",),
    "putAnonymousId": ("id",),
    "putAdvertisingId": ("id",),
    "putDeviceToken": ("token",),
}


def _sent(client: ServiceClient, gateway: Gateway) -> list[dict]:
    assert client.flush()
    return gateway.events


@pytest.mark.parametrize(("name", "parameters"), CALLS.items())
def test_the_specified_calls_exist_with_types_and_docstrings(name: str, parameters: tuple[str, ...]):
    """Every call has its specified parameters in order, type hints for all, and a docstring."""
    call = getattr(ServiceClient, name)

    assert tuple(inspect.signature(call).parameters)[1 : len(parameters) + 1] == parameters
    assert set(inspect.signature(call).parameters) - {"self"} <= set(call.__annotations__)
    assert call.__doc__
    assert "Any" not in str(call.__annotations__["return"])


def test_calls_exist_in_both_spellings():
    """`optOut` and `opt_out` are one call, on the class and on the module."""
    from svctoolkit import sdk

    for camel, snake in [
        ("optOut", "opt_out"),
        ("putAnonymousId", "put_anonymous_id"),
        ("putDeviceToken", "put_device_token"),
    ]:
        assert getattr(ServiceClient, camel) is getattr(ServiceClient, snake)
        assert getattr(sdk, camel) == getattr(sdk, snake)
    assert ServiceClient.SPEC_VERSION == "1.3.0"


@pytest.mark.parametrize(
    ("call", "arguments", "text"),
    [
        ("track", (5,), "track: name must be a string, got int"),
        ("track", ("",), "track: name must not be empty"),
        ("identify", ("  ",), "identify: userId must not be empty"),
        ("identify", (None,), "identify: userId must be a string, got NoneType"),
        ("track", ("a", [1]), "track: properties must be a mapping or None, got list"),
        ("group", ("g", "x"), "group: groupTraits must be a mapping or None, got str"),
        (
            "track",
            ("a", {}, {"integration": {}}),
            "track: options has no member 'integration'. Did you mean 'integrations'?",
        ),
        (
            "track",
            ("a", {}, {"integrations": {"A": 1}}),
            "track: options.integrations.A must be true or false, got int",
        ),
        (
            "track",
            ("a", {}, {"externalIds": {"b": 1.5}}),
            "track: options.externalIds.b must be a string or a whole number, got float",
        ),
        (
            "track",
            ("a", {}, {"externalIds": {"b": True}}),
            "track: options.externalIds.b must be a string or a whole number, got bool",
        ),
        ("track", ("a", {}, "x"), "track: options must be a mapping, got str"),
        ("optOut", ("yes",), "optOut: flag must be true or false, got str"),
        ("putAnonymousId", ("",), "putAnonymousId: id must not be empty"),
        ("initialize", ("",), "initialize: writeKey must not be empty"),
    ],
)
def test_a_wrong_argument_raises_at_the_call(call: str, arguments: tuple, text: str):
    """A wrong type or an empty ID is an `InvalidCall` (a ValueError) that names call and argument."""
    with pytest.raises(InvalidCall) as raised:
        getattr(ServiceClient(), call)(*arguments)

    assert str(raised.value) == text


def test_payloads_equal_those_of_the_mobile_sdks(make, gateway: Gateway):
    """Each event type has the same fields in the same order, with our name as the library."""
    client = make(
        application_name="Demo Shop",
        application_version="1.4.0",
        application_build=42,
        application_namespace="com.example.demoshop",
    )
    client.put_anonymous_id("anon")
    client.put_device_token("token")
    client.put_advertising_id("advert")
    client.identify(
        "user-1001",
        {"email": "ada@example.com"},
        {"externalIds": {"brazeExternalId": "e1"}, "integrations": {"Amplitude": True}},
    )
    client.track("Order Completed", {"total": 20})
    client.screen("Home Screen", {"mobile": "pixel"})
    client.group("group1", {"groupname": "RS"}, {"integrations": {"All": False}})
    client.alias("user-2002")
    identify, track, screen, group, alias = _sent(client, gateway)

    head = ["messageId", "channel", "context", "type", "originalTimestamp", "anonymousId", "userId"]
    assert list(identify) == [*head, "event", "integrations", "sentAt"]
    assert list(track) == list(screen) == [*head, "event", "properties", "integrations", "sentAt"]
    assert list(group) == [*head, "integrations", "traits", "groupId", "sentAt"]
    assert list(alias) == [*head, "integrations", "previousId", "sentAt"]
    assert (identify["event"], identify["integrations"]) == ("identify", {"Amplitude": True, "All": True})
    assert screen["properties"] == {"mobile": "pixel", "name": "Home Screen"}
    assert (group["traits"], group["integrations"]) == ({"anonymousId": "anon", "groupname": "RS"}, {"All": False})
    assert (alias["userId"], alias["previousId"]) == ("user-2002", "user-1001")
    context = track["context"]
    ids = {"anonymousId": "anon", "userId": "user-1001", "id": "user-1001"}
    assert context["app"] == {
        "build": "42",
        "name": "Demo Shop",
        "namespace": "com.example.demoshop",
        "version": "1.4.0",
    }
    assert context["traits"] == {**ids, "email": "ada@example.com"}
    assert context["externalId"] == [{"type": "brazeExternalId", "id": "e1"}]
    assert context["library"]["name"] == "svctoolkit"
    assert {k: context["device"][k] for k in ("token", "adTrackingEnabled", "advertisingId")} == {
        "token": "token",
        "adTrackingEnabled": True,
        "advertisingId": "advert",
    }
    assert track["channel"] == "mobile"


def test_options_have_the_specified_precedence(make, gateway: Gateway):
    """Integrations of a call replace the initial ones; external IDs merge by type; those of identify are kept."""
    client = make(options={"integrations": {"All": False, "A": True}, "externalIds": {"x": 1, "y": "init"}})
    client.track("initial")
    client.track("own", {}, {"integrations": {"B": False}, "externalIds": {"y": "call"}})
    client.identify("u", {}, {"external_ids": {"z": "kept"}})
    client.track("later")
    initial, own, _, later = _sent(client, gateway)

    assert initial["integrations"] == {"All": False, "A": True}
    assert initial["context"]["externalId"] == [{"type": "x", "id": 1}, {"type": "y", "id": "init"}]
    assert own["integrations"] == {"B": False, "All": True}
    assert own["context"]["externalId"] == [{"type": "x", "id": 1}, {"type": "y", "id": "call"}]
    assert {"type": "z", "id": "kept"} in later["context"]["externalId"]


def test_calls_before_initialize_are_kept(gateway: Gateway, tmp_path: Path):
    """Early calls are sent after `initialize` with the time of the call.

    State set earlier applies to the first event.
    """
    now = iter(range(1_800_000_000, 1_900_000_000))
    client = ServiceClient(
        data_plane_url=gateway.url, data_directory=tmp_path, clock=lambda: float(next(now)), sleep_timeout=3600
    )
    client.put_advertising_id("advert")
    client.track("early", {"n": 1})
    assert client.stats().waiting == 1
    client.initialize(KEY)
    client.track("late")
    events = _sent(client, gateway)
    client.shutdown()

    assert [event["event"] for event in events] == ["Application Installed", "Application Opened", "early", "late"]
    assert events[0]["context"]["device"]["advertisingId"] == "advert"
    assert events[2]["originalTimestamp"] < events[0]["originalTimestamp"] < events[3]["originalTimestamp"]


def test_calls_before_initialize_are_limited():
    """Without `initialize`, at most 1000 calls are kept; the others count as dropped."""
    client = ServiceClient()
    for _ in range(1005):
        client.track("early")

    assert client.stats().dropped == {"too many before initialize": 5}


def test_initialize_can_be_awaited(make, gateway: Gateway):
    """In an event loop, `await initialize` and `flush_async` work; in a script, `.wait()` does."""

    async def run() -> bool:
        client = make()
        ready = await client.initialize(KEY)
        client.track("async")
        return ready and await client.flush_async()

    assert asyncio.run(run())
    assert gateway.names == ["async"]
    assert make().initialize(KEY).wait(60)


def test_the_client_is_a_context_manager(gateway: Gateway, tmp_path: Path):
    """Leaving the `with` block delivers."""
    with ServiceClient(data_plane_url=gateway.url, data_directory=tmp_path, track_lifecycle_events=False) as client:
        client.initialize(KEY)
        client.track("one")

    assert gateway.names == ["one"]


def test_arguments_are_copied(make, gateway: Gateway):
    """The caller's dicts stay unchanged, and later changes to them do not change the event."""
    properties, traits, options = {"a": {"b": 1}}, {"c": 2}, {"integrations": {"X": True}}
    client = make()
    client.identify("u", traits, options)
    client.track("one", properties, options)
    properties["a"]["b"] = 9
    traits["c"] = 9
    client.track("two")
    _, one, two = _sent(client, gateway)

    assert (properties, options) == ({"a": {"b": 9}}, {"integrations": {"X": True}})
    assert one["properties"] == {"a": {"b": 1}}
    assert two["context"]["traits"]["c"] == 2


@pytest.mark.parametrize("early", [True, False])
def test_ids_that_are_put_while_opted_out_are_used_after_consent(
    gateway: Gateway, tmp_path: Path, early: bool, caplog: pytest.LogCaptureFixture
):
    """Consent banners need this order: start opted out, register the token, ask. Nothing is stored before consent."""
    settings = {"data_plane_url": gateway.url, "data_directory": tmp_path, "track_lifecycle_events": False}
    with ServiceClient(**settings) as before:
        before.initialize(KEY)
        before.opt_out(True)
    client = ServiceClient(**settings, log_level="INFO")
    if not early:
        client.initialize(KEY)
    client.putAdvertisingId("ad")
    client.putDeviceToken("push-4711")
    client.putAnonymousId("anon")
    if early:
        client.initialize(KEY)
    assert b"push-4711" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    client.optOut(False)
    client.track("one")
    client.shutdown()

    (event,) = gateway.events
    device = event["context"]["device"]
    assert (event["anonymousId"], device["token"], device["advertisingId"]) == ("anon", "push-4711", "ad")
    assert "device_token is kept in memory, and used after opt_out(False)" in caplog.messages


def test_opt_out_is_stored(make, gateway: Gateway):
    """After optOut(True) nothing is recorded, by later clients either; stored events are still sent; reset keeps it."""
    first = make()
    first.track("before")
    first.optOut(True)
    first.track("out")
    first.putAnonymousId("ignored")
    first.reset()
    first.shutdown()
    second = make()
    second.track("still out")
    second.opt_out(False)
    second.track("in again")
    assert second.flush()

    assert gateway.names == ["before", "in again"]
    assert first.stats().dropped == second.stats().dropped == {"opted out": 1}
    assert gateway.events[-1]["anonymousId"] != "ignored"


def test_opt_out_reaches_other_processes(make, gateway: Gateway):
    """Another client on the same directory notices the opt-out."""
    one, two = make(), make()
    one.opt_out(True)
    two.flush()
    two.track("out")

    assert two.stats().dropped == {"opted out": 1}


def test_lifecycle_events_are_recorded(make, gateway: Gateway):
    """Installed and Opened at the first start, Updated at the first with another version, Backgrounded and Opened."""
    version = {"track_lifecycle_events": True, "application_version": "1.3.0", "application_build": 41}
    first = make(**version)
    first.background()
    first.background()
    first.foreground()
    first.shutdown()
    make(**version).shutdown()
    make(**{**version, "application_version": "1.4.0", "application_build": 42}).shutdown()

    opened = {"from_background": False, "version": "1.3.0"}
    assert [(e["event"], e.get("properties")) for e in gateway.events] == [
        ("Application Installed", {"version": "1.3.0", "build": 41}),
        ("Application Opened", opened),
        ("Application Backgrounded", None),
        ("Application Opened", {"from_background": True}),
        ("Application Opened", opened),
        (
            "Application Updated",
            {"previous_version": "1.3.0", "previous_build": 41, "version": "1.4.0", "build": 42},
        ),
        ("Application Opened", {"from_background": False, "version": "1.4.0"}),
    ]


def test_lifecycle_events_can_be_disabled(make, gateway: Gateway):
    """Without trackLifecycleEvents there are none, and no session; the version is still stored."""
    make(application_version="1").background()
    client = make(application_version="1", track_lifecycle_events=True)
    client.flush()

    assert gateway.names == ["Application Opened"]


def test_sessions_start_continue_and_end(make, gateway: Gateway):
    """A session starts with its first event, survives a restart, ends after five idle minutes.

    Reset starts a new one.
    """
    now = [1_800_000_000.0]
    same = {"track_lifecycle_events": True, "clock": lambda: now[0]}
    make(**same).shutdown()
    now[0] += 200
    client = make(**same)
    client.track("same session")
    client.background()
    now[0] += 301
    client.foreground()
    client.reset()
    now[0] += 1
    client.track("after reset")
    client.flush()

    found = [(e["event"], e["context"]["sessionId"], e["context"].get("sessionStart")) for e in gateway.events]
    assert found == [
        ("Application Installed", 1_800_000_000, True),
        ("Application Opened", 1_800_000_000, None),
        ("Application Opened", 1_800_000_000, None),
        ("same session", 1_800_000_000, None),
        ("Application Backgrounded", 1_800_000_000, None),
        ("Application Opened", 1_800_000_501, True),
        ("after reset", 1_800_000_501, True),
    ]


def test_screen_views_are_recorded(make, gateway: Gateway):
    """`screen_view` works as a context manager and a decorator, also of async functions, if recordScreenViews is on."""
    client = make(record_screen_views=True)

    @client.screen_view("Basket")
    def basket() -> str:
        return "basket"

    @client.screen_view("Async")
    async def page() -> str:
        return "page"

    with client.screen_view("Home"):
        assert basket() == "basket"
    assert asyncio.run(page()) == "page"
    with make().screen_view("Off"):
        pass
    events = _sent(client, gateway)

    assert [e["event"] for e in events] == ["Home", "Basket", "Async"]
    assert events[0]["properties"] == {"automatic": True, "name": "Home"}


def test_an_event_over_32_kb_is_dropped(make, gateway: Gateway):
    """It is not stored but counted and passed to `on_drop`.

    Traits that would make every event too large are dropped, too.
    """
    dropped = []
    client = make(on_drop=lambda event, reason: dropped.append((event["type"], reason)))
    client.track("large", {"text": "x" * 33 * 1024})
    client.identify("u", {"text": "x" * 33 * 1024})
    client.track("small")
    (small,) = _sent(client, gateway)

    assert dropped == [("track", "too large"), ("identify", "too large")]
    assert client.stats().dropped == {"too large": 2}
    assert "userId" not in small


def test_the_write_key_is_never_shown(make, gateway: Gateway, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """It is in no repr, log, error, statistic or file."""
    client = make(log_level="VERBOSE")
    caplog.set_level(0)
    client.track("one")
    gateway.answers = [(401, {}, b"invalid write key")]
    client.flush()
    shown = repr([vars(client), vars(client._engine), client.stats(), client._engine.settings]) + caplog.text
    files = b"".join(f.read_bytes() for f in (tmp_path / "data").iterdir())

    assert caplog.text
    assert KEY not in shown
    assert KEY.encode() not in files


def test_log_levels_decide_what_is_logged(make, gateway: Gateway, caplog: pytest.LogCaptureFixture):
    """NONE, the default, logs nothing even when events are dropped; WARN reports it without their content."""
    make().track("x", {"t": "secret" * 10_000})
    assert caplog.text == ""
    make(log_level=LogLevel.WARN).track("x", {"t": "secret" * 10_000})

    assert "1 event(s) dropped: too large" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("level", ["DEBUG", "VERBOSE"])
def test_the_log_level_is_the_only_switch(gateway: Gateway, tmp_path: Path, level: str, capfd, fresh_logging):
    """DEBUG and VERBOSE show more than WARN in a program that has not configured logging, or only `basicConfig()`."""
    lines = {}
    for shown in ("WARN", level):
        for configured in (False, True):
            with fresh_logging(configured):
                client = ServiceClient(data_plane_url=gateway.url, data_directory=tmp_path, log_level=shown)
                client.initialize(KEY)
                client.opt_out(True)
                client.put_device_token("token")
                client.opt_out(False)
                client.track("one")
                assert client.flush(60)
                client.shutdown()
            lines[shown, configured] = capfd.readouterr().err.splitlines()

    for configured in (False, True):
        assert lines["WARN", configured] == []
        assert any("device_token is kept in memory" in line for line in lines[level, configured])
    # uvicorn, if an earlier test has imported it, names level 5 TRACE
    names = ("VERBOSE:svctoolkit.sdk:track stored", "TRACE:svctoolkit.sdk:track stored")
    is_verbose = any(line.startswith(names) for line in lines[level, True])
    assert is_verbose == (level == "VERBOSE")


def test_a_level_that_the_program_has_set_wins(gateway: Gateway, tmp_path: Path, capfd, fresh_logging):
    """`getLogger("svctoolkit").setLevel(...)` is the program's decision about every client."""
    with fresh_logging(True):
        logging.getLogger("svctoolkit").setLevel(logging.WARNING)
        with ServiceClient(data_plane_url=gateway.url, data_directory=tmp_path, log_level="VERBOSE") as client:
            client.initialize(KEY)
            client.track("one")

    assert capfd.readouterr().err == ""


@pytest.fixture
def fresh_logging():
    """A context in which logging is as in a new program: no handlers, or those of `basicConfig()`."""

    @contextmanager
    def fresh(configured: bool) -> Iterator[None]:
        root, names = logging.getLogger(), ("svctoolkit", "svctoolkit.sdk")
        before, levels = root.handlers[:], {name: logging.getLogger(name).level for name in names}
        root.handlers.clear()
        for name in names:
            logging.getLogger(name).setLevel(logging.NOTSET)
        if configured:
            logging.basicConfig()
        try:
            yield
        finally:
            root.handlers[:] = before
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)

    return fresh


# Settings


def test_all_spellings_of_settings_are_accepted():
    """camelCase, snake_case and the sample's own spellings name the same settings."""
    found = settings({"dbCountThreshold": 5, "sleepTimeOut": 7, "loglevel": "None", "flush_queue_size": 9})

    assert (found.db_threshold_count, found.sleep_timeout, found.log_level, found.flush_queue_size) == (5, 7, 0, 9)


def test_the_defaults_are_those_of_the_specification(monkeypatch: pytest.MonkeyPatch):
    """Every default of the specification; the environment may set the data plane's URL."""
    monkeypatch.setenv("SVCTOOLKIT_DATA_PLANE_URL", "https://plane.example/x/")
    found = settings()

    assert (found.log_level, found.flush_queue_size, found.db_threshold_count, found.sleep_timeout) == (
        0,
        30,
        10_000,
        10,
    )
    assert (found.config_refresh_interval, found.auto_collect_advert_id, found.track_lifecycle_events) == (
        2,
        False,
        True,
    )
    assert found.data_plane_url == "https://plane.example/x"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"flushQueSize": 1}, "the client has no setting 'flushQueSize'. Did you mean 'flushQueueSize'?"),
        ({"LogLevel": 1}, "the client has no setting 'LogLevel'. Did you mean 'logLevel'?"),
        ({"log_levl": 1}, "the client has no setting 'log_levl'. Did you mean 'log_level'?"),
        ({"flushQueueSize": 0}, "flushQueueSize: must be a whole number from 1 to 100; got 0"),
        ({"flushQueueSize": True}, "must be a whole number from 1 to 100; got true"),
        ({"sleepTimeout": "10"}, 'must be a whole number from 1 to 86400; got "10"'),
        ({"configRefreshInterval": 25}, "from 1 to 24"),
        ({"trackLifecycleEvents": 1}, "must be true or false; got 1"),
        ({"dataPlaneUrl": "plane.example"}, "must be a URL such as"),
        ({"dataPlaneUrl": "https://[::1"}, "must be a URL such as"),
        ({"dataPlaneUrl": "https://plane.example:99999"}, "must be a URL such as"),
        ({"controlPlaneUrl": "https://:8091"}, "controlPlaneUrl: must be a URL such as"),
        ({"logLevel": "LOUD"}, "must be one of NONE, ERROR, WARN"),
        ({"dataResidency": "DE"}, "must be US or EU"),
        ({"transport": object()}, "must be a DataPlane, or have a method send(request); got object"),
        ({"sleepTimeout": 1, "sleepTimeOut": 2}, "sleepTimeout is given twice"),
    ],
)
def test_a_wrong_setting_is_reported_with_a_suggestion(given: dict, text: str):
    """The nearest name for an unknown one, the range for a bad value; all problems at once."""
    with pytest.raises(ConfigError) as raised:
        ServiceClient().initialize(KEY, {**given, "recordScreenViews": 5})

    assert text in str(raised.value)
    assert len(raised.value.problems) == 2


def test_importing_the_sdk_is_light():
    """It loads only the standard library and the SDK: no HTTP library, no pandas."""
    program = "import sys, svctoolkit.sdk; print(*{m.partition('.')[0] for m in sys.modules})"
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )

    assert not set(shown.stdout.split()) & {
        "httpx",
        "pandas",
        "numpy",
        "platformdirs",
        "http",
        "ssl",
        "asyncio",
        "email",
    }


# Identity compared with a model


class _Plane:
    embedded = True

    def __init__(self) -> None:
        self.events: list[dict] = []

    def send(self, request):
        if request.method == "GET":
            return Response(404)
        self.events += json.loads(request.body)["batch"]
        return Response(200)


_IDS = st.sampled_from(["u1", "u2", "ü3"])
_TRAITS = st.dictionaries(st.sampled_from(["a", "b", "id", "anonymousId"]), st.integers(0, 3), max_size=2)
_EXTERNAL = st.dictionaries(st.sampled_from(["x", "y"]), st.one_of(st.integers(0, 3), st.just("t")), max_size=2)


class IdentityMachine(RuleBasedStateMachine):
    """The client, next to the simplest model of what an installation stores."""

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.directory = tempfile.TemporaryDirectory()
        self.plane = _Plane()
        self.user, self.traits, self.external, self.out = "", {}, {}, False
        self.advert = self.token = ""
        self.held_back: dict[str, str] = {}
        self.client = self._started()
        self.client.track("probe")
        self.anonymous = self.plane.events[-1]["context"]["device"]["id"]

    def _started(self) -> ServiceClient:
        client = ServiceClient(
            transport=self.plane, data_directory=self.directory.name, track_lifecycle_events=False, gzip=False
        )
        client.initialize(KEY)
        return client

    @rule(user=_IDS, traits=_TRAITS, external=_EXTERNAL)
    def identify(self, user: str, traits: dict, external: dict) -> None:
        self.client.identify(user, traits, {"externalIds": external})
        if not self.out:
            same = self.user in ("", user)
            self.traits = {**(self.traits if same else {}), **traits}
            self.external = {**(self.external if same else {}), **external}
            self.user = user

    @rule(new=_IDS)
    def alias(self, new: str) -> None:
        previous = self.user or self.anonymous
        self.client.alias(new)
        if not self.out:
            self.user = new
            assert self.plane.events[-1]["previousId"] == previous

    @rule()
    def reset(self) -> None:
        self.client.reset()
        self.user, self.traits, self.external = "", {}, {}

    @rule(flag=st.booleans())
    def opt_out(self, flag: bool) -> None:
        self.client.opt_out(flag)
        self.out = flag
        if not flag:
            vars(self).update(self.held_back)
            self.held_back = {}

    @rule(id=st.sampled_from(["anon-1", "anon-2"]))
    def put_anonymous_id(self, id: str) -> None:
        self.client.put_anonymous_id(id)
        self._put("anonymous", id)

    @rule(id=st.sampled_from(["t1", "t2"]))
    def put_device_token(self, id: str) -> None:
        self.client.put_device_token(id)
        self._put("token", id)

    @rule(id=st.sampled_from(["ad1", "ad2"]))
    def put_advertising_id(self, id: str) -> None:
        self.client.put_advertising_id(id)
        self._put("advert", id)

    def _put(self, member: str, id: str) -> None:
        if self.out:
            self.held_back[member] = id
        else:
            setattr(self, member, id)

    @rule()
    def restart(self) -> None:
        self.client.shutdown()
        self.held_back = {}
        self.client = self._started()

    @invariant()
    def the_next_event_shows_the_model(self) -> None:
        if not hasattr(self, "client"):
            return
        before = len(self.plane.events)
        self.client.track("probe")
        if self.out:
            assert len(self.plane.events) == before
            return
        event = self.plane.events[-1]
        ids = {"anonymousId": self.anonymous} | ({"userId": self.user, "id": self.user} if self.user else {})
        assert (event["anonymousId"], event.get("userId", "")) == (self.anonymous, self.user)
        assert event["context"]["traits"] == {**self.traits, **ids}
        assert event["context"].get("externalId", []) == [{"type": k, "id": v} for k, v in self.external.items()]
        assert event["context"]["device"].get("token", "") == self.token
        assert event["context"]["device"].get("advertisingId", "") == self.advert

    def teardown(self) -> None:
        if hasattr(self, "client"):
            self.client.shutdown()
            self.directory.cleanup()


def test_identity_behaves_like_its_model():
    """After any sequence of calls and restarts, every event has the user that the model expects."""
    run_state_machine_as_test(
        IdentityMachine, settings=hypothesis_settings(max_examples=15, stateful_step_count=20, deadline=None)
    )
