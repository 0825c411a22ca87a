"""A small workspace and a data plane for it, used by every test in this folder."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.server import Backoff


@pytest.fixture
def workspace() -> Workspace:
    """The source `web` (key `web-key`) sends to the webhooks `crm` and `mail`; `quiet` has no connections."""
    made = Workspace("shop")
    for key in ("crm", "mail"):
        made.destination(key, "WEBHOOK", config={"webhookUrl": f"https://{key}.example/in"})
    made.source("web", write_key="web-key", destinations=["crm", "mail"])
    made.source("quiet", write_key="quiet-key", destinations=[])
    made.source("off", write_key="off-key", enabled=False, destinations=["crm"])
    return made


@pytest.fixture
def plane(workspace: Workspace) -> Iterator[DataPlane]:
    """A data plane in this process, without pauses between attempts."""
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0)) as made:
        yield made


def basic(key: str) -> dict[str, str]:
    """The headers of a client that uses this write key."""
    return {"Authorization": f"Basic {base64.b64encode(f'{key}:'.encode()).decode()}"}
