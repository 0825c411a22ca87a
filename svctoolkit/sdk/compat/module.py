"""The module-level API of both SDKs: settings as variables, and one client that the first call creates."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from svctoolkit.json_types import Json
from svctoolkit.sdk.compat.client import Client, Outcome

_SETTINGS = (
    "write_key", "debug", "max_queue_size", "send", "on_error", "gzip", "max_retries", "sync_mode", "timeout",
    "upload_size", "upload_interval", "log_handler", "oauth_client_id",
)  # fmt: skip


class Calls:
    """The calls of a module, whose variables are in `module`. The client is stored in its variable `default_client`."""

    def __init__(self, module: MutableMapping[str, Json]) -> None:
        self._module = module

    # Any: those of the client's method
    def identify(self, *arguments: Any, **keywords: Any) -> Outcome:
        """Record a user's traits. See `Client.identify`."""
        return self._client().identify(*arguments, **keywords)

    # Any: those of the client's method
    def track(self, *arguments: Any, **keywords: Any) -> Outcome:
        """Record an action of a user. See `Client.track`."""
        return self._client().track(*arguments, **keywords)

    # Any: those of the client's method
    def alias(self, *arguments: Any, **keywords: Any) -> Outcome:
        """Change a user's ID. See `Client.alias`."""
        return self._client().alias(*arguments, **keywords)

    # Any: those of the client's method
    def group(self, *arguments: Any, **keywords: Any) -> Outcome:
        """Record that a user belongs to an organisation. See `Client.group`."""
        return self._client().group(*arguments, **keywords)

    # Any: those of the client's method
    def page(self, *arguments: Any, **keywords: Any) -> Outcome:
        """Record that a user saw a page. See `Client.page`."""
        return self._client().page(*arguments, **keywords)

    # Any: those of the client's method
    def screen(self, *arguments: Any, **keywords: Any) -> Outcome:
        """Record that a user saw a screen. See `Client.screen`."""
        return self._client().screen(*arguments, **keywords)

    def flush(self) -> None:
        """Send waiting events, and wait until they are delivered."""
        self._client().flush()

    def join(self) -> None:
        """End the client's threads."""
        self._client().join()

    def shutdown(self) -> None:
        """`flush`, then `join`."""
        self._client().shutdown()

    def _client(self) -> Client:
        client = self._module.get("default_client")
        if not isinstance(client, Client):
            urls = (self._module.get(name) for name in ("dataPlaneUrl", "data_plane_url", "host"))
            settings = {name: self._module[name] for name in _SETTINGS if name in self._module}
            client = self._module["default_client"] = Client(host=next(filter(None, urls), None), **settings)
        return client
