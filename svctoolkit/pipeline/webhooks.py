"""A webhook through its source: the events, and which members of the webhook each field of a payload comes from.

The lineage is measured like that of an event (`svctoolkit.pipeline.lineage`): the source handles the webhook again with
one leaf of the body, or one query parameter, changed or removed at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from svctoolkit.errors import InvalidWebhook, UsageError
from svctoolkit.events.builders import iso
from svctoolkit.json_types import Json
from svctoolkit.pipeline.leaves import GONE, differing_leaves, leaves, other, replace_at
from svctoolkit.results.lineage import Destiny, Lineage, LostAt, Origin, Path, dotted_path
from svctoolkit.secrets import Masker
from svctoolkit.sources import Handled, Remembered, Webhook, parse_body
from svctoolkit.workspace import Source

_MOST = 2_000  # leaves of a webhook to measure; each is handled twice
_SAME_ID = "00000000-0000-4000-8000-000000000000"  # for every id that a source makes up
_TIMES = ("originalTimestamp", "sentAt", "timestamp", "receivedAt")


def handle(
    source: Source,
    request: Mapping[str, Json],
    now: datetime,
    new_id: Callable[[], str],
    memory: Remembered | None = None,
) -> Handled:
    """Return the events of a webhook, with what the gateway adds, and the source's own answer, if it has one.

    `request` is the webhook as `svctoolkit.sources.pack` returns it. Raises `InvalidWebhook` if it is
    refused, and `UsageError` for a source of SDK events.
    """
    if source.webhook_type is None:
        raise UsageError(f"source {source.key!r} does not accept webhooks: its type is {source.type!r}")
    webhook = Webhook(request, source.config, now, {"id": source.id}, memory, new_id)
    handled = source.webhook_type.handle(webhook)
    for event in handled.events:
        if isinstance(event, dict):
            event.setdefault("messageId", new_id())
            for name in _TIMES:
                event.setdefault(name, iso(now))
    return handled


@dataclass
class _Effect:
    """What a leaf of a webhook does in one of its events, by dotted path.

    `into` are the members that have its value, `decides` those that depend on it.

    `required`: the event does not exist without it.
    """

    value: Json
    into: set[str] = field(default_factory=set)
    decides: set[str] = field(default_factory=set)
    required: bool = False


def through_source(
    lineage: Lineage, source: Source, request: Mapping[str, Json], number: int, now: datetime, masker: Masker
) -> Lineage:
    """Return the lineage of event `number` (from 0) of a webhook, with members of the webhook in place of the event's.

    Names are `body.id` and `query.topic`. What the source or the gateway makes up itself stays `event.context.library`.
    """
    effects = _effects(source, request, number, now, masker)
    return Lineage(
        lineage.destination,
        [_origin(origin, effects) for origin in lineage.fields],
        [_destiny(name, effect, lineage.event) for name, effect in effects.items()],
        refused_by=lineage.refused_by,
        stopped_at=lineage.stopped_at,
        level=lineage.level,
        losses=lineage.losses,
    )


def _effects(
    source: Source, request: Mapping[str, Json], number: int, now: datetime, masker: Masker
) -> dict[str, _Effect]:
    body, query = parse_body(request.get("body")), request.get("query_parameters") or {}
    whole: dict[str, Any] = {"body": body, "query": query}
    base = _handled(source, request, whole, number, now)
    shown, effects = leaves(masker.mask(whole)), {}
    for path, value in list(leaves(whole).items())[:_MOST]:
        if path == ("query",):
            continue  # a request without parameters
        effect = _Effect(shown.get(path))
        for new in (other(value), GONE):
            if len(path) == 1 and new is GONE:
                continue  # an empty body is not missing
            changed = _handled(source, request, replace_at(whole, path, new), number, now)
            if changed is None:
                effect.required = True
                continue
            for at, after in differing_leaves(base, changed):
                (effect.decides if after is GONE or new is GONE else effect.into).add(dotted_path(at))
        effect.decides -= effect.into
        effects[masker.text(_name(path))] = effect
    return effects


def _name(path: Path) -> str:
    """Return a leaf's name: a parameter of the query has its values in a list, nearly always of one."""
    is_first = path[0] == "query" and len(path) == 3 and path[2] == 0
    return dotted_path(path[:2] if is_first else path)


def _handled(
    source: Source, request: Mapping[str, Json], whole: Mapping[str, Any], number: int, now: datetime
) -> dict[str, Any] | None:
    """Return an event of a changed webhook; None if it does not exist any more."""
    changed = {**request, "body": json.dumps(whole["body"]), "query_parameters": whole["query"]}
    try:
        events = handle(source, changed, now, lambda: _SAME_ID).events
    except InvalidWebhook:
        return None
    return events[number] if number < len(events) else None


def _origin(origin: Origin, effects: Mapping[str, _Effect]) -> Origin:
    events = [*_names(origin.events, effects, "into")]
    conditions = [name for name in origin.conditions if name.startswith("config.")]
    paths = [name for name in origin.conditions if not name.startswith("config.")]
    conditions += [*_names(paths, effects, "into")]
    conditions += [name for name, effect in effects.items() if effect.decides & {*origin.events, *paths}]
    unique = dict.fromkeys(name for name in conditions if name not in events)
    return replace(origin, events=tuple(events), conditions=tuple(unique))


def _names(paths: Iterable[str], effects: Mapping[str, _Effect], member: str) -> Iterator[str]:
    """Yield the members of the webhook that reach these paths of the event; a path that none reaches is the event's."""
    for path in paths:
        found = [name for name, effect in effects.items() if path in getattr(effect, member)]
        yield from found or [f"event.{path}"]


def _destiny(name: str, effect: _Effect, event: Iterable[Destiny]) -> Destiny:
    went = [destiny for destiny in event if destiny.path in effect.into]
    decided = [destiny for destiny in event if destiny.path in effect.decides]
    fields = tuple(dict.fromkeys(path for destiny in went for path in destiny.fields))
    about = [path for destiny in went for path in destiny.decides]
    about += [path for destiny in decided for path in (*destiny.fields, *destiny.decides)]
    decides = tuple(dict.fromkeys(path for path in about if path not in fields))
    lost_at: LostAt = ""
    if not (fields or decides or effect.required):
        lost_at = next((destiny.lost_at for destiny in went if destiny.lost_at), "source" if not went else "")
    return Destiny(
        name,
        effect.value,
        fields,
        decides,
        lost_at,
        effect.required or any(destiny.required for destiny in went),
        tuple(dict.fromkeys(setting for destiny in went for setting in destiny.lost_by)),
        any(destiny.stops for destiny in went),
        tuple(cell for destiny in went for cell in destiny.held),
        tuple(dict.fromkeys(loss for destiny in went for loss in destiny.losses)),
        tuple(dict.fromkeys(rule for destiny in went for rule in destiny.breaks)),
    )
