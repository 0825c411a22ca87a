"""The forms in which vendors' accounts are authenticated, from a destination's configuration."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.simulations.messages import Request

#: `(configuration)` -> the headers with which the mapping authenticates
Credentials: TypeAlias = Callable[[Mapping[str, Json]], Mapping[str, str]]
#: `(configuration, request)` -> whether a request authenticates
IsAuthentic: TypeAlias = Callable[[Mapping[str, Json], Request], bool]


def bearer(setting: str, *, prefix: str = "Bearer ") -> Credentials:
    """Return credentials for `Authorization: Bearer <setting>`."""
    return header("authorization", setting, prefix=prefix)


def header(name: str, setting: str, *, prefix: str = "") -> Credentials:
    """Return credentials for a header with a setting."""
    return lambda config: {name.lower(): f"{prefix}{text(config.get(setting))}"}


def basic(user: str, password: str = "") -> Credentials:
    """Return credentials for HTTP Basic with two settings; without `password` it is empty."""
    return lambda config: {"authorization": f"Basic {_login(config, user, password)}"}


def _login(config: Mapping[str, Json], user: str, password: str) -> str:
    pair = f"{text(config.get(user))}:{text(config.get(password)) if password else ''}"
    return base64.b64encode(pair.encode()).decode()


def basic_login(request: Request) -> tuple[str, str]:
    """Return user and password of a request with HTTP Basic; empty texts if it has none."""
    kind, _, encoded = request.headers.get("authorization", "").partition(" ")
    try:
        user, _, password = base64.b64decode(encoded if kind.lower() == "basic" else "").decode().partition(":")
    except ValueError:
        return "", ""
    return user, password


def same_headers(credentials: Credentials) -> IsAuthentic:
    """Whether a request has the headers with which the mapping authenticates."""

    def is_authentic(config: Mapping[str, Json], request: Request) -> bool:
        return all(request.headers.get(name) == value for name, value in credentials(config).items())

    return is_authentic


def text(value: Json) -> str:
    """Return a setting as text, empty if it is not set."""
    return "" if value is None else str(value)
