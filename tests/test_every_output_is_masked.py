"""Every object with a display, file, log or server of the package is tested with canaries; untested ones are a failure.

`test_no_secret_shows` explains the canaries. Here everything that has a display, keeps a file, logs or serves is looked
up in the package itself.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import pkgutil
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from inspect import isclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import svctoolkit
from svctoolkit import DataPlane, Pipeline, Workspace, displayed, record, runner
from svctoolkit.client import TestApiClient
from svctoolkit.client.conformance import Conformance, Targets, conform
from svctoolkit.delivery import Answer, Recorder
from svctoolkit.delivery.modes import MODES
from svctoolkit.destinations import CATALOGUE, definitions
from svctoolkit.errors import ToolkitError
from svctoolkit.events import track
from svctoolkit.lost import find_losses
from svctoolkit.mutation import Result, Verdict, notebook
from svctoolkit.pipeline import Stages
from svctoolkit.profile import profile, read_history
from svctoolkit.replay import compare, replay
from svctoolkit.sdk import LogLevel, ServiceClient
from svctoolkit.secrets import Secret
from svctoolkit.server import Webhook
from svctoolkit.server.inspect.queries import KINDS
from svctoolkit.server.store.memory import IdentityMemory
from svctoolkit.sources import CATALOGUE as SOURCES
from svctoolkit.widgets.transformation_editor.aggregate import Many, aggregate
from svctoolkit.widgets.transformation_editor.trial import Bench
from tests.test_no_secret_shows import CANARIES, ENVIRONMENT, EVENTS, KNOWN, canaries_in, shop, shown_by, workspace

__all__ = ["shop", "workspace"]  # fixtures

_ALL = Stages(send_to_destination=True)
#: an event that contains the secrets itself, as after a foreign transformation
TELLTALE = {
    **track(CANARIES["a credential"], user_id=CANARIES["the password of a URL"], properties={"echo": KNOWN}),
    "messageId": CANARIES["a parameter of a URL"],
}


def _classes_with(*members: str) -> set[str]:
    """Classes of the package that define one of these attributes themselves."""
    names = set()
    for module in pkgutil.walk_packages(svctoolkit.__path__, "svctoolkit."):
        if ".transformations.worker." in module.name or module.name.endswith("__main__"):
            continue
        for name, value in vars(import_module(module.name)).items():
            if isclass(value) and value.__module__ == module.name and not members_of(value).isdisjoint(members):
                names.add(name)
    return names


def members_of(kind: type) -> set[str]:
    return set(vars(kind))


class Shop:
    """The objects of a notebook session, everything with a display, made from the workspace of canaries."""

    def __init__(self, folder: Path, workspace: Workspace, plane: DataPlane) -> None:
        self.folder, self.workspace, self.plane = folder, workspace, plane
        self.clients: list[ServiceClient] = []
        self.pipeline = Pipeline(workspace)
        self.result = self.pipeline.test_destination("hook", EVENTS[0], stages=_ALL)
        self.suite = runner.load(folder / "shop.suite.yaml")
        with runner.open_planes(limit=60) as planes:
            self.notices = [*runner.run(self.suite.scenarios, planes, coverage=True)]

    def notice(self, name: str) -> Any:
        return next(notice for notice in self.notices if type(notice).__name__ == name)

    def client(self) -> ServiceClient:
        client = ServiceClient(
            data_plane_url=self.plane.url, data_directory=":memory:", application_name="a", application_version="1"
        )
        client.initialize("web")
        self.clients.append(client)
        return client


def held_person() -> Any:
    """What simulated destinations hold about one person whose events contain their key."""
    return _of_held(lambda plane: plane.person(f"u-{CANARIES['a token']}"))


def held() -> Any:
    """What a simulated destination holds and has lost of events that contain its key."""
    return _of_held(lambda plane: plane.held("br"))


def _of_held(show: Callable[[DataPlane], Any]) -> Any:
    workspace, key = Workspace("shop"), CANARIES["a token"]
    config = {"restApiKey": key, "dataCenter": "US-01"}
    workspace.destination("br", "BRAZE", config=config, simulate="simulated")
    workspace.source("web", destinations=["br"])
    country = {"context": {"traits": {"country": f"{key} land", "note": key}}}
    with DataPlane(workspace, listen=False) as plane:
        plane.send({"type": "track", "event": key, "userId": f"u-{key}", **country}, source="web")
        plane.send({"type": "track", "event": {"name": key}, "userId": f"u-{key}"}, source="web")
        plane.drain()
        return show(plane)


def _marked(workspace: Workspace) -> notebook.MarkedCode:
    """What %%mutate shows of code, of which no change is noticed."""
    item, changes = workspace.transformation("code"), notebook.changes_of(workspace, "code")
    verdicts = [Verdict(change, "unnoticed", reason=KNOWN) for change in changes]
    return notebook.MarkedCode.of(item, Result(len(changes), verdicts), workspace.masker.mask)


#: class -> one or more instances. A new display needs a line here.
DISPLAYS: dict[str, Callable[[Shop], Any]] = {
    "Workspace": lambda s: s.workspace,
    "Source": lambda s: [*s.workspace.sources.values()],
    "Destination": lambda s: [*s.workspace.destinations.values()],
    "Transformation": lambda s: [*s.workspace.transformations.values()],
    "Pipeline": lambda s: s.pipeline,
    "DestinationResult": lambda s: [s.result, s.pipeline.test_destination("hook", TELLTALE, stages=_ALL)],
    "EventResult": lambda s: s.result.data,
    "Lineage": lambda s: [s.pipeline.lineage(key, EVENTS[0]) for key in ("hook", "am", "slack", "path")],
    "Failures": lambda s: [
        s.pipeline.test_destination(key, TELLTALE, stages=_ALL).failures() for key in ("hook", "am", "slack", "path")
    ],
    "Groups": lambda s: replay([*EVENTS, TELLTALE], s.workspace).groups,
    "Contrasts": lambda s: replay([*EVENTS, TELLTALE], s.workspace).contrasts(),
    "Traits": lambda s: [replay([*EVENTS, TELLTALE], s.workspace).contrast(["[0]", f"[{len(EVENTS)}]"])],
    "Profile": lambda s: profile([*EVENTS, TELLTALE], s.workspace),
    "History": lambda s: read_history([*EVENTS, TELLTALE], s.workspace),
    "Conformance": lambda _: _conformance(),
    "LossReport": lambda s: find_losses([*EVENTS, TELLTALE], "am", s.workspace),
    "LossCounts": lambda s: find_losses([*EVENTS, TELLTALE], "am", s.workspace).counts,
    "SharedDeliveries": lambda s: [s.pipeline.deliveries(key, EVENTS) for key in ("hook", "am", "slack", "path")],
    "SourceResult": lambda s: s.pipeline.test_source("web", EVENTS[0], stages=_ALL),
    "Output": lambda s: [s.workspace.transformation("code").run(event) for event in EVENTS[1:]],
    "Trials": lambda s: Bench(s.workspace).run(s.workspace.transformation("code"), {"a": EVENTS[0], "b": EVENTS[1]}),
    "Aggregate": lambda s: aggregate(Bench(s.workspace), s.workspace.transformation("code"), Many(EVENTS)),
    "MarkedCode": lambda s: _marked(s.workspace),
    "Recorder": lambda s: [s.pipeline.recorder, s.plane.recorder],
    "Recorded": lambda s: [*s.pipeline.recorder.requests, *s.plane.recorder.requests],
    "HttpRequest": lambda s: [each.request for each in s.pipeline.recorder.requests],
    "HttpResponse": lambda s: [each.response for each in s.pipeline.recorder.requests],
    "Suite": lambda s: s.suite,
    "Scenario": lambda s: [*s.suite.scenarios],
    "Outcome": lambda s: [notice for notice in s.notices if type(notice).__name__ == "Outcome"],
    "Finished": lambda s: s.notice("Finished"),
    "Coverage": lambda s: s.notice("Covered").coverage,
    "BaseResult": lambda s: [
        replay([*EVENTS, TELLTALE], s.workspace),
        compare(EVENTS, s.workspace, _other(s.workspace)),
    ],
    "Recording": lambda s: record([*EVENTS, TELLTALE], s.workspace),
    "DataPlane": lambda s: s.plane,
    "Latencies": lambda s: s.plane.latencies(),
    "View": lambda s: s.plane.of_run(""),
    "Rows": lambda s: [
        s.plane.received,
        s.plane.rejected,
        s.plane.deliveries,
        s.plane.delivered,
        s.plane.fates,
        s.plane.violations,
    ],
    "Webhook": lambda s: [*_webhooks(s)],
    "IdentityMemory": lambda s: _memory(s),
    "Held": lambda _: held(),
    "HeldTable": lambda _: [*held().tables.values()],
    "HeldPerson": lambda _: held_person(),
    "Losses": lambda _: [held().lost, held().changed],
    "Received": lambda s: list(s.plane.received),
    "Rejected": lambda s: list(s.plane.rejected),
    "Delivery": lambda s: list(s.plane.deliveries),
    "Fate": lambda s: list(s.plane.fates),
    "Violation": lambda s: list(s.plane.violations),
    "ToolkitError": lambda s: _error(s.workspace),
    "Secret": lambda _: Secret(CANARIES["a credential"]),
    "Stats": lambda s: s.client().stats(),
    "ServiceClient": lambda s: s.client(),
    "TestApiClient": lambda s: TestApiClient(s.plane.url, "a@x.example", CANARIES["a token"]),
    "Definition": lambda _: definitions.get("WEBHOOK"),
    "DestinationType": lambda _: CATALOGUE["WEBHOOK"],
    "SourceType": lambda _: SOURCES["Shopify"],
    "_Catalogue": lambda _: CATALOGUE,
}
#: These are sent, as `to_dict()` is, so their pickles contain secrets.
AS_SENT = {"HttpRequest", "HttpResponse"}
#: These show values passed by the caller, and have no workspace.
OF_THE_CALLER = {
    "Event", "Change", "Diff", "Explanation", "Load", "Warehouse", "Plan", "PlanCoverage", "TrackingPlan", "Verdict",
    "Searched",
}  # fmt: skip
#: Shown with their state in `test_no_secret_shows.test_no_widget_keeps_a_secret`.
OF_WIDGETS = {"Explorer", "Results"}


def _other(workspace: Workspace) -> Workspace:
    other = Workspace.load("workspace.yaml")
    other.destination("hook").config["headers"][0]["to"] = Secret("another")
    return other


def _error(workspace: Workspace) -> ToolkitError:
    with pytest.raises(ToolkitError) as caught:
        Pipeline(workspace).test_destination("hook", EVENTS[0], config={"headerz": CANARIES["an override"]})
    return caught.value


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A shop that has sent, refused and failed events, served by a data plane."""
    from tests import test_no_secret_shows as canaries

    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("shop")
        canaries.write_shop(folder, patch)
        workspace = Workspace.load(folder / "workspace.yaml")
        with DataPlane(workspace) as plane:
            plane.recorder.script("hook", Answer(400, {"echo": KNOWN}))
            plane.send([*EVENTS, TELLTALE], source="web")
            plane.send({"type": "nonsense", "echo": KNOWN}, source="web")
            plane.drain()
            shop = Shop(folder, workspace, plane)
            yield shop
            for client in shop.clients:
                client.shutdown(1)


def test_every_display_is_in_a_list() -> None:
    """A class with a notebook display is in one of the lists above."""
    tried = {*DISPLAYS, *OF_THE_CALLER, *OF_WIDGETS}
    shown = _classes_with("_repr_mimebundle_", "_repr_html_") - {"Displayed"}  # imports every module, even the displays
    shown |= {kind.__name__ for kind, form in displayed._VIEWS if form == "html"}

    assert sorted(shown ^ tried) == [], "add a line to DISPLAYS above"


def _conformance() -> Conformance:
    """The report of a server that repeats the token and the event in every text."""

    def echo(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"destinationId": CANARIES["a token"], "message": CANARIES["a token"]})

    return conform("http://api.example", "", CANARIES["a token"], Targets("hook"), transport=httpx.MockTransport(echo))


def _webhooks(shop: Shop) -> Sequence[Webhook]:
    if "vendor" not in shop.plane.workspace.sources:
        shop.plane.workspace.source("vendor", type="webhook", destinations=["hook"])
        for body in (TELLTALE, f"{{{json.dumps(TELLTALE)}"):
            shop.plane.send_webhook("vendor", body)
    return shop.plane.webhooks


def _memory(shop: Shop) -> IdentityMemory:
    memory = shop.plane.memory("web")
    memory["cart"] = {"anonymousId": CANARIES["a secret setting of a mapping"]}
    return memory


def test_every_displayed_class_has_a_view() -> None:
    """A class that declares a display, or one of its bases, has a view."""
    without = [
        value.__qualname__
        for module in pkgutil.walk_packages(svctoolkit.__path__, "svctoolkit.")
        if ".transformations.worker." not in module.name and not module.name.endswith("__main__")
        for value in vars(import_module(module.name)).values()
        if isclass(value) and issubclass(value, displayed.Displayed) and value is not displayed.Displayed
        if not value.__name__.startswith("_")
        if not any((base, "html") in displayed._VIEWS for base in value.__mro__)
    ]

    assert without == []


@pytest.mark.parametrize("name", DISPLAYS)
def test_no_display_shows_a_secret(name: str, tried: Shop) -> None:
    """Neither as text nor as HTML, nor pickled (if possible), nor as a frame."""
    made = DISPLAYS[name](tried)
    for value in made if type(made) is list else [made]:
        assert name in {kind.__name__ for kind in type(value).__mro__}
        assert canaries_in(*shown_by(value)) == []
        assert canaries_in(*_exports(value)) == []
        assert name in AS_SENT or canaries_in(_pickled(value)) == []


def _exports(value: Any) -> Iterator[str]:
    """The exports of an object. `to_dict` and `requests` are sent, so they contain secrets."""
    for name in ("to_html", "dumps", "to_masked_dict"):
        if hasattr(value, name):
            yield json.dumps(getattr(value, name)())
    if hasattr(value, "frame") and not isinstance(value, ServiceClient):
        yield value.frame().to_csv()


def _pickled(value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except (TypeError, AttributeError, pickle.PicklingError):  # has a lock, a thread or a socket
        return b""


def test_every_delivery_mode_is_in_the_list() -> None:
    """A new mode may store requests anywhere, so it needs a test."""
    assert MODES.names() == ["cassette", "live", "record"]


def test_no_kind_of_record_shows_a_secret(tried: Shop) -> None:
    """All records in `/inspect`, including counts and metrics."""
    plane = tried.plane
    headers = {"authorization": f"Bearer {plane.token}"}
    for path in (*(f"/inspect/{name}" for name in ("counts", "wait", *KINDS)), "/inspect", "/metrics", "/openapi.json"):
        answer = httpx.get(plane.url + path, headers=headers, timeout=60)
        assert answer.status_code in (200, 409), path
        assert canaries_in(answer.text, str(answer.headers)) == [], path


def test_a_secret_removed_from_the_file_stays_masked(shop: Path) -> None:
    """After a change of the workspace file neither the new nor the old secret is shown, even in earlier records."""
    with DataPlane(shop / "workspace.yaml") as plane:
        plane.send(EVENTS[0], source="web")
        plane.drain()
        text = (shop / "workspace.yaml").read_text("utf-8")
        old, new = CANARIES["a secret setting of a mapping"], "canary99renewed"
        (shop / "workspace.yaml").write_text(text.replace(old, new), "utf-8")
        plane.wait(lambda: new in list(plane.workspace.secrets()))
        # a destination with an unchanged configuration, whose event contains another one's secret
        plane.script("hook", Answer(400, {"error": f"not {new} and not {old}"}))
        plane.send({**EVENTS[0], "messageId": "m5"}, source="web")
        plane.drain()
        shown = [text for value in (*plane.fates, *plane.deliveries, plane.recorder) for text in shown_by(value)]
        listed = httpx.get(
            f"{plane.url}/inspect/fates", headers={"authorization": f"Bearer {plane.token}"}, timeout=60
        ).text

    assert not [text for text in [*shown, listed] if new in text]
    assert canaries_in(*shown, listed) == []
    assert len(plane.fates) == 8


def test_a_cached_route_masks_secrets_of_other_destinations(workspace: Workspace) -> None:
    """Even if they change elsewhere in the workspace."""
    pipeline = Pipeline(workspace, transport=Recorder())
    pipeline.test_destination("hook", EVENTS[0])
    workspace.destination("am").config["apiKey"] = Secret("canary99renewed")
    event = {**EVENTS[0], "event": "canary99renewed"}

    assert "canary99renewed" not in json.dumps(pipeline.test_destination("hook", event).to_masked_dict())


class _Lines(logging.Handler):
    """The records of all loggers, as they would be in a log file."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.lines: list[str] = []
        self.refused = threading.Event()
        self.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
        if "keeping the previous version" in self.lines[-1]:
            self.refused.set()


@pytest.fixture
def log() -> Iterator[_Lines]:
    handler, root = _Lines(), logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(1)  # the client has a level below DEBUG
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


def test_no_log_shows_a_secret(shop: Path, log: _Lines) -> None:
    """For any logger and level: a data plane with a store and a client, failing requests, an invalid file."""
    with DataPlane(shop / "workspace.yaml", store=shop / "store.db") as plane:
        plane.script("hook", Answer(500, {"echo": KNOWN}), Answer(400, {"echo": KNOWN}))
        plane.send([*EVENTS, TELLTALE], source="web")
        plane.send({"type": "nonsense", "echo": KNOWN}, source="web")
        for key in KNOWN:
            plane.ingest("GET", f"/v1/batch?writeKey={quote(key)}")
            plane.ingest("GET", "/inspect/counts", headers={"authorization": f"Bearer {key}", "origin": "x"})
        client = ServiceClient(
            data_plane_url=plane.url, data_directory=":memory:", log_level=LogLevel.VERBOSE,
            application_name="a", application_version="1",
        )  # fmt: skip
        client.initialize("web")
        client.track("Order", {"echo": KNOWN})
        client.track("Order", {"echo": KNOWN, "not": object()})
        client.shutdown(5)
        plane.drain()
        text = (shop / "workspace.yaml").read_text("utf-8")
        (shop / "workspace.yaml").write_text(text.replace("webhookMethod: POST", "webhookMethod: [POST", 1), "utf-8")
        assert log.refused.wait(60)
        assert canaries_in(plane.reload_problem, *shown_by(plane)) == []

    assert len(log.lines) > 20
    assert {line.split()[0] for line in log.lines} >= {"svctoolkit.access", "svctoolkit.workspace", "svctoolkit.sdk"}
    assert [line for line in log.lines if canaries_in(line)] == []


class _Served:
    """`svctoolkit serve` in a separate process, with all its output."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "svctoolkit", "serve", "--port", "0", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **ENVIRONMENT},
        )  # fmt: skip
        assert self.process.stdout is not None
        self.lines: list[str] = []
        self._started = threading.Event()
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._listen, args=(self.process.stdout,))
        self._reader.start()
        assert self._started.wait(60), self.lines

    def _listen(self, stream: Any) -> None:
        for line in stream:
            with self._grown:
                self.lines.append(line)
                self._grown.notify_all()
            if "bearer token" in line:
                self._started.set()
        self._started.set()

    def await_line(self, text: str) -> None:
        with self._grown:
            assert self._grown.wait_for(lambda: any(text in line for line in self.lines), 60), self.lines

    def find(self, pattern: str) -> str:
        match = re.search(pattern, "".join(self.lines))
        assert match is not None
        return match[1]

    def stop(self) -> str:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return "".join(self.lines)


@pytest.mark.parametrize("stored", [False, True])
def test_a_served_workspace_shows_no_secret(shop: Path, stored: bool) -> None:
    """`svctoolkit serve`: console, `/inspect`, its stream, the store, and an invalid file while it runs.

    A store contains events unchanged, readable only for its owner: they are delivered from there.
    """
    events = EVENTS if stored else [*EVENTS, TELLTALE, {"type": "nonsense", "echo": KNOWN}]
    served = _Served("--workspace", "workspace.yaml", *(["--store", "store.db"] if stored else []))
    try:
        url, token = served.find(r"served at (\S+)"), served.find(r"bearer token +(\S+)")
        headers, stream = {"authorization": f"Bearer {token}"}, []
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            for event in events:
                client.post("/v1/batch", auth=("web", ""), json={"batch": [event]})
            client.get("/inspect/wait", params={"timeout": 10})
            with client.stream("GET", "/inspect/stream", params={"after": 0}) as answer:
                for line in answer.iter_lines():
                    stream.append(line)
                    if sum(line.startswith("event: fate") for line in stream) >= 8:
                        break
            looks = [*KINDS, "arrivals", "destinations", "transformations", "policies", "runs", "workspace"]
            looks += ["arrivals/1", "export/events.ndjson", "export/requests.har", "scenario?seq=1"]
            pages = [client.get(f"/inspect/{name}").text for name in looks]
            pages += [client.get(path).text for path in ("/console/events/1", "/console/events/1/lineage/hook")]
            refused = client.post("/v0/testDestination/hook", json={}, headers=headers, auth=("a@x.example", "wrong"))
            (shop / "workspace.yaml").write_text("destinations: {hook: {type: [" + CANARIES["a token"], "utf-8")
            served.await_line("keeping the previous version")
            failed = client.get("/inspect/counts")
    finally:
        console = served.stop()

    assert failed.status_code == 200
    assert canaries_in(console) == []
    assert canaries_in(*stream) == []
    assert canaries_in(*pages, refused.text) == []
    files = [path for path in shop.glob("store.db*") if path.stat().st_size]
    assert canaries_in(*(path.read_bytes() for path in files)) == []
    assert {path.stat().st_mode & 0o077 for path in files} == ({0} if stored else set())
    assert "Order" in "".join(stream)
