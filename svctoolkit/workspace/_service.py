"""Read RudderStack's workspace configuration: the JSON that its data plane fetches.

Sources contain their destinations, so a destination that several sources share occurs several times. Unknown members
are ignored, as RudderStack adds members at any time. A file may also contain several configurations by workspace id, as
for a whole namespace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from svctoolkit import yamlfile
from svctoolkit.destinations import definitions
from svctoolkit.errors import InvalidWorkspace, did_you_mean
from svctoolkit.secrets import Secret
from svctoolkit.workspace._checks import Flaw, flaws
from svctoolkit.workspace._items import (
    WEBHOOK_CATEGORY,
    Account,
    Connection,
    Destination,
    Language,
    Library,
    Source,
    Transformation,
)
from svctoolkit.workspace._platforms import platform_of
from svctoolkit.yamlfile import Document

if TYPE_CHECKING:
    from svctoolkit.workspace._model import Workspace

_Text = Annotated[str, Meta(min_length=1)]


class _Shape(msgspec.Struct, kw_only=True, rename="camel"):
    pass


class _SourceDefinition(_Shape):
    name: str | None = None
    type: str | None = None
    category: str | None = None


class _DestinationDefinition(_Shape):
    name: _Text


class _Code(_Shape):
    id: str | None = None
    name: str | None = None
    version_id: str | None = None
    language: str | None = None
    code: str | None = None
    code_version: str | None = None


class _Destination(_Shape, kw_only=True):
    id: _Text
    name: str | None = None
    enabled: bool = True
    deleted: bool | None = None
    config: dict[str, Any] | None = None
    secret_config: dict[str, Any] | None = None
    transformations: list[_Code] | None = None
    destination_definition: _DestinationDefinition
    is_connection_enabled: bool | None = None
    is_processor_enabled: bool = True
    delivery_account_id: str | None = None


class _Source(_Shape, kw_only=True):
    id: _Text
    name: str | None = None
    write_key: _Text
    enabled: bool = True
    deleted: bool | None = None
    destinations: list[_Destination] | None = None
    source_definition: _SourceDefinition | None = None
    config: dict[str, Any] | None = None
    dg_source_tracking_plan_config: dict[str, Any] | None = None
    geo_enrichment: dict[str, Any] | None = None


class _Connection(_Shape):
    source_id: str
    destination_id: str
    enabled: bool = True
    processor_enabled: bool = True


class _Credential(_Shape):
    key: str
    value: str


class _Account(_Shape):
    name: str | None = None
    account_definition_name: str | None = None
    secret: dict[str, Any] | None = None


class _EventBlocking(_Shape):
    events: dict[str, list[str]] | None = None


class _Settings(_Shape):
    event_blocking: _EventBlocking | None = None


class _Configuration(_Shape, kw_only=True):
    workspace_id: str | None = None
    sources: list[_Source]
    connections: dict[str, _Connection] | None = None
    libraries: list[_Code] | None = None
    credentials: dict[str, _Credential] | None = None
    accounts: dict[str, _Account] | None = None
    settings: _Settings | None = None


@cache
def _schema() -> dict[str, Any]:
    return yamlfile.schema(_Configuration)


def describes(document: Document) -> bool:
    """Return whether a document is one or several workspace configurations: JSON, with sources."""
    return document.text.lstrip()[:1] == "{" and (_is_configuration(document.data) or bool(_ids(document.data)))


def _is_configuration(data: Any) -> bool:
    return isinstance(data, dict) and isinstance(data.get("sources"), list)


def _ids(data: Any) -> list[str]:
    """Return the ids of the workspaces in a namespace's configuration. Null stands for an unchanged one."""
    if not isinstance(data, dict) or not all(value is None or _is_configuration(value) for value in data.values()):
        return []
    return [id for id, value in data.items() if value is not None]


def configuration_of(document: Document, id: str = "") -> Document:
    """Return the configuration with this id from several; any other document unchanged.

    Raises `InvalidWorkspace` for an unknown id, and for several workspaces without an `id`.
    """
    if _is_configuration(document.data) or not describes(document):
        return document
    ids = _ids(document.data)
    if id and id not in ids:
        raise InvalidWorkspace(f"no workspace has the id {id!r}.{did_you_mean(id, ids)}", where=document.name)
    if not id and len(ids) > 1:
        names = ", ".join(ids[:20]) + (", ..." if len(ids) > 20 else "")
        text = f"holds {len(ids)} workspaces: {names}. `svctoolkit import FILE --workspace-id ID` imports one of them"
        raise InvalidWorkspace(text, where=document.name)
    return document.below([id or ids[0]])


def workspace_of(document: Document, kind: type[Workspace]) -> tuple[Workspace, list[Flaw]]:
    """Return the workspace and its flaws. Raises `InvalidWorkspace` for members of the wrong type."""
    yamlfile.check(document, _schema(), InvalidWorkspace)
    configuration = msgspec.convert(document.data, _Configuration)
    reader = _Reader(configuration, kind)
    return reader.workspace, [
        *_plans(configuration),
        *_left_out(configuration),
        *(
            flaw._replace(path=(*place, *_PLACES.get(flaw.path[2:], flaw.path[2:])))
            for flaw in flaws(reader.workspace)
            if (place := reader.places.get(flaw.path[:2])) is not None
        ),
    ]


def _plans(configuration: _Configuration) -> Iterator[Flaw]:
    """Yield a flaw for each source with a tracking plan in RudderStack: the configuration does not contain the plan."""
    for i, source in enumerate(configuration.sources):
        link = source.dg_source_tracking_plan_config
        if link and not link.get("deleted") and not source.deleted:
            text = (
                f"the events of source {source.name or source.id!r} are checked against a tracking plan, which this "
                "file does not contain: to check them here, add it under `trackingPlans`"
            )
            yield Flaw(("sources", i, "dgSourceTrackingPlanConfig"), text, bearable=True)


def _left_out(configuration: _Configuration) -> Iterator[Flaw]:
    """Yield a flaw for each part of the configuration that RudderStack acts on, and that does not exist here."""
    for i, source in enumerate(configuration.sources):
        if source.geo_enrichment and source.geo_enrichment.get("enabled") and not source.deleted:
            text = f"source {source.name or source.id!r} has geo enrichment: events get no `context.geo` here"
            yield Flaw(("sources", i, "geoEnrichment"), text, bearable=True)


#: Path of a destination's member in a configuration, if it differs from the member's name.
_PLACES: dict[tuple[str | int, ...], tuple[str | int, ...]] = {("type",): ("destinationDefinition", "name")}


def slug(name: str) -> str:
    """Return a readable key derived from a name: `Mask PII` becomes `mask-pii`. Empty without letters or digits."""
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")


class _Reader:
    """Builds the workspace. `places` maps items to their paths in the configuration."""

    def __init__(self, configuration: _Configuration, kind: type[Workspace]) -> None:
        self.workspace = kind(configuration.workspace_id or "workspace")
        self.places: dict[tuple[str | int, ...], tuple[str | int, ...]] = {}
        self._connections = {(c.source_id, c.destination_id): c for c in (configuration.connections or {}).values()}
        self._destinations: dict[str, str] = {}
        self._account_keys: dict[str, str] = {}
        self._named: Counter[str] = Counter()
        self._accounts = configuration.accounts or {}
        for i, source in enumerate(configuration.sources):
            if not source.deleted:
                self._source(source, i)
        blocking = configuration.settings and configuration.settings.event_blocking
        if blocking and blocking.events:
            # A form may leave empty names, which no event has.
            blocked = {kind: [name for name in names if name] for kind, names in blocking.events.items()}
            self.workspace.data_plane.event_blocking = {kind: names for kind, names in blocked.items() if names}
        for library in configuration.libraries or []:
            self._library(library)
        for credential in (configuration.credentials or {}).values():
            self.workspace.credentials[credential.key] = Secret(credential.value)

    def _source(self, source: _Source, i: int) -> None:
        name = source.name or source.id
        key = self._key("sources", name, source.id)
        definition = source.source_definition or _SourceDefinition()
        is_webhook = definition.category == WEBHOOK_CATEGORY
        kind = (definition.name if is_webhook else None) or definition.type or definition.name or "http"
        connections = []
        for j, destination in enumerate(source.destinations or []):
            if destination.deleted:
                continue
            listed = self._connections.get((source.id, destination.id))
            enabled = destination.is_connection_enabled
            if enabled is None:
                enabled = listed is None or listed.enabled
            is_processed = destination.is_processor_enabled and (listed is None or listed.processor_enabled)
            own = self._destination(destination, ("sources", i, "destinations", j))
            if enabled and not is_processed:
                enabled = _set_device_mode(
                    self.workspace.destinations[own], platform_of(kind, definition.category or "")
                )
            connections.append(Connection(own, enabled))
        item = Source(key, source.id, name, kind, source.write_key, source.enabled, connections)
        item.category = definition.category or item.category
        if is_webhook:
            item.config = dict(source.config or {})
        self.workspace.sources[key] = item
        self.places["sources", key] = ("sources", i)

    def _key(self, section: str, name: str, id: str) -> str:
        """Return a readable key derived from a name, unique in the section."""
        others = getattr(self.workspace, section)
        base = key = slug(name) or id
        while key in others:
            self._named[f"{section} {base}"] += 1
            key = f"{base}-{self._named[f'{section} {base}'] + 1}"
        return key

    def _destination(self, destination: _Destination, place: tuple[str | int, ...]) -> str:
        """Return the destination's key; add the destination at its first occurrence."""
        if destination.id in self._destinations:
            return self._destinations[destination.id]
        name = destination.name or destination.id
        key = self._key("destinations", name, destination.id)
        # RudderStack runs only the first one.
        transformation = self._transformation(destination.transformations[0]) if destination.transformations else None
        self.workspace.destinations[key] = Destination(
            key,
            destination.id,
            name,
            destination.destination_definition.name,
            destination.enabled,
            {**(destination.config or {}), **(destination.secret_config or {})},
            transformation,
            self._account(destination, key),
        )
        self.places["destinations", key] = place
        self._destinations[destination.id] = key
        return key

    def _account(self, destination: _Destination, key: str) -> str | None:
        """Return the key of the account that a destination delivers with, if the configuration has its tokens.

        RudderStack's control plane seldom exports tokens: without them, the destination has no account here.
        """
        id = destination.delivery_account_id or (destination.config or {}).get("rudderAccountId")
        shape = self._accounts.get(id) if isinstance(id, str) else None
        if shape is None or not shape.secret:
            return None
        if id not in self._account_keys:
            name = self._key("accounts", shape.name or key, str(id))
            self.workspace.accounts[name] = Account(name, shape.secret)
            self._account_keys[str(id)] = name
        return self._account_keys[str(id)]

    def _transformation(self, shape: _Code) -> str | None:
        version, id = shape.version_id or "", shape.id or shape.version_id
        if not id:
            return None
        items = self.workspace.transformations
        if id in items and items[id].version_id != version:
            id = version
        if id not in items:
            name = shape.name or id
            items[id] = Transformation(id, id, name, _language(shape), code=shape.code or "", version_id=version)
            items[id].code_version = shape.code_version if shape.code_version in ("0", "1") else ""
        return id

    def _library(self, shape: _Code) -> None:
        key = shape.version_id or shape.id
        if key:
            self.workspace.libraries[key] = Library(key, _language(shape), shape.code or "", version_id=key)


def _set_device_mode(destination: Destination, platform: str) -> bool:
    """Say in the settings that clients send to a destination; return False if its type or its settings contradict that.

    RudderStack does not process the events of such a connection, which is not disabled.
    """
    definition, written = definitions.known(destination.type), destination.config.get("connectionMode")
    modes = definition.modes if definition is not None else []
    if "device" not in modes:
        return False
    own = written.get(platform) if isinstance(written, dict) else written
    if own is None and "cloud" in modes:
        destination.config["connectionMode"] = {**(written or {}), platform: "device"}
    return own in (None, "device")


def _language(shape: _Code) -> Language | None:
    language = (shape.language or "").lower()
    return "python" if language.startswith("python") else "javascript" if language.startswith("javascript") else None
