"""Sources, destinations, transformations and people, as objects. Changes take effect at once."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from svctoolkit.errors import ConfigError, InvalidWorkspace, Problem, UnknownName
from svctoolkit.secrets import Secret, revealed, secret_texts
from svctoolkit.transformations import Limits

if TYPE_CHECKING:
    from svctoolkit.delivery import Cassette, Recorder, Transport
    from svctoolkit.transformations import Output
    from svctoolkit.yamlfile import Document

DeliveryMode = Literal["record", "live", "cassette"]
Language = Literal["python", "javascript"]
LANGUAGES: Mapping[str, Language] = {".py": "python", ".js": "javascript", ".mjs": "javascript"}  # by file name


@dataclass(slots=True)
class Person:
    """Who may use the Test API of a served workspace. Only a hash of the token is kept.

    `written` is how the token stands in a file: `$(env:NAME)`, or the hash as `sha256:<hex>`.
    """

    email: str
    token_hash: str = field(repr=False)
    written: str = field(default="", repr=False)

    @classmethod
    def with_token(cls, email: str, token: str, *, written: str = "") -> Person:
        """A person whose token is `token`; `sha256:<hex>` is taken as the hash of one."""
        if token.startswith("sha256:"):
            return cls(email, token.removeprefix("sha256:").lower(), written or token)
        digest = hashlib.sha256(token.encode()).hexdigest()
        return cls(email, digest, written or f"sha256:{digest}")

    def accepts(self, token: str) -> bool:
        """Whether `token` is this person's, compared in constant time."""
        return hmac.compare_digest(hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest(), self.token_hash)


@dataclass(slots=True)
class Connection:
    """A source's connection to a destination, by the destination's key."""

    destination: str
    enabled: bool = True


@dataclass(slots=True)
class Source:
    """Where events come from."""

    key: str
    id: str
    name: str
    type: str = "http"
    write_key: str = field(default="", repr=False)
    enabled: bool = True
    connections: list[Connection] = field(default_factory=list)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.workspace._display import source

        return display.bundle(source(self), repr(self))


@dataclass(slots=True)
class Destination:
    """One configured instance of a destination type. `config` is as the service stores it, secrets as `Secret`."""

    key: str
    id: str
    name: str
    type: str
    enabled: bool = True
    config: dict[str, Any] = field(default_factory=dict, repr=False)
    transformation: str | None = None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.workspace._display import destination

        return display.bundle(destination(self), repr(self))


@dataclass(slots=True)
class Transformation:
    """The user's code: a Python function given in code, or text in `code` with its language.

    `file` is where the code was read from, relative to the workspace's folder. A reference to code that the service
    keeps has a `version_id` and no code; its language may be unknown (None).
    """

    key: str
    id: str
    name: str
    language: Language | None = "python"
    function: Callable[..., Any] | None = None
    code: str = field(default="", repr=False)
    file: Path | None = None
    version_id: str = ""
    workspace: Workspace | None = field(default=None, repr=False, compare=False)

    @property
    def file_name(self) -> str:
        """What errors call the file of the code."""
        return _file_name(self)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.workspace._display import transformation

        return display.bundle(transformation(self), repr(self))

    def run(self, event: Mapping[str, Any], *, metadata: Mapping[str, Any] | None = None) -> Output:
        """What becomes of one event: `events` (none: dropped), or `error`; and the `logs` of the code.

        Requests of the code go where the workspace's delivery mode says; in mode `record` a recorder answers them.
        """
        from svctoolkit.delivery import Recorder
        from svctoolkit.workspace._code import UserCode

        code = UserCode(self.workspace or Workspace(), Recorder())
        return code.runnable(self).run([event], [metadata or {}])[0]


@dataclass(slots=True)
class Library:
    """Code that transformations import by `key`. `file`, `version_id` and `language` as in `Transformation`."""

    key: str
    language: Language | None = "javascript"
    code: str = field(default="", repr=False)
    file: Path | None = None
    version_id: str = ""

    @property
    def file_name(self) -> str:
        """What errors call the file of the code."""
        return _file_name(self)


def _file_name(made: Transformation | Library) -> str:
    return made.file.name if made.file else f"{made.key}.{'py' if made.language == 'python' else 'js'}"


@dataclass(slots=True)
class Delivery:
    """Where the destinations' requests go: `record` (nothing leaves the machine), `live`, or `cassette`.

    In mode `cassette` the file `cassette` answers. As long as there is none, the real destinations do, and their
    answers are kept in it, with secrets masked; once it is there, nothing leaves the machine. A relative path starts
    from the workspace's folder.
    `allow` lists hosts, addresses or networks that the network policy lets through although it would refuse them.
    `timeout` is in seconds, for one request. `geolocation` is the address of a service that answers
    `<geolocation>/geoip/<ip>` with JSON: what `geolocation(ip)` in a transformation gives.
    """

    mode: DeliveryMode = "record"
    allow: list[str] = field(default_factory=list)
    timeout: float = 60.0
    geolocation: str = ""
    cassette: Path | None = None


@dataclass(slots=True)
class Workspace:
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
    credentials: dict[str, Secret | str] = field(default_factory=dict, repr=False)  # what getCredential gives
    people: list[Person] = field(default_factory=list)
    delivery: Delivery = field(default_factory=Delivery)
    limits: Limits = field(default_factory=Limits)  # of one call of a transformation
    folder: Path | None = field(default=None, repr=False)  # what relative paths in it start from
    _cassettes: dict[Path, Cassette] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def load(cls, path: Path | str, *, environ: Mapping[str, str] = os.environ) -> Workspace:
        """The workspace in a YAML file, or in the service's workspace configuration (a JSON file).

        `$(env:NAME)` and `$(env:NAME:-default)` stand for environment variables in a configuration and as a token;
        `$$(env:` is that text itself. Relative files start from the file's folder. Of the service's configuration,
        members without a meaning here are left out, and destination types are not checked.

        Raises `InvalidWorkspace` with every problem at once, each with file, line and column.
        """
        from svctoolkit import yamlfile

        path = Path(path)
        return cls.of(yamlfile.load(path, error=InvalidWorkspace), folder=path.parent, environ=environ)

    @classmethod
    def loads(
        cls, text: str, *, name: str = "", folder: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> Workspace:
        """The workspace in a text, shown as `name` in errors. Otherwise as `load`."""
        from svctoolkit import yamlfile

        return cls.of(yamlfile.load(text, name=name, error=InvalidWorkspace), folder=folder, environ=environ)

    @classmethod
    def of(
        cls, document: Document, *, folder: Path | None = None, environ: Mapping[str, str] = os.environ
    ) -> Workspace:
        """The workspace in a document that is read already. Otherwise as `load`."""
        from svctoolkit.workspace._load import workspace_of

        return workspace_of(document, folder, environ)

    def dumps(self) -> str:
        """This workspace as YAML; `loads` gives it back. Members with their default value are left out.

        Secrets are written as the reference that they came from, tokens as a reference or a hash.

        Raises `InvalidWorkspace` for what a file cannot hold: a Python function, a secret without a reference, a value
        that is not JSON, code that differs from that in its `file`.
        """
        from svctoolkit.workspace._save import dumped

        return dumped(self, self.folder)

    def save(self, path: Path | str) -> None:
        """Write this workspace to a YAML file, which is replaced as a whole or left as it is.

        Code in other files stays there; their relative paths are written as seen from the new file. Raises
        `InvalidWorkspace`: see `dumps`, or the file cannot be written.
        """
        from svctoolkit.workspace._save import saved

        saved(self, Path(path))

    def problems(self) -> list[Problem]:
        """What does not hold together, each with its dotted path: the checks of `load`, for objects made in Python."""
        from svctoolkit.workspace._checks import flaws
        from svctoolkit.yamlfile import capped

        return capped(Problem(flaw.message, ".".join(map(str, flaw.path))) for flaw in flaws(self))

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
    ) -> Source:
        """The source with this key or id; with `destinations`, a new one that is connected to them.

        Raises `UnknownName`.
        """
        if destinations is None:
            return _found("source", key, self.sources)
        connections = [Connection(self.destination(d).key) for d in destinations]
        made = Source(key, id or key, name or key, type, key if write_key is None else write_key, enabled, connections)
        self.sources[key] = made
        return made

    def destination(
        self,
        key: str,
        type: str | None = None,
        *,
        id: str | None = None,
        name: str | None = None,
        enabled: bool = True,
        config: Mapping[str, Any] | None = None,
        transformation: str | None = None,
    ) -> Destination:
        """The destination with this key or id; with `type`, a new one of that type.

        Raises `UnknownName` for a destination or transformation that is not there.
        """
        if type is None:
            return _found("destination", key, self.destinations)
        if transformation is not None:
            transformation = _found("transformation", transformation, self.transformations).key
        made = Destination(key, id or key, name or key, type, enabled, dict(config or {}), transformation)
        self.destinations[key] = made
        return made

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
            found = _found("transformation", key, self.transformations)
        else:
            path = None if file is None else Path(file)
            if path is not None and not code:
                code = _read(path if self.folder is None else self.folder / path)
            chosen = language or (LANGUAGES.get(path.suffix) if path else None) or "python"
            found = self.transformations[key] = Transformation(key, key, key, chosen, function, code, path)
        found.workspace = self
        return found

    def connected(self, source: Source) -> list[Destination]:
        """The destinations of the source's enabled connections, in order. Raises `UnknownName`."""
        return [_found("destination", c.destination, self.destinations) for c in source.connections if c.enabled]

    def person(self, email: str, token: str) -> Person | None:
        """Who has this e-mail address and this token. Every person is compared, so the time says nothing."""
        found = None
        for person in self.people:
            same = hmac.compare_digest(person.email.encode(), email.encode("utf-8", "surrogatepass"))
            if person.accepts(token) and same:
                found = person
        return found

    def transport(self, recorder: Recorder, *, loopback: bool = True) -> Transport:
        """What answers requests in the delivery mode as it is now: `recorder`, the live network, or the cassette.

        `loopback`: see `svctoolkit.delivery.live.shared`. Raises `ConfigError` for a file that is no cassette.
        """
        if self.delivery.mode == "record":
            return recorder
        from svctoolkit.delivery import Cassette, live

        network = live.shared(tuple(self.delivery.allow), loopback=loopback)
        if self.delivery.mode == "live":
            return network
        path = (self.folder or Path()) / (self.delivery.cassette or "cassette.json")
        if path not in self._cassettes:
            self._cassettes[path] = Cassette.once(path, network, secrets=self.secrets)
        return self._cassettes[path]

    def secrets(self) -> Iterator[str]:
        """The text of every `Secret` in the destinations' configurations, and every credential, for masking."""
        for destination in self.destinations.values():
            yield from secret_texts(destination.config)
        yield from map(str, map(revealed, self.credentials.values()))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from svctoolkit import display
        from svctoolkit.workspace._display import html, text

        return display.bundle(html(self), text(self))


def _read(file: Path) -> str:
    from svctoolkit import yamlfile

    try:
        return yamlfile.read_text(file)
    except OSError as error:
        raise InvalidWorkspace(f"cannot be read: {error.strerror}", where=str(file)) from error
    except ConfigError as error:
        raise InvalidWorkspace(error.problems) from error


Found = TypeVar("Found", Source, Destination, Transformation)


def _found(kind: str, key: str, items: Mapping[str, Found]) -> Found:
    if key in items:
        return items[key]
    for item in items.values():
        if item.id == key:
            return item
    raise UnknownName(kind, key, [*items, *(i.id for i in items.values())])
