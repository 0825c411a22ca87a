"""The declaration of a simulation: its rules, tables and endpoints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.simulations.checks import CONVERSIONS, Conversion, Words
from svctoolkit.simulations.credentials import Credentials, IsAuthentic, same_headers
from svctoolkit.simulations.formats import FORMATS, Format
from svctoolkit.simulations.messages import Request, Response
from svctoolkit.simulations.rulebook import Rulebook
from svctoolkit.simulations.rules import Rules, load_rules
from svctoolkit.simulations.tables.rows import Alias, Fold, TableType
from svctoolkit.simulations.visit import Visit

#: Answers one request; None: not an endpoint that the simulation has.
Handler: TypeAlias = Callable[[Visit, Request], Response | None]


class Endpoint(NamedTuple):
    """A handler, the kind of record whose checks its requests must pass, and whether they must authenticate."""

    handle: Handler
    checks: str = ""
    is_open: bool = False


class Simulation:
    """A destination type's server: tables, and a handler for each endpoint.

    `facts` is the file of its rules and answers. `credentials` returns the headers of a request that authenticates;
    requests without headers, as in `SimulatedServer.answer`, get these. `auth` is the rule that refuses other requests,
    with the answer `unauthorized` (or `unauthenticated`, if there is one, without any); by default requests need the
    same headers, or what `is_authentic` says. `formats` and `conversions` are the vendor's own words for checks.

    Handlers get a `Visit`, which holds the tables and reports losses, and the `Request`. They return a `Response`.
    """

    def __init__(
        self,
        title: str,
        *,
        facts: Path | str,
        credentials: Credentials = lambda _: {},
        auth: str = "",
        is_authentic: IsAuthentic | None = None,
        formats: Mapping[str, Format] | None = None,
        conversions: Mapping[str, Conversion] | None = None,
    ) -> None:
        self.title, self.credentials = title, credentials
        self._facts, self._auth = Path(facts), auth
        self._is_authentic = is_authentic or same_headers(credentials)
        self._words = Words({**FORMATS, **(formats or {})}, conversions={**CONVERSIONS, **(conversions or {})})
        self.tables: dict[str, TableType] = {}
        self._exact: dict[tuple[str, str], Endpoint] = {}
        self._patterns: list[tuple[str, re.Pattern[str], Endpoint]] = []
        self._unknown = Endpoint(lambda _visit, _request: None)

    def __repr__(self) -> str:
        return f"<Simulation of {self.title}: {', '.join(self.tables)}>"

    @cached_property
    def rulebook(self) -> Rulebook:
        """Its rules, ready to run. Raises `ConfigError` for a rule without a source."""
        return Rulebook(load_rules(self._facts, self._words), self._words)

    @property
    def rules(self) -> Rules:
        """Its rules. Raises `ConfigError` for a rule without a source."""
        return self.rulebook.rules

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
        objects: tuple[str, ...] = (),
        more: Mapping[str, str] | None = None,
        derives: Callable[[Mapping[str, Json]], Mapping[str, Json]] = lambda _: {},
    ) -> str:
        """Declare a table, see `TableType`. Returns its name."""
        members = {"attributes": {}} if blank is None else blank
        self.tables[name] = TableType(name, ids, weak, owner, folds, makes, members, objects, more or {}, derives)
        return name

    def on(self, *endpoints: str, checks: str = "", is_open: bool = False) -> Callable[[Handler], Handler]:
        """Register a handler for endpoints such as `POST /users/track` or `PATCH /profiles/{id}`.

        With `checks`, requests are judged by the checks of this kind before, as records with `body`, `bytes` and
        `headers`. Requests to endpoints that are open need not authenticate.
        """

        def register(handler: Handler) -> Handler:
            entry = Endpoint(handler, checks, is_open)
            for endpoint in endpoints:
                method, _, path = endpoint.partition(" ")
                if "{" in path:
                    pattern = re.compile(re.sub(r"\{\w+\}", "([^/]+)", path))
                    self._patterns.append((method, pattern, entry))
                elif (method, path) in self._exact:
                    raise ConfigError(f"{self.title}: {endpoint} has two handlers")
                else:
                    self._exact[method, path] = entry
            return handler

        return register

    def on_unknown(self, handler: Handler) -> Handler:
        """Register what answers endpoints without a handler. By default they succeed and are counted."""
        self._unknown = Endpoint(handler)
        return handler

    def respond(self, visit: Visit, request: Request) -> Response | None:
        """Return the response to a request: refused without authentication or by a check, else the handler's."""
        endpoint = self._find(request)
        if (
            self._auth
            and not endpoint.is_open
            and not self._is_authentic(visit.config, request)
            and visit.report(self._auth)
        ):
            is_missing = "authorization" not in request.headers and visit.has_answer("unauthenticated")
            return visit.answer("unauthenticated" if is_missing else "unauthorized")
        if endpoint.checks:
            sent = {"body": request.body, "bytes": request.size, "headers": request.headers}
            refused = visit.refuse(endpoint.checks, sent)
            if refused is not None:
                return refused
        return endpoint.handle(visit, request)

    def _find(self, request: Request) -> Endpoint:
        found = self._exact.get((request.method, request.path))
        if found is not None:
            return found
        for method, pattern, endpoint in self._patterns:
            if method == request.method and request.match(pattern):
                return endpoint
        return self._unknown
