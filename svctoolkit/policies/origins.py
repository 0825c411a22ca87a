"""Where the value of a breach comes from: what was sent of its event is measured again.

A measurement runs the user's code about a hundred times, so callers keep to `MOST` groups of breaches, and stop after
a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from svctoolkit.destinations import Context
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Route
from svctoolkit.pipeline.lineage import measure
from svctoolkit.pipeline.writers import locate, locate_removal
from svctoolkit.policies.policies import Policies
from svctoolkit.results.lineage import Lineage, Origin
from svctoolkit.workspace import Source

MOST: Final = 20
_INDEX = re.compile(r"\.\d+(?=\.|$)")


class Origins(NamedTuple):
    """Where values come from: `properties.revenue (clean.js:3), setting token`; empty if nothing is known.

    `is_same`: the values are still those of the breach. They are not if code, settings or look-ups have changed.
    """

    text: str
    is_same: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: an event from a source, at a destination."""

    event: Mapping[str, Json]
    route: Route
    context: Context
    source: Source | None


def names_of(policies: Policies, policy: str, destination: str, path: str) -> Collection[str]:
    """Return the members of payloads that a breach is about: its path, or the columns of a query."""
    return policies.columns(policy).get(destination) or ({path} if path else ())


def find_origins(names: Collection[str], subject: Subject, is_value: Callable[[Json], bool]) -> Origins:
    """Return where the members of payloads come from whose paths end with these names.

    `is_value` returns whether a masked value may be that of the breach; None is a missing one. A member with such a
    value is preferred, then the outermost. Raises `ToolkitError` if the event cannot be measured.
    """
    event, route = subject.event, subject.route
    lineage = measure(event, route, subject.context, subject.source)
    texts, is_same = dict[str, None](), True
    for name in sorted(names):
        # Names in a lineage are masked, too.
        field = _field([route.masker.key(step) for step in _plain_steps(name)], lineage, is_value)
        if field is not None:
            origin = locate(field, event, route, subject.context, subject.source, in_code=False)
            texts[route.masker.text(_text(origin))] = None
            is_same &= field.unsteady or is_value(field.value)
        else:
            if line := locate_removal(name, event, route, subject.source):
                texts[f"the event, but {line} removes it"] = None
            is_same &= is_value(None)
    return Origins(", ".join(texts), is_same)


def _field(steps: Sequence[str], lineage: Lineage, is_value: Callable[[Json], bool]) -> Origin | None:
    ranked = [
        ((not is_value(field.value), len(of)), field)
        for field in lineage.fields
        if (of := _plain_steps(field.field))[-len(steps) :] == steps
    ]
    return min(ranked, key=lambda each: each[0])[1] if ranked else None


def _plain_steps(path: str) -> list[str]:
    return [step for step in path.split(".") if step != "*" and not step.isdigit()]


def _text(origin: Origin) -> str:
    """Return `properties.revenue (clean.js:3)`: the fields of the event, otherwise what else gives the value.

    Indexes are `*`, as in the path of a breach: the other events of a group may have the value elsewhere in a list.
    """
    lines = " ".join(origin.lines)
    of = ", ".join(dict.fromkeys(_parts(origin)))
    if not of:
        return lines or ("the transformation" if origin.code else "the mapping")
    return f"{of} ({lines})" if lines else of


def _parts(origin: Origin) -> Iterator[str]:
    if origin.events:
        yield from (_INDEX.sub(".*", path) for path in origin.events)
    else:
        yield from (f"setting {name}" for name in (*origin.settings, *origin.defaults))
