"""The items of a workspace: users, sources, destinations, transformations, libraries."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import msgspec

from svctoolkit.destinations import definitions
from svctoolkit.displayed import Displayed
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret, secret_texts
from svctoolkit.simulations import Level
from svctoolkit.url_secrets import config_url_secrets
from svctoolkit.workspace._platforms import platform_of

if TYPE_CHECKING:
    from svctoolkit.delivery import Recorder
    from svctoolkit.plans import Plan, Project
    from svctoolkit.sources import SourceType
    from svctoolkit.transformations import Output, Runnable

WEBHOOK_CATEGORY = "webhook"
#: types of sources of SDK events, in lower case; any other text is also a valid type
_SDK_TYPES = frozenset({
    "http", "web", "javascript", "android", "androidkotlin", "ios", "iosswift", "reactnative", "flutter", "unity",
    "cordova", "amp", "cloud", "cloudsource", "warehouse", "node", "python", "go", "java", "ruby", "php", "rust",
    ".net", "dotnet",
})  # fmt: skip
Language = Literal["python", "javascript"]
LANGUAGES: Mapping[str, Language] = {".py": "python", ".js": "javascript", ".mjs": "javascript"}  # by file name


@dataclass(slots=True)
class Person:
    """A user of the Test API of a served workspace. Only a hash of the token is stored.

    A service access token has no e-mail address: it logs in with an empty user name. `written` is the token's form in a
    file: `$(env:NAME)`, or the hash as `sha256:<hex>`.
    """

    email: str
    token_hash: str = field(repr=False)
    written: str = field(default="", repr=False)

    @classmethod
    def with_token(cls, email: str, token: str, *, written: str = "") -> Person:
        """Create a user with this token; `sha256:<hex>` is the hash of a token."""
        if token.startswith("sha256:"):
            return cls(email, token.removeprefix("sha256:").lower(), written or token)
        digest = hashlib.sha256(token.encode()).hexdigest()
        return cls(email, digest, written or f"sha256:{digest}")

    def accepts(self, token: str) -> bool:
        """Return whether `token` is this user's, compared in constant time."""
        return hmac.compare_digest(hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest(), self.token_hash)


@dataclass(slots=True)
class Connection:
    """A source's connection to a destination, by the destination's key."""

    destination: str
    enabled: bool = True


class Forward(msgspec.Struct, frozen=True):
    """A real data plane that gets the events of a source as they arrived, with its own write key.

    `answer` says whose response the clients get: `ours`, immediately, or `theirs`, if there is one. If it is not
    `enabled`, the events wait.
    """

    url: str | Secret
    write_key: Secret
    answer: Literal["ours", "theirs"] = "ours"
    enabled: bool = True


@dataclass(slots=True)
class Source(Displayed):
    """A source of events.

    `tracking_plan` is the key of the plan that its events are checked against. `plan_settings` says what happens to
    events with violations, by event type, in RudderStack's or rudder-cli's spelling; by default they are forwarded and
    marked. `category` is RudderStack's category of sources: `webhook` for types in `svctoolkit.sources.CATALOGUE`,
    which accept webhooks and have settings in `config`; `cloud` and `singer-protocol` extract records, which
    warehouses store in a different way. `forward` gets all accepted events.
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
    config: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not self.category and is_webhook_type(self.type):
            self.category = WEBHOOK_CATEGORY

    @property
    def webhook_type(self) -> SourceType | None:
        """The type that turns its webhooks into events; None if it does not accept webhooks."""
        if self.category != WEBHOOK_CATEGORY or not is_webhook_type(self.type):
            return None
        from svctoolkit.sources import CATALOGUE  # few workspaces have such a source

        return CATALOGUE[self.type]

    @property
    def asks_elsewhere(self) -> bool:
        """Whether its clients get the answer of the data plane that it forwards to."""
        return self.forward is not None and self.forward.answer == "theirs" and self.forward.enabled

    @property
    def platform(self) -> str:
        """The name under which destinations have settings for each kind of source: `web` for type `Javascript`."""
        return platform_of(self.type, self.category)


def is_sdk_type(name: str) -> bool:
    """Return whether this is one of the usual types of sources of SDK events; users may choose other names."""
    return name.lower() in _SDK_TYPES


def is_webhook_type(name: str) -> bool:
    """Return whether sources of this type accept webhooks."""
    if not name or is_sdk_type(name):  # nearly all, and looking further takes time
        return False
    from svctoolkit.sources import CATALOGUE

    return name in CATALOGUE


def config_secrets(type: str, config: Mapping[str, Json]) -> Iterator[str]:
    """Yield the secrets in a configuration of a destination type, or in overrides of one."""
    yield from secret_texts(config)
    yield from definitions.secret_values(type, config)
    yield from config_url_secrets(config)


def file_secrets(data: Json) -> Iterator[str]:
    """Yield the secrets written in a file: tokens of users, credentials, passwords in URLs."""
    workspace = (
        data.get("workspace") if isinstance(data, Mapping) and isinstance(data.get("workspace"), Mapping) else data
    )
    if isinstance(workspace, Mapping):
        users = workspace.get("users")
        for person in users if isinstance(users, list) else ():
            if isinstance(person, Mapping) and isinstance(person.get("token"), str):
                yield person["token"]
        credentials = workspace.get("credentials")
        for value in credentials.values() if isinstance(credentials, Mapping) else ():
            if isinstance(value, str):
                yield value
    yield from config_url_secrets(data)


@dataclass(slots=True)
class Account:
    """The OAuth account of destinations. `secret` contains what RudderStack would store, such as `access_token`.

    When a destination reports that the token has expired, the next of `renewals` overrides its members; `renewed`
    counts them. `active` becomes false when a destination reports that the account may no longer be used.
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
        """Return the tokens that are valid now."""
        valid = dict(self.secret)
        for renewal in self.renewals[: self.renewed]:
            valid |= renewal
        return valid

    def renew(self) -> None:
        """Use the next renewal; if there are no more, keep the tokens."""
        self.renewed = min(self.renewed + 1, len(self.renewals))

    def secrets(self) -> Iterator[str]:
        """Yield all secret strings, including expired tokens."""
        for values in (self.secret, *self.renewals):
            yield from secret_texts(values)


def _protect(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: Secret(value) if isinstance(value, str) and value else value for key, value in values.items()}


@dataclass(slots=True)
class Destination(Displayed):
    """One configured instance of a destination type. `config` has the form that RudderStack stores.

    `account` is the key of its account, for types with OAuth. `simulate` is how its server is simulated (None: as the
    workspace says), and `declared` what the simulated account has besides events. Variables that the type's definition
    marks as secret become a `Secret`, which is never shown.
    """

    key: str
    id: str
    name: str
    type: str
    enabled: bool = True
    config: dict[str, Any] = field(default_factory=dict, repr=False)
    transformation: str | None = None
    account: str | None = None
    declared: dict[str, Any] = field(default_factory=dict, repr=False)
    simulate: Level | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "config" and isinstance(value, Mapping):
            value = definitions.protect(self.type, value)
        object.__setattr__(self, name, value)

    def secrets(self) -> Iterator[str]:
        """Return all secret strings in the configuration, including those that were added later."""
        return config_secrets(self.type, self.config)


def account_and_declarations(account: str | Mapping[str, Json] | None) -> tuple[str | None, dict[str, Json]]:
    """Return the key of an OAuth account, and what a simulated account has.

    >>> account_and_declarations("main"), account_and_declarations("existing")
    (('main', {}), (None, {'history': 'existing'}))
    """
    if account in ("new", "existing"):
        return None, {"history": account}
    return (account, {}) if account is None or isinstance(account, str) else (None, dict(account))


#: Makes code runnable, with a recorder for its requests.
MakeRunnable: TypeAlias = "Callable[[Transformation, Recorder | None], Runnable]"


@dataclass(slots=True)
class Transformation(Displayed):
    """The user's code: a Python function, or source text in `code` with its language.

    `file` is the file of the code, relative to the workspace's folder. A reference to code that RudderStack stores has
    a `version_id` and no code; its language may be unknown (None). `code_version` is RudderStack's for JavaScript: "1"
    is a module, "0" a script with `transform(events)`; by default it is detected from the code.
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
    runnable: Callable[[Transformation, Recorder | None], Runnable] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def file_name(self) -> str:
        """The file name of the code in errors."""
        return _file_name(self)

    @property
    def may_see_batches(self) -> bool:
        """Whether the code may be a function of all events of a call, judged by its text."""
        return self.function is None and ("transformEvent" not in self.code or "transformBatch" in self.code)

    @overload
    def run(
        self,
        event: Mapping[str, Json],
        *,
        metadata: Mapping[str, Json] | None = None,
        recorder: Recorder | None = None,
    ) -> Output: ...
    @overload
    def run(
        self,
        event: Sequence[Mapping[str, Json]],
        *,
        metadata: Mapping[str, Json] | None = None,
        recorder: Recorder | None = None,
    ) -> list[Output]: ...
    def run(
        self,
        event: Mapping[str, Json] | Sequence[Mapping[str, Json]],
        *,
        metadata: Mapping[str, Json] | None = None,
        recorder: Recorder | None = None,
    ) -> Output | list[Output]:
        """Transform one event, or a list of events in one call. Return an output for each event.

        An output has the resulting `events` (none: dropped) or the `error`, and the `logs` of the code. `metadata` is
        that of every event. An event that `transformBatch` returns belongs to the input with its `messageId`.

        The workspace's delivery mode decides where requests of the code go; in mode `record` a recorder answers them:
        `recorder`, which can be scripted and keeps them in `fetched`, or else one with successes.
        Raises `ConfigError` without a workspace: use `Workspace.transformation` to get a transformation with one.
        """
        if self.runnable is None:
            raise ConfigError(
                f"transformation {self.key!r} has no workspace: use workspace.transformation({self.key!r})"
            )
        code = self.runnable(self, recorder)
        if isinstance(event, Mapping):
            return code.run([event], [metadata or {}])[0]
        return code.run(event, [metadata or {}] * len(event))


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
        """The file name of the code in errors."""
        return _file_name(self)


def _file_name(item: Transformation | Library) -> str:
    return item.file.as_posix() if item.file else f"{item.key}.{'py' if item.language == 'python' else 'js'}"


def _no_plans() -> Project:
    from svctoolkit.plans import Project  # 6 ms, and most workspaces have no tracking plan

    return Project()


@dataclass(slots=True)
class TrackingPlan(Displayed):
    """Plans from a file or from a rudder-cli project in a folder: `path`, relative to the workspace's folder.

    `plan` selects one of several, `version` is used if the file does not contain a version, `format` if the format
    cannot be detected. Unless `strict`, schemas that RudderStack rejects are accepted, and their events pass unchecked
    as they do there. `variables` are files with values of `{{ .NAME }}` in a rudder-cli project.
    """

    key: str
    path: Path | None = None
    format: str | None = None
    plan: str | None = None
    version: int | None = None
    strict: bool = True
    variables: list[str] = field(default_factory=list)
    project: Project = field(default_factory=_no_plans, repr=False)

    @property
    def chosen(self) -> Plan:
        """The selected plan. Raises `InvalidPlan` if there are several and none is selected."""
        plan = self.project.plan(self.plan)
        return plan if self.version in (None, plan.version) else replace(plan, version=self.version)

    def display_text(self) -> str:
        """Return the selected plan in one line."""
        return repr(self.chosen)
