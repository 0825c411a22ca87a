"""The state and actions of a destination explorer, without widgets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from svctoolkit import events
from svctoolkit.destinations import CATALOGUE, definitions, examples
from svctoolkit.errors import ToolkitError, UnknownName
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Pipeline, Stages, check_runs
from svctoolkit.secrets import Secret
from svctoolkit.warehouse import is_warehouse
from svctoolkit.widgets._base.json_text import json_object
from svctoolkit.widgets.destination_explorer import configuration
from svctoolkit.widgets.destination_explorer.request import TestRequest
from svctoolkit.workspace import Destination, Workspace

_EVENT = "track"  # initial sample event


@dataclass(frozen=True)
class Sample:
    """An event to start from; an example of the type also has a configuration."""

    title: str
    event: Mapping[str, Any]
    config: Mapping[str, Any] | None = None


class DestinationState:
    """The selected destination or type, its configuration, the event, and the options of the request.

    A destination of the workspace is not changed: edits are passed with the request as `destinationConfig`.
    """

    def __init__(self, workspace: Workspace | None = None) -> None:
        self.workspace = workspace or Workspace("explorer")
        self._own = Pipeline(self.workspace, exploring=True)
        self.stages = Stages(send_to_destination=True)
        self.force = False
        self.override_text = ""
        self.event_text = _json(events.sample(_EVENT, at=datetime.now(UTC)))
        self.choose(next(iter(self.workspace.destinations), "WEBHOOK"))

    def choose(self, name: str) -> None:
        """Select a destination of the workspace (by key or id) or a type. Raises `UnknownName`."""
        try:
            destination: Destination | None = self.workspace.destination(name)
        except UnknownName:
            if name not in definitions.names():
                names = [*self.workspace.destinations, *definitions.names()]
                raise UnknownName("destination or destination type", name, names) from None
            destination = None
        self.destination = destination
        self.type = destination.type if destination else name
        self.stored = configuration.protect(self.type, destination.config if destination else {})
        self.config = dict(self.stored) if destination else configuration.starting(self.type)

    @property
    def name(self) -> str:
        """The key of the selected destination of the workspace, or the selected type."""
        return self.destination.key if self.destination else self.type

    def choices(self, search: str = "") -> list[tuple[str, str]]:
        """Title and name of all options: the workspace's destinations, types with a mapping, other types."""
        own = [(f"{d.name} ({d.key}), {d.type}, in the workspace", d.key) for d in self.workspace.destinations.values()]
        types = {d.name: d.display_name for d in definitions.all()}
        ready = [(f"{title} ({name})", name) for name, title in types.items() if name in CATALOGUE]
        others = [
            (f"{title} ({name}), no mapping here", name) for name, title in types.items() if name not in CATALOGUE
        ]
        entries = [*own, *sorted(ready, key=_title), *sorted(others, key=_title)]
        words = search.lower().split()
        return [entry for entry in entries if all(word in entry[0].lower() for word in words)]

    def quirks(self) -> Sequence[str]:
        """Where RudderStack deviates from the destination's own documentation."""
        return CATALOGUE[self.type].quirks if self.type in CATALOGUE else ()

    def refusal(self) -> str:
        """Why events of this type cannot run here, or make no requests; empty if they do."""
        try:
            check_runs(self.type)
        except ToolkitError as error:
            return str(error)
        return "" if is_warehouse(self.type) else definitions.reason_unmapped(self.type)

    def set(self, name: str, value: Json) -> None:
        """Set a configuration variable; None or an empty value removes it."""
        if value in (None, "", [], {}):
            self.config.pop(name, None)
        else:
            self.config[name] = value

    def secret(self, value: str, *path: object) -> Secret:
        """A secret of this configuration."""
        return configuration.secret(self.type, value, *path)

    def problems(self) -> dict[str, str]:
        """Problems of the configuration, by variable."""
        return configuration.problems(self.type, self.config)

    def samples(self) -> list[Sample]:
        """The sample events, then the examples of the type that produce a payload."""
        now = datetime.now(UTC)
        all_samples = [Sample(name, events.sample(name, at=now)) for name in events.samples()]
        worked = [] if self.refusal() else [e for e in examples(self.type) if not e.error and not e.lookups]
        return [*all_samples, *(Sample(f"Example: {e.name}", e.event, e.config) for e in worked)]

    def use(self, sample: Sample) -> None:
        """Use its event and, for an example, its configuration, unless a destination of the workspace is selected."""
        self.event_text = _json(sample.event)
        if sample.config is not None and self.destination is None:
            self.config = configuration.protect(self.type, sample.config)

    @property
    def event(self) -> dict[str, Json]:
        """The event. Raises `ConfigError` with the position of a problem, or `InvalidMessageType`."""
        event = json_object(self.event_text, "event")
        events.check(event)
        return event

    @property
    def override(self) -> dict[str, Json]:
        """The `destinationConfig` of the request. Raises `ConfigError`."""
        return json_object(self.override_text, "override") if self.override_text.strip() else {}

    def trouble(self, name: str) -> str:
        """The problem in `event_text` or `override_text`; empty if valid."""
        try:
            getattr(self, name.removesuffix("_text"))
        except ToolkitError as error:
            return str(error)
        return definitions.reason_unmapped(self.type)

    def request(self) -> TestRequest:
        """The current request. Raises the errors of `event` and `override`."""
        override = configuration.protect(self.type, self.override)
        if self.destination is not None:
            changed = {k: v for k, v in self.config.items() if k not in self.stored or self.stored[k] != v}
            gone = {k: None for k in self.stored if k not in self.config}
            config = {**configuration.protect(self.type, changed), **gone, **override}
            return TestRequest(self._own, self.destination, True, self.event, self.stages, config, self.force)
        scratch = Workspace("explorer")
        destination = scratch.destination(
            self.type.lower(), self.type, config=configuration.protect(self.type, self.config)
        )
        return TestRequest(
            Pipeline(scratch, exploring=True), destination, False, self.event, self.stages, override, self.force
        )


def _title(choice: tuple[str, str]) -> str:
    return choice[0].lower()


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
