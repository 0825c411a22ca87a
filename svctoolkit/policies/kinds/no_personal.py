"""`no_personal`: no plain personal data reaches these destinations, wherever it is in a payload."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from svctoolkit import personal
from svctoolkit.errors import ConfigError
from svctoolkit.json_types import Json
from svctoolkit.policies._contract import Finding, PolicyKind, ScreenedCheck
from svctoolkit.policies.arrivals import Arrival, Sent
from svctoolkit.policies.paths import emails_in, ends_with, general_path, named_leaves

_WORDS: Final[Mapping[str, str]] = {
    "email": "an e-mail address",
    "phone": "a telephone number",
    "card": "a card number",
    "name": "a name",
    "date": "a date of birth",
    "text": "a postal address or another personal detail",
    "ip": "an IP address",
    "place": "coordinates",
}
_FORMS: Final = frozenset({"email", "phone", "card"})  # the kinds of which every value has a form


def make(options: Json) -> ScreenedCheck:
    """Return the check. `kinds` default to e-mail addresses, telephone and card numbers."""
    destinations, kinds = options.get("destinations"), options.get("kinds", ["email", "phone", "card"])
    if anything := next((place for place in options.get("except", []) if not place.strip("*. ")), None):
        raise ConfigError(f"{anything!r} excepts every place, so the policy always holds. Name the places")
    excepted, have_forms = options.get("except", []), _FORMS.issuperset(kinds)

    def is_about(key: str) -> bool:
        return destinations is None or key in destinations

    def check(_event: Mapping[str, Json], arrivals: Sequence[Arrival]) -> Iterator[Finding]:
        for arrival in arrivals:
            if not is_about(arrival.destination):
                continue
            present = arrival.may_have(kinds) if have_forms else kinds
            for payload in arrival.payloads if present else ():
                for finding in _findings(arrival.destination, payload, present):
                    if not any(ends_with(finding.path, steps) for steps in excepted):
                        yield finding

    def candidates(key: str, sent: Sent) -> Iterable[int]:
        if not is_about(key):
            return ()
        return sent.may_have(kinds) if have_forms else range(len(sent.payloads))

    def screen(_events: Sequence[Mapping[str, Json]], sent: Mapping[str, Sent]) -> Iterator[int]:
        for key, of in sent.items():
            yield from candidates(key, of)

    def early(key: str, sent: Sent) -> None:
        candidates(key, sent)

    return ScreenedCheck(check, screen, early, searches=lambda key: have_forms and is_about(key))


def _findings(destination: str, payload: Json, kinds: Collection[str]) -> Iterator[Finding]:
    encoded = personal.ENCODED in kinds
    have_forms, only_emails = (
        _FORMS.union((personal.ENCODED,)).issuperset(kinds),
        {*kinds} <= {"email", personal.ENCODED},
    )
    leaves = emails_in(payload, encoded=encoded) if only_emails else named_leaves(payload)
    # Few values look like anything: the others need no closer look.
    for path, name, owner, value in leaves:
        if isinstance(value, bool):
            continue
        text = str(value)
        if have_forms and not personal.may_be_personal(text, name, owner, encoded=encoded):
            continue
        for kind in _kinds(value, name, owner, kinds):
            yield Finding(destination, general_path(path), f"has {_WORDS[kind]}", value)


def _kinds(value: str | float, name: str, owner: str, kinds: Collection[str]) -> list[str]:
    """Return the kinds of personal data of a value."""
    found = personal.plain_data(value, name, owner)
    # The digits of a card look like a telephone number, too.
    return [kind for kind in found if kind in kinds and not (kind == "phone" and "card" in found and "card" in kinds)]


kind = PolicyKind(
    "no plain personal data (e-mail addresses, telephone and card numbers, ...) in payloads",
    {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "destinations": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "kinds": {"type": "array", "items": {"enum": list(_WORDS)}, "minItems": 1},
            "except": {"type": "array", "items": {"type": "string"}},
        },
    },
    make,
    lambda options: options.get("destinations", ()),
)
