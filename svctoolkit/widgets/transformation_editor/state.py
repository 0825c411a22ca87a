"""What a transformation editor knows, without widgets: the code, the events, what came out, where it is saved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.events import samples
from svctoolkit.json_types import Json
from svctoolkit.runner import write
from svctoolkit.widgets.transformation_editor.trial import Bench, Trials
from svctoolkit.workspace import Transformation, Workspace

if TYPE_CHECKING:
    from svctoolkit.workspace import Language

ALL = "all"
_MOST = 200  # captured events, the newest
_START = {
    "javascript": "export function transformEvent(event, metadata) {\n  return event;\n}\n",
    "python": "def transformEvent(event, metadata):\n    return event\n",
}
_ENDINGS = {"javascript": ".js", "python": ".py"}
_PYTHON = re.compile(r"^\s*(async\s+)?def\s+\w+\s*\(", re.M)
_JAVASCRIPT = re.compile(r"^\s*(export|function|async\s+function|const|let|var)\s", re.M)


class Captured(Protocol):
    """What was captured; `svctoolkit.server`'s `Received` is one."""

    @property
    def event(self) -> Mapping[str, Json]: ...


@runtime_checkable
class Capturing(Protocol):
    """What captures events; a `DataPlane` is one."""

    @property
    def received(self) -> Iterable[Captured]: ...


Event: TypeAlias = Mapping[str, Any]
#: Events by name, a list of events or of captured ones, one event, or a data plane; None: the sample events.
Events: TypeAlias = Mapping[str, Any] | Iterable[Event | Captured] | Capturing | None


def language_of(code: str) -> Language:
    """The language that code looks like; Python where nothing tells."""
    return "javascript" if _JAVASCRIPT.search(code) and not _PYTHON.search(code) else "python"


class EditorState:
    """The code of one transformation, and the events that it is tried on.

    The workspace is not changed before `save`, and a file not before `write`. Raises `ConfigError` for a
    transformation whose code is not text.
    """

    def __init__(
        self, workspace: Workspace | None, name: str | None, language: Language | None, events: Events
    ) -> None:
        self.workspace = workspace or Workspace("notebook")
        self.has_workspace = workspace is not None
        existing = _existing(self.workspace, name)
        self.name = existing.key if existing else name or "transformation"
        self.language: Language = language or (existing and existing.language) or "javascript"
        self.code = (existing and existing.code) or _START[self.language]
        self.file = _file_of(self.workspace, existing)
        self.trials: Trials | None = None
        self._given = events
        self._bench = Bench(self.workspace)
        self._asked = ""
        self._known = {"", self.code}  # what was read or saved here: to replace it loses nothing
        self.events: dict[str, Event] = {}
        self.event = "track"

    def refresh(self) -> None:
        """Read the events, for the first time or anew: a data plane has received more."""
        self.events = dict(events_by_name(self._given))
        if self.event not in self.events and (self.event != ALL or len(self.events) < 2):
            self.event = next(iter(self.events), ALL)

    def choices(self) -> list[tuple[str, str]]:
        """What can be chosen as `event`, each with its label."""
        names = [(name, name) for name in self.events]
        if len(names) > 1:
            names.append((f"all {len(names)} events", ALL))
        return names or [("no event yet", ALL)]

    def speak(self, language: Language) -> None:
        """Change the language; code that nobody has touched is replaced by that of the other."""
        if self.code == _START[self.language]:
            self.code = _START[language]
        self.language = language

    def run(self) -> Trials:
        """What the code makes of the chosen event, or of all."""
        chosen = self.events if self.event == ALL else {self.event: self.events[self.event]}
        if not chosen:
            raise ConfigError("there is no event yet: send some to the data plane, then refresh the events")
        self.trials = self._bench.run(self._draft(), chosen)
        return self.trials

    def _draft(self) -> Transformation:
        name = Path(self.file.name) if self.file else None
        return Transformation(self.name, self.name, self.name, self.language, None, self.code, name)

    def save(self) -> str:
        """Replace the code in the workspace; the text says what was done. Raises `ConfigError`."""
        existing = self.workspace.transformations.get(self.name)
        if existing is not None and (existing.function is not None or existing.code not in {*self._known, self.code}):
            self._confirm(f"workspace {self.workspace.name} has other code as {self.name!r}")
        self._asked = ""
        self._known.add(self.code)
        file = existing.file if existing and self.file and existing.code == self.code else None
        replace_code(self.workspace, self.name, self.code, self.language, file=file)
        users = [
            key for key, destination in self.workspace.destinations.items() if destination.transformation == self.name
        ]
        used = f"used by {', '.join(users)}" if users else "no destination uses it yet"
        return f"saved as {self.name!r} in workspace {self.workspace.name}: {used}"

    def write(self, path: str) -> str:
        """Write the code to a file, as a whole or not at all; the text says what was done. Raises `ConfigError`.

        A file that has something else than what was read from it is replaced the second time it is asked for.
        """
        if not path.strip():
            raise ConfigError(f"name the file: {self.name}{_ENDINGS[self.language]}")
        file = Path(path).expanduser().resolve()
        if file.suffix not in (".js", ".mjs", ".py"):
            raise ConfigError("code is kept in a .js, .mjs or .py file", where=path)
        if file.exists() and yamlfile.load_text(file) not in {*self._known, self.code}:
            self._confirm(f"{path} has something else in it")
        self._asked = ""
        write(file, self.code)
        self.file = file
        self._known.add(self.code)
        existing = self.workspace.transformations.get(self.name)
        if existing is not None and _file_of(self.workspace, existing) == file:
            existing.code = self.code
        return f"written to {path}"

    def _confirm(self, what: str) -> None:
        if self._asked != what:
            self._asked = what
            raise ConfigError(f"{what}. Press the button again to replace it.")


def replace_code(workspace: Workspace, key: str, code: str, language: Language, *, file: Path | None = None) -> None:
    """Give a transformation other code, in place, or make one. The code is kept in the workspace, or in `file`."""
    existing = workspace.transformations.get(key)
    if existing is None:
        workspace.transformation(key, code=code, language=language)
        return
    existing.code, existing.language, existing.function, existing.file, existing.version_id = (
        code,
        language,
        None,
        file,
        "",
    )


def _existing(workspace: Workspace, name: str | None) -> Transformation | None:
    if name is None:
        return None
    try:
        transformation = workspace.transformation(name)
    except UnknownName:
        return None
    if transformation.function is not None:
        raise ConfigError(f"transformation {name!r} is a Python function: change it where it is written")
    return transformation


def _file_of(workspace: Workspace, transformation: Transformation | None) -> Path | None:
    if transformation is None or transformation.file is None:
        return None
    return ((workspace.folder or Path()) / transformation.file).resolve()


def events_by_name(events: Events) -> Iterable[tuple[str, Event]]:
    """The events by name; captured ones are numbered, the newest first."""
    if events is None:
        return samples().items()
    if isinstance(events, Capturing):
        return _number(events.received)
    if isinstance(events, Mapping):
        return [("event", events)] if isinstance(events.get("type"), str) else events.items()
    return _number(events)


def _number(events: Iterable[Event | Captured]) -> list[tuple[str, Event]]:
    newest = list(enumerate(events, 1))[-_MOST:][::-1]
    each = [(number, item if isinstance(item, Mapping) else item.event) for number, item in newest]
    return [(f"{number}: {_title(event)}", event) for number, event in each]


def _title(event: Event) -> str:
    words = [event.get("type"), event.get("event") or event.get("name"), event.get("userId")]
    return " ".join(word for word in words if isinstance(word, str))[:80] or "event"
