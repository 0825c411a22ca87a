"""The source of an event that comes without one: what the event says about where it was sent from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from svctoolkit.json_types import Json
from svctoolkit.secrets import reveal
from svctoolkit.workspace import Source, Workspace

#: Parts of the name of an SDK (`context.library.name`) in lower case -> the kind of its source. The first one decides.
_SDKS: Final = (
    ("react-native", "reactnative"),
    ("reactnative", "reactnative"),
    ("flutter", "flutter"),
    ("cordova", "cordova"),
    ("unity", "unity"),
    ("android", "android"),
    ("ios", "ios"),
    ("swift", "ios"),
    ("javascript", "web"),
    ("analytics.js", "web"),
    ("node", "cloud"),
    ("python", "cloud"),
    ("java", "cloud"),
    ("-go", "cloud"),
    ("ruby", "cloud"),
    ("php", "cloud"),
    ("rust", "cloud"),
    (".net", "cloud"),
    ("dotnet", "cloud"),
)
_SYSTEMS: Final = {"android": "android", "ios": "ios", "ipados": "ios"}
_CHANNELS: Final = {"web": "web", "server": "cloud", "sources": "cloud"}
#: A source of the newer SDK of a platform is one of the platform.
_SAME: Final = {"androidKotlin": "android", "iosSwift": "ios"}


@dataclass(frozen=True)
class Naming:
    """How events name their source: by an id or a write key and, in a project of rudder-cli, by the kind of their SDK.

    Write keys are no part of such a project, so that nothing else could tell. A kind that several sources have
    decides nothing.
    """

    ids: Mapping[str, str] = field(default_factory=dict)  # id, key or write key -> key of a source
    platforms: Mapping[str, str] = field(default_factory=dict)  # kind -> key of the only source of that kind

    @classmethod
    def of(cls, sides: Sequence[Workspace]) -> Naming:
        """Return that of workspaces; the later one decides."""
        sources = {key: source for side in sides for key, source in side.sources.items()}
        if len(sources) < 2:
            return cls()
        ids = {name: key for key, source in sources.items() for name in _names(key, source)}
        of_kind: dict[str, list[str]] = {}
        if sides[-1].project is not None:
            for key, source in sources.items():
                of_kind.setdefault(_SAME.get(source.platform, source.platform), []).append(key)
        return cls(ids, {kind: keys[0] for kind, keys in of_kind.items() if len(keys) == 1})

    def may_name(self, text: bytes) -> bool:
        """Whether an event that is still JSON could name a source, so that it is worth decoding."""
        return bool(self.platforms or (self.ids and (b'"writeKey"' in text or b'"sourceId"' in text)))

    def source_of(self, event: Mapping[str, Json]) -> str:
        """Return the key of the source that an event names; empty if it names none."""
        if not self.ids:
            return ""
        context = event.get("context")
        context = context if isinstance(context, Mapping) else {}
        for value in (event.get("writeKey"), event.get("sourceId"), context.get("sourceId")):
            if isinstance(value, str) and value in self.ids:
                return self.ids[value]
        return self.platforms.get(_kind(event, context), "") if self.platforms else ""


def _names(key: str, source: Source) -> Iterator[str]:
    yield from filter(None, (key, source.id, reveal(source.write_key)))


def _kind(event: Mapping[str, Json], context: Mapping[str, Json]) -> str:
    """Return the kind of the source that an SDK sends to, by its name, the device's system, or the channel."""
    library = _text(context.get("library"), "name").lower()
    for part, kind in _SDKS:
        if part in library:
            return kind
    channel = event.get("channel", context.get("channel"))
    if channel == "mobile":
        return _SYSTEMS.get(_text(context.get("os"), "name").lower(), "")
    return _CHANNELS.get(channel, "") if isinstance(channel, str) else ""


def _text(item: Json, name: str) -> str:
    value = item.get(name) if isinstance(item, Mapping) else None
    return value if isinstance(value, str) else ""
