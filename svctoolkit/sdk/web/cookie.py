"""The cookie with the visitor's anonymous ID: its attributes, and the responses that may set it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple
from urllib.parse import unquote

from svctoolkit.errors import ConfigError

SameSite = Literal["Lax", "Strict", "None"]
Headers = Iterable[tuple[str, str]]
YEAR = 365 * 24 * 3600
_LONGEST_ID = 200
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_DOMAIN = re.compile(r"\.?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?", re.IGNORECASE)
_MAX_AGE = re.compile(r"\b(s-maxage|max-age)\s*=\s*\"?0*[1-9]")


class Cookie(NamedTuple):
    """Its attributes. `secure`: None if it depends on the request, HTTPS or not."""

    name: str
    domain: str
    secure: bool | None
    same_site: SameSite
    max_age: int

    def value(self, header: str) -> str:
        """Return the visitor's ID in a `Cookie` header, or an empty string."""
        match = re.search(rf"(?:^|;)\s*{re.escape(self.name)}=([^;]+)", header)
        return unquote(match[1]).strip()[:_LONGEST_ID] if match else ""

    def header(self, value: str, *, secure: bool) -> tuple[str, str]:
        """Return the header that sets it to a quoted value."""
        attributes = [f"{self.name}={value}", "Path=/", f"Max-Age={self.max_age}"]
        attributes += [f"Domain={self.domain}"] if self.domain else []
        attributes += ["HttpOnly", f"SameSite={self.same_site}"]
        attributes += ["Secure"] if secure else []
        return ("Set-Cookie", "; ".join(attributes))


def checked_cookie(name: str, domain: str, secure: bool | None, same_site: str, max_age: int) -> Cookie:
    """Return the cookie. Raises `ConfigError` for attributes that browsers would not accept."""
    if not _NAME.fullmatch(name):
        raise ConfigError(f"cookie: {name!r} is not a valid name; use letters, digits, - and _")
    if domain and not _DOMAIN.fullmatch(domain):
        raise ConfigError(f"cookie_domain: {domain!r} is not a domain such as shop.example")
    if same_site not in ("Lax", "Strict", "None"):
        raise ConfigError(f'cookie_same_site must be "Lax", "Strict" or "None"; got {same_site!r}')
    if isinstance(max_age, bool) or not isinstance(max_age, int) or max_age <= 0:
        raise ConfigError(f"cookie_max_age must be a whole number of seconds above 0; got {max_age!r}")
    if name.startswith("__Host-") and domain:
        raise ConfigError(f"cookie: browsers reject {name!r} with a domain; remove cookie_domain or the prefix")
    # Browsers reject these without `Secure`.
    if same_site == "None" or name.startswith(("__Host-", "__Secure-")):
        if secure is False:
            raise ConfigError(f"cookie_secure must not be False: browsers reject {name!r}, SameSite={same_site} then")
        secure = True
    return Cookie(name, domain, secure, "None" if same_site == "None" else _same_site(same_site), max_age)


def _same_site(text: str) -> SameSite:
    return "Strict" if text == "Strict" else "Lax"


def is_page(status: int, headers: Headers) -> bool:
    """Return whether the response is an HTML page, neither an error nor a redirect."""
    kind = next((value for name, value in headers if name.lower() == "content-type"), "").lower()
    return 200 <= status < 300 and ("text/html" in kind or "application/xhtml+xml" in kind)


def is_cacheable(headers: Headers) -> bool:
    """Return whether a cache that many visitors share may store the response, and with it a cookie."""
    values: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        values[key] = f"{values[key]}, {value}" if key in values else value
    for name, value in values.items():
        if name.endswith(("cdn-cache-control", "surrogate-control")) and _MAX_AGE.search(value.lower()):
            return True
    control = values.get("cache-control", "").lower()
    directives = {directive.strip() for directive in control.split(",")}
    if "public" in directives or "s-maxage" in control:
        return True
    if directives & {"private", "no-store", "no-cache"}:
        return False
    if _MAX_AGE.search(control) or "immutable" in directives:
        return True
    return "max-age" not in control and _seconds(values.get("expires", "")) > time.time()


def _seconds(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0
