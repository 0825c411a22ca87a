"""Parse user agents, and normalise the names of operating systems."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from svctoolkit.json_types import Json

#: The order matters: Edge and Opera also claim to be Chrome, and Chrome also claims to be Safari.
_BROWSERS = [
    ("Opera", r"(?:OPR|Opera|OPiOS)/([\d.]+)"),
    ("Edge", r"(?:Edge|EdgA|EdgiOS|Edg)/([\d.]+)"),
    ("Samsung Internet", r"SamsungBrowser/([\d.]+)"),
    ("UC Browser", r"UCBrowser/([\d.]+)"),
    ("Chrome", r"(?:Chrome|CriOS)/([\d.]+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/([\d.]+)"),
    ("Internet Explorer", r"(?:MSIE |Trident/.*rv:)([\d.]+)"),
    ("Mobile Safari", r"Version/([\d.]+).* Mobile/\S+ Safari/"),
    ("Safari", r"Version/([\d.]+).* Safari/"),
]
_SYSTEMS = [
    ("Windows", r"Windows NT ([\d.]+)"),
    ("iOS", r"(?:iPhone|iPad|iPod).* OS ([\d_]+)"),
    ("Mac OS X", r"Mac OS X ([\d_.]+)"),
    ("Android", r"Android ([\d.]+)"),
    ("Chrome OS", r"CrOS \S+ ([\d.]+)"),
    ("Linux", r"Linux()"),
]
_APPLE_DEVICE = r"iPhone|iPad|iPod"
_ANDROID_DEVICE = r"Android [\d.]+; ([^;)]+?)(?: Build/[^;)]*)?[;)]"
#: RudderStack's parser has no models of emulators: in apps, whose user agents have no browser, it takes the system.
_EMULATOR = re.compile(r"AOSP|sdk|emulator", re.IGNORECASE)
_APPLE = frozenset({"ios", "ipados", "tvos", "watchos"})


class Agent(NamedTuple):
    """The browser, the operating system and the device of a user agent; unknown ones are empty strings.

    The device of a computer is unknown, unless it is a `Mac`.
    """

    browser: str = ""
    browser_version: str = ""
    os: str = ""
    os_version: str = ""
    device_model: str = ""
    device_vendor: str = ""


def platform(name: Json) -> str:
    """The platform in `context.device.type` or `context.os.name`, in lower case; Apple's are all `ios`.

    >>> platform("Android"), platform("iPadOS"), platform(None)
    ('android', 'ios', '')
    """
    system = name.lower() if isinstance(name, str) else ""
    return "ios" if system in _APPLE else system


def agent(user_agent: Json) -> Agent:
    """Parse a user agent; an empty `Agent` for anything that is not a string.

    >>> agent("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36")
    Agent(browser='Chrome', browser_version='126.0.0.0', os='Linux', os_version='', device_model='', device_vendor='')
    """
    return _agent(user_agent[:1000]) if isinstance(user_agent, str) else Agent()


@lru_cache(maxsize=256)
def _agent(user_agent: str) -> Agent:
    browser, version = _first_match(_BROWSERS, user_agent)
    os, os_version = _first_match(_SYSTEMS, user_agent)
    return Agent(browser, version, os, os_version.replace("_", "."), *_device(os, user_agent))


def _device(os: str, user_agent: str) -> tuple[str, str]:
    if match := re.search(_APPLE_DEVICE, user_agent):
        return match[0], "Apple"
    if match := re.search(_ANDROID_DEVICE, user_agent):
        if _EMULATOR.search(match[1]) and "Safari" not in user_agent:
            return match[0].partition(";")[0], "Generic"
        return match[1], ""
    return ("Mac" if os == "Mac OS X" else ""), ""


def _first_match(patterns: list[tuple[str, str]], user_agent: str) -> tuple[str, str]:
    for name, pattern in patterns:
        if match := re.search(pattern, user_agent):
            return name, match[1]
    return "", ""
