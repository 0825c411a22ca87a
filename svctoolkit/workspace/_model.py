"""Sources, destinations, transformations and people, as objects. Changes take effect at once."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.displayed import Displayed, render
from svctoolkit.errors import InvalidWorkspace, Problem
from svctoolkit.json_types import Json
from svctoolkit.plans import Link
from svctoolkit.secrets import Masker, Secret, secret_texts
from svctoolkit.transformations import Limits, Scope
from svctoolkit.url_secrets import config_url_secrets
from svctoolkit.workspace._items import (
    LANGUAGES,
    Account,
    Connection,
    Destination,
    Language,
    Library,
    Person,
    Source,
    TrackingPlan,
    Transformation,
)
from svctoolkit.workspace._lookup import by_key, code_of, link_of, lookup
from svctoolkit.workspace._secrets import KnownSecrets
from svctoolkit.workspace._settings import DataPlaneSettings, Delivery, WarehouseSettings

if TYPE_CHECKING:
    from svctoolkit.delivery import Recorder, Transport
    from svctoolkit.delivery.modes import Mode, Setting
    from svctoolkit.plans import Plan
    from svctoolkit.transformations import Runnable
    from svctoolkit.yamlfile import Document


@dataclass(slots=True)
class Workspace(Displayed):
    """A workspace. Everything is found by its key or its id; ids default to the key.

    >>> shop = Workspace("shop")
    >>> hook = shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    >>> web = shop.source("web", destinations=["hook"])
    >>> shop.destination("hook").enabled = False
    >>> print(shop.dumps())
    workspace: shop
    sources:
      web:
        destinations:
        - hook
    destinations:
      hook:
        type: WEBHOOK
        enabled: false
        config:
          webhookUrl: https://hook.example/in
    <BLANKLINE>
    """

    name: str = "workspace"
    sources: dict[str, Source] = field(default_factory=dict)
    destinations: dict[str, Destination] = field(default_factory=dict)
    transformations: dict[str, Transformation] = field(default_factory=dict)
    libraries: dict[str, Library] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)  # what destinations with OAuth deliver with
    credentials: dict[str, Secret | str] = field(default_factory=dict, repr=False)  # what getCredential gives
    tracking_plans: dict[str, TrackingPlan] = field(default_factory=dict)
    people: list[Person] = field(default_factory=list)
    delivery: Delivery = field(default_factory=Delivery)
    data_plane: DataPlaneSettings = field(default_factory=DataPlaneSettings)
    warehouses: WarehouseSettings = field(default_factory=WarehouseSettings)
    limits: Limits = field(default_factory=Limits)  # of one call of a transformation
    environments: dict[str, Any] = field(default_factory=dict, repr=False)  # as written: what is different in each
    folder: Path | None = field(default=None, repr=False)  # what relative paths in it start from
    #: whose code it is: no process of the sandbox ever serves two workspaces
    scope: Scope = field(default_factory=Scope, init=False, repr=False, compare=False)
    _transports: dict[Path, Transport] = field(default_factory=dict, init=False, repr=False, compare=False)
    _known: KnownSecrets = field(default_factory=KnownSecrets, init=False, repr=False, compare=False)

    @classmethod
    def load(
        cls,
        path: Path | str,
        *,
        environ: Mapping[str, str] = os.environ,
        strict: bool = False,
        environment: str | None = None,
    ) -> Workspace:
        """The workspace in a YAML file, or in the service's workspace configuration (a JSON file).

        `$(env:NAME)` and `$(env:NAME:-default)` stand for environment variables in a configuration, as a credential, as
        a token and in `delivery.geolocation`; `$$(env:` is that text itself. What is not in `environ` may stand in a
        file `.env` beside it. Relative files start from the file's folder. Of the service's configuration,
        members without a meaning here are left out.

        `environment` chooses one of the file's `environments`, or of the files `workspace.NAME.yaml` beside it; by
        default the one that `SVC_ENV` in `environ` names, if any. What it says replaces what the workspace says.

        Destination types in `destinations.py` or `destinations/` beside the file are added to the catalogue, where code
        is trusted: see `svctoolkit.workspace.own_types`.

        Destination types that nobody knows, and configurations that do not fit their type, are kept as they are, with a
        `WorkspaceWarning`: the rest works. With `strict` they are errors.

        Raises `InvalidWorkspace` with every problem at once, each with file, line and column, and `UnknownName` for an
        environment that is not there.
        """
        from svctoolkit.workspace._load import load_file

        return load_file(cls, Path(path), environ, strict=strict, environment=environment)

    @classmethod
    def loads(
        cls,
        text: str,
        *,
        name: str = "",
        folder: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        strict: bool = False,
    ) -> Workspace:
        """The workspace in a text, shown as `name` in errors. Otherwise as `load`."""
        from svctoolkit import yamlfile

        document = yamlfile.load(text, name=name, error=InvalidWorkspace)
        return cls.of(document, folder=folder, environ=environ, strict=strict)

    @classmethod
    def of(
        cls,
        document: Document,
        *,
        folder: Path | None = None,
        environ: Mapping[str, str] = os.environ,
        strict: bool = False,
    ) -> Workspace:
        """The workspace in a document that is read already. Otherwise as `load`."""
        from svctoolkit.workspace._load import workspace_of

        return workspace_of(document, cls, folder, environ, strict=strict)

    def dumps(self) -> str:
        """This workspace as YAML; `loads` gives it back. Members with their default value are left out.

        Secrets are written as the reference that they came from. Those that came in the clear get one of their own:
        `$(env:HOOK_API_KEY)` for `apiKey` of the destination `hook`. Tokens are written as a reference or a hash.

        Raises `InvalidWorkspace` for what a file cannot hold: a Python function, a value that is not JSON, code that
        differs from that in its `file`.
        """
        from svctoolkit.workspace._save import dump

        return dump(self, self.folder)

    def save(self, path: Path | str, *, env_file: bool = False) -> None:
        """Write this workspace to a YAML file, which is replaced as a whole or left as it is.

        Secrets are written as in `dumps`. With `env_file` the values of those that came in the clear are written to the
        file `.env` beside it, which nobody but its owner may read; `load` knows it. Code in other files stays there;
        their relative paths are written as seen from the new file. Raises `InvalidWorkspace`: see `dumps`, or the file
        cannot be written.
        """
        from svctoolkit.workspace._save import save

        save(self, Path(path), env_file=env_file)

    def problems(self) -> list[Problem]:
        """What does not hold together, each with its dotted path: the checks of `load`, for objects made in Python."""
        from svctoolkit.workspace._checks import flaws
        from svctoolkit.yamlfile import cap

        return cap(Problem(flaw.message, ".".join(map(str, flaw.path))) for flaw in flaws(self))

    def check(self) -> None:
        """Raise `InvalidWorkspace` if there are `problems`."""
        problems = self.problems()
        if problems:
            raise InvalidWorkspace(problems)

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
    ) -> Source:
        """The source with this key or id; with `destinations`, a new one that is connected to them.

        Raises `UnknownName`.
        """
        if destinations is None:
            return lookup("source", key, self.sources)
        connections = [Connection(self.destination(d).key) for d in destinations]
        item = Source(key, id or key, name or key, type, key if write_key is None else write_key, enabled, connections)
        item.category = category
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
        account: str | None = None,
    ) -> Destination:
        """The destination with this key or id; with `type`, a new one of that type.

        Raises `UnknownName` for a destination, transformation or account that is not there.
        """
        if type is None:
            return lookup("destination", key, self.destinations)
        if transformation is not None:
            transformation = lookup("transformation", transformation, self.transformations).key
        if account is not None:
            account = self.account(account).key
        item = Destination(key, id or key, name or key, type, enabled, dict(config or {}), transformation, account)
        self.destinations[key] = item
        return item

    def account(
        self, key: str, *, secret: Mapping[str, Json] | None = None, renewals: Sequence[Mapping[str, Json]] = ()
    ) -> Account:
        """The account with this key; with `secret`, a new one. Raises `UnknownName`."""
        if secret is not None:
            self.accounts[key] = Account(key, dict(secret), [dict(renewal) for renewal in renewals])
        return by_key("account", key, self.accounts)

    def account_of(self, destination: Destination) -> Account | None:
        """What a destination delivers with; None without OAuth. Raises `UnknownName` for one that is not there."""
        return None if destination.account is None else self.account(destination.account)

    # Any: the user's function, with one argument or two
    def transformation(
        self,
        key: str,
        function: Callable[..., Any] | None = None,
        *,
        code: str = "",
        language: Language | None = None,
        file: Path | str | None = None,
    ) -> Transformation:
        """The transformation with this key or id; with `function`, `code` or `file`, a new one.

        A function is called as `function(event)` or `function(event, metadata)`; it is trusted and runs right here.
        Code runs in the sandbox; its `language` is by default what the file's name says, else Python.

        Raises `UnknownName`, or `InvalidWorkspace` for a file that cannot be read.
        """
        if function is None and not code and file is None:
            item = lookup("transformation", key, self.transformations)
        else:
            path = None if file is None else Path(file)
            if path is not None and not code:
                code = code_of(path if self.folder is None else self.folder / path)
            chosen = language or (LANGUAGES.get(path.suffix) if path else None) or "python"
            item = self.transformations[key] = Transformation(key, key, key, chosen, function, code, path)
        item.runnable = self._runnable
        return item

    def _runnable(self, transformation: Transformation) -> Runnable:
        """The transformation with the libraries, credentials and limits of this workspace; a recorder answers it."""
        from svctoolkit.delivery import Recorder
        from svctoolkit.workspace._code import UserCode

        return UserCode(self, Recorder()).runnable(transformation)

    def tracking_plan(
        self, key: str, plan: Plan | Path | str | None = None, *, format: str | None = None, strict: bool = True
    ) -> TrackingPlan:
        """The tracking plan with this key; with `plan`, a new one: a plan, or the path of a file or a project.

        Raises `UnknownName`, or `InvalidPlan` for what cannot be read.
        """
        if plan is None:
            return by_key("tracking plan", key, self.tracking_plans)
        from svctoolkit import plans

        if isinstance(plan, plans.Plan):
            item = TrackingPlan(key, plan=plan.id, project=plans.Project({plan.id: plan}))
        else:
            path = (self.folder or Path()) / plan
            item = TrackingPlan(key, Path(plan), format, strict=strict)
            item.project = plans.load(path, format=format, strict=strict)
        self.tracking_plans[key] = item
        return item

    def plan_link(self, source: Source) -> Link | None:
        """The plan that a source's events are checked against, with its settings; None where there is none.

        What the source says counts. If it says nothing, a project that has a source with its id does.
        """
        return link_of(source, self.tracking_plans)

    def destinations_of(self, source: Source) -> list[Destination]:
        """The destinations of the source's enabled connections, in order. Raises `UnknownName`."""
        return [lookup("destination", c.destination, self.destinations) for c in source.connections if c.enabled]

    def person(self, email: str, token: str) -> Person | None:
        """Who has this e-mail address and this token. Every person is compared, so the time says nothing."""
        match = None
        for person in self.people:
            same = hmac.compare_digest(person.email.encode(), email.encode("utf-8", "surrogatepass"))
            if person.accepts(token) and same:
                match = person
        return match

    def transport(self, recorder: Recorder, *, loopback: bool = True) -> Transport:
        """What answers requests in the delivery mode as it is now: `recorder`, the live network, or the cassette.

        `loopback`: see `svctoolkit.delivery.live.transport_for`. Raises `ConfigError` for a file that is no cassette.
        """
        return self.delivery_mode.transport(self.delivery_setting(recorder, loopback=loopback))

    def delivery_setting(self, recorder: Recorder | None = None, *, loopback: bool = True) -> Setting:
        """What the delivery mode needs to know of this workspace."""
        from svctoolkit.delivery import Recorder
        from svctoolkit.delivery.modes import Setting

        return Setting(
            Recorder(limit=0) if recorder is None else recorder,
            tuple(self.delivery.allow),
            loopback,
            (self.folder or Path()) / (self.delivery.cassette or "cassette.json"),
            self.secrets,
            self._transports,
        )

    @property
    def delivery_mode(self) -> Mode:
        """The delivery mode as it is now. Raises `UnknownName` for a mode that is not there."""
        from svctoolkit.delivery.modes import MODES

        return MODES[self.delivery.mode]

    def in_mode(self, mode: str) -> Workspace:
        """A copy in another delivery mode, which has everything else in common with this one."""
        copy = replace(self, delivery=replace(self.delivery, mode=mode))
        copy.scope = self.scope  # the same code: its workers need not start again
        return copy

    @property
    def sends(self) -> bool:
        """Whether requests may leave the machine."""
        return self.delivery_mode.sends(self.delivery_setting())

    def secrets(self) -> Iterator[str]:
        """The text of everything that nobody should see: what stands in configurations as secret, credentials.

        What this workspace had before and has no more is there, too: it stands in what was recorded meanwhile.
        """
        return iter(self._known.update(self._secret_state(), self._secrets_of_now())[0])

    @property
    def masker(self) -> Masker:
        """Hides every `secrets()`. The same object as long as they are the same."""
        return self._known.update(self._secret_state(), self._secrets_of_now())[1]

    def __getstate__(self) -> dict[str, Any]:
        """Credentials are pickled as secrets, also those that stand in the clear."""
        members = {name: getattr(self, name) for name in self.__slots__}
        credentials = {key: Secret(text) if isinstance(text, str) else text for key, text in self.credentials.items()}
        return {**members, "credentials": credentials}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def _secret_state(self) -> tuple[Any, ...]:
        """Equal as long as the secrets are."""
        configs = [(destination.type, destination.config) for destination in self.destinations.values()]
        accounts = [[*account.secrets()] for account in self.accounts.values()]
        forwards = [source.forward for source in self.sources.values()]
        return configs, accounts, dict(self.credentials), self.delivery.geolocation, forwards

    def _secrets_of_now(self) -> Iterator[str]:
        for destination in self.destinations.values():
            yield from destination.secrets()
        for account in self.accounts.values():
            yield from account.secrets()
        yield from secret_texts([source.forward.write_key for source in self.sources.values() if source.forward])
        yield from secret_texts(self.credentials)
        yield from (text for text in self.credentials.values() if isinstance(text, str))
        yield from secret_texts(self.delivery.geolocation)
        yield from config_url_secrets([*self.credentials.values(), self.delivery.geolocation])

    def display_text(self) -> str:
        """A tree: each source with the destinations that it is connected to."""
        return render(self, "text")
