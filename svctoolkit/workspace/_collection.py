"""The items of a workspace: sources, destinations, accounts, users and others, by key or by id."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svctoolkit.errors import InvalidWorkspace
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret
from svctoolkit.simulations import Level, check_level
from svctoolkit.workspace._items import (
    Account,
    Connection,
    Destination,
    Library,
    Person,
    Source,
    TrackingPlan,
    Transformation,
    account_and_declarations,
)
from svctoolkit.workspace._lookup import by_key, forward_of, link_of, lookup

if TYPE_CHECKING:
    from svctoolkit.plans import Link


@dataclass(slots=True)
class ItemCollection:
    """The items of a workspace, with the methods that find and add them. What reads files is in `Workspace`."""

    name: str = "workspace"
    sources: dict[str, Source] = field(default_factory=dict)
    destinations: dict[str, Destination] = field(default_factory=dict)
    transformations: dict[str, Transformation] = field(default_factory=dict)
    libraries: dict[str, Library] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)  # of destinations with OAuth
    credentials: dict[str, Secret | str] = field(default_factory=dict, repr=False)  # returned by getCredential
    tracking_plans: dict[str, TrackingPlan] = field(default_factory=dict)
    users: list[Person] = field(default_factory=list)

    def source(
        self,
        key: str,
        *,
        id: str | None = None,
        name: str | None = None,
        type: str = "http",
        write_key: str | None = None,
        enabled: bool = True,
        destinations: Sequence[str] | None = None,
        category: str = "",
        config: Mapping[str, Json] | None = None,
    ) -> Source:
        """Return the source with this key or id; with `destinations`, create one that is connected to them.

        A `type` in `svctoolkit.sources.CATALOGUE`, such as `Shopify`, accepts webhooks; `config` are its settings.

        Raises `UnknownName`, or `InvalidWorkspace` if `destinations` is a text instead of a list.
        """
        if destinations is None:
            return lookup("source", key, self.sources)
        if isinstance(destinations, str):  # a text is a sequence of letters
            raise InvalidWorkspace(f"source {key!r}: destinations must be a list, such as [{destinations!r}]")
        connections = [Connection(self.destination(d).key) for d in destinations]
        item = Source(key, id or key, name or key, type, key if write_key is None else write_key, enabled, connections)
        item.category, item.config = category or item.category, dict(config or {})
        self.sources[key] = item
        return item

    def destination(
        self,
        key: str,
        type: str | None = None,
        *,
        id: str | None = None,
        name: str | None = None,
        enabled: bool = True,
        config: Mapping[str, Json] | None = None,
        transformation: str | None = None,
        account: str | Mapping[str, Json] | None = None,
        simulate: Level | None = None,
    ) -> Destination:
        """Return the destination with this key or id; with `type`, create one of that type.

        `simulate` is how its server is simulated: `answers`, `simulated` or `strict` (default: as `delivery` says).
        `account` is the key of an OAuth account, or what the simulated account has: `new`, `existing`, or
        declarations such as `{"contract": "legacy", "lists": ["news"]}`.

        Raises `UnknownName` for an unknown destination, transformation or account, `ConfigError` for an unknown level.
        """
        if type is None:
            return lookup("destination", key, self.destinations)
        if transformation is not None:
            transformation = lookup("transformation", transformation, self.transformations).key
        if simulate is not None:
            check_level(simulate)
        oauth, declared = account_and_declarations(account)
        if oauth is not None:
            oauth = self.account(oauth).key
        names = key, id or key, name or key, type, enabled
        item = Destination(*names, dict(config or {}), transformation, oauth, declared, simulate)
        self.destinations[key] = item
        return item

    def target_key(self, name: str) -> str:
        """Return the key of a destination (key or id), or `forward:web` of a forwarded source. Raises `UnknownName`."""
        return name if forward_of(name, self.sources) else self.destination(name).key

    def account(
        self, key: str, *, secret: Mapping[str, Json] | None = None, renewals: Sequence[Mapping[str, Json]] = ()
    ) -> Account:
        """Return the account with this key; with `secret`, create one. Raises `UnknownName`."""
        if secret is not None:
            self.accounts[key] = Account(key, dict(secret), [dict(renewal) for renewal in renewals])
        return by_key("account", key, self.accounts)

    def account_of(self, destination: Destination) -> Account | None:
        """Return a destination's account; None without OAuth. Raises `UnknownName` for an unknown account."""
        return None if destination.account is None else self.account(destination.account)

    def plan_link(self, source: Source) -> Link | None:
        """Return the plan that a source's events are checked against, with its settings, or None.

        The source's own setting has precedence over a project that links a source with the same id.
        """
        return link_of(source, self.tracking_plans)

    def destinations_of(self, source: Source) -> list[Destination]:
        """Return the destinations of the source's enabled connections, in order. Raises `UnknownName`."""
        return [lookup("destination", c.destination, self.destinations) for c in source.connections if c.enabled]

    def person(self, email: str, token: str) -> Person | None:
        """Return the user with this e-mail address and token. Compares with every user, to take constant time."""
        match = None
        for person in self.users:
            same = hmac.compare_digest(person.email.encode(), email.encode("utf-8", "surrogatepass"))
            if person.accepts(token) and same:
                match = person
        return match
