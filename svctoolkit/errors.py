"""All errors that this package raises deliberately.

ToolkitError                   catch this to catch everything below
├── ConfigError                invalid input of the user; `problems` lists everything wrong, with positions
│   ├── UnknownName            no such destination, type, command, matcher...; also a KeyError
│   ├── InvalidConfig          a destination's configuration does not fit its type; also a RequestError
│   ├── InvalidWorkspace       a workspace file or object
│   │   └── WorkspaceWarning   a problem that does not affect the rest of a workspace: a warning; raised with `strict`
│   │       └── WorkspaceNotes what is unknown in a workspace, or does not fit: one line per command
│   ├── UntrustedCode          user code that may not run on this machine until the user trusts it
│   ├── InvalidSuite           a suite file
│   ├── InvalidPlan            a tracking plan, or a project of them
│   ├── InvalidDeletion        users that cannot be deleted: not a list, or without the id that the destination needs
│   ├── StoreError             a data plane's store cannot be read or written
│   └── UsageError             the command line
├── EventError                 this event failed; a run continues with the next one
│   ├── InvalidMessageType     `type` is missing, not a string, or not one of the six; also a RequestError
│   ├── InvalidWebhook         a webhook source or the gateway rejects a webhook; `status` goes to its sender
│   └── MappingError           the mapping rejects the event; `refusal` is the reason, as data
│       ├── UnsupportedEvent   the destination does not accept events of this type
│       ├── Missing            no value where the destination needs one; this and the next six are in `mapping.refusals`
│       ├── Misfit             a value that does not fit
│       ├── NotConfigured      a setting maps values, but has no entry for this one
│       ├── Unsupported        events like this are sent only with a setting
│       ├── Misconfigured      a setting is missing or wrong for this event
│       ├── NotFound           the object does not exist in the destination's account
│       └── LookupFailed       a lookup that the mapping needs failed; `status` is the HTTP status
├── TransformationError        the user's code failed; `where` is file:line:col
├── DeliveryError              a request could not be sent or answered; `code` names the cause
│   └── Forbidden              the network policy refused the address
├── StillWaiting               a condition was not met in time; the text says what is still pending
├── RequestError               the Test API rejects a request, here or over HTTP; `status` and `body` are its response
│   ├── UnknownId              no such destination or source; also an UnknownName
│   ├── InvalidMessageType     see above
│   ├── InvalidConfig          see above
│   └── Unsupported            the type exists, but cannot be tested (streams, object stores, warehouses...)
│       └── CannotDelete       the destination type has no way to delete users; also an AttributeError
├── InvalidCall                a call of the client SDK got an invalid argument; also a ValueError
└── StorageError               the client SDK cannot write its queue to disk
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit.json_types import Json
from svctoolkit.lexical import storable

if TYPE_CHECKING:  # would load msgspec, which the client SDK does not need
    from svctoolkit.causes import Refusal


def is_survivable(error: BaseException) -> bool:
    """Whether to continue after an error in user code: after any `Exception`, and in our own threads after everything.

    In the main thread, Ctrl-C, `sys.exit` and pytest's outcomes must reach the program. In one of our threads they
    would only end the thread silently.
    """
    return isinstance(error, Exception) or current_thread() is not main_thread()


class ToolkitError(Exception):
    """Base class of all errors that this package raises deliberately."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from html import escape

        name, message = type(self).__name__, storable(str(self))
        text = escape(message).replace("\n", "<br>")
        return {"text/plain": f"{name}: {message}", "text/html": f'<p role="alert"><b>✗ {name}:</b> {text}</p>'}


_MOST_NAMES = 5  # of variables in a warning
_MESSAGE_TYPE_ERRORS = ("message type missing or invalid", "message type is unsupported")


class Problem(NamedTuple):
    """One problem in the user's input.

    `where` is `file:line:col`, a dotted path, or empty. `str()` gives `where: message`.
    """

    message: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class ConfigError(ToolkitError):
    """The user's input is invalid. The text has one line per problem."""

    def __init__(self, problems: str | Problem | Sequence[Problem], *, where: str = "") -> None:
        if isinstance(problems, str):
            problems = Problem(problems, where)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)

    # not built in advance: every event of a destination that is not configured raises one
    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:  # subclasses have different constructor parameters
        return _restore_config_error, (type(self), self.__dict__)


def _restore_config_error(kind: type[ConfigError], members: dict[str, Any]) -> ConfigError:
    error = kind.__new__(kind)
    error.__dict__.update(members)
    return error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the names nearest to `name`, or an empty string."""
    import difflib  # 15 ms to import, and only errors need it

    names = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), list(names), n=2)
    return f" Did you mean {' or '.join(repr(names[c]) for c in close)}?" if close else ""


class UnknownName(ConfigError, KeyError):
    """An unknown name. The text suggests the nearest known names, or has `hint` instead."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "", hint: str = "") -> None:
        self.kind, self.name = kind, name
        super().__init__(f"unknown {kind} {name!r}.{hint or did_you_mean(name, known)}", where=where)


class RequestError(ToolkitError):
    """The Test API rejects a request, in this process or over HTTP.

    `status` is the HTTP status, `body` the JSON body of the response.
    """

    status: int = 400
    _body: Mapping[str, Json] | None = None

    def __init__(self, status: int, body: Mapping[str, Json]) -> None:
        self.status, self._body = status, body
        super().__init__(str(body.get("message", body)))

    @property
    def body(self) -> Mapping[str, Json]:
        return {"message": str(self)} if self._body is None else self._body


class UnknownId(UnknownName, RequestError):
    """No destination or source has this id or key. A note suggests the nearest ones."""

    status = 404

    def __init__(self, kind: str, name: str, known: Iterable[str] = ()) -> None:
        self.kind, self.name = kind, name
        ConfigError.__init__(self, f"{kind.capitalize()} with id {name} not found")
        if hint := did_you_mean(name, known):
            self.add_note(hint.strip())


class InvalidConfig(ConfigError, RequestError):
    """A destination's configuration does not fit its type."""


class InvalidWorkspace(ConfigError):
    """A workspace is invalid or inconsistent."""


class WorkspaceWarning(InvalidWorkspace, UserWarning):
    """Unknown configuration variables and destination types in a workspace file, which are kept unchanged.

    `Workspace.load` passes one warning with all problems to `warnings.warn`. If warnings are turned into errors, it is
    raised and can be caught as `InvalidWorkspace`.
    """


class WorkspaceNotes(WorkspaceWarning):
    """The notes on a workspace file: what is unknown here, or does not fit. `svctoolkit check` lists them.

    `count` is their number; the text has the first 100. `names` are the entries of the workspace's `known` that accept
    them (`GA4.sendUserId`). `folder` is that of a rudder-cli project.
    """

    def __init__(
        self, problems: str | Sequence[Problem], count: int = 1, names: Sequence[str] = (), folder: str = ""
    ) -> None:
        super().__init__(problems)
        self.count, self.names, self.folder = count, tuple(dict.fromkeys(names)), folder


class UnsetVariables(UserWarning):
    """Environment variables of secrets are not set, and have placeholders, because nothing is sent."""

    def __init__(self, file: str, names: Sequence[str], hint: str = "") -> None:
        others = len(names) - _MOST_NAMES
        listed = ", ".join(names[:_MOST_NAMES]) + (f" and {others} more" if others > 0 else "")
        plural = "variables are" if len(names) > 1 else "variable is"
        super().__init__(
            f"{file}: {len(names)} environment {plural} not set, with placeholders because nothing is sent: "
            f"{listed}{hint}"
        )


class UntrustedCode(ConfigError):
    """User code does not run: the sandbox lacks an essential layer here, and the code is not recorded as the user's.

    `files` has the files or names of that code.
    """

    def __init__(self, problems: Sequence[Problem], files: Sequence[str]) -> None:
        super().__init__(problems)
        self.files = tuple(files)


class InvalidSuite(ConfigError):
    """A suite file cannot be run."""


class InvalidPlan(ConfigError):
    """A tracking plan is inconsistent, or RudderStack would not check events against it."""


class InvalidDeletion(ConfigError):
    """Users cannot be deleted: they are not a list of objects, or lack the id that the destination needs."""


class StoreError(ConfigError):
    """A data plane's store file cannot be read or written: damaged, disk full, or missing permissions."""


class UsageError(ConfigError):
    """The command line is invalid; the text says what to write instead."""


class EventError(ToolkitError):
    """One event failed. `field` is the path in the event, if known."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class InvalidMessageType(EventError, RequestError):
    """The event's `type` is rejected with the specified errors (specification, section Errors)."""

    def __init__(self, message: str, *, field: str = "") -> None:
        RequestError.__init__(self, 400, {"message": message})
        self.field = field


class InvalidWebhook(EventError):
    """A webhook is rejected: the text and the HTTP `status` are the answer to its sender.

    `status` is 500 where RudderStack's transformation crashes; vendors send such a webhook again and again.
    """

    def __init__(self, message: str, *, status: int = 400, field: str = "") -> None:
        super().__init__(message, field=field)
        self.status = status

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_invalid_webhook, (str(self), self.status, self.field)


def _restore_invalid_webhook(message: str, status: int, field: str) -> InvalidWebhook:
    return InvalidWebhook(message, status=status, field=field)


class MappingError(EventError):
    """The mapping rejects the event. `refusal` is the reason as data; the text is derived from it.

    Mappings raise its subclasses in `svctoolkit.mapping`: `Missing`, `Misfit` and others.
    """

    def __init__(self, refusal: Refusal) -> None:
        # Without the text and the base classes' constructors: refusals are frequent, and most are read as data.
        self.refusal, self.field = refusal, refusal.field

    def __str__(self) -> str:
        return self.refusal.text

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:  # subclasses have different constructor parameters
        return _restore_mapping_error, (type(self), self.refusal)


def _restore_mapping_error(kind: type[MappingError], refusal: Refusal) -> MappingError:
    error = kind.__new__(kind)
    MappingError.__init__(error, refusal)
    return error


class UnsupportedEvent(MappingError):
    """The destination does not accept events of this type."""


class TransformationError(ToolkitError):
    """The user's code failed. `name` is the error's class.

    `at` is file, line and column in the user's code, counted from 1; 0 for an unknown line or column, None if the
    position is unknown. `function` is the name of the function there, if known. `where` is `file:line:col`.

    `kind` is `error` (the code raised it), `syntax` (the code cannot be loaded), or the limit that was exceeded:
    `time`, `memory`, `output`, `crash`; `sandbox` means that the sandbox itself could not be set up.
    `event_id` is the messageId of the event being processed.
    """

    def __init__(
        self,
        message: str,
        *,
        name: str = "Error",
        at: tuple[str, int, int] | None = None,
        function: str = "",
        source_line: str = "",
        kind: str = "error",
        event_id: str = "",
    ) -> None:
        self.name, self.message, self.at, self.function, self.source_line = name, message, at, function, source_line
        self.kind, self.event_id = kind, event_id
        super().__init__(f"{name}: {message}" + (f" ({self.where})" if self.where else ""))

    @property
    def where(self) -> str:
        """`file:line:col`, as far as known; else empty."""
        return ":".join(str(part) for part in self.at or () if part)


class DeliveryError(ToolkitError):
    """A request got no answer. `code` is the cause (`ECONNREFUSED`, `ETIMEDOUT`...), `status` the reported status."""

    def __init__(self, message: str, *, code: str, status: int = 500) -> None:
        super().__init__(message)
        self.code, self.status = code, status


class Forbidden(DeliveryError):
    """The network policy refused the address; nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="EFORBIDDEN", status=400)


class StillWaiting(ToolkitError):
    """A condition was not met in time; the text describes the current state."""


class InvalidCall(ToolkitError, ValueError):
    """A call of the client SDK got an invalid argument. The text names the call and the argument."""


class StorageError(ToolkitError):
    """The client SDK's queue cannot be read or written (full disk, no permission, damaged file)."""


class Unsupported(RequestError):
    """The destination type is known, but its test events cannot be run."""

    def __init__(self, message: str) -> None:
        super().__init__(400, {"message": message})


class CannotDelete(Unsupported, AttributeError):
    """The destination type has no way to delete users."""


def rejection(status: int, body: Mapping[str, Json], kind: str) -> RequestError:
    """Return the error that a response of the Test API stands for.

    It is of the class that the same fault has in this process: the server of this package names it as `kind`, other
    servers do not, but the texts of the specification are known.
    """
    message = str(body.get("message", body))
    if kind == "InvalidMessageType" or message in _MESSAGE_TYPE_ERRORS:
        error: RequestError = InvalidMessageType(message, field="type")
    elif kind == "UnknownId" and len(words := message.split(" with id ")) == 2:
        error = UnknownId(words[0].lower(), words[1].removesuffix(" not found"))
    elif kind == "InvalidConfig":
        error = InvalidConfig(message)
    elif kind == "Unsupported":
        error = Unsupported(message)
    else:
        return RequestError(status, body)
    error.status, error._body = status, body
    return error


def rejection_kind(error: RequestError) -> str:
    """Return the `kind` for `rejection`; empty for a `RequestError` of no special class."""
    kinds = (UnknownId, InvalidMessageType, InvalidConfig, Unsupported)
    return next((kind.__name__ for kind in kinds if isinstance(error, kind)), "")
