"""Hypothesis strategies for events: one for each event type, and one for any sample.

    @given(svctoolkit.events.strategies.track())
    def test_no_event_breaks_the_mapping(event): ...

They need Hypothesis, which is optional: `pip install 'svctoolkit[pytest]'`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from svctoolkit.events.samples import sample
from svctoolkit.json_types import Json

__all__ = ["alias", "group", "identify", "like", "page", "screen", "track"]

#: Members that are required or define the kind of event: always present, with the sample's values.
_FIXED = ("type", "event", "channel", "integrations")
_IDS = ("userId", "anonymousId", "previousId", "groupId")
_NUMBERS = 1_000_000_000
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def like(event: Mapping[str, Json]) -> st.SearchStrategy[dict[str, Json]]:
    """Events of the shape of `event`: the same members with other values of the same type; any of them may be absent.

    Type, name, integrations and times are unchanged; `userId` and the other IDs are non-empty strings. `messageId` is
    left out, so that no event counts as a duplicate.
    """
    fixed = {name: st.just(value) for name, value in event.items() if name in _FIXED or _is_time(value)}
    ids = {name: st.text("abcdefghij0123456789-", min_size=1, max_size=12) for name in event if name in _IDS}
    rest = {name: _like(value) for name, value in event.items() if name not in {*fixed, *ids, "messageId"}}
    return st.fixed_dictionaries({**fixed, **ids}, optional=rest)


def _like(value: Any) -> st.SearchStrategy[Any]:
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.integers(-_NUMBERS, _NUMBERS)
    if isinstance(value, float):
        return st.floats(-_NUMBERS, _NUMBERS, allow_nan=False)
    if isinstance(value, str):
        return st.just(value) if _is_time(value) else _TEXTS
    if isinstance(value, Mapping):
        return st.fixed_dictionaries({}, optional={name: _like(inner) for name, inner in value.items()})
    if isinstance(value, list) and value:
        return st.lists(st.one_of([_like(inner) for inner in value]), max_size=4)
    return st.just(value)


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and len(value) > len("2026-01-01") and bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def _of_type(name: str) -> Callable[[], st.SearchStrategy[dict[str, Any]]]:
    def strategy() -> st.SearchStrategy[dict[str, Any]]:
        return st.deferred(lambda: like(sample(name)))

    strategy.__doc__ = f"Events of the shape of the sample {name} event."
    return strategy


track, identify, page = _of_type("track"), _of_type("identify"), _of_type("page")
screen, group, alias = _of_type("screen"), _of_type("group"), _of_type("alias")
