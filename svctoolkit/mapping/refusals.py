"""The errors that mappings raise: a closed set. Each is a `MappingError` with its data in `refusal`.

A mapping passes the facts; `svctoolkit.causes` derives the text.

>>> raise Missing("userId", "anonymousId")
Traceback (most recent call last):
svctoolkit.mapping.refusals.Missing: needs a value at userId or anonymousId
>>> raise Misfit("properties.total", "a number", "ten")
Traceback (most recent call last):
svctoolkit.mapping.refusals.Misfit: properties.total: expected a number, got 'ten'
>>> raise NotConfigured("event", "Order Seen", setting="eventsToIds")
Traceback (most recent call last):
svctoolkit.mapping.refusals.NotConfigured: event: eventsToIds has no entry for 'Order Seen'
>>> raise Misconfigured("accessToken", "is required to send events")
Traceback (most recent call last):
svctoolkit.mapping.refusals.Misconfigured: accessToken: is required to send events
>>> raise Unsupported("page events", setting="trackAllPages")
Traceback (most recent call last):
svctoolkit.mapping.refusals.Unsupported: page events are sent only with trackAllPages
>>> raise NotFound("list", "Price", setting="listId")
Traceback (most recent call last):
svctoolkit.mapping.refusals.NotFound: listId: no list matches 'Price'; depends on a lookup in the destination's account

`case` distinguishes rules of one type with the same kind, field and setting: a short word that becomes part of the
rule's id. `why` is a clause that explains the rule or says what to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from svctoolkit.causes import Need, Refusal, json_value
from svctoolkit.errors import MappingError
from svctoolkit.json_types import Json

_UNKNOWN: Any = object()
_HALF = re.compile("[\ud800-\udfff]")
_HUGE = 1e300  # a product with a few more digits does not fit


class WrongValue(ValueError):
    """Raised by a converter for a value that does not fit; the table that reads the value turns it into a `Misfit`.

    `expected` is a noun phrase ("a number"), `case` the converter's word in the rule's id ("number").
    """

    def __init__(self, expected: str, value: Json = _UNKNOWN, *, case: str = "") -> None:
        super().__init__(f"expected {expected}" + ("" if value is _UNKNOWN else f", got {value!r}"))
        self.expected, self.value, self.case = expected, value, case


class HalfCharacter(MappingError):
    """A text has a lone surrogate, half of a character, where the request needs bytes: in a URL, a hash or a signature.

    RudderStack rejects such an event, because JavaScript's `encodeURIComponent` raises a `URIError`.
    """

    expected = "complete characters (a lone surrogate is half of one)"

    def __init__(self, event: Json) -> None:
        """The first such text in `event`, or else a setting."""
        for field, value in _leaves(event, ""):
            if isinstance(value, str) and _HALF.search(value):
                shown = json_value(value)
                refusal = Refusal("misfit", field=field, expected=self.expected, value=shown, case="surrogate")
                break
        else:
            refusal = Refusal("fault", why=f"a setting needs {self.expected}", case="surrogate")
        super().__init__(refusal)


class HugeNumber(MappingError):
    """A number is too large to calculate with: in JSON, integers may have any number of digits."""

    expected = "a number that fits"

    def __init__(self, event: Json) -> None:
        """The first such number in `event`, or else a product of numbers."""
        for field, value in _leaves(event, ""):
            if type(value) in (int, float) and not -_HUGE < value < _HUGE:
                shown = json_value(value)
                refusal = Refusal("misfit", field=field, expected=self.expected, value=shown, case="number-range")
                break
        else:
            refusal = Refusal("fault", why="a total is too large for a number", case="number-range")
        super().__init__(refusal)


def _leaves(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield the texts, numbers and other scalars of a JSON value with their dotted paths."""
    waiting = [(at, value)]
    while waiting:
        at, value = waiting.pop()
        if not isinstance(value, (dict, list)):
            yield at, value
        else:
            members = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(f"{at}.{key}" if at else str(key), item) for key, item in reversed(list(members))]


class Missing(MappingError):
    """The event has no value at any of `fields`. `wants` is a noun phrase: `a value`, `a currency`.

    `setting` names the variable that makes the field required.
    """

    def __init__(self, *fields: str, wants: str = "a value", setting: str = "", why: str = "", case: str = "") -> None:
        field = " or ".join(fields)
        super().__init__(Refusal("missing", field=field, setting=setting, expected=wants, why=why, case=case))


class Misfit(MappingError):
    """The value `got` at `field` does not fit; `wants` is a noun phrase: `a number from 1 to 4`.

    Omit `got` if the value would not help the reader. `needs` is `clock` if the value may fit at another time.
    """

    def __init__(
        self,
        field: str,
        wants: str,
        got: Json = _UNKNOWN,
        *,
        setting: str = "",
        why: str = "",
        case: str = "",
        needs: Need | Literal[""] = "",
    ) -> None:
        value = None if got is _UNKNOWN else json_value(got)
        super().__init__(
            Refusal(
                "misfit", field=field, setting=setting, expected=wants, value=value, why=why, case=case, needs=needs
            )
        )


class NotConfigured(MappingError):
    """`setting` maps values of `field`, but has no entry for this one."""

    def __init__(self, field: str, value: Json = _UNKNOWN, *, setting: str, why: str = "", case: str = "") -> None:
        shown = None if value is _UNKNOWN else json_value(value)
        super().__init__(
            Refusal(
                "not-configured",
                field=field,
                setting=setting,
                expected=f"an entry of {setting}",
                value=shown,
                why=why,
                case=case,
            )
        )


class Unsupported(MappingError):
    """Events like this are sent only if `setting` is on. `what` is a plural: `page events`."""

    def __init__(self, what: str, *, setting: str, field: str = "type", why: str = "", case: str = "") -> None:
        super().__init__(
            Refusal(
                "unsupported", field=field, setting=setting, expected=f"{setting} on", subject=what, why=why, case=case
            )
        )


class Misconfigured(MappingError):
    """`setting` is missing or wrong for this event; `why` continues after its name: `is required by authVersion v2`.

    `field` is the event field that makes the setting necessary, if any; `at` is the invalid part of a setting with
    several rows. `needs` is `account` if the caller passes the setting's value in the secrets of an account.
    """

    def __init__(
        self, setting: str, why: str, *, field: str = "", at: str = "", case: str = "", needs: Need | Literal[""] = ""
    ) -> None:
        value = json_value(at) if at else None
        super().__init__(
            Refusal(
                "misconfigured",
                field=field,
                setting=setting,
                expected=why,
                value=value,
                why=why,
                case=case,
                needs=needs,
            )
        )


class NotFound(MappingError):
    """The object does not exist in the destination's account; `what` is a noun phrase without article:
    `list of the account`.

    `field` is set if the event names the object, `setting` if the configuration does.
    """

    def __init__(
        self, what: str, value: Json = _UNKNOWN, *, field: str = "", setting: str = "", why: str = "", case: str = ""
    ) -> None:
        shown = None if value is _UNKNOWN else json_value(value)
        super().__init__(
            Refusal(
                "not-found",
                field=field,
                setting=setting,
                expected=what,
                value=shown,
                why=why,
                case=case,
                needs="lookup",
            )
        )


class LookupFailed(MappingError):
    """A lookup that the mapping needs from the destination failed; `why` is a whole sentence.

    `field` is what was looked up, or `setting` if the configuration names it. `status` is the HTTP status, 0 without an
    answer. After a temporary failure (5xx, 408, 429) the same event may succeed later.
    """

    def __init__(self, field: str, why: str, *, status: int = 0, setting: str = "", case: str = "") -> None:
        expected = "an answer of the destination"
        super().__init__(
            Refusal(
                "lookup-failed",
                field=field,
                setting=setting,
                expected=expected,
                why=why,
                case=case,
                status=status,
                needs="lookup",
            )
        )
