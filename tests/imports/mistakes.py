"""Plausible mistakes in a project that was imported from `acme`: one line each, in code or in workspace.yaml."""

from __future__ import annotations

from typing import NamedTuple


class Mistake(NamedTuple):
    """In `file`, the text `right` becomes `wrong`. `after`: the place in the file where to look for it."""

    name: str
    file: str
    right: str
    wrong: str
    after: str = ""


_ENRICH = "transformations/enrich-orders.js"
_MONEY = "transformations/libraries/moneytools.js"
_RENAME = "transformations/rename-signup-legacy.js"
_PII = "transformations/mask-pii.py"
_HASH = "transformations/libraries/hashing.py"
_SPACE = "workspace.yaml"

CODE = [
    Mistake("another spelling of the dropped event", _ENRICH, '"Debug Event"', '"Debug event"'),
    Mistake("internal events are not dropped", _PII, "return None", "return event"),
    Mistake("a misspelt prefix", _PII, 'startswith("Internal")', 'startswith("Intrenal")'),
    Mistake("addresses are hashed in capitals", _HASH, "    text = text.lower()\n", ""),
    Mistake("addresses are hashed with blanks", _HASH, "    text = text.strip()\n", ""),
    Mistake("no currency without decimals", _MONEY, '"JPY"', '"JPYEN"'),
    Mistake("rounding to tenths", _MONEY, "Math.round(value * 100) / 100", "Math.round(value * 10) / 10"),
    Mistake("the id of the source for its name", _ENRICH, "sourceName", "sourceId"),
    Mistake("a member that does not exist", _ENRICH, "(p.products || []).length", "p.items.length"),
    Mistake("e-mail addresses in clear text", _PII, '        del traits["email"]\n', ""),
    Mistake("phone numbers in clear text", _PII, '("phone", "birthday", "address")', '("birthday", "address")'),
    Mistake("currencies as they come", _ENRICH, '(p.currency || "EUR").toUpperCase()', '(p.currency || "EUR")'),
    Mistake("another default currency", _ENRICH, '|| "EUR"', '|| "USD"'),
    Mistake("events are not renamed", _RENAME, 'event.event === "Signup"', 'event.event === "Sign Up"'),
    Mistake("addresses of clients are sent", _RENAME, "    delete (event.context || {}).ip;\n", ""),
]

WORKSPACE = [
    Mistake(
        "a disabled connection is switched on", _SPACE, "enabled: false", "enabled: true", "destination: orders-hook"
    ),
    Mistake("a destination is taken from a source", _SPACE, "    - klaviyo\n", "", "ios-app:"),
    Mistake("another consent id", _SPACE, "consent: marketing", "consent: analytics", "meta-capi:"),
    Mistake("an event filter is switched off", _SPACE, "- Heartbeat\n", "- Nothing\n", "eventBlocking:"),
    Mistake("another access token", _SPACE, "$(env:HUBSPOT_ACCESS_TOKEN)", "$(env:META_CAPI_ACCESS_TOKEN)"),
    Mistake("another measurement id", _SPACE, "G-7K2ACME", "G-7K2ACNE"),
    Mistake("another name of an event", _SPACE, "to: Purchase", "to: Lead"),
    Mistake("another data residency", _SPACE, "dataResidency: eu", "dataResidency: us"),
]

MISTAKES = [*CODE, *WORKSPACE]


def apply(mistake: Mistake, text: str) -> str:
    """Return the text of the file with the mistake in it."""
    start = text.index(mistake.after) if mistake.after else 0
    place = text.index(mistake.right, start)
    return text[:place] + mistake.wrong + text[place + len(mistake.right) :]
