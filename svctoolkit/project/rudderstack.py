"""Get a workspace from RudderStack's API: its configuration, the code of transformations, and its tracking plans.

With the workspace token, as user name of Basic: `/workspaceConfig?fetchAll=true`. With the access token, as password of
Basic: `/transformations`, `/libraries`, `/transformations/{id}/versions/{versionId}`; as Bearer:
`/v2/catalog/tracking-plans`, `.../{id}/events?page=N`, `.../{id}/events/{eventId}?format=schema`.

Only GET requests are made, to one host, and redirects are not followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, InvalidWorkspace, UsageError
from svctoolkit.secrets import Secret

if TYPE_CHECKING:
    import httpx

REGIONS = {"us": "https://api.rudderstack.com", "eu": "https://api.eu.rudderstack.com"}
CONFIGURATION, CODE, PLANS = "workspaceConfig.json", "transformations.json", "tracking-plans.json"

_SECONDS = 30.0
_LARGEST = 64 << 20  # bytes of an answer
_PAGES = 1000  # of a plan's events
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_REASONS = {
    401: "the token is not accepted: check that it is complete, and that the region (--region eu) is right",
    403: "the token may not read this: give it permission for transformations, libraries and tracking plans",
    404: "there is no such address: check --api-url, and that the plan of the account has this API",
    429: "too many requests: try again in a minute",
}


@dataclass(frozen=True, slots=True)
class Tokens:
    """`workspace` reads the configuration, `access` code and tracking plans. Either may be empty."""

    workspace: Secret
    access: Secret


def fetch(
    folder: Path, tokens: Tokens, url: str, *, export: Path | None = None, transport: httpx.BaseTransport | None = None
) -> Path:
    """Write a workspace's configuration, code and tracking plans to `folder`; return the path of the configuration.

    With `export`, that file is the configuration, and only code and plans are fetched. Without an access token, neither
    is. `transport` answers the requests (default: the network). Raises `UsageError` for a missing token or an unsafe
    URL, `ConfigError` with the address for any answer that cannot be used; then nothing is complete.
    """
    import httpx  # 0.1 s, and only this command needs it

    _check(url)
    if export is None and not tokens.workspace:
        raise UsageError(
            "RUDDERSTACK_WORKSPACE_TOKEN is not set: it is needed for the configuration. Set it, or give an export"
        )
    if export is not None and not tokens.access:
        raise UsageError("RUDDERSTACK_ACCESS_TOKEN is not set: it is needed for transformations and tracking plans")
    with httpx.Client(base_url=url, transport=transport, timeout=_SECONDS, follow_redirects=False) as client:
        api = _Api(client, tokens)
        configuration = api.configuration() if export is None else _exported(export)
        (folder / CONFIGURATION).write_text(json.dumps(configuration, indent=1), encoding="utf-8")
        if tokens.access:
            (folder / CODE).write_text(json.dumps(api.code(configuration), indent=1), encoding="utf-8")
            plans = list(api.plans())
            if plans:
                (folder / PLANS).write_text(json.dumps({"trackingPlans": plans}, indent=1), encoding="utf-8")
    return folder / CONFIGURATION


def _exported(export: Path) -> dict[str, Any]:
    document = yamlfile.load(export, error=InvalidWorkspace)
    if not isinstance(document.data, dict) or not isinstance(document.data.get("sources"), list):
        raise InvalidWorkspace(
            "not a workspace configuration of RudderStack: it has no list `sources`", where=document.name
        )
    return document.data


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise UsageError(f"{url}: must be an https:// address, as tokens are sent to it")


class _Api:
    """The requests, with the credentials that each needs."""

    def __init__(self, client: httpx.Client, tokens: Tokens) -> None:
        self._client = client
        self._workspace = (tokens.workspace.reveal(), "")
        self._access = tokens.access.reveal()

    def configuration(self) -> dict[str, Any]:
        data = self._get("/workspaceConfig?fetchAll=true", auth=self._workspace)
        if not isinstance(data.get("sources"), list):
            raise self._unusable("/workspaceConfig", "it has no sources")
        return data

    def code(self, configuration: dict[str, Any]) -> dict[str, Any]:
        """Return published code, and the versions that the configuration uses but are not the published ones."""
        found = self._list("/transformations", "transformations")
        known = {item.get("versionId") for item in found}
        for id, version in sorted(_versions(configuration)):
            if version not in known:
                older = self._get(f"/transformations/{quote(id)}/versions/{quote(version)}", auth=("", self._access))
                found.append(older)
        return {"transformations": found, "libraries": self._list("/libraries", "libraries")}

    def plans(self) -> Iterator[dict[str, Any]]:
        """Yield each tracking plan with the schemas of its events."""
        path = "/v2/catalog/tracking-plans"
        for plan in self._members(self._bearer(path), "trackingPlans", path):
            id = quote(str(plan.get("id")))
            address = f"{path}/{id}/events"
            events = [self._bearer(f"{address}/{quote(str(e.get('id')))}?format=schema") for e in self._events(id)]
            yield {name: plan.get(name) for name in ("id", "name", "version")} | {"events": events}

    def _events(self, id: str) -> Iterator[dict[str, Any]]:
        count = 0
        for page in range(1, _PAGES):
            answer = self._bearer(f"/v2/catalog/tracking-plans/{id}/events?page={page}")
            items = answer.get("data")
            if not isinstance(items, list):
                raise self._unusable(f"/v2/catalog/tracking-plans/{id}/events", "it has no list `data`")
            yield from items
            count += len(items)
            total = answer.get("total")
            if not items or not isinstance(total, int) or count >= total:
                return

    def _list(self, path: str, member: str) -> list[dict[str, Any]]:
        return self._members(self._get(path, auth=("", self._access)), member, path)

    def _members(self, answer: dict[str, Any], member: str, path: str) -> list[dict[str, Any]]:
        items = answer.get(member)
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise self._unusable(path, f"it has no list `{member}`")
        return items

    def _bearer(self, path: str) -> dict[str, Any]:
        return self._get(path, headers={"authorization": f"Bearer {self._access}"})

    def _get(
        self, path: str, *, auth: tuple[str, str] | None = None, headers: dict[str, str] | None = None
    ) -> dict[str, Any]:
        import httpx

        try:
            response = self._client.get(path, auth=auth, headers=headers or {})
        except httpx.TimeoutException:
            raise self._unusable(path, f"did not answer within {_SECONDS:g} seconds") from None
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise self._unusable(
                path, f"cannot be reached: {why}. Without a network, import an exported file"
            ) from None
        if response.status_code != 200:
            status = response.status_code
            reason = _REASONS.get(status) or (
                "RudderStack has a problem: try again" if status >= 500 else "not expected"
            )
            raise self._unusable(path, f"answered {status}: {reason}")
        if len(response.content) > _LARGEST:
            raise self._unusable(path, f"the answer has more than {_LARGEST >> 20} MB")
        try:
            data = response.json()
        except ValueError:
            raise self._unusable(path, "the answer is not JSON: is this the address of RudderStack's API?") from None
        if not isinstance(data, dict):
            raise self._unusable(path, "the answer is not an object")
        return data

    def _unusable(self, path: str, message: str) -> ConfigError:
        return ConfigError(message, where=f"{str(self._client.base_url).rstrip('/')}{path.partition('?')[0]}")


def _versions(configuration: dict[str, Any]) -> set[tuple[str, str]]:
    """Return id and version of each transformation that a destination uses."""
    return {
        (code["id"], code["versionId"])
        for source in configuration.get("sources", [])
        for destination in (source.get("destinations") or [])
        for code in (destination.get("transformations") or [])[:1]  # RudderStack runs only the first one
        if isinstance(code.get("id"), str) and isinstance(code.get("versionId"), str)
    }
