"""The gateway: its routes, its answers and its extensions."""

from __future__ import annotations

import base64
import gzip
import json
import uuid
import zlib
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Answer, Backoff
from tests.data_plane.conftest import basic
from tests.examples import up_to

EVENT = {"type": "track", "event": "Order Completed", "userId": "u1", "properties": {"total": 20}}
HEADERS = basic("web-key")
NOW = datetime(2024, 6, 10, 6, 13, 30, 900_000, UTC)


def batch(*events: Any, **more: Any) -> bytes:
    return json.dumps({"batch": events, **more}).encode()


def post(plane: DataPlane, path: str, body: bytes, **headers: str) -> Answer:
    return plane.ingest("POST", path, headers={**HEADERS, **headers}, body=body)


BOMB = gzip.compress(b'{"batch": [' + b" " * 100_000_000 + b"]}", compresslevel=1)
LARGE = batch({**EVENT, "properties": {"text": "x" * 4_100_000}})
GZIP = {"Content-Encoding": "gzip"}
PAIR = gzip.compress(LARGE[:9]) + gzip.compress(LARGE[9:])

REPLIES: dict[str, tuple[dict[str, str], bytes, int, str]] = {
    "accepted": ({}, batch(EVENT), 200, "ok"),
    "accepted, compressed": (GZIP, gzip.compress(batch(EVENT)), 200, "ok"),
    "accepted as text": ({"Content-Type": "text/plain"}, batch(EVENT), 200, "ok"),
    "accepted as form": ({"Content-Type": "application/x-www-form-urlencoded"}, batch(EVENT), 200, "ok"),
    "no key": ({"Authorization": ""}, batch(EVENT), 401, "failed to read writekey from header\n"),
    "blank key": (basic(" "), batch(EVENT), 401, "failed to read writekey from header\n"),
    "another scheme": ({"Authorization": "Bearer x"}, batch(EVENT), 401, "failed to read writekey from header\n"),
    "unknown key": (basic("nobody"), batch(EVENT), 401, "invalid write key\n"),
    "disabled source": (basic("off-key"), batch(EVENT), 404, "source is disabled\n"),
    "no body": ({}, b"", 400, "invalid json\n"),
    "no JSON": ({}, b"{", 400, "invalid json\n"),
    "nested too deeply": ({}, b'{"batch":' + b"[" * 100_000, 400, "invalid json\n"),
    "no batch": ({}, b"{}", 400, "empty batch payload\n"),
    "empty batch": ({}, batch(), 400, "empty batch payload\n"),
    "a batch that is not a list": ({}, b'{"batch": {}}', 400, "empty batch payload\n"),
    "not an object": ({}, batch(EVENT, 5), 400, "event is not a valid rudder event\n"),
    "no identity": ({}, batch(EVENT, {"type": "track"}), 400, "request neither has anonymousId nor userId\n"),
    "blank identity": ({}, batch({"userId": "\u200b ", "anonymousId": None}), 400,
                       "request neither has anonymousId nor userId\n"),
    "too large": ({}, LARGE, 413, "request size exceeds max limit\n"),
    "too large, and bad": ({}, batch({"x": "y" * 4_100_000}), 400, "request neither has anonymousId nor userId\n"),
    "compressed in two members": (GZIP, gzip.compress(batch(EVENT)[:9]) + gzip.compress(batch(EVENT)[9:]), 200, "ok"),
    "compressed in too many members": (GZIP, gzip.compress(b"") * 2000, 500, "failed to read body from request\n"),
    "compressed, and more": (GZIP, gzip.compress(batch(EVENT)) + b"more", 500, "failed to read body from request\n"),
    "too large, compressed in two members": (GZIP, PAIR, 413, "request size exceeds max limit\n"),
    "too large, compressed": (GZIP, gzip.compress(LARGE), 413, "request size exceeds max limit\n"),
    "gzip bomb": (GZIP, BOMB, 413, "request size exceeds max limit\n"),
    "damaged gzip": (GZIP, b"\x1f\x8bnonsense", 500, "failed to read body from request\n"),
    "half of a gzip": (GZIP, gzip.compress(batch(EVENT))[:-20], 500, "failed to read body from request\n"),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLIES)
def test_status_and_body_equal_those_of_the_gateway(plane: DataPlane, case: str) -> None:
    """Each refusal has exactly the status and the text of the real gateway."""
    headers, body, status, text = REPLIES[case]

    answer = post(plane, "/v1/batch", body, **headers)

    assert (answer.status, answer.text) == (status, text)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("case", [name for name, reply in REPLIES.items() if reply[2] != 200])
def test_a_refused_request_is_kept_with_its_reason(plane: DataPlane, case: str) -> None:
    """None of its events are accepted, and the refusal can be inspected."""
    headers, body, status, text = REPLIES[case]

    post(plane, "/v1/batch", body, **headers)

    assert len(plane.received) == 0
    assert [(r.status, r.reason) for r in plane.rejected] == [(status, text.strip())]


def test_lenient_sets_the_bad_event_aside(workspace: Workspace) -> None:
    """With `lenient`, one bad event does not fail the batch; it is kept with its position and the reason."""
    with DataPlane(workspace, listen=False, lenient=True) as plane:
        answer = post(plane, "/v1/batch", batch(EVENT, {"type": "track"}, "text", EVENT))

        assert (answer.status, len(plane.received)) == (200, 2)
        assert [(r.position, r.body, r.status) for r in plane.rejected] == [
            (1, {"type": "track"}, 400),
            (2, "text", 400),
        ]


@pytest.mark.parametrize("kind", ["identify", "track", "page", "screen", "group", "alias"])
def test_the_path_decides_the_type_of_a_single_event(plane: DataPlane, kind: str) -> None:
    """`POST /v1/<type>` accepts one event and ignores its `type`. Segment's one-letter paths work, too."""
    for path in (f"/v1/{kind}", f"/v1/{kind[0]}"):
        answer = post(plane, path, json.dumps({"userId": "u1", "type": "other"}).encode())

        assert answer.status == 200
    assert [r.type for r in plane.received] == [kind, kind]
    assert post(plane, f"/v1/{kind}", b"[]").text == "event is not a valid rudder event\n"


def test_segment_clients_are_known_by_the_key_in_the_body(plane: DataPlane) -> None:
    """Clients without an Authorization header put `writeKey` in the body; it does not become part of the event."""
    alone = {"Authorization": ""}
    batched = post(plane, "/v1/batch", batch(EVENT, writeKey="web-key"), **alone)
    single = post(plane, "/v1/t", json.dumps({**EVENT, "writeKey": "web-key"}).encode(), **alone)
    unknown = post(plane, "/v1/batch", batch(EVENT, writeKey="nobody"), **alone)

    assert [a.status for a in (batched, single, unknown)] == [200, 200, 401]
    assert ["writeKey" in r.event for r in plane.received] == [False, False]


def test_a_beacon_has_its_key_in_the_query(plane: DataPlane) -> None:
    """Pages that are being closed send `text/plain` to `/beacon/v1/batch?writeKey=`."""
    sent = plane.ingest(
        "POST", "/beacon/v1/batch?writeKey=web-key", headers={"Content-Type": "text/plain"}, body=batch(EVENT)
    )
    without = plane.ingest("POST", "/beacon/v1/batch", headers=HEADERS, body=batch(EVENT))

    assert (sent.status, without.status) == (200, 401)
    assert without.text == "failed to read writekey from query params\n"
    assert len(plane.received) == 1


def test_a_pixel_is_always_an_image(plane: DataPlane) -> None:
    """`GET /pixel/v1/track` answers with the same 43-byte image whether or not the event is valid."""
    good = plane.ingest("GET", "/pixel/v1/track?writeKey=web-key&anonymousId=%22a1%22&event=Email%20Opened&n=5")
    page = plane.ingest("GET", "/pixel/v1/page?writeKey=web-key&anonymousId=a1")
    bad = plane.ingest("GET", "/pixel/v1/track?writeKey=nobody")

    assert {(a.status, a.headers["content-type"], len(a.body)) for a in (good, page, bad)} == {(200, "image/gif", 43)}
    track, viewed = (r.event for r in plane.received)
    assert track.items() >= {"type": "track", "event": "Email Opened", "anonymousId": "a1", "n": "5"}.items()
    assert track.items() >= {"channel": "web", "integrations": {"All": True}}.items()
    assert viewed["name"] == "Unknown Page"
    assert plane.rejected[0].reason == "invalid write key"


def test_import_accepts_the_valid_users(plane: DataPlane) -> None:
    """`/v1/import` refuses per user, not per batch; an empty batch is fine."""
    empty = post(plane, "/v1/import", batch())
    some = post(plane, "/v1/import", batch(EVENT, {"type": "track"}))
    several = post(plane, "/v1/import", batch(EVENT, {"type": "track"}, 5))

    assert [a.status for a in (empty, some, several)] == [200, 400, 500]
    assert len(plane.received) == 2


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_405_without_a_body(plane: DataPlane, method: str) -> None:
    """As the router of the real gateway answers them."""
    answer = plane.ingest(method, "/v1/batch", headers=HEADERS)

    assert (answer.status, answer.body) == (405, b"")


def test_fields_that_the_gateway_adds(workspace: Workspace) -> None:
    """rudderId, messageId, request_ip and four times; `timestamp` is corrected for a wrong clock of the client."""
    with DataPlane(workspace, listen=False, clock=lambda: NOW, new_id=lambda: "new") as plane:
        sent = {"originalTimestamp": "2024-06-10T06:13:22.871Z", "sentAt": "2024-06-10T06:13:30.512Z"}
        post(plane, "/v1/batch", batch({**EVENT, **sent}), **{"X-Forwarded-For": "203.0.113.9, 10.0.0.1"})

        assert plane.received[0].event == {
            **EVENT,
            **sent,
            "messageId": "new",
            "rudderId": "5eff0fc3-0944-48fa-9c04-38f62e3890ca",
            "request_ip": "203.0.113.9",
            "timestamp": "2024-06-10T06:13:23.259Z",
            "receivedAt": "2024-06-10T06:13:30.900Z",
        }


@pytest.mark.parametrize(
    ("user", "anonymous", "expected"),
    [
        ("identified_user_id", "anonymousId_1", "e4cab80e-2f0e-4fa2-87e0-3a4af182634c"),
        ("u1", "", "5eff0fc3-0944-48fa-9c04-38f62e3890ca"),
        ("", "anon-1", "e2a29aab-4b74-4f7e-a159-8c583fcadcec"),
        (" u1\u200b", None, "5eff0fc3-0944-48fa-9c04-38f62e3890ca"),
    ],
)
def test_the_rudder_id_is_a_hash_of_both_ids(plane: DataPlane, user: str, anonymous: str | None, expected: str) -> None:
    """The MD5 of both trimmed ids as a UUID of version 4."""
    post(plane, "/v1/batch", batch({"type": "track", "userId": user, "anonymousId": anonymous}))

    assert plane.received[0].event["rudderId"] == expected


@pytest.mark.parametrize("given", [None, "", "  ", 5, {"a": 1}])
def test_an_invalid_message_id_is_replaced(plane: DataPlane, given: Any) -> None:
    """A missing, blank or non-text `messageId` becomes a new UUID; a text is trimmed."""
    post(plane, "/v1/batch", batch({**EVENT, "messageId": given}, {**EVENT, "messageId": " m1 "}))

    first, second = (r.message_id for r in plane.received)
    assert uuid.UUID(first).version == 4
    assert second == "m1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"timestamp": "2024-01-01T01:00:00+01:00"}, "2024-01-01T00:00:00.000Z"),
        ({"timestamp": "yesterday"}, "2024-06-10T06:13:30.900Z"),
        ({"timestamp": 1717999999}, "2024-06-10T06:13:30.900Z"),
        ({"originalTimestamp": "2024-06-10T06:13:20.900Z"}, "2024-06-10T06:13:20.900Z"),
        ({"originalTimestamp": "9999-12-31T23:59:59Z", "sentAt": "0001-01-01T00:00:00Z"}, "2024-06-10T06:13:30.900Z"),
    ],
)
def test_the_timestamp_is_kept_or_computed(workspace: Workspace, given: dict[str, Any], expected: str) -> None:
    """A valid time is kept, in UTC; otherwise it is the time of receipt minus the event's age at the client."""
    with DataPlane(workspace, listen=False, clock=lambda: NOW) as plane:
        post(plane, "/v1/batch", batch({**EVENT, **given}))

        assert plane.received[0].event["timestamp"] == expected


def test_sent_at_of_the_envelope_is_ignored(workspace: Workspace) -> None:
    """As in the real gateway, only the `sentAt` of an event itself is used."""
    with DataPlane(workspace, listen=False, clock=lambda: NOW) as plane:
        post(plane, "/v1/batch", batch(EVENT, sentAt="2001-01-01T00:00:00Z"))

        assert plane.received[0].event["sentAt"] == "2024-06-10T06:13:30.900Z"


def test_pages_of_any_origin_may_send_and_read_errors(plane: DataPlane) -> None:
    """A preflight needs no key and mirrors the requested headers; errors have CORS headers, or clients would retry."""
    asks = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    asked = "authorization, anonymousid, content-type, sentat"
    preflight = plane.ingest("OPTIONS", "/v1/track", headers={**asks, "Access-Control-Request-Headers": asked})
    error = post(plane, "/v1/batch", b"", Origin="https://shop.example")

    assert preflight.status == 204
    assert preflight.headers["access-control-allow-headers"] == asked
    for answer in (preflight, error):
        assert answer.headers["access-control-allow-origin"] == "https://shop.example"
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert answer.headers["access-control-expose-headers"] == "Retry-After"
        assert "Origin" in answer.headers["vary"]


def test_pages_of_other_origins_may_not_inspect(plane: DataPlane) -> None:
    """Inspection and the Test API have no CORS headers."""
    origin = {"Origin": "https://shop.example"}
    answers = [plane.ingest("GET", path, headers=origin) for path in ("/inspect/counts", "/openapi.json")]

    assert not any("access-control-allow-origin" in answer.headers for answer in answers)


def test_the_source_configuration_is_served_to_clients(workspace: Workspace, plane: DataPlane) -> None:
    """The source and its destinations without secrets, with and without a trailing slash, by header or by query."""
    workspace.destinations["crm"].config["headers"] = [{"from": "X-Key", "to": "s3cr3t-value"}]
    by_header = plane.ingest("GET", "/sourceConfig?p=android&v=1&bv=34", headers=HEADERS)
    by_query = plane.ingest("GET", "/sourceConfig/?p=cdn&writeKey=web-key")

    assert by_header.json == by_query.json
    source = by_header.json["source"]
    assert source.items() >= {"id": "web", "enabled": True, "name": "web", "writeKey": "web-key"}.items()
    assert [d["destinationDefinition"]["displayName"] for d in source["destinations"]] == ["Webhook", "Webhook"]
    assert b"s3cr3t-value" not in by_header.body


def test_the_source_configuration_of_unknown_and_disabled_sources(plane: DataPlane) -> None:
    """An unknown key is 400 `{"message": "Invalid write key"}`; a disabled source says so."""
    unknown = plane.ingest("GET", "/sourceConfig", headers=basic("nobody"))
    disabled = plane.ingest("GET", "/sourceConfig", headers=basic("off-key"))

    assert (unknown.status, unknown.json) == (400, {"message": "Invalid write key"})
    assert (disabled.status, disabled.json["source"]["enabled"]) == (200, False)


def test_routes_for_clients_and_load_balancers(plane: DataPlane) -> None:
    """Segment's settings, health, version and robots.txt."""
    settings_of = plane.ingest("GET", "/v1/projects/web-key/settings")
    health = plane.ingest("GET", "/health")

    assert settings_of.json == {"integrations": {"Segment.io": {"apiKey": "web-key"}}}
    assert plane.ingest("GET", "/v1/projects/nobody/settings").status == 401
    assert health.json["server"] == "UP"
    assert plane.ingest("GET", "/").json == health.json
    assert "Version" in plane.ingest("GET", "/version").json
    assert plane.ingest("GET", "/robots.txt").text == "User-agent: * \nDisallow: / \n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=up_to(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(event=st.dictionaries(st.text(), JSON, max_size=5), user=st.text(min_size=1))
def test_every_accepted_event_is_kept_unchanged(plane: DataPlane, event: dict[str, Any], user: str) -> None:
    """Any JSON in an event is kept as it was sent, or the request is refused with a 400."""
    sent = {**event, "userId": user}
    answer = post(plane, "/v1/batch", json.dumps({"batch": [sent]}).encode())

    assert answer.status in (200, 400)
    if answer.status == 200:
        kept = plane.received[-1].event
        added = ("messageId", "rudderId", "request_ip", "timestamp", "originalTimestamp", "sentAt", "receivedAt")
        assert {k: v for k, v in kept.items() if k not in added} == {k: v for k, v in sent.items() if k not in added}


@settings(max_examples=up_to(200), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "HEAD", "OPTIONS", "PATCH", "DELETE"]),
    path=st.sampled_from(["/v1/batch", "/v1/track", "/v1/import", "/v1/t", "/v1/m", "/beacon/v1/batch?writeKey=web-key",
                          "/pixel/v1/page?writeKey=web-key", "/sourceConfig", "/v1/projects/x/settings",
                          "/inspect/events", "/inspect/wait?timeout=0", "/admin/replay", "/admin/sources/web",
                          "/metrics", "/health"]),
    body=st.binary(max_size=200) | JSON.map(lambda v: json.dumps(v).encode()) | st.binary().map(zlib.compress),
    headers=st.dictionaries(
        st.sampled_from(["Authorization", "Content-Encoding", "Content-Type", "Origin", "X-Svctoolkit-Run"]),
        st.sampled_from(["", "gzip", "deflate", "Basic !", HEADERS["Authorization"], "text/plain", "\xff", "null"]),
    ),
)  # fmt: skip
def test_no_request_gets_a_traceback(
    plane: DataPlane, method: str, path: str, body: bytes, headers: dict[str, str]
) -> None:
    """Any request gets an answer that the gateway also gives; 500 only for a body that cannot be read."""
    answer = plane.ingest(method, path, headers=headers, body=body)

    assert answer.status < 500 or answer.text.startswith("failed to read body") or "wait" in path
    assert "svctoolkit failed" not in answer.text


def test_the_gateway_works_over_a_socket(workspace: Workspace) -> None:
    """The same over HTTP: it listens as soon as it is created, on a free port, and several can run in parallel."""
    with DataPlane(workspace) as one, DataPlane(workspace, backoff=Backoff(scale=0)) as other:
        sent = [
            httpx.post(f"{p.url}/v1/batch", content=batch(EVENT), headers=HEADERS, timeout=60).text
            for p in (one, one, other)
        ]

        assert sent == ["ok"] * 3
        assert (one.port != other.port, len(one.received), len(other.received)) == (True, 2, 1)
        assert one.received[0].event["request_ip"] == "127.0.0.1"


def test_a_wrapped_authorization_header_is_accepted(plane: DataPlane) -> None:
    """Old mobile clients break the base64 text into lines."""
    text = base64.b64encode(b"web-key:").decode()

    assert post(plane, "/v1/batch", batch(EVENT), Authorization=f"Basic {text[:4]} {text[4:]} ").status == 200


def test_an_unknown_write_key_is_logged_once_with_the_sources(
    plane: DataPlane, caplog: pytest.LogCaptureFixture
) -> None:
    """The names of the sources, no other key, and only the beginning of the one that was sent."""
    for _ in range(3):
        plane.ingest("POST", "/v1/batch", headers=basic("nokey-of-production"), body=batch(EVENT))
    lines = [record.getMessage() for record in caplog.records if "401" in record.getMessage()]

    assert lines == ["401: unknown write key 'noke…'; sources: web, quiet, off"]
