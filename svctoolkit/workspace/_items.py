"""What a workspace is made of: people, sources, destinations, transformations, libraries."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from svctoolkit.destinations import definitions
from svctoolkit.secrets import secret_texts
from svctoolkit.url_secrets import config_url_secrets

if TYPE_CHECKING:
    from svctoolkit.transformations import Output
    from svctoolkit.workspace._model import Workspace

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


def config_secrets(type: str, config: Mapping[str, Any]) -> Iterator[str]:
    """The text of everything in a configuration of a destination type, or in overrides of one, that is secret."""
    yield from secret_texts(config)
    yield from definitions.secret_values(type, config)
    yield from config_url_secrets(config)


def file_secrets(data: Any) -> Iterator[str]:
    """The secrets that stand in a file as it was written: tokens of people, credentials, passwords in URLs."""
    workspace = (
        data.get("workspace") if isinstance(data, Mapping) and isinstance(data.get("workspace"), Mapping) else data
    )
    if isinstance(workspace, Mapping):
        people = workspace.get("people")
        for person in people if isinstance(people, list) else ():
            if isinstance(person, Mapping) and isinstance(person.get("token"), str):
                yield person["token"]
        credentials = workspace.get("credentials")
        for value in credentials.values() if isinstance(credentials, Mapping) else ():
            if isinstance(value, str):
                yield value
    yield from config_url_secrets(data)


@dataclass(slots=True)
class Destination:
    """One configured instance of a destination type. `config` is as the service stores it.

    Whatever the type's definition calls secret becomes a `Secret` in it, which shows itself nowhere.
    """

    key: str
    id: str
    name: str
    type: str
    enabled: bool = True
    config: dict[str, Any] = field(default_factory=dict, repr=False)
    transformation: str | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "config" and isinstance(value, Mapping):
            value = definitions.protect(self.type, value)
        object.__setattr__(self, name, value)

    def secrets(self) -> Iterator[str]:
        """The text of everything in the configuration that nobody should see, also of what was put there later."""
        return config_secrets(self.type, self.config)

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


def _file_name(item: Transformation | Library) -> str:
    return item.file.as_posix() if item.file else f"{item.key}.{'py' if item.language == 'python' else 'js'}"


@dataclass(slots=True)
class Delivery:
    """Where the destinations' requests go: `mode` is `record` (nothing leaves the machine), `live`, `cassette`, or one
    that another package adds (see `svctoolkit.delivery.modes`).

    In mode `cassette` the file `cassette` answers. As long as there is none, the real destinations do, and their
    answers are kept in it, with secrets masked; once it is there, nothing leaves the machine. A relative path starts
    from the workspace's folder.
    `allow` lists hosts, addresses or networks that the network policy lets through although it would refuse them.
    `timeout` is in seconds, for one request. `geolocation` is the address of a service that answers
    `<geolocation>/geoip/<ip>` with JSON: what `geolocation(ip)` in a transformation gives.

    How a data plane delivers: `profile` is `quick` (for tests) or `production` (as the service, for three hours);
    `backoff` replaces members of its back-off by name; `width` is how many requests a destination gets at a time.
    """

    mode: str = "record"
    allow: list[str] = field(default_factory=list)
    timeout: float = 60.0
    geolocation: str = ""
    cassette: Path | None = None
    profile: str = "quick"
    backoff: dict[str, float] = field(default_factory=dict)
    width: int = 8


@dataclass(slots=True)
class DataPlaneSettings:
    """How a data plane takes and keeps events.

    `lenient` sets a bad event of a batch aside and takes the rest; for `window` seconds a `messageId` counts as known;
    the newest `events` are kept, none older than `seconds` (None: 1,000,000 and a week in a file, 20,000 in memory).
    """

    lenient: bool = False
    window: float = 3600.0
    events: int | None = None
    seconds: float | None = None
