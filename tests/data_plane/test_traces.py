"""Traces: contexts of clients, spans of events, and their export over OTLP."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import InvalidWorkspace, StillWaiting
from svctoolkit.replay import replay
from svctoolkit.server import Backoff
from svctoolkit.server.tracing import parse_traceparent
from svctoolkit.server.tracing.setup import provider_of
from tests.data_plane.conftest import basic
from tests.http_server import HttpServer

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
CONTEXT = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
EVENT = {"type": "track", "event": "Paid", "userId": "u1", "properties": {"email": "mira@mail.example"}}


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def traced(workspace: Workspace, exporter: InMemorySpanExporter) -> Iterator[DataPlane]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0), traces=provider) as made:
        yield made


def send(plane: DataPlane, headers: dict[str, str] = CONTEXT) -> int:
    body = json.dumps(EVENT).encode()
    status = plane.ingest("POST", "/v1/track", headers={**basic("web-key"), **headers}, body=body).status
    plane.drain()
    return status


def test_spans_of_an_event(traced: DataPlane, exporter: InMemorySpanExporter) -> None:
    """From the client's span to each request, in one trace; failed attempts are errors."""
    traced.script("crm", Answer(503), Answer(200))
    traced.script("mail", Answer(400))
    send(traced)
    spans = exporter.get_finished_spans()
    (ingest,) = [span for span in spans if span.name == "ingest"]
    ways = {span.name: span for span in spans if span.name.startswith("deliver ")}
    attempts = [span for span in spans if span.name == "send_to_destination"]

    assert {f"{span.context.trace_id:032x}" for span in spans} == {TRACE}
    assert ingest.parent is not None
    assert f"{ingest.parent.span_id:016x}" == PARENT
    assert {way.parent.span_id for way in ways.values()} == {ingest.context.span_id}
    assert {name: way.attributes["svctoolkit.fate"] for name, way in ways.items()} == {
        "deliver crm": "delivered",
        "deliver mail": "failed",
    }
    assert [way.status.status_code for _, way in sorted(ways.items())] == [StatusCode.UNSET, StatusCode.ERROR]
    of_crm = [a for a in attempts if a.parent.span_id == ways["deliver crm"].context.span_id]
    assert [a.attributes["http.response.status_code"] for a in of_crm] == [503, 200]
    assert len([span for span in spans if span.name == "process"]) == 2
    assert all(span.start_time <= span.end_time for span in spans)


@pytest.mark.parametrize("destination", ["hook", "amplitude", "slow"])
@pytest.mark.parametrize("language", ["python", "javascript"])
def test_stages_have_spans(exporter: InMemorySpanExporter, destination: str, language: str) -> None:
    """The user's code and the mapping, once for each event and within `process`: also of events without a request.

    For a recorder, a type whose events share requests, and an event that is sent again.
    """
    codes = {
        "python": "def transformEvent(event, metadata):\n    return event if event['userId'] != 'dropped' else None",
        "javascript": "export function transformEvent(event) { return event.userId == 'dropped' ? null : event; }",
    }
    workspace = Workspace()
    workspace.transformation("code", code=codes[language], language=language)
    kind = "AM" if destination == "amplitude" else "WEBHOOK"
    config = {"apiKey": "k", "webhookUrl": "https://hook.example/in"}
    workspace.destination(destination, kind, config=config, transformation="code")
    workspace.destination("plain", "WEBHOOK", config={"webhookUrl": "https://plain.example/in"})
    workspace.source("web", write_key="web-key", destinations=[destination, "plain"])
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0), traces=provider) as plane:
        if destination == "slow":
            plane.script("slow", Answer(503), Answer(503), Answer(200))
        batch = [{**EVENT, "userId": user, "messageId": user} for user in ("u1", "dropped", "u2")]
        plane.ingest("POST", "/v1/batch", headers=basic("web-key"), body=json.dumps({"batch": batch}).encode())
        plane.drain(60)
    spans = exporter.get_finished_spans()
    by_id = {span.context.span_id: span for span in spans}
    stages = {
        (ways.attributes["svctoolkit.seq"], ways.attributes["svctoolkit.destination"]): sorted(
            span.name for span in spans if span.parent and span.parent.span_id == process.context.span_id
        )
        for process in spans
        if process.name == "process" and (ways := by_id[process.parent.span_id])
    }
    within = [(span, by_id[span.parent.span_id]) for span in spans if span.name.endswith("_transform")]

    assert stages == {
        **{(seq, destination): ["dest_transform", "user_transform"] for seq in (1, 3)},
        (2, destination): ["user_transform"],
        **{(seq, "plain"): ["dest_transform"] for seq in (1, 2, 3)},
    }
    assert len([span for span in spans if span.name == "process"]) == 6
    assert all(outer.start_time <= span.start_time <= span.end_time <= outer.end_time for span, outer in within)
    assert sum(span.end_time - span.start_time for span, _ in within) > 0


def test_spans_show_nothing_of_an_event(traced: DataPlane, exporter: InMemorySpanExporter) -> None:
    """Neither personal data nor settings: their attributes are keys, numbers and statuses."""
    traced.workspace.destinations["crm"].config["webhookUrl"] = "https://hook.example/in?token=s3cr3t-t0ken-1"
    send(traced)
    shown = "".join(span.to_json() for span in exporter.get_finished_spans())

    for text in ("mira", '"u1', "Paid", "s3cr3t", "hook.example", "web-key"):
        assert text not in shown


class StuckExporter(InMemorySpanExporter):
    """Waits before it takes the span that ends the way of an event to a destination."""

    def __init__(self) -> None:
        super().__init__()
        self.reached, self.released = threading.Event(), threading.Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if any(span.name == "deliver mail" for span in spans):
            self.reached.set()
            self.released.wait(60)
        return super().export(spans)


def test_events_are_under_way_until_their_spans_are_made(workspace: Workspace) -> None:
    """Whoever has waited in `drain` finds all of them, also with a slow exporter."""
    exporter, provider = StuckExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0), traces=provider) as plane:
        plane.script("mail", Answer(503), Answer(200))  # events without a retry are delivered within `ingest`
        plane.ingest("POST", "/v1/track", headers=basic("web-key"), body=json.dumps(EVENT).encode())
        assert exporter.reached.wait(60)
        with pytest.raises(StillWaiting, match="mail"):
            plane.drain(1)
        exporter.released.set()
        plane.drain(60)
        ways = {span.name for span in exporter.get_finished_spans() if span.name.startswith("deliver ")}

    assert ways == {"deliver crm", "deliver mail"}


def test_events_without_a_context_have_a_trace_of_their_own(traced: DataPlane, exporter: InMemorySpanExporter) -> None:
    """Also if the context is malformed."""
    assert send(traced, {}) == send(traced, {"traceparent": "00-nonsense"}) == 200
    roots = [span for span in exporter.get_finished_spans() if span.name == "ingest"]

    assert [span.parent for span in roots] == [None, None]
    assert len({span.context.trace_id for span in roots}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{TRACE}-{PARENT}-01-more",
        f"00-{TRACE}-{PARENT}-1",
        "x" * 100_000,
    ],
)
def test_malformed_contexts_are_ignored(text: str) -> None:
    """As the W3C requires."""
    assert parse_traceparent(text) is None


def test_contexts_of_later_versions_are_understood() -> None:
    """They may have more members."""
    found = parse_traceparent(f"cc-{TRACE}-{PARENT}-00-what-the-future-brings")

    assert found is not None
    assert (found.trace_id, found.is_sampled) == (TRACE, False)


def test_the_page_links_to_the_trace(plane: DataPlane) -> None:
    """With the address in the workspace; without a provider, the context of the client is enough."""
    plane.workspace.data_plane.traces = "https://jaeger.example/trace/{trace_id}"
    send(plane)
    send(plane, {})
    token = {"Authorization": f"Bearer {plane.token}"}
    pages = [plane.ingest("GET", f"/console/events/{seq}", headers=token).text for seq in (1, 2)]

    assert [f'href="https://jaeger.example/trace/{TRACE}"' in page for page in pages] == [True, False]


def restart(workspace: Workspace, file: Path, exporter: InMemorySpanExporter) -> str:
    """Deliver what waits in a store, with spans. Return the page of its first event."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    workspace.data_plane.traces = "https://jaeger.example/trace/{trace_id}"
    with DataPlane(workspace, listen=False, store=file, traces=provider) as plane:
        plane.drain(60)
        token = {"Authorization": f"Bearer {plane.token}"}
        return plane.ingest("GET", "/console/events/1", headers=token).text


def fail_once(workspace: Workspace, file: Path, provider: TracerProvider | None = None) -> None:
    """Send an event to a data plane that stops while its delivery waits."""
    with DataPlane(workspace, listen=False, store=file, backoff=Backoff(first=3600), traces=provider) as plane:
        plane.script("crm", Answer(503))
        plane.ingest("POST", "/v1/track", headers={**basic("web-key"), **CONTEXT}, body=json.dumps(EVENT).encode())
        plane.wait(lambda: len(plane.deliveries) == 2, timeout=60)


def test_a_trace_continues_after_a_restart(
    workspace: Workspace, exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    """Also if the first data plane made no spans; the page links to it, although no other request has a context."""
    fail_once(workspace, tmp_path / "plane.db")
    page = restart(workspace, tmp_path / "plane.db", exporter)
    spans = exporter.get_finished_spans()
    (way,) = [span for span in spans if span.name.startswith("deliver ")]

    assert {f"{span.context.trace_id:032x}" for span in spans} == {TRACE}
    assert (way.name, way.attributes["svctoolkit.fate"]) == ("deliver crm", "delivered")
    assert way.parent is not None
    assert f"{way.parent.span_id:016x}" == PARENT
    assert f'href="https://jaeger.example/trace/{TRACE}"' in page


def test_spans_after_a_restart_belong_to_those_before(
    workspace: Workspace, exporter: InMemorySpanExporter, tmp_path: Path
) -> None:
    """Their parent is the span of the ingestion in the first data plane."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    fail_once(workspace, tmp_path / "plane.db", provider)
    (ingest,) = [span for span in exporter.get_finished_spans() if span.name == "ingest"]
    exporter.clear()
    restart(workspace, tmp_path / "plane.db", exporter)
    ways = [span for span in exporter.get_finished_spans() if span.name == "deliver crm"]

    assert [(span.context.trace_id, span.parent and span.parent.span_id) for span in ways] == [
        (ingest.context.trace_id, ingest.context.span_id)
    ]


def test_a_store_of_version_8_is_migrated(workspace: Workspace, exporter: InMemorySpanExporter, tmp_path: Path) -> None:
    """It has no contexts: its events are delivered without spans, and read before the migration, too."""
    file = tmp_path / "plane.db"
    fail_once(workspace, file)
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "alter table blocks drop column trace; alter table deliveries drop column accepted; pragma user_version=8"
        )
    replayed = replay(file, workspace).events
    page = restart(workspace, file, exporter)
    with DataPlane(workspace, listen=False, store=file) as plane:
        send(plane)
        statuses = [fate.status for fate in plane.fates]
    with closing(sqlite3.connect(file)) as connection:
        traces = connection.execute("select trace from blocks order by first").fetchall()

    assert replayed == 1
    assert (exporter.get_finished_spans(), "jaeger" in page) == ((), False)
    assert statuses == ["delivered"] * 4
    assert traces == [("",), (CONTEXT["traceparent"],)]


def test_the_address_needs_a_place_for_the_trace() -> None:
    """And must be a link."""
    for text in ("https://jaeger.example/", "javascript:alert('{trace_id}')"):
        with pytest.raises(InvalidWorkspace, match="1:"):
            Workspace.loads(f'dataPlane: {{traces: "{text}"}}')


class Collector(BaseHTTPRequestHandler):
    """Keeps the spans that are exported to it."""

    spans: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in of_resource.scope_spans:
                self.server.spans += [span.name for span in scope.spans]  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


def test_spans_are_exported_over_otlp(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the endpoint in the environment; stopping the data plane exports what is left."""
    server = HttpServer(("127.0.0.1", 0), Collector)
    server.spans = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    provider = provider_of(os.environ)
    assert isinstance(provider, TracerProvider)
    with DataPlane(workspace, listen=False, traces=provider) as plane:
        send(plane)
    provider.shutdown()
    server.shutdown()
    server.server_close()

    assert sorted(server.spans) == [  # type: ignore[attr-defined]
        "deliver crm",
        "deliver mail",
        "dest_transform",
        "dest_transform",
        "ingest",
        "process",
        "process",
        "send_to_destination",
        "send_to_destination",
    ]


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_nothing_is_exported_unless_the_environment_says_so(environ: dict[str, str]) -> None:
    """By the standard variables."""
    assert provider_of(environ) is None


def test_without_traces_nothing_is_imported() -> None:
    """A data plane without a provider does not load OpenTelemetry."""
    code = """
import sys
from svctoolkit import DataPlane, Workspace
workspace = Workspace("shop")
workspace.destination("crm", "WEBHOOK", config={"webhookUrl": "https://crm.example/in"})
workspace.source("web", destinations=["crm"])
with DataPlane(workspace) as plane:
    plane.send({"type": "track", "event": "E", "userId": "u"}, source="web")
    plane.drain()
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)

    assert found.stdout.strip() == "[]"
