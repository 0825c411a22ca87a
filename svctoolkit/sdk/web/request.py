"""What a request reveals about its visitor, as the members of an event's `context` that a browser would send."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, quote

_CAMPAIGN = {"utm_campaign": "name", "utm_source": "source", "utm_medium": "medium"}
_LONGEST = 2000
#: Entry in the list of trusted proxies that stands for connections through a Unix socket, which have no address.
UNIX = "unix"


class WebRequest(NamedTuple):
    """A request of ASGI or WSGI. Header names are in lower case; `path` is decoded, `query` is raw.

    `peer` is not an address (empty, "unix"...) if the request came through a Unix socket.
    """

    method: str
    scheme: str
    peer: str
    path: str
    query: str
    headers: Mapping[str, str]


class Proxies(NamedTuple):
    """Proxies whose `X-Forwarded-*` headers are trusted; `through_socket`: so are connections through a Unix socket."""

    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    through_socket: bool

    def sent(self, request: WebRequest) -> bool:
        """Return whether a request comes from a trusted proxy."""
        return self.have(request.peer) if _address(request.peer) else self.through_socket

    def have(self, hop: str) -> bool:
        """Return whether this is the address of a trusted proxy."""
        address = _address(hop)
        return bool(address) and any(ipaddress.ip_address(address) in network for network in self.networks)


def proxies(listed: Sequence[str]) -> Proxies:
    """Parse proxies: addresses, networks or "unix". Raises `ValueError` for anything else."""
    networks = tuple(ipaddress.ip_network(entry, strict=False) for entry in listed if entry != UNIX)
    return Proxies(networks, UNIX in listed)


def page(request: WebRequest, trusted: Proxies) -> dict[str, str]:
    """Return the requested page: path, referrer, search, url; empty members are left out."""
    behind_proxy = trusted.sent(request)
    host = (behind_proxy and _last(request.headers.get("x-forwarded-host", ""))) or request.headers.get("host", "")
    scheme = scheme_of(request, trusted)
    search = f"?{request.query}" if request.query else ""
    url = f"{scheme}://{host}{quote(request.path)}{search}" if host else ""
    properties = {
        "path": request.path or "/",
        "referrer": request.headers.get("referer", ""),
        "search": search,
        "url": url,
    }
    return {name: text[:_LONGEST] for name, text in properties.items() if text}


def scheme_of(request: WebRequest, trusted: Proxies) -> str:
    """Return the scheme that the visitor used: `http` or `https`."""
    return (trusted.sent(request) and _last(request.headers.get("x-forwarded-proto", ""))) or request.scheme


def describe(request: WebRequest, trusted: Proxies) -> dict[str, object]:
    """Return `ip`, `userAgent`, `locale`, `page` and `campaign`, as far as the request contains them."""
    members: dict[str, object] = {
        "ip": client_address(request, trusted),
        "userAgent": request.headers.get("user-agent", "")[:_LONGEST],
        "locale": _locale(request.headers.get("accept-language", "")),
        "page": page(request, trusted),
        "campaign": _campaign(request.query),
    }
    return {name: value for name, value in members.items() if value}


def client_address(request: WebRequest, trusted: Proxies) -> str:
    """Return the visitor's address: the last in `X-Forwarded-For` that is not itself a trusted proxy.

    Entries before it were written by the visitor, and cannot be trusted.
    """
    address = _address(request.peer)
    if not trusted.sent(request):
        return address
    for hop in reversed(request.headers.get("x-forwarded-for", "").split(",")):
        if not _address(hop):
            break
        address = _address(hop)
        if not trusted.have(hop):
            break
    return address


def _address(hop: str) -> str:
    """Return the address without port and brackets, IPv4-mapped IPv6 as IPv4; empty if it is not an address."""
    text = hop.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
        return str(getattr(address, "ipv4_mapped", None) or address)
    except ValueError:
        return ""


def _last(listed: str) -> str:
    return listed.rpartition(",")[2].strip()


def _locale(header: str) -> str:
    """Return the language that the visitor prefers most."""
    best, weight = "", 0.0
    for entry in header[:_LONGEST].split(","):
        tag, _, quality = entry.partition(";")
        try:
            number = float(quality.strip().removeprefix("q=")) if quality else 1.0
        except ValueError:
            continue
        if tag.strip() not in ("", "*") and number > weight:
            best, weight = tag.strip(), number
    return best[:35]


def _campaign(query: str) -> dict[str, str]:
    """Return `utm_source` and the other UTM parameters, under the names that events use."""
    try:
        pairs = parse_qsl(query[:_LONGEST], max_num_fields=100)
    except ValueError:
        return {}
    return {
        _CAMPAIGN.get(key, key.removeprefix("utm_")): value[:_LONGEST]
        for key, value in pairs
        if key.startswith("utm_") and len(key) > len("utm_")
    }
