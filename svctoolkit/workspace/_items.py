"""What a workspace is made of: people, sources, destinations, transformations, libraries."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from svctoolkit.destinations import definitions
from svctoolkit.displayed import Displayed
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.plans import Plan, Project
from svctoolkit.secrets import Secret, secret_texts
from svctoolkit.url_secrets import config_url_secrets

if TYPE_CHECKING:
    from svctoolkit.transformations import Output, Runnable

Language = Literal["python", "javascript"]
LANGUAGES: Mapping[str, Language] = {".py": "python", ".js": "javascript", ".mjs": "javascript"}  # by file name


@dataclass(slots=True)
class Person:
    """Who may use the Test API of a served workspace. Only a hash of the token is kept.

    A service access token has no e-mail address: it logs in with an empty user name.

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


@dataclass(frozen=True, slots=True)
class Forward:
    """A real data plane that gets what a source's clients send, as they send it, with the write key that it knows.

    `answer` says whose answer the clients get: `ours`, at once, or `theirs`, as far as there is one.
    """

    url: str | Secret
    write_key: Secret
    answer: Literal["ours", "theirs"] = "ours"


@dataclass(slots=True)
class Source(Displayed):
    """Where events come from.

    `tracking_plan` is the key of the plan that its events are checked against, `plan_settings` what becomes of those
    that break it, by event type, in the service's spelling or in rudder-cli's. Without settings they go on, marked.
    `category` is what the service knows a source for beside its type: `cloud` and `singer-protocol` extract records,
    which warehouses store by rules of their own. `forward` is where all that comes in goes, too.
    """

    key: str
    id: str
    name: str
    type: str = "http"
    write_key: str = field(default="", repr=False)
    enabled: bool = True
    connections: list[Connection] = field(default_factory=list)
    tracking_plan: str | None = None
    plan_settings: dict[str, dict[str, Any]] | None = None
    category: str = ""
    forward: Forward | None = None


def config_secrets(type: str, config: Mapping[str, Json]) -> Iterator[str]:
    """The text of everything in a configuration of a destination type, or in overrides of one, that is secret."""
    yield from secret_texts(config)
    yield from definitions.secret_values(type, config)
    yield from config_url_secrets(config)


def file_secrets(data: Json) -> Iterator[str]:
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
class Account:
    """What destinations with OAuth deliver with. `secret` is what the service would hold of it, such as `access_token`.

    When a destination says that the token has expired, the next of `renewals` replaces what it names; `renewed` counts
    them. `active` becomes false when a destination says that the account may not be used any more.
    """

    key: str
    secret: dict[str, Any] = field(default_factory=dict, repr=False)
    renewals: list[dict[str, Any]] = field(default_factory=list, repr=False)
    renewed: int = 0
    active: bool = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "secret":
            value = _protect(value)
        elif name == "renewals":
            value = [_protect(renewal) for renewal in value]
        object.__setattr__(self, name, value)

    def tokens(self) -> dict[str, Json]:
        """What is valid now."""
        valid = dict(self.secret)
        for renewal in self.renewals[: self.renewed]:
            valid |= renewal
        return valid

    def renew(self) -> None:
        """Get new tokens; without more of them the old ones stay."""
        self.renewed = min(self.renewed + 1, len(self.renewals))

    def secrets(self) -> Iterator[str]:
        """Every text that nobody should see, also of tokens that are not valid any more."""
        for values in (self.secret, *self.renewals):
            yield from secret_texts(values)


def _protect(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: Secret(value) if isinstance(value, str) and value else value for key, value in values.items()}


@dataclass(slots=True)
class Destination(Displayed):
    """One configured instance of a destination type. `config` is as the service stores it.

    `account` is the key of the account that it delivers with, for types with OAuth.
    Whatever the type's definition calls secret becomes a `Secret` in it, which shows itself nowhere.
    """

    key: str
    id: str
    name: str
    type: str
    enabled: bool = True
    config: dict[str, Any] = field(default_factory=dict, repr=False)
    transformation: str | None = None
    account: str | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "config" and isinstance(value, Mapping):
            value = definitions.protect(self.type, value)
        object.__setattr__(self, name, value)

    def secrets(self) -> Iterator[str]:
        """The text of everything in the configuration that nobody should see, also of what was put there later."""
        return config_secrets(self.type, self.config)


@dataclass(slots=True)
class Transformation(Displayed):
    """The user's code: a Python function given in code, or text in `code` with its language.

    `file` is where the code was read from, relative to the workspace's folder. A reference to code that the service
    keeps has a `version_id` and no code; its language may be unknown (None). `code_version` is the service's for
    JavaScript: "1" is a module, "0" a script with `transform(events)`; without it the code tells.
    """

    key: str
    id: str
    name: str
    language: Language | None = "python"
    function: Callable[..., Any] | None = None
    code: str = field(default="", repr=False)
    file: Path | None = None
    version_id: str = ""
    code_version: str = ""
    runnable: Callable[[Transformation], Runnable] | None = field(default=None, repr=False, compare=False)

    @property
    def file_name(self) -> str:
        """What errors call the file of the code."""
        return _file_name(self)

    def run(self, event: Mapping[str, Json], *, metadata: Mapping[str, Json] | None = None) -> Output:
        """What becomes of one event: `events` (none: dropped), or `error`; and the `logs` of the code.

        Requests of the code go where the workspace's delivery mode says; in mode `record` a recorder answers them.
        Raises `ConfigError` where there is no workspace: `Workspace.transformation` gives one that has it.
        """
        if self.runnable is None:
            raise ConfigError(
                f"transformation {self.key!r} has no workspace: ask for workspace.transformation({self.key!r})"
            )
        return self.runnable(self).run([event], [metadata or {}])[0]


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
class TrackingPlan(Displayed):
    """Plans from a file, or a project of rudder-cli in a folder: `path`, relative to the workspace's folder.

    `plan` says which of several is meant, `version` which version it counts as where the file does not say, `format`
    how it is to be read where that is not to be found out. Unless `strict`, schemas that the service refuses are
    taken, and their events pass unchecked as they do there.
    """

    key: str
    path: Path | None = None
    format: str | None = None
    plan: str | None = None
    version: int | None = None
    strict: bool = True
    project: Project = field(default_factory=Project, repr=False)

    @property
    def chosen(self) -> Plan:
        """The plan that is meant. Raises `InvalidPlan` where it does not say which."""
        plan = self.project.plan(self.plan)
        return plan if self.version in (None, plan.version) else replace(plan, version=self.version)

    def display_text(self) -> str:
        """The plan that is meant, in a line."""
        return repr(self.chosen)
