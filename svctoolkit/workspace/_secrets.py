"""The secrets of a workspace, including former ones, and their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from threading import Lock
from typing import Any, Protocol
from urllib.parse import unquote_plus

from svctoolkit import secrets
from svctoolkit.destinations import definitions
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker, Secret
from svctoolkit.url_secrets import config_url_secrets, url_secrets
from svctoolkit.workspace._items import Account, Destination, Source
from svctoolkit.workspace._settings import Delivery


class Configured(Protocol):
    """The parts of a workspace that may have secrets."""

    sources: dict[str, Source]
    destinations: dict[str, Destination]
    accounts: dict[str, Account]
    credentials: dict[str, Secret | str]
    delivery: Delivery


_MOST = 10_000  # the number of requests that the recorder keeps
_lock = Lock()


class KnownSecrets:
    """Collects the secrets of one workspace as its configuration changes.

    Requests that were recorded before a change may contain former secrets, which may still be valid. Nothing of this is
    pickled.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: tuple[Any, tuple[str, ...], Masker] = (None, (), Masker(()))

    def __reduce__(self) -> tuple[Any, ...]:
        return (KnownSecrets, ())

    # Any: compared, and nothing else
    def update(self, state: Any, secrets: Callable[[], Iterable[str]]) -> tuple[tuple[str, ...], Masker]:
        """Return all secrets so far, and their masker. The current `secrets()` are read only if `state` has changed."""
        entry = self._known
        if entry[0] != state:  # comparing is 100 times faster than reading every configuration
            with _lock:
                texts = tuple(dict.fromkeys([*self._known[1], *secrets()]))[-_MOST:]
                # a copy, because a configuration may be changed in place, and would then be equal to itself
                entry = self._known = deepcopy(state), texts, Masker.of(texts)
        return entry[1], entry[2]


# Any: compared, and nothing else
def secret_state(workspace: Configured) -> tuple[Any, ...]:
    """Return a value that changes when the secrets of a workspace do."""
    configs = [(destination.type, destination.config) for destination in workspace.destinations.values()]
    accounts = [[*account.secrets()] for account in workspace.accounts.values()]
    forwards = [(source.forward, source.config) for source in workspace.sources.values()]
    return configs, accounts, dict(workspace.credentials), workspace.delivery.geolocation, forwards


def secret_texts(workspace: Configured) -> Iterator[str]:
    """Yield the secrets of the current configuration."""
    for destination in workspace.destinations.values():
        yield from destination.secrets()
    for account in workspace.accounts.values():
        yield from account.secrets()
    for source in workspace.sources.values():
        to = source.forward
        yield from secrets.secret_texts([to.url, to.write_key] if to else None)
        yield from config_url_secrets(to.url if to else None)
        yield from secrets.secret_texts(source.config)
    yield from secrets.secret_texts(workspace.credentials)
    yield from (text for text in workspace.credentials.values() if isinstance(text, str))
    yield from secrets.secret_texts(workspace.delivery.geolocation)
    yield from config_url_secrets([*workspace.credentials.values(), workspace.delivery.geolocation])


def secret_names(workspace: Configured) -> Iterator[tuple[str, str]]:
    """See `Workspace.secret_names`."""
    for key, destination in workspace.destinations.items():
        yield from config_names(key, destination.type, destination.config)
    for key, account in workspace.accounts.items():
        yield from _names_in(f"accounts.{key}", [account.secret, *account.renewals])
    for key, value in workspace.credentials.items():
        yield from _names_in(f"credentials.{key}", value if isinstance(value, Secret) else Secret(value))
    for key, source in workspace.sources.items():
        if to := source.forward:
            yield from _names_in(f"sources.{key}.forward", {"url": to.url, "writeKey": to.write_key})
        yield from _names_in(f"sources.{key}.config", source.config)
    yield from _names_in("delivery.geolocation", workspace.delivery.geolocation)


def config_names(key: str, type: str, config: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the secrets in a configuration of the destination `key`, or in overrides of one, after their names."""
    yield from _names_in(key, definitions.protect(type, config))


def unset_variables(workspace: Configured) -> set[str]:
    """Return the names of the variables that have a placeholder instead of a value."""
    configs = [destination.config for destination in workspace.destinations.values()]
    accounts = [[account.secret, *account.renewals] for account in workspace.accounts.values()]
    of_sources = [source.config for source in workspace.sources.values()]
    values = [configs, of_sources, accounts, workspace.credentials, workspace.delivery.geolocation]
    return {name for _, secret in _secrets_in("", values) for name in secret.unset}


def _names_in(path: str, value: Json) -> Iterator[tuple[str, str]]:
    for setting, secret in _secrets_in(path, value):
        named = [*secret.named(setting)]
        yield from named
        if named and not secret.unset:
            for text in url_secrets(secret.reveal()):
                yield next((name for name, value in named if text in (value, unquote_plus(value))), named[0][0]), text


def _secrets_in(path: str, value: Json) -> Iterator[tuple[str, Secret]]:
    """Yield every secret in a JSON value with its dotted path."""
    if isinstance(value, Secret):
        yield path, value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield from _secrets_in(f"{path}.{key}", member)
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from _secrets_in(f"{path}.{number}", item)
