"""The text that the terminal shows when a data plane starts."""

from __future__ import annotations

import json

from svctoolkit.server.plane import DataPlane
from svctoolkit.transformations import first_notice, layers
from svctoolkit.workspace import Workspace


def banner(plane: DataPlane, token: str = "") -> str:
    """Return the text for the user who starts a data plane.

    It contains the token of the data plane. With the `token` of the first user, it has requests ready to copy. No other
    output shows a token.
    """
    url, workspace = plane.url, plane.workspace
    lines = [f"The workspace {workspace.name!r} is served at {url}"]
    lines.append(f"  page           {url}/#token={plane.token}")
    lines.append(f"  documentation  {url}/docs")
    lines.append(f"  events         {url}/v1/batch, with the write key of a source")
    lines.append(f"  inspection     {url}/inspect/counts" + ("" if plane.loopback else ", with the bearer token"))
    lines.append(f"  bearer token   {plane.token}  (also for /admin)")
    lines.append(f"  delivery       {_delivery(workspace)}")
    if any(transformation.function is None for transformation in workspace.transformations.values()):
        lines += _sandbox()
    if not workspace.users:
        lines.append("  login          none: add `users` to the workspace; until then, tests are refused with 401")
    if token:
        lines += [
            f"  login          {workspace.users[0].email or 'service token'}  {token}",
            "",
            *_curl(url, workspace, token),
        ]
    return "\n".join(lines)


def _delivery(workspace: Workspace) -> str:
    return f"{workspace.delivery.mode}: {workspace.delivery_mode.describe(workspace.delivery_setting())}"


def _sandbox() -> list[str]:
    sandbox = layers()
    names = ", ".join(sandbox.active).replace("_", " ")
    lines = [f"  sandbox        user transformations are isolated by: {names}"]
    if sandbox.missing:
        missing = ", ".join(sandbox.missing).replace("_", " ")
        lines.append(f"                 missing on this machine: {missing}")
        first_notice(sandbox)  # reported here, so not again at the first event
    if not sandbox.essential:
        lines.append("                 code does not run unless you trust it: --trust-code, or limits: {trust: true}")
    return lines


def _curl(url: str, workspace: Workspace, token: str) -> list[str]:
    event = {"type": "identify", "userId": "u1", "context": {"traits": {"email": "mira@mail.example"}}}
    body = {"message": event}
    destination, source = next(iter(workspace.destinations.values())), next(iter(workspace.sources.values()))
    return [
        f"curl {url}/v1/batch -u {source.write_key}: -H 'Content-Type: application/json' \\",
        f"  -d '{json.dumps({'batch': [event]})}'",
        "",
        f"curl {url}/v0/testDestination/{destination.id} -u '{workspace.users[0].email}:{token}' \\",
        f"  -H 'Content-Type: application/json' -d '{json.dumps(body)}'",
    ]
