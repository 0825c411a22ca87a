"""The text that the terminal shows when a data plane starts."""

from __future__ import annotations

import json
from collections.abc import Sequence

from svctoolkit.server.inspect.overview import delivery_text
from svctoolkit.server.plane import DataPlane
from svctoolkit.transformations import first_notice, layers
from svctoolkit.workspace import Source, Workspace

_MOST_KEYS = 12  # sources whose write key is printed
_EVENT = {"type": "identify", "userId": "u1", "context": {"traits": {"email": "mira@mail.example"}}}


def banner(plane: DataPlane, token: str = "") -> str:
    """Return the text for the user who starts a data plane.

    It contains the token of the data plane if that is random: one that was given is known. With the `token` of the
    first user, it has requests ready to copy. No other output shows a token.
    """
    url, workspace = plane.url, plane.workspace
    lines = [f"The workspace {workspace.name!r} is served at {url}"]
    lines.append(f"  page           {url}/" + ("" if plane.token_is_given else f"#token={plane.token}"))
    lines.append(f"  documentation  {url}/docs")
    lines.append(f"  events         {url}/v1/batch, with the write key of a source")
    lines += _write_keys(workspace)
    lines.append(f"  inspection     {url}/inspect/counts" + ("" if plane.loopback else ", with the bearer token"))
    shown = "as given" if plane.token_is_given else plane.token
    lines.append(f"  bearer token   {shown}  (also for /admin)")
    lines.append(f"  delivery       {_delivery(workspace)}")
    lines += _simulated(plane)
    if any(transformation.function is None for transformation in workspace.transformations.values()):
        lines += _sandbox()
    if not workspace.users:
        lines.append("  login          none: add `users` to the workspace; until then, tests are refused with 401")
    if token:
        lines.append(f"  login          {workspace.users[0].email or 'service token'}  {token}")
    if workspace.sources:
        lines += ["", *_send_event(url, next(iter(workspace.sources.values())))]
    if token:
        lines += ["", *_test_event(url, workspace, token)]
    return "\n".join(lines)


def _delivery(workspace: Workspace) -> str:
    return f"{workspace.delivery.mode}: {delivery_text(workspace)}"


def _simulated(plane: DataPlane) -> list[str]:
    """Return how to see what simulated destinations hold, if there are any."""
    keys = [destination.key for destination in plane.simulated_destinations()]
    if not keys:
        return []
    return [
        f"  simulated      {_names(keys)}; `svctoolkit held --url {plane.url}` shows what they hold",
        f"                 vendors' SDKs: {plane.url}/simulated/{keys[0]}",
    ]


def _names(keys: Sequence[str]) -> str:
    return ", ".join(keys[:_MOST_KEYS]) + (", ..." if len(keys) > _MOST_KEYS else "")


def _sandbox() -> list[str]:
    sandbox = layers()
    names = ", ".join(sandbox.active).replace("_", " ")
    lines = [f"  sandbox        user transformations are isolated by: {names}"]
    if sandbox.missing:
        missing = ", ".join(sandbox.missing).replace("_", " ")
        lines.append(f"                 missing on this machine: {missing}")
        first_notice(sandbox)  # reported here, so not again at the first event
    return lines


def _write_keys(workspace: Workspace) -> list[str]:
    """Return one line per source: a write key is public, it is part of every web page that sends events."""
    sources = list(workspace.sources.values())
    width = max((len(source.key) for source in sources[:_MOST_KEYS]), default=0)
    lines = [
        f"  {'write key' if not n else '':<13}  {source.key:<{width}}  {source.write_key}"
        + ("" if source.enabled else "  (disabled)")
        for n, source in enumerate(sources[:_MOST_KEYS])
    ]
    return lines + [f"  {'':<13}  and {len(sources) - _MOST_KEYS} more"] * (len(sources) > _MOST_KEYS)


def _send_event(url: str, source: Source) -> list[str]:
    body = json.dumps({"batch": [_EVENT]})
    return [f"curl {url}/v1/batch -u {source.write_key}: -H 'Content-Type: application/json' \\", f"  -d '{body}'"]


def _test_event(url: str, workspace: Workspace, token: str) -> list[str]:
    destination = next(iter(workspace.destinations.values()))
    return [
        f"curl {url}/v0/testDestination/{destination.id} -u '{workspace.users[0].email}:{token}' \\",
        f"  -H 'Content-Type: application/json' -d '{json.dumps({'message': _EVENT})}'",
    ]
