from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from svctoolkit.sdk import ServiceClient

from .gateway import KEY, Gateway, serving


class PatientClient(ServiceClient):
    """A client with longer default timeouts for `flush()`: a busy machine may stop for seconds."""

    def flush(self, timeout: float = 60.0) -> bool:
        return super().flush(timeout)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with serving() as made:
        yield made


@pytest.fixture
def make(gateway: Gateway, tmp_path: Path) -> Iterator[Callable[..., ServiceClient]]:
    """A factory for initialized clients of the gateway, without lifecycle events unless requested."""
    made: list[ServiceClient] = []

    def client(key: str = KEY, options: Any = None, **settings: Any) -> ServiceClient:
        defaults = {
            "data_plane_url": gateway.url,
            "data_directory": tmp_path / "data",
            "track_lifecycle_events": False,
            "sleep_timeout": 3600,
            "backoff": lambda failures: 0.01,
        }
        created = PatientClient(**{**defaults, **settings})
        made.append(created)
        created.initialize(key, None, options)
        return created

    yield client
    for created in made:
        created.shutdown(0.2)
