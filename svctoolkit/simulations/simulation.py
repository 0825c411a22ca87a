"""The declaration of a simulation: its rules, tables and endpoints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.simulations.messages import Request, Response
from svctoolkit.simulations.rules import Rules, load_rules
from svctoolkit.simulations.table import Alias, Fold, TableType
from svctoolkit.simulations.visit import Visit

#: Answers one request; None: not an endpoint that the simulation has.
Handler: TypeAlias = Callable[[Visit, Request], Response | None]
#: `(configuration)` -> the headers with which the mapping authenticates
Credentials: TypeAlias = Callable[[Mapping[str, Json]], Mapping[str, str]]


class Simulation:
    """A destination type's server: tables, and a handler for each endpoint.

    `facts` is the file of its rules. `credentials` returns the headers of a request that authenticates; requests
    without headers, as in `SimulatedServer.answer`, get these.

    Handlers get a `Visit`, which holds the tables and reports losses, and the `Request`. They return a `Response`.
    """

    def __init__(self, title: str, *, facts: Path | str, credentials: Credentials = lambda _: {}) -> None:
        self.title, self.credentials = title, credentials
        self._facts = Path(facts)
        self.tables: dict[str, TableType] = {}
        self._exact: dict[tuple[str, str], Handler] = {}
        self._patterns: list[tuple[str, re.Pattern[str], Handler]] = []
        self.check: Handler = lambda _visit, _request: None
        self.unknown: Handler = lambda _visit, _request: None

    def __repr__(self) -> str:
        return f"<Simulation of {self.title}: {', '.join(self.tables)}>"

    @cached_property
    def rules(self) -> Rules:
        """Its rules. Raises `ConfigError` for a rule without a source."""
        return load_rules(self._facts)

    @property
    def endpoints(self) -> list[str]:
        """Its endpoints, such as `POST /users/track`."""
        exact = [f"{method} {path}" for method, path in self._exact]
        return sorted([*exact, *(f"{method} {pattern.pattern}" for method, pattern, _ in self._patterns)])

    def table(
        self,
        name: str,
        *,
        ids: tuple[str | Alias | tuple[str, ...], ...] = (),
        weak: tuple[str, ...] = (),
        owner: str = "",
        folds: tuple[Fold, ...] = (),
        makes: Callable[[int], Mapping[str, Json]] = lambda _: {},
        blank: Mapping[str, Json] | None = None,
    ) -> str:
        """Declare a table, see `TableType`. Returns its name."""
        members = {"attributes": {}} if blank is None else blank
        self.tables[name] = TableType(name, ids, weak, owner, folds, makes, members)
        return name

    def on(self, *endpoints: str) -> Callable[[Handler], Handler]:
        """Register a handler for endpoints such as `POST /users/track` or `PATCH /profiles/{id}`."""

        def register(handler: Handler) -> Handler:
            for endpoint in endpoints:
                method, _, path = endpoint.partition(" ")
                if "{" in path:
                    pattern = re.compile(re.sub(r"\{\w+\}", "([^/]+)", path))
                    self._patterns.append((method, pattern, handler))
                elif (method, path) in self._exact:
                    raise ConfigError(f"{self.title}: {endpoint} has two handlers")
                else:
                    self._exact[method, path] = handler
            return handler

        return register

    def on_every_request(self, handler: Handler) -> Handler:
        """Register what is checked before every request, such as credentials. Its response ends the request."""
        self.check = handler
        return handler

    def on_unknown(self, handler: Handler) -> Handler:
        """Register what answers endpoints without a handler. By default they succeed and are counted."""
        self.unknown = handler
        return handler

    def handler(self, request: Request) -> Handler | None:
        """Return the handler for a request, and set its `parts`."""
        found = self._exact.get((request.method, request.path))
        if found is None:
            for method, pattern, handler in self._patterns:
                match = pattern.fullmatch(request.path) if method == request.method else None
                if match:
                    request.parts = tuple(match.groups())
                    return handler
        return found


def bearer(key: str, *, prefix: str = "Bearer ") -> Credentials:
    """Return credentials for `Authorization: Bearer <setting>`."""
    return lambda config: {"authorization": f"{prefix}{_plain(config.get(key))}"}


def _plain(value: Json) -> str:
    return "" if value is None else str(value)
