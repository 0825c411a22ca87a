"""The kinds of sources for which destinations have settings of their own: web, android, ios, cloud and so on.

RudderStack's source definitions have names (Javascript, iOS, Python) and, in most exports, the kind as their type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

#: Every kind, as settings spell it.
PLATFORMS = (
    "web",
    "android",
    "androidKotlin",
    "ios",
    "iosSwift",
    "unity",
    "amp",
    "cloud",
    "warehouse",
    "reactnative",
    "flutter",
    "cordova",
    "shopify",
)
_BY_NAME = {name.lower(): name for name in PLATFORMS} | {"javascript": "web", "browser": "web"}
_SERVERS = "http python node nodejs go golang java ruby rust php net dotnet cloudsource server"
_BY_NAME |= dict.fromkeys(_SERVERS.split(), "cloud")
#: Categories whose sources are of one kind, whatever their type.
_BY_CATEGORY = {"webhook": "cloud", "singer-protocol": "cloud", "cloud": "cloud", "warehouse": "warehouse"}
#: Settings that may differ by the kind of the source, and decide which events a destination gets.
BY_PLATFORM = ("connectionMode", "consentManagement", "oneTrustCookieCategories", "ketchConsentPurposes")


@cache  # asked for each event
def platform_of(type: str, category: str = "") -> str:
    """Return the kind of a source by the type that its definition has, or by its name; another type is its own kind."""
    letters = "".join(character for character in type.lower() if character.isalnum())
    return _BY_CATEGORY.get(category) or _BY_NAME.get(letters, type)


# Any: settings as a file has them
def entries_by_platform(config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the settings that have an entry for each kind of source, with these entries."""
    for name in BY_PLATFORM:
        value = config.get(name)
        if isinstance(value, Mapping) and not value.keys().isdisjoint(PLATFORMS):
            yield name, value
