"""Values of settings that RudderStack's form would not accept, or that cannot work: choices, URLs, ports, templates.

They are notes, not errors: a vendor may have added a choice since the definitions were written.

>>> [*value_problems("KAFKA", {"port": "9092x"})][0].message
"port: '9092x' is not a port: a number from 1 to 65535"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from svctoolkit.destinations import definitions
from svctoolkit.destinations._variable import Variable
from svctoolkit.errors import did_you_mean
from svctoolkit.json_types import Json
from svctoolkit.secrets import Secret

_REFERENCE = re.compile(r"env\..|\$\(", re.DOTALL)
_HIGHEST_PORT = 65_535
_MOST_LISTED = 12
_MISSPELT = 0.8  # how similar a property is to a usual one


def _is_filled_in(text: str) -> bool:
    """Return whether a part is replaced by RudderStack (`{{ path || "default" }}`, `env.NAME`) or by this toolkit."""
    start = text.find("{{")
    default = text.find("||", start + 2) if start >= 0 else -1
    return (default >= 0 and "}}" in text[default + 2 :]) or _REFERENCE.search(text) is not None


def _words(text: str) -> list[str]:
    return text.split()


_META = _words(
    "AddPaymentInfo AddToCart AddToWishlist CompleteRegistration Contact CustomizeProduct Donate FindLocation "
    "InitiateCheckout Lead PageView Purchase Schedule Search StartTrial SubmitApplication Subscribe ViewContent"
)
_TIKTOK = _words(
    "AddPaymentInfo AddToCart AddToWishlist ApplicationApproval ClickButton CompletePayment CompleteRegistration "
    "Contact CustomizeProduct Download FindLocation InitiateCheckout Lead PlaceAnOrder Purchase Schedule Search "
    "StartTrial SubmitApplication SubmitForm Subscribe ViewContent"
)
_SNAPCHAT = _words(
    "ACHIEVEMENT_UNLOCKED ADD_BILLING ADD_CART ADD_TO_WISHLIST AD_CLICK AD_VIEW APP_INSTALL APP_OPEN "
    "COMPLETE_TUTORIAL CUSTOM_EVENT_1 CUSTOM_EVENT_2 CUSTOM_EVENT_3 CUSTOM_EVENT_4 CUSTOM_EVENT_5 INVITE "
    "LEVEL_COMPLETE LIST_VIEW LOGIN PAGE_VIEW PURCHASE RATE RESERVE SAVE SEARCH SHARE SIGN_UP SPENT_CREDITS "
    "START_CHECKOUT START_TRIAL SUBSCRIBE VIEW_CONTENT"
)
_PINTEREST = _words(
    "AddToCart Checkout Custom Lead PageVisit Search Signup ViewCategory WatchVideo add_to_cart checkout custom lead "
    "page_visit search signup view_category watch_video"
)
_REDDIT = _words("AddToCart AddToWishlist Custom Lead PageVisit Purchase Search SignUp ViewContent")
#: The vendor's own names of events, by type and by the setting whose right column has them.
_STANDARD_EVENTS: Mapping[tuple[str, str], Sequence[str]] = {
    ("FACEBOOK_CONVERSIONS", "eventsToEvents"): _META,
    ("FACEBOOK_PIXEL", "eventsToEvents"): _META,
    ("FACEBOOK_OFFLINE_CONVERSIONS", "eventsToStandard"): _META,
    ("TIKTOK_ADS", "eventsToStandard"): _TIKTOK,
    ("TIKTOK_ADS_OFFLINE_EVENTS", "eventsToStandard"): _TIKTOK,
    ("SNAPCHAT_CONVERSION", "rudderEventsToSnapEvents"): _SNAPCHAT,
    ("PINTEREST_TAG", "eventsMapping"): _PINTEREST,
    ("REDDIT", "eventsMapping"): _REDDIT,
}
#: Properties by which vendors look up a person. Others may exist, so only a misspelt one is a problem.
_IDENTIFIERS = _words(
    "email firstname lastname phone mobilephone company website domain hs_object_id vid contact_id user_id userId "
    "external_id externalId username customer_id id mobile twitter facebook linkedin city country state zipcode"
)


class ValueProblem(NamedTuple):
    """What is wrong with a value at a path of the configuration."""

    path: tuple[str | int, ...]
    message: str


def value_problems(type: str, config: Mapping[str, Json]) -> Iterator[ValueProblem]:
    """Yield what is wrong with the values of a configuration; nothing about an unknown type or unknown variables."""
    definition = definitions.known(type)
    if definition is None:
        return
    for name, value in config.items():
        variable = definition.variables.get(name)
        for path, text in _texts(value, (name,)):
            if _is_filled_in(text):
                continue
            for check in _CHECKS:
                if message := check(name, text, variable):
                    yield ValueProblem(path, f"{_named(path)}: {message}")
        yield from _row_problems(type, name, value, variable)


def _texts(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the texts in a value. Of a secret, only one with a value."""
    if isinstance(value, Secret):
        value = "" if value.unset else value.reveal()
    if isinstance(value, str):
        if value:
            yield path, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from _texts(inner, (*path, place))
    elif isinstance(value, int) and not isinstance(value, bool) and len(path) == 1:
        yield path, str(value)


def _named(path: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _choice(_name: str, text: str, variable: Variable | None) -> str:
    if variable is None or variable.kind not in ("choice", "choices") or not variable.options:
        return ""
    if text in variable.options:
        return ""
    near = did_you_mean(text, variable.options)
    listed = ", ".join(variable.options) if len(variable.options) <= _MOST_LISTED else ""
    hint = near or (f" They are {listed}." if listed else "")
    return f"{text!r} is not one of its choices.{hint}"


def _url(name: str, text: str, variable: Variable | None) -> str:
    """Return what is wrong with an address; without its text, as that may be a credential."""
    if variable is not None and variable.kind not in ("text",):
        return ""
    if not name.lower().endswith(("url", "endpoint", "uri")) and "://" not in text[:12]:
        return ""
    scheme, separator, _ = text.partition("://")
    if not separator:
        return _schemeless(name, text)
    if scheme.lower() not in ("http", "https") and did_you_mean(scheme.lower(), ("http", "https")):
        return f"{scheme!r} is not the scheme of a web address.{did_you_mean(scheme.lower(), ('https', 'http'))}"
    if scheme.lower() not in ("http", "https"):
        return f"{scheme!r} is not http or https" if name.lower().endswith("url") else ""
    try:
        parts = urlsplit(text)
        host, _port = parts.hostname, parts.port
    except ValueError as error:
        return f"not a valid URL: {error}"
    if not host or re.search(r"\s", text):
        return "not a valid URL: " + ("it has no host" if not host else "it contains a space")
    return ""


def _schemeless(name: str, text: str) -> str:
    """Settings named so have a whole URL; others may have a host."""
    if not re.search("[./:]", text):  # a placeholder in a test, such as `x`
        return ""
    if name not in ("webhookUrl", "apiUrl", "zapUrl", "pipedreamUrl", "googleCloudFunctionUrl", "serverContainerUrl"):
        return ""
    typed = re.match(r"([A-Za-z]{3,6})[:/]+", text)
    return f"not a URL: it does not begin with https:// or http://{', but with ' + repr(typed[0]) if typed else ''}"


def _port(name: str, text: str, _variable: Variable | None) -> str:
    if name != "port" and not name.endswith("Port"):
        return ""
    number = int(text) if text.strip().isascii() and text.strip().isdigit() else 0
    return "" if 0 < number <= _HIGHEST_PORT else f"{text!r} is not a port: a number from 1 to {_HIGHEST_PORT}"


def _template(name: str, text: str, _variable: Variable | None) -> str:
    """Return what is wrong with the placeholders of a text."""
    rest = text
    while "{{" in rest:
        _, _, rest = rest.partition("{{")
        inside, closing, rest_after = rest.partition("}}")
        if not closing or "{{" in inside.lstrip("{"):
            return f"the placeholder {{{{{inside.partition('}')[0][:40]} is not closed with }}}}"
        rest = rest_after
    if "template" in name.lower() and "}}" in rest and "{{" not in text:
        return "}} without {{ before it"
    return ""


def _lookup(name: str, text: str, _variable: Variable | None) -> str:
    if name.lower() != "lookupfield" or text.lower() in map(str.lower, _IDENTIFIERS):
        return ""
    from difflib import get_close_matches  # 15 ms, and few types look up by a property

    near = get_close_matches(text.lower(), _IDENTIFIERS, 1, _MISSPELT)
    return f"{text!r} is not a property that contacts usually have. Did you mean {near[0]!r}?" if near else ""


_CHECKS: Sequence[Callable[[str, str, Variable | None], str]] = (_choice, _url, _port, _template, _lookup)


def _row_problems(type: str, name: str, value: Json, variable: Variable | None) -> Iterator[ValueProblem]:
    """Yield the rows of a form that are filled in by half, and names that the vendor does not have."""
    if not isinstance(value, (list, tuple)):
        return
    standard = _STANDARD_EVENTS.get((type, name))
    for place, row in enumerate(value):
        if not isinstance(row, Mapping):
            continue
        yield from _halves(name, place, row, variable)
        chosen = row.get("to")
        if standard and isinstance(chosen, str) and chosen and chosen not in standard and not _is_filled_in(chosen):
            message = f"{chosen!r} is not a standard event.{did_you_mean(chosen, standard)}"
            yield ValueProblem((name, place, "to"), f"{_named((name, place, 'to'))}: {message}")


def _halves(name: str, place: int, row: Mapping[str, Json], variable: Variable | None) -> Iterator[ValueProblem]:
    pair = (variable.key_left, variable.key_right) if variable is not None else ("", "")
    needed = [key for key in row if key in (*pair, "from", "to") or str(key).lower().endswith("eventname")]
    if name == "headers" or not any(_is_filled(row[key]) for key in needed):
        return  # a header may be empty, and so may the last row of a form
    for key in needed:
        if not _is_filled(row[key]):
            yield ValueProblem(
                (name, place, key), f"{_named((name, place, key))}: is empty, although the rest of its row is not"
            )


def _is_filled(value: Json) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None
