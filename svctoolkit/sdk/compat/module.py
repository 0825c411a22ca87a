"""The module-level API of both SDKs: settings as variables, and one client that the first call creates."""

from __future__ import annotations

import functools
from collections.abc import Callable, MutableMapping
from typing import Concatenate, ParamSpec, TypeVar

from svctoolkit.json_types import Json
from svctoolkit.sdk.compat.client import Client

_SETTINGS = (
    "write_key", "debug", "max_queue_size", "send", "on_error", "gzip", "max_retries", "sync_mode", "timeout",
    "upload_size", "upload_interval", "log_handler", "oauth_client_id",
)  # fmt: skip
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _of_client(method: Callable[Concatenate[Client, _P], _R]) -> Callable[Concatenate[Calls, _P], _R]:
    """Return a method with the same arguments and result that calls the module's client."""

    @functools.wraps(method)
    def call(calls: Calls, /, *arguments: _P.args, **keywords: _P.kwargs) -> _R:
        return method(calls.client(), *arguments, **keywords)

    return call


class Calls:
    """The calls of a module, whose variables are in `module`. The client is stored in its variable `default_client`."""

    def __init__(self, module: MutableMapping[str, Json]) -> None:
        self._module = module

    identify = _of_client(Client.identify)
    track = _of_client(Client.track)
    alias = _of_client(Client.alias)
    group = _of_client(Client.group)
    page = _of_client(Client.page)
    screen = _of_client(Client.screen)
    flush = _of_client(Client.flush)
    join = _of_client(Client.join)
    shutdown = _of_client(Client.shutdown)

    def client(self) -> Client:
        """Return the module's client; create it first if it is missing."""
        client = self._module.get("default_client")
        if not isinstance(client, Client):
            urls = (self._module.get(name) for name in ("dataPlaneUrl", "data_plane_url", "host"))
            settings = {name: self._module[name] for name in _SETTINGS if name in self._module}
            client = self._module["default_client"] = Client(host=next(filter(None, urls), None), **settings)
        return client
