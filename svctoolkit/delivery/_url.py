"""URLs as browsers and RudderStack's HTTP client parse them (WHATWG URL standard), in the form that is sent."""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from urllib.parse import quote, unquote

import msgspec
from msgspec.structs import replace

from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._js import well_formed

_C0_AND_SPACE = "".join(map(chr, range(0x21)))
_HTTP = re.compile(r"(https?):[/\\]*([^/\\?#]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.IGNORECASE | re.DOTALL)
_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::([0-9]*))?")
_FORBIDDEN_IN_HOST = re.compile(r"[\x00-\x20\x7f#%/:<>?@\[\\\]^|]")
_PATH_SAFE = "!$%&'()*+,/:;=@[]^|"
_QUERY_SAFE = "!$%&'()*+,/:;=?@[\\]^`{|}"
_REMEMBERED = 500  # longest URL that is cached, in characters
DEFAULT_PORTS = {"http": 80, "https": 443}


class Url(msgspec.Struct, frozen=True):
    """A checked URL. `host` is ASCII, an IPv6 address without brackets; `target` is path and query, percent-encoded.

    `userinfo` (`name:password`) is kept separately: it is sent as a header and never shown.
    """

    scheme: str
    host: str
    port: int
    target: str
    userinfo: str = ""

    @classmethod
    def parse(cls, text: str) -> Url:
        """Parse a URL. Raises `DeliveryError` (ERR_INVALID_URL), whose message shows no path, query or password."""
        return _parse_again(text) if len(text) <= _REMEMBERED else cls._parse(text)

    @classmethod
    def _parse(cls, text: str) -> Url:
        cleaned = re.sub(r"[\t\r\n]", "", well_formed(text).strip(_C0_AND_SPACE))
        match = _HTTP.fullmatch(cleaned)
        if match is None:
            hint = "must start with https:// or http://" if "://" not in cleaned else "is neither http nor https"
            raise failure("ERR_INVALID_URL", f"the endpoint {_place_of(cleaned)} {hint}")
        scheme, authority, path, query = match[1].lower(), match[2], match[3], match[4] or ""
        userinfo, _, place = authority.rpartition("@")
        split = _AUTHORITY.fullmatch(place)
        if split is None or not split[1]:
            raise failure("ERR_INVALID_URL", f"the endpoint {_place_of(cleaned)} has no valid host")
        port = int(split[2] or DEFAULT_PORTS[scheme]) if len(split[2] or "") <= 6 else -1
        if not 1 <= port <= 65535:
            raise failure("ERR_INVALID_URL", f"the endpoint {_place_of(cleaned)} has a port that is not 1 to 65535")
        tail = "" if query in ("", "?") else quote(query, safe=_QUERY_SAFE)
        return cls(scheme, host(split[1]), port, _path(path) + tail, unquote(userinfo))

    def with_query(self, query: str) -> Url:
        """Append `query` to the URL's own. The standard encodes an apostrophe in the latter, but not in `params`."""
        if not query and "'" not in self.target:
            return self
        path, mark, own = self.target.partition("?")
        own = own.replace("'", "%27")
        joined = f"{own}&{query}" if mark and query else own + query
        return replace(self, target=f"{path}?{joined}" if joined else path)

    @property
    def place(self) -> str:
        """Host and port as in a `Host` header: the port only if it is not the scheme's default."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}{self.target}"


@lru_cache(512)
def _parse_again(text: str) -> Url:
    """Parse with a cache: most endpoints occur again and again."""
    return Url._parse(text)


def host(text: str) -> str:
    """Return the host in canonical form: lower-case, IDNA, any spelling of an IPv4 address (`0x7f.1`) as four numbers.

    Brackets around an IPv6 address are removed. Raises `DeliveryError`.
    """
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        if ":" in bare and "%" not in bare:
            return str(ipaddress.IPv6Address(bare))
        name = _ascii(unquote(bare)).lower()
        if not name.strip(".") or _FORBIDDEN_IN_HOST.search(name):
            raise ValueError("invalid characters in the name")
        return _ipv4(name) or name
    except ValueError as error:
        raise failure("ERR_INVALID_URL", f"{well_formed(text)!r} is not a valid host: {error}") from error


def _ascii(name: str) -> str:
    if name.isascii():
        return name
    import idna  # takes 20 ms, and few hosts need it

    return idna.encode(name, uts46=True).decode()


def _ipv4(name: str) -> str:
    """Return the four numbers, or an empty string if `name` is not an IPv4 address."""
    labels = name.removesuffix(".").split(".")
    if not re.fullmatch(r"\d+|0x[0-9a-f]*", labels[-1]):
        return ""
    numbers = [_number(label) for label in labels]
    *head, last = numbers
    if len(numbers) > 4 or any(n > 255 for n in head) or last >= 256 ** (5 - len(numbers)):
        raise ValueError("the address is outside the range of IPv4")
    return str(ipaddress.IPv4Address(last + sum(n << (24 - 8 * i) for i, n in enumerate(head))))


def _number(label: str) -> int:
    if not label or len(label) > 40:
        raise ValueError("the IPv4 address is incomplete")
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)


def _path(path: str) -> str:
    """Return the path with `.` and `..` resolved; never empty."""
    resolved: list[str] = []
    segments = path.replace("\\", "/").split("/")[1:] or [""]
    for index, segment in enumerate(segments):
        plain = segment.lower().replace("%2e", ".")
        if plain == "..":
            del resolved[-1:]
        if plain not in (".", ".."):
            resolved.append(segment)
        elif index == len(segments) - 1:
            resolved.append("")
    return quote("/" + "/".join(resolved), safe=_PATH_SAFE)


def _place_of(text: str) -> str:
    """Return scheme and host of text that is not a valid URL. The rest may contain secrets."""
    scheme, _, rest = text.rpartition("://") if "://" in text[:20] else ("", "", text)
    slashes = "//" if rest.startswith("//") else ""  # as in `//host/path`
    place = re.split(r"[/\\?#]", rest.removeprefix(slashes), maxsplit=1)[0].rpartition("@")[2][:80]
    return repr(f"{scheme}://{place}" if scheme else f"{slashes}{place}" or text[:1])
