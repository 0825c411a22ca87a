"""Every error this package raises on purpose.

ToolkitError                   catch this to catch everything below
├── ConfigError                what the user wrote is wrong; `problems` has all of it, each with its place
│   ├── UnknownName            no such destination, type, command, matcher...; also a KeyError
│   ├── InvalidConfig          a destination's configuration does not fit its type
│   ├── InvalidWorkspace       a workspace file or object
│   │   └── WorkspaceWarning   what the rest of a workspace can do without: warned about; with `strict` it is raised
│   ├── InvalidSuite           a suite file
│   ├── InvalidPlan            a tracking plan, or a project of them
│   ├── StoreError             a data plane's store cannot be read or written
│   └── UsageError             the command line
├── EventError                 this one event cannot go on; a run takes the next
│   ├── InvalidMessageType     `type` is missing, no text, or none of the six
│   └── MappingError           the mapping refuses the event; `refusal` says why, as data
│       ├── UnsupportedEvent   the destination does not accept events of this type
│       ├── Missing            no value where the destination needs one; this and the next six are in `mapping.refusals`
│       ├── Misfit             a value that does not fit
│       ├── NotConfigured      a setting maps values, and has no entry for this one
│       ├── Unsupported        events like this are sent only with a setting
│       ├── Misconfigured      a setting is missing or wrong for this event
│       ├── NotFound           the destination's account has no such thing
│       └── LookupFailed       the destination did not answer what the mapping had to ask; `status` is its answer's
├── TransformationError        the user's code failed; `where` is file:line:col
├── DeliveryError              a request could not be sent or answered; `code` names the cause
│   └── Forbidden              the network policy refused the address
├── StillWaiting               what was waited for did not happen in time; the text says what is still under way
├── RequestError               the Test API refused a request; `status` and `body` are its answer
├── InvalidCall                a call of the client SDK got an argument it cannot take; also a ValueError
├── StorageError               the client SDK cannot write its queue to disk
└── Unsupported                the type exists, but cannot be tested (streams, object stores, warehouses...)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json

if TYPE_CHECKING:  # at run time it would load msgspec, which the client SDK does without
    from svctoolkit.causes import Refusal


def is_survivable(error: BaseException) -> bool:
    """Whether to go on after what other people's code has raised: any exception, and in a thread of ours all else.

    In the main thread Ctrl-C, `sys.exit` and the outcomes of pytest are for whoever runs the program. A thread of ours
    would end by them, and nobody hear.
    """
    return isinstance(error, Exception) or current_thread() is not main_thread()


class ToolkitError(Exception):
    """Root of every error that this package raises on purpose."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from html import escape

        name, text = type(self).__name__, escape(str(self)).replace("\n", "<br>")
        return {"text/plain": f"{name}: {self}", "text/html": f'<p role="alert"><b>✗ {name}:</b> {text}</p>'}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in what the user wrote.

    `where` is `file:line:col`, a dotted path, or empty. `str()` gives `where: message`.
    """

    message: str
    where: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class ConfigError(ToolkitError):
    """Something the user wrote is wrong. The text has one line per problem."""

    def __init__(self, problems: str | Problem | Sequence[Problem], *, where: str = "") -> None:
        if isinstance(problems, str):
            problems = Problem(problems, where)
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the names nearest to `name`, or an empty text."""
    import difflib  # 15 ms, and only a mistake needs it

    names = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), list(names), n=2)
    return f" Did you mean {' or '.join(repr(names[c]) for c in close)}?" if close else ""


class UnknownName(ConfigError, KeyError):
    """A name that is not there, with the nearest ones that are; or with `hint`, which says more than they."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, where: str = "", hint: str = "") -> None:
        self.kind, self.name = kind, name
        super().__init__(f"no {kind} is called {name!r}.{hint or did_you_mean(name, known)}", where=where)

    __str__ = Exception.__str__  # KeyError would show the repr of the text


class InvalidConfig(ConfigError):
    """A destination's configuration does not fit its type."""


class InvalidWorkspace(ConfigError):
    """A workspace does not hold together."""


class WorkspaceWarning(InvalidWorkspace, UserWarning):
    """Configurations and types that a workspace file has and nobody here knows: they are kept as they are.

    `Workspace.load` gives it to `warnings.warn`, with all problems in one. Where warnings are errors it is raised, and
    is what any other `InvalidWorkspace` is.
    """


class InvalidSuite(ConfigError):
    """A suite file cannot be run."""


class InvalidPlan(ConfigError):
    """A tracking plan does not hold together, or the service would not check events against it."""


class StoreError(ConfigError):
    """The file of a data plane cannot be read or written: damaged, a full disk, rights that are missing."""


class UsageError(ConfigError):
    """The command line is wrong; the text says what to write instead."""


class EventError(ToolkitError):
    """One event cannot go on. `field` is the path in the event, where there is one."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class InvalidMessageType(EventError):
    """The specified refusals of an event's `type` (specification, section Errors)."""


class MappingError(EventError):
    """The mapping refuses the event. `refusal` says why, as data; the text is derived from it.

    Mappings raise its kinds, which are in `svctoolkit.mapping`: `Missing`, `Misfit` and others.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.text, field=refusal.field)
        self.refusal = refusal

    def __reduce__(self) -> tuple[Any, ...]:  # the constructors of its kinds have parameters of their own
        return _restore_mapping_error, (type(self), self.refusal)


def _restore_mapping_error(kind: type[MappingError], refusal: Refusal) -> MappingError:
    error = kind.__new__(kind)
    MappingError.__init__(error, refusal)
    return error


class UnsupportedEvent(MappingError):
    """The destination does not accept events of this type."""


class TransformationError(ToolkitError):
    """The user's code failed. `name` is the error's class.

    `at` is file, line and column in the user's code, counted from 1; 0 where only the rest is known, None where nothing
    is. `function` is the name of the function there, where the runtime has one. `where` is `file:line:col`.

    `kind` is `error` (the code raised it), `syntax` (the code cannot be loaded), or the bound that was passed:
    `time`, `memory`, `output`, `crash`; `sandbox` means that the sandbox itself could not be set up.
    `event_id` is the messageId of the event that the code had.
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
        """`file:line:col`, as far as it is known; empty where it is not."""
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
    """A condition did not come true within the time given; the text says how things stand."""


class RequestError(ToolkitError):
    """The Test API refused a request: `status` is the HTTP status, `body` the JSON body of the answer."""

    def __init__(self, status: int, body: Mapping[str, Json]) -> None:
        self.status, self.body = status, body
        super().__init__(str(body.get("message", body)))


class InvalidCall(ToolkitError, ValueError):
    """A call of the client SDK got an argument that it cannot take. The text names the call and the argument."""


class StorageError(ToolkitError):
    """The client SDK's queue cannot be read or written (full disk, no permission, damaged file)."""


class Unsupported(ToolkitError):
    """The destination type is known, but its test events cannot be run."""
