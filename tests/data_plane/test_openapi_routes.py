"""Answers of a data plane match its OpenAPI document for any request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from svctoolkit import DataPlane
from tests.data_plane.conftest import basic
from tests.data_plane.test_openapi import workspace_of_hook

pytestmark = pytest.mark.slow
pytest_plugins = ["schemathesis.pytest.plugin"]

_SETTINGS = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
_FEWER = settings(_SETTINGS, max_examples=7)
_FEWEST = settings(_SETTINGS, max_examples=4)  # of a request with so many forms that to draw one takes seconds
_LOCAL = "http://127.0.0.1"

PLANE = DataPlane(workspace_of_hook(), listen=False)
PLANE.workspace.policies = [{"hosts": ["crm.example"]}]  # a breach, which has an origin
PLANE.send({"type": "track", "event": "Search", "userId": "u1"}, source="web")
PLANE.drain(60)
schema = schemathesis.openapi.from_asgi("/openapi.json", PLANE.asgi)


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    PLANE.stop()


@schema.include(path_regex="^/(v1|beacon|pixel|sourceConfig|health)").parametrize()
@_SETTINGS
@pytest.mark.parametrize("headers", [basic("web-key")], ids=["client"])  # without parameters, routes share a name
def test_the_routes_for_clients(case: schemathesis.Case, headers: dict[str, str]) -> None:
    """Any request of a client gets a documented answer, never a crash.

    The write key that a request draws for its query is unknown, which RudderStack answers with 400.
    """
    excluded = [positive_data_acceptance] if case.path == "/v1/projects/{key}/settings" else []
    case.call_and_validate(headers=headers, base_url=_LOCAL, excluded_checks=excluded, timeout=60)


@schema.include(path_regex="^/(inspect|admin)").exclude(path=["/inspect/stream", "/inspect/expect"]).parametrize()
@_FEWER
@pytest.mark.parametrize("senders", [({"Authorization": f"Bearer {PLANE.token}"}, {})], ids=["token, anonymous"])
def test_the_routes_for_inspection_and_administration(
    case: schemathesis.Case, senders: tuple[dict[str, str], ...]
) -> None:
    """Likewise, with the data plane's token, and as a program on this machine without credentials."""
    query: dict[str, Any] = dict(case.query or {})
    if case.path == "/inspect/wait":
        case.query = {**query, "timeout": 0}
    # Whether a destination can have a state is not a matter of the schema.
    excluded = [positive_data_acceptance] if case.path == "/admin/held/{destination}" else []
    for headers in senders:
        case.call_and_validate(headers=headers, base_url=_LOCAL, excluded_checks=excluded, timeout=60)


@schema.include(path="/inspect/expect").parametrize()
@_FEWEST
@pytest.mark.parametrize("headers", [{"Authorization": f"Bearer {PLANE.token}"}], ids=["token"])
def test_the_route_for_expectations(case: schemathesis.Case, headers: dict[str, str]) -> None:
    """Likewise. Whether it is a valid expectation is not a matter of the schema."""
    if isinstance(case.body, dict):
        for name in ("timeout", "settle"):
            seconds = case.body.get(name, 0)
            case.body[name] = min(seconds, 0) if isinstance(seconds, float | int) else "no"
    case.call_and_validate(headers=headers, base_url=_LOCAL, excluded_checks=[positive_data_acceptance], timeout=60)
