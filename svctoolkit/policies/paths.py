"""Places in payloads: their leaves by path, and paths that are given by their last steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import LEAVES, Json
from svctoolkit.pipeline.leaves import leaves as leaves_by_path
from svctoolkit.policies.arrivals import Arrival, endpoint_of
from svctoolkit.policies.scalars import is_nothing
from svctoolkit.readings import json_content, may_carry
from svctoolkit.results.lineage import Path, dotted_path
from svctoolkit.results.texts import open_texts

_MOST = 20_000  # leaves of a payload
_NESTED = (dict, list)
_EMPTY: tuple[Json, ...] = (None, "", [], {})
_EVENT_NAMES = frozenset(("event", "event_name", "eventName", "event_type", "eventType", "type"))
_FEW = 20  # events of a request whose names count
_OPENING = frozenset("{[ \t\r\n")  # how a text that is JSON can begin


def general_path(path: Path) -> str:
    """Return a dotted path with `*` for indexes."""
    return dotted_path(tuple("*" if isinstance(step, int) else step for step in path))


def leaves(opened: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    """Yield the dotted path and value of each leaf, `*` for indexes."""
    for payload in opened:
        for path, value in islice(leaves_by_path(payload).items(), _MOST):
            yield general_path(path), value


def named_leaves(
    value: Json, path: Path = (), name: str = "", owner: str = ""
) -> Iterator[tuple[Path, str, str, Json]]:
    """Yield the path, name, owner and value of each leaf that is a text or a number; texts that are JSON are opened.

    Names of members that may be e-mail addresses are values of their object. `name` is the member that contains the
    value, `owner` the enclosing one. Numbers as names do not count.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if "@" in key or "%40" in key:
                yield path, name, owner, key
            names = (name, owner) if key.isdigit() else (key, name)
            if type(inner) in LEAVES and not (type(inner) is str and inner[:1] in _OPENING):
                if inner is not None and inner != "":
                    yield (*path, key), *names, inner
            else:
                yield from named_leaves(inner, (*path, key), *names)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from named_leaves(inner, (*path, place), name, owner)
    elif isinstance(value, str) and (content := open_texts(value)) is not value:
        yield from named_leaves(content, path, name, owner)
    elif value is not None and value != "":
        yield path, name, owner, value


def emails_in(value: Json, path: Path = (), *, encoded: bool = True) -> Iterator[tuple[Path, str, str, str]]:
    """Yield what `named_leaves` yields of texts that may have an e-mail address; `encoded`: also in another spelling.

    Paths are made for these only, so it takes a fraction of the time.
    """
    if isinstance(value, str):
        yield from _emails_in_text(value, path, encoded)
        return
    pairs = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in pairs:
        kind = type(inner)
        if type(step) is str and ("@" in step or "%40" in step):
            yield path, "", "", step
        if kind is str:
            if "@" in inner or (encoded and may_carry(inner)):
                yield from _emails_in_text(inner, (*path, step), encoded)
        elif kind not in LEAVES and inner:
            yield from emails_in(inner, (*path, step), encoded=encoded)


def _emails_in_text(text: str, path: Path, encoded: bool) -> Iterator[tuple[Path, str, str, str]]:
    content = json_content(text)
    if content is not None:
        yield from emails_in(content, path, encoded=encoded)
        return
    names = ["", "", *(step for step in path if isinstance(step, str) and not step.isdigit())]
    yield path, names[-1], names[-2], text


def ends_with(path: str, steps: str) -> bool:
    """Return whether a path ends with these steps; indexes (`*`) do not count, in neither of them."""
    plain = path.replace(".*", "")
    return f".{plain}".endswith(f".{without_indexes(steps)}")


def without_indexes(steps: str) -> str:
    """Return a place as policies search it: users copy places from reports, with `*` for indexes."""
    return steps.replace(".*", "")


def near_paths(steps: str, known: Iterable[str]) -> str:
    """Return ` Did you mean 'a.b'?` for the nearest ends of known paths (without indexes), or an empty string."""
    names = steps.split(".")
    ends = {tuple(path.split(".")[-len(names) :]) for path in known}
    # Each step must be near its own: `properties.coupon` is not meant by `properties.revnue`.
    near = [end for end in ends if len(end) == len(names) and all(map(_is_near, names, end))]
    return did_you_mean(steps, map(".".join, sorted(near)))


def _is_near(name: str, other: str) -> bool:
    return name == other or did_you_mean(name, [other]) != ""


def values_at(arrival: Arrival, steps: str) -> list[tuple[str, Json]]:
    """Return the leaves of payloads whose path ends with these steps."""
    names = tuple(steps.split("."))
    if arrival.lacks(names[-1]):
        return []
    return [each for payload in arrival.payloads for each in _values_in(payload, names)]


def values_by_request(arrival: Arrival, steps: str) -> list[tuple[str, list[Json]]]:
    """Return the first path of each request that ends with these steps, and its values: those of a list are several.

    Requests without any are left out; if all are, the steps and no values.
    """
    names = tuple(steps.split("."))
    found = [_values_in(payload, names) for payload in (() if arrival.lacks(names[-1]) else arrival.payloads)]
    return [(of[0][0], [value for path, value in of if path == of[0][0]]) for of in found if of] or [(steps, [])]


def _values_in(payload: Json, names: tuple[str, ...]) -> list[tuple[str, Json]]:
    found: list[tuple[tuple[str, ...], Json]] = []
    _collect(payload, (), names[-1], found)
    plain = ((tuple(step for step in path if step != "*"), path, value) for path, value in found)
    return [(dotted_path(path), value) for steps_of, path, value in plain if steps_of[-len(names) :] == names]


def _collect(value: Json, path: tuple[str, ...], last: str, found: list[tuple[tuple[str, ...], Json]]) -> None:
    """Add the leaves of the members that are called `last`. Texts that are JSON are opened if they may have some.

    No paths are made for the others: a payload has hundreds.
    """
    kind = type(value)
    if kind is dict and value:
        for key, inner in value.items():
            if type(inner) in _NESTED or (type(inner) is str and inner[:1] in _OPENING):
                _collect(inner, (*path, key), last, found)
            elif key == last:
                found.append(((*path, key), inner))
    elif kind is list and value:
        inside = (*path, "*")
        for inner in value:
            _collect(inner, inside, last, found)
    elif kind is str and last in value and (content := json_content(value)) is not None:
        _collect(content, path, last, found)
    elif path and next((step for step in reversed(path) if step != "*"), "") == last:
        found.append((path, value))


def all_have_value(arrival: Arrival, steps: str) -> bool:
    """Return whether `has_value` holds for each request of its kind: user code may make several events of one.

    Requests are of one kind if they go to the same address with the same names of events. A mapping that makes several
    requests of an event puts a value in one kind of them.
    """
    if len(arrival.payloads) < 2 or not has_value(arrival, steps):
        return has_value(arrival, steps)
    by_kind: dict[tuple[str, ...], list[bool]] = {}
    for payload, opened in zip(arrival.payloads, arrival.opened, strict=True):
        has = has_value(Arrival(arrival.destination, [payload]), steps)
        by_kind.setdefault((endpoint_of(payload).partition("?")[0], *_event_names(opened)), []).append(has)
    return all(all(have) for have in by_kind.values() if any(have))


def _event_names(value: Json, depth: int = 4) -> Iterator[str]:
    """Yield the names and types of the events in a request."""
    if isinstance(value, Mapping) and depth:
        for key, inner in value.items():
            if isinstance(inner, str):
                if key in _EVENT_NAMES:
                    yield inner
            else:
                yield from _event_names(inner, depth - 1)
    elif isinstance(value, list) and depth:
        for inner in value[:_FEW]:
            yield from _event_names(inner, depth - 1)


def has_value(arrival: Arrival, steps: str) -> bool:
    """Return whether a value at these steps is neither null nor empty (a text, list or object), and so in each element.

    Only lists that the steps name: `items.id` is about each item, `id` is not.
    """
    scalar = arrival.scalar(steps)
    if scalar:
        return not is_nothing(scalar)
    if not any(value not in _EMPTY for _, value in values_at(arrival, steps)):
        return False
    names = steps.split(".")
    return len(names) < 2 or all(_each_has(payload, (), names) for payload in arrival.opened)


def _each_has(value: Json, path: tuple[str, ...], names: Sequence[str]) -> bool:
    """Return whether all objects in lists at the first of these names have a value at the others."""
    if isinstance(value, Mapping):
        return all(_each_has(inner, (*path, key), names) for key, inner in value.items())
    if not isinstance(value, list):
        return True
    named = (at for at in range(1, len(names)) if path[-at:] == tuple(names[:at]))
    return all(_has(element, names[at:]) for at in named for element in value if isinstance(element, Mapping)) and all(
        _each_has(element, path, names) for element in value
    )


def _has(value: Json, names: Sequence[str]) -> bool:
    if isinstance(value, list):
        return all(_has(element, names) for element in value)
    if not names:
        return value not in _EMPTY
    return isinstance(value, Mapping) and _has(value.get(names[0]), names[1:])
