"""No request with any JSON in any place of it is a 5xx or ends the connection."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from svctoolkit import CATALOGUE, Workspace, events
from svctoolkit.destinations import definitions
from svctoolkit.lost.names import settings_of
from svctoolkit.server import running
from svctoolkit.workspace import Person

LOGIN = ("dev@example.com", "t0ken")
TYPES = sorted(name for name in CATALOGUE if CATALOGUE[name].handlers and not definitions.is_recorded_only(name))
#: Each of these has failed somewhere in some program.
TEXTS = [
    "\ud83d",
    "\udc00",
    "a\ud83d",
    "\x00",
    "",
    " ",
    "__proto__",
    "constructor",
    "true",
    "$",
    "{{ x }}",
    "\u202e",
    "é" * 300,
]
NUMBERS = [0, -1, 2**53 + 1, 2**64, -(10**300), 1e308, 5e-324, -0.0, 1.5]
TEXT = st.sampled_from(TEXTS) | st.text(st.characters(), max_size=8)
SCALAR = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.integers() | TEXT
ANY = st.recursive(SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
DEEP = st.integers(1, 300).map(lambda depth: json.loads("[" * depth + "]" * depth))
SURROGATE = "\ud83d"


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    workspace = Workspace("any", users=[Person.with_token(*LOGIN)])
    workspace.transformation("same", lambda event: event)
    for name in TYPES:
        workspace.destination(name.lower(), name, config=settings_of(name))
    workspace.destination("code", "WEBHOOK", config=settings_of("WEBHOOK"), transformation="same")
    workspace.destination("off", "WEBHOOK", config=settings_of("WEBHOOK"), enabled=False)
    workspace.destination("wh", "POSTGRES", config={})
    workspace.source("web", destinations=["webhook", "code", "off", "wh"])
    with running(workspace) as server, httpx.Client(base_url=server.url, auth=LOGIN, timeout=60) as made:
        yield made


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A valid request in which up to three places, at any depth, are replaced by any JSON."""
    body: Any = {
        "message": json.loads(json.dumps(events.sample(draw(st.sampled_from(["track", "identify", "page", "group"]))))),
        "stage": {"user_transform": True, "dest_transform": True, "send_to_destination": draw(st.booleans())},
        "destinationConfig": {"webhookMethod": "PUT"},
    }
    target = draw(st.sampled_from(["webhook", "code", "off", "wh", *(name.lower() for name in TYPES)]))
    path = f"/v0/testDestination/{target}"
    if draw(st.booleans()):
        del body["destinationConfig"]
        path = draw(st.sampled_from([path, path, "/v0/testSource/web"]))
    for _ in range(draw(st.integers(0, 3))):
        holder = body
        while draw(st.booleans()):
            inner = holder[draw(st.sampled_from(sorted(holder)))]
            holder = inner if isinstance(inner, dict) and inner else holder
        name = draw(st.sampled_from(sorted(holder)) | TEXT)
        holder[name] = draw(ANY | DEEP)
    force = draw(st.sampled_from(["", "", "?force=true", "?force=%F0%9F", "?force=1&force=0", "?f%00rce=1"]))
    return path + force, body


@settings(max_examples=300, deadline=None)
@given(request=requests())
@example(request=("/v0/testDestination/webhook", {"message": {"type": "track"}, "stage": SURROGATE}))
@example(request=("/v0/testSource/web", {"message": {"type": "track"}, "stage": {"user_transform": SURROGATE}}))
@example(request=("/v0/testDestination/webhook", {"message": {"type": "track"}, "destinationConfig": SURROGATE}))
@example(request=("/v0/testDestination/webhook", {"message": {"type": "track"}, SURROGATE: 1}))
@example(request=("/v0/testDestination/webhook", {"message": {"type": "track"}, "stage": {SURROGATE: 1}}))
@example(request=("/v0/testDestination/webhook", {"message": {"type": SURROGATE}}))
def test_any_json_in_any_place_gets_an_answer(client: httpx.Client, request: tuple[str, dict[str, Any]]) -> None:
    """A result, or a 400 with a message; the connection stays open."""
    path, body = request
    answer = client.post(path, content=json.dumps(body), headers={"content-type": "application/json"})

    assert answer.status_code in (200, 400), answer.text
    assert answer.status_code == 200 or answer.json()["message"]
    assert answer.headers.get("connection") != "close"


@settings(max_examples=50, deadline=None)
@given(id=TEXT, query=TEXT)
def test_any_id_and_query_get_an_answer(client: httpx.Client, id: str, query: str) -> None:
    """An unknown ID is a 404, whatever is in it."""
    quoted = [quote(text, safe="", errors="surrogatepass") for text in (id, query)]
    answer = client.post(f"/v0/testDestination/{quoted[0]}x?{quoted[1]}=1", json={"message": {"type": "track"}})

    assert answer.status_code in (400, 404)
    assert answer.json()["message"]


@pytest.mark.slow
def test_one_place_at_a_time(client: httpx.Client) -> None:
    """Every odd value in every place of the request, at a destination of each type in turn."""
    generator, values = random.Random(1), [*TEXTS, *NUMBERS, [], {}, [[]], {"a": {"b": [None]}}]
    whole = {"message": events.sample("track"), "stage": {"send_to_destination": True}, "destinationConfig": {}}
    for path in _places(whole):
        for value in values:
            body = json.loads(json.dumps(whole))
            holder = body
            for name in path[:-1]:
                holder = holder[name]
            holder[path[-1]] = value
            target = generator.choice(TYPES).lower()
            answer = client.post(
                f"/v0/testDestination/{target}", content=json.dumps(body), headers={"content-type": "application/json"}
            )
            assert answer.status_code in (200, 400), (target, path, value, answer.text)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        yield (*path, name)
        yield from _places(inner, (*path, name))
