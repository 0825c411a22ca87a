"""Answers of a data plane match its OpenAPI document for any request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from svctoolkit import DataPlane
from tests.data_plane.conftest import basic
from tests.data_plane.test_openapi import workspace_of_hook

pytestmark = pytest.mark.slow
pytest_plugins = ["schemathesis.pytest.plugin"]

_SETTINGS = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

PLANE = DataPlane(workspace_of_hook(), listen=False)
schema = schemathesis.openapi.from_asgi("/openapi.json", PLANE.asgi)


@pytest.fixture(scope="module", autouse=True)
def stopped() -> Iterator[None]:
    yield
    PLANE.stop()


@schema.include(path_regex="^/(v1|beacon|pixel|sourceConfig|health)").parametrize()
@_SETTINGS
def test_the_routes_for_clients(case: schemathesis.Case) -> None:
    """Any request of a client gets a documented answer, never a crash.

    Not checked: that a request outside the schema is refused. The gateway accepts unknown fields and looks at the body,
    whatever the content type is.
    """
    case.call_and_validate(
        headers=basic("web-key"), excluded_checks=[positive_data_acceptance, negative_data_rejection]
    )


@schema.include(path_regex="^/(inspect|admin)").exclude(path="/inspect/stream").parametrize()
@_SETTINGS
def test_the_routes_for_inspection_and_administration(case: schemathesis.Case) -> None:
    """Likewise, with the data plane's token."""
    query: dict[str, Any] = dict(case.query or {})
    if case.path == "/inspect/wait":
        case.query = {**query, "timeout": 0}
    if case.path == "/inspect/expect" and isinstance(case.body, dict):
        seconds = case.body.get("timeout", 0)
        case.body["timeout"] = min(seconds, 0) if isinstance(seconds, float | int) else "no"
    case.call_and_validate(
        headers={"Authorization": f"Bearer {PLANE.token}"}, excluded_checks=[positive_data_acceptance]
    )
