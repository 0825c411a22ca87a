"""Find items of a workspace by key or id, the code in their files, and the tracking plans of sources."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from svctoolkit.errors import ConfigError, InvalidWorkspace, UnknownId, UnknownName
from svctoolkit.workspace._items import Destination, Forward, Source, TrackingPlan, Transformation

if TYPE_CHECKING:
    from svctoolkit.plans import Link

_FORWARD = "forward:"
Item = TypeVar("Item", Source, Destination, Transformation)
Keyed = TypeVar("Keyed")


def lookup(kind: str, key: str, items: Mapping[str, Item]) -> Item:
    """Return the item with this key or id. Raises `UnknownName`."""
    if key in items:
        return items[key]
    for item in items.values():
        if item.id == key:
            return item
    raise UnknownName(kind, key, [*items, *(i.id for i in items.values())])


def by_id(kind: str, id: object, items: Mapping[str, Item]) -> Item:
    """Return the item with this key or id, for a test. Raises `UnknownId`."""
    for item in items.values():
        if item.id == id:
            return item
    if isinstance(id, str) and id in items:
        return items[id]
    raise UnknownId(kind, str(id), [*items, *(item.id for item in items.values())])


def by_key(kind: str, key: str, items: Mapping[str, Keyed]) -> Keyed:
    """Return the item with this key, for items without ids. Raises `UnknownName`."""
    if key not in items:
        raise UnknownName(kind, key, items)
    return items[key]


def forward_key(source: str) -> str:
    """Return the key that the `forward` of a source has among destinations.

    >>> forward_key("web")
    'forward:web'
    """
    return f"{_FORWARD}{source}"


def is_forward_key(key: str) -> bool:
    """Whether a key among destinations is that of a source's `forward`."""
    return key.startswith(_FORWARD)


def forward_of(key: str, sources: Mapping[str, Source]) -> Forward | None:
    """Return the `forward` with this key among destinations; None if no source has it."""
    source = forwarded_source(key, sources)
    return None if source is None else source.forward


def forwarded_source(key: str, sources: Mapping[str, Source]) -> Source | None:
    """Return the source whose `forward` has this key; it may have been removed from the source."""
    return sources.get(key.removeprefix(_FORWARD)) if is_forward_key(key) else None


def code_of(file: Path) -> str:
    """Return the code in a file. Raises `InvalidWorkspace` if it cannot be read."""
    from svctoolkit import yamlfile

    try:
        return yamlfile.load_text(file)
    except OSError as error:
        raise InvalidWorkspace(f"cannot be read: {error.strerror}", where=str(file)) from error
    except ConfigError as error:
        raise InvalidWorkspace(error.problems) from error


def link_of(source: Source, plans: Mapping[str, TrackingPlan]) -> Link | None:
    """Return the plan of a source with its settings, as described in `Workspace.plan_link`. Raises `UnknownName`."""
    if not plans:
        return None
    from svctoolkit.plans import FORWARDING, Link, Settings  # most workspaces have no tracking plan

    linked = None
    for item in plans.values():
        link = item.project.links.get(source.id)
        if link is not None and link.plan is not None and source.tracking_plan in (None, item.key):
            linked = link
    if source.tracking_plan is None:
        plan = linked.plan if linked else None
    else:
        plan = by_key("tracking plan", source.tracking_plan, plans).chosen
    if plan is None:
        return None
    if source.plan_settings is not None:
        return Link(plan, Settings.of_words(source.plan_settings))
    return Link(plan, linked.settings if linked and linked.plan is plan else FORWARDING)
