"""Workspaces and events for these tests."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from svctoolkit import Workspace, events


def shop(clean: Callable[..., Any] | None = None, *, code: str = "", url: str = "https://hook.example/in") -> Workspace:
    """One WEBHOOK destination, `hook`, with a transformation."""
    made = Workspace("shop")
    if clean is not None or code:
        made.transformation("clean", clean, code=code, language="javascript" if code else "python")
    made.destination(
        "hook", "WEBHOOK", config={"webhookUrl": url}, transformation="clean" if made.transformations else None
    )
    return made


def order(number: int, **properties: Any) -> dict[str, Any]:
    """A track event with a unique id."""
    made = events.track("Order Completed", user_id=f"u{number}", properties={"revenue": number, **properties})
    return {**made, "messageId": f"m{number}"}


def orders(count: int) -> list[dict[str, Any]]:
    return [order(number) for number in range(count)]


def ndjson(path: Path, values: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values), encoding="utf-8")
    return path


def revenue_as_text(event: dict[str, Any]) -> dict[str, Any]:
    """A transformation that worker processes can import."""
    event["properties"]["revenue"] = str(event["properties"]["revenue"])
    return event


def killing_once(event: dict[str, Any]) -> dict[str, Any]:
    """Kills its process, as the system does when memory runs out, if the file named in the event exists."""
    file = event["properties"].pop("kill", "")
    if file and Path(file).exists():
        Path(file).unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    return event
