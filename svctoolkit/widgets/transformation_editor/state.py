"""The state of a transformation editor, without widgets: code, events, results, and where to save."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from svctoolkit import plans, yamlfile
from svctoolkit.display import Html
from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.events import samples
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline
from svctoolkit.plans import Plan
from svctoolkit.runner import write
from svctoolkit.widgets.transformation_editor.aggregate import Many
from svctoolkit.widgets.transformation_editor.comparison import Comparison, compare
from svctoolkit.widgets.transformation_editor.losses import losses
from svctoolkit.widgets.transformation_editor.neighbours import payloads, violations
from svctoolkit.widgets.transformation_editor.trial import Bench, Trials
from svctoolkit.workspace import Transformation, Workspace

if TYPE_CHECKING:
    from svctoolkit.workspace import Language

ALL = "all"
_MOST = 300  # newest captured events
_START = {
    "javascript": "export function transformEvent(event, metadata) {\n  return event;\n}\n",
    "python": "def transformEvent(event, metadata):\n    return event\n",
}
_ENDINGS = {"javascript": ".js", "python": ".py"}
_PYTHON = re.compile(r"^[^\S\n]*+(?:async\s++)?def\s++\w++\s*+\(", re.M)
_JAVASCRIPT = re.compile(r"^[^\S\n]*+(?:export|function|async\s++function|const|let|var)\s", re.M)


class Captured(Protocol):
    """A captured event; `svctoolkit.server`'s `Received` is one."""

    @property
    def event(self) -> Mapping[str, Json]: ...


@runtime_checkable
class Capturing(Protocol):
    """An object that captures events; a `DataPlane` is one."""

    @property
    def received(self) -> Iterable[Captured]: ...


Event: TypeAlias = Mapping[str, Any]
#: Events by name, a list of events or of captured ones, one event, or a data plane; None: the sample events.
Events: TypeAlias = Mapping[str, Any] | Iterable[Event | Captured] | Capturing | None


def language_of(code: str) -> Language:
    """The language that the code appears to be in; Python if unclear."""
    return "javascript" if _JAVASCRIPT.search(code) and not _PYTHON.search(code) else "python"


class EditorState:
    """The code of one transformation, and the events to try it on.

    The workspace does not change until `save`, nor a file until `write`. Raises `ConfigError` for a
    transformation whose code is not text.
    """

    # Any: whatever a replay accepts
    def __init__(
        self,
        workspace: Workspace | None,
        name: str | None,
        language: Language | None = None,
        events: Events = None,
        *,
        many: Any = None,
        plan: Plan | str | None = None,
    ) -> None:
        self.workspace = workspace or Workspace("notebook")
        self.has_workspace = workspace is not None
        existing = _existing(self.workspace, name)
        self.name = existing.key if existing else name or "transformation"
        self.language: Language = language or (existing and existing.language) or "javascript"
        self.code = (existing and existing.code) or _START[self.language]
        self.file = _file_of(self.workspace, existing)
        self.trials: Trials | None = None
        self.destinations = tuple(
            key for key, item in self.workspace.destinations.items() if existing and item.transformation == existing.key
        )
        self.plan = plan if isinstance(plan, Plan) else self._plan_of(plan)
        self.violations = self.payloads = self.losses = Html()
        self.comparison: Comparison | None = None
        self._given, self._many = events, many
        self._pipeline = Pipeline(self.workspace, exploring=True)
        self._bench = Bench(self.workspace)
        self._asked = ""
        self._known = {"", self.code}  # code read or saved here, which may be replaced without loss
        self.events: dict[str, Event] = {}
        self.event = "track"

    def refresh(self) -> None:
        """Read the events, for the first time or again after a data plane received more."""
        self.events = dict(events_by_name(self._given))
        if self.event not in self.events and (self.event != ALL or len(self.events) < 2):
            self.event = next(iter(self.events), ALL)

    def choices(self) -> list[tuple[str, str]]:
        """The values for `event`, each with its label."""
        names = [(name, name) for name in self.events]
        if len(names) > 1:
            names.append((f"all {len(names)} events", ALL))
        return names or [("no events yet", ALL)]

    def sample(self) -> dict[str, Json]:
        """An event with every field that any of the events has, each with its first value. Secrets are masked."""
        merged: dict[str, Json] = {}
        for event in self.events.values():
            _merge(merged, event)
        masked: dict[str, Json] = self.workspace.masker.mask(merged)
        return masked

    def speak(self, language: Language) -> None:
        """Change the language; untouched starter code is replaced by that of the new language."""
        if self.code == _START[self.language]:
            self.code = _START[language]
        self.language = language

    def chosen(self) -> dict[str, Event]:
        """The events by name that the code runs on."""
        return self.events if self.event == ALL else {self.event: self.events[self.event]}

    def run(self) -> Trials:
        """Run the code on the chosen event, or on all."""
        chosen = self.chosen()
        if not chosen:
            raise ConfigError("no events yet; send some to the data plane, then refresh the events")
        self.trials, outputs = self._bench.try_out(self._draft(), chosen)
        self.violations = self.payloads = self.losses = Html()
        if len(chosen) == 1:
            (event,) = chosen.values()
            if self.plan is not None:
                self.violations = violations(self.plan, event, self.workspace.masker)
            self.losses = losses(self.trials)
            self.payloads = payloads(self._pipeline, self.destinations, [*outputs[0].events])
        return self.trials

    def plan_choices(self) -> list[tuple[str, Plan | None]]:
        """The tracking plans to check events against, each with its label, after an entry for no plan."""
        known = {key: item.chosen for key, item in self.workspace.tracking_plans.items()}
        given = {self.plan.name or self.plan.id: self.plan} if self.plan and self.plan not in known.values() else {}
        return [("none", None), *(given | known).items()]

    def _plan_of(self, name: str | None) -> Plan | None:
        if name is None:
            return None
        known = self.workspace.tracking_plans
        return known[name].chosen if name in known else plans.load(name).plan()

    def compare(self, stop: Callable[[], bool]) -> Iterator[Comparison]:
        """Compare the code with the saved code on many events; see `compare`. Raises `ConfigError`."""
        saved = self.workspace.transformations.get(self.name)
        if saved is not None and (saved.function is not None or saved.code == self.code):
            saved = None
        elif saved is not None:
            saved = replace(saved)  # so that saving does not affect this run
        many = Many(self._many if self._many is not None else [event for _, event in _all_events(self._given)])
        for comparison in compare(self.workspace, self._draft(), saved, many, stop):
            self.comparison = comparison
            yield comparison

    def changed(self) -> Workspace:
        """The workspace with the code as it is now."""
        existing = self.workspace.transformations.get(self.name)
        draft = replace(existing, code=self.code, language=self.language) if existing else self._draft()
        return replace(self.workspace, transformations={**self.workspace.transformations, self.name: draft})

    def _draft(self) -> Transformation:
        name = Path(self.file.name) if self.file else None
        return Transformation(self.name, self.name, self.name, self.language, None, self.code, name)

    def save(self) -> str:
        """Replace the code in the workspace; returns a message with what was done. Raises `ConfigError`."""
        existing = self.workspace.transformations.get(self.name)
        if existing is not None and (existing.function is not None or existing.code not in {*self._known, self.code}):
            self._confirm(f"workspace {self.workspace.name} has different code for {self.name!r}")
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
        """Write the code to a file atomically; returns a message with what was done. Raises `ConfigError`.

        A file whose content changed since it was read is overwritten only on the second call.
        """
        if not path.strip():
            raise ConfigError(f"a file name is required, such as {self.name}{_ENDINGS[self.language]}")
        file = Path(path).expanduser().resolve()
        if file.suffix not in (".js", ".mjs", ".py"):
            raise ConfigError("not a code file; expected .js, .mjs or .py", where=path)
        if file.exists() and yamlfile.load_text(file) not in {*self._known, self.code}:
            self._confirm(f"{path} has different content")
        self._asked = ""
        write(file, self.code)
        self.file = file
        self._known.add(self.code)
        existing = self.workspace.transformations.get(self.name)
        if existing is not None and _file_of(self.workspace, existing) == file:
            existing.code = self.code
        return f"wrote {path}"

    def _confirm(self, what: str) -> None:
        if self._asked != what:
            self._asked = what
            raise ConfigError(f"{what}. Press the button again to replace it.")


def replace_code(workspace: Workspace, key: str, code: str, language: Language, *, file: Path | None = None) -> None:
    """Replace the code of a transformation, or add it. The code is stored in the workspace, or in `file`."""
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
        raise ConfigError(f"transformation {name!r} is a Python function; edit it where it is defined")
    return transformation


def _file_of(workspace: Workspace, transformation: Transformation | None) -> Path | None:
    if transformation is None or transformation.file is None:
        return None
    return ((workspace.folder or Path()) / transformation.file).resolve()


def events_by_name(events: Events) -> Iterable[tuple[str, Event]]:
    """The events by name; captured ones are numbered, the newest first, up to a limit."""
    return islice(_all_events(events), _MOST)


def _all_events(events: Events) -> Iterable[tuple[str, Event]]:
    if events is None:
        return samples().items()
    if isinstance(events, Capturing):
        return _number(events.received)
    if isinstance(events, Mapping):
        return [("event", events)] if isinstance(events.get("type"), str) else events.items()
    return _number(events)


def _merge(into: dict[str, Json], more: Mapping[str, Json]) -> None:
    """Add missing members; of a list, only its first item."""
    for key, value in more.items():
        if isinstance(value, list):
            value = {"0": value[0]} if value else {}  # users write `products[0].`
        if isinstance(value, Mapping):
            below = into.setdefault(str(key), {})
            if isinstance(below, dict):
                _merge(below, value)
        else:
            into.setdefault(str(key), value)


def _number(events: Iterable[Event | Captured]) -> Iterator[tuple[str, Event]]:
    for number, item in reversed(list(enumerate(events, 1))):
        event = item if isinstance(item, Mapping) else item.event
        yield f"{number}: {_title(event)}", event


def _title(event: Event) -> str:
    words = [event.get("type"), event.get("event") or event.get("name"), event.get("userId")]
    return " ".join(word for word in words if isinstance(word, str))[:80] or "event"
