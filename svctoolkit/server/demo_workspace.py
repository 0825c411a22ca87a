"""A workspace to try things with, and what the terminal says when one is served."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from svctoolkit.transformations import layers
from svctoolkit.workspace import Person, Workspace

if TYPE_CHECKING:
    from svctoolkit.server.plane import DataPlane

_EMAIL = "demo@svctoolkit.example"


def demo(new_token: Callable[[], str] = lambda: secrets.token_urlsafe(24)) -> tuple[Workspace, str]:
    """A small workspace, and the token of its one person.

    The source `web` is connected to `hook`, a webhook behind a transformation, and to `paused`, which is disabled.
    Nothing leaves the machine: its delivery mode is `record`.
    """
    workspace, token = Workspace("demo"), new_token()
    workspace.people.append(Person.with_token(_EMAIL, token))
    workspace.transformation("mask-email", _mask_email)
    url = "https://hook.example/events"
    workspace.destination("hook", "WEBHOOK", name="Orders hook", config=_config(url), transformation="mask-email")
    workspace.destination("paused", "WEBHOOK", name="Paused hook", config=_config(url), enabled=False)
    workspace.source("web", name="Web shop", destinations=["hook", "paused"])
    return workspace, token


def _config(url: str) -> dict[str, Any]:
    return {"webhookUrl": url, "webhookMethod": "POST", "headers": [{"from": "X-Team", "to": "data"}]}


def _mask_email(event: dict[str, Any]) -> dict[str, Any]:
    """Keep the first letter and the domain of the user's e-mail address."""
    traits = event.get("context", {}).get("traits", {})
    if isinstance(traits.get("email"), str):
        name, _, domain = traits["email"].partition("@")
        traits["email"] = f"{name[:1]}***@{domain}"
    return event


def banner(plane: DataPlane, token: str = "") -> str:
    """What to tell the person who serves a data plane.

    It has the token of the data plane. With the `token` of the first person it has requests ready to copy. This is the
    only place that shows a token.
    """
    url, workspace = plane.url, plane.workspace
    lines = [f"The workspace {workspace.name!r} is served at {url}", f"  documentation  {url}/docs"]
    lines.append(f"  events         {url}/v1/batch, with the write key of a source")
    lines.append(f"  inspection     {url}/inspect/counts" + ("" if plane.loopback else ", with the bearer token"))
    lines.append(f"  bearer token   {plane.token}  (also for /admin)")
    lines.append(f"  delivery       {_delivery(workspace)}")
    if any(made.function is None for made in workspace.transformations.values()):
        lines += _sandbox()
    if not workspace.people:
        lines.append("  login          nobody: add `people` to the workspace, else every test is refused with 401")
    if token:
        lines += [f"  login          {workspace.people[0].email}  {token}", "", *_curl(url, workspace, token)]
    return "\n".join(lines)


def _delivery(workspace: Workspace) -> str:
    return f"{workspace.delivery.mode}: {workspace.delivery_mode.describe(workspace.delivery_setting())}"


def _sandbox() -> list[str]:
    found = layers()
    names = ", ".join(found.active).replace("_", " ")
    lines = [f"  sandbox        user transformations run behind: {names}"]
    if found.missing:
        missing = ", ".join(found.missing).replace("_", " ")
        lines.append(f"                 missing on this machine: {missing}")
    if not found.essential:
        lines.append("                 without the essential layers, run only code that you trust")
    return lines


def _curl(url: str, workspace: Workspace, token: str) -> list[str]:
    event = {"type": "identify", "userId": "u1", "context": {"traits": {"email": "mira@mail.example"}}}
    body = {"message": event}
    destination, source = next(iter(workspace.destinations.values())), next(iter(workspace.sources.values()))
    return [
        f"curl {url}/v1/batch -u {source.write_key}: -H 'Content-Type: application/json' \\",
        f"  -d '{json.dumps({'batch': [event]})}'",
        "",
        f"curl {url}/v0/testDestination/{destination.id} -u '{workspace.people[0].email}:{token}' \\",
        f"  -H 'Content-Type: application/json' -d '{json.dumps(body)}'",
    ]
