"""Find and mask secrets in HTTP messages: passwords and parameters in URLs, URLs that are credentials, headers.

>>> mask_url("https://ann:pw@api.example/v1?token=abc123&page=2")
'https://••••@api.example/v1?token=••••&page=2'
>>> mask_url("https://hooks.slack.com/services/T0/B0/XyZ")
'https://hooks.slack.com/services/••••'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from operator import is_
from typing import Any, NamedTuple
from urllib.parse import unquote, unquote_plus

from svctoolkit.json_types import LEAVES, Json
from svctoolkit.secrets import MASK, Secret, is_secret_header, is_secret_name

#: A URL after its scheme. A search for the scheme as well would start at every letter of a long text.
_URL = re.compile(r"://(?:(?P<userinfo>[^/?#\s\"'<>]*)@)?(?P<rest>[^\s\"'<>]*)")
#: Hosts whose URLs are credentials, and the part of the path that is not secret.
_CREDENTIAL_PATHS = re.compile(
    r"(?P<known>(?:(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)"
    r"|(?:[\w-]+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks"
    r"|[\w-]+\.webhook\.office\.com/webhookb2|outlook\.office(?:365)?\.com/webhook"
    r"|hooks\.zapier\.com/hooks/(?:catch|standard)|hook\.[\w.-]*make\.(?:com|celonis\.com)|hook\.integromat\.com"
    r"|hooks\.[\w-]+\.workers\.dev|maker\.ifttt\.com/(?:use|trigger)|api\.telegram\.org"
    r"|webhook\.site|hooks\.airtable\.com/workflows|connect\.pabbly\.com/workflow/sendwebhookdata"
    r"|webhooks\.workato\.com/webhooks/rest|hkdk\.events|events\.hookdeck\.com/e|play\.svix\.com/in"
    r"|webhooks\.integrately\.com/a/webhooks|hooks\.stackby\.com|(?:[\w-]+\.)?n8n\.cloud/webhook(?:-test)?)/"
    r"|fn\.segmentapis\.com/\?b=))(?P<secret>[^?#]+)",
    re.IGNORECASE,
)

#: Hosts whose first label is the credential: whoever has it can send to the workflow, tunnel or function.
_CREDENTIAL_HOSTS = re.compile(
    r"(?P<secret>[\w-]+)(?=\.(?:(?:m|x)\.pipedream\.net|webhook\.site|(?:[a-z]{2}\.)?ngrok(?:-free)?\.(?:io|app|dev|pizza)"
    r"|trycloudflare\.com|loca\.lt|lambda-url\.[\w-]+\.on\.aws)(?=[:/?#]|$))",
    re.IGNORECASE,
)

#: What separates address, query and fragment. Answers of OAuth servers have tokens in the fragment.
_PARAMETER_LISTS = re.compile(r"([?#])")
_PAIR = re.compile(r"[?#&]([^?#&=]*+)=([^?#&]*+)")
_DELIMITERS = frozenset("?#")
_SHORT = 500  # characters


class UrlSecret(NamedTuple):
    """A secret between two places of a text. `name` is of its parameter, `password`, or empty for a path or host."""

    start: int
    end: int
    name: str


def url_secret_places(text: str) -> Iterator[UrlSecret]:
    """The places of the secrets of the URLs in a string, in order."""
    if "://" not in text:
        return
    for url in _URL.finditer(text):
        if url["userinfo"]:
            name, _, password = url["userinfo"].partition(":")
            start, end = url.span("userinfo")
            yield UrlSecret(end - len(password) if password else start, end, "password" if password else "user")
        at = url.start("rest")
        credential = _CREDENTIAL_PATHS.match(url["rest"])
        if credential is not None:
            start, end = credential.span("secret")
            yield UrlSecret(at + start, at + start + len(credential["secret"].rstrip("/")), "")
        host = _CREDENTIAL_HOSTS.match(url["rest"])
        if host is not None:
            yield UrlSecret(at, at + host.end(), "")
        for name, start, end in _parameters(url["rest"]):
            if start < end and is_secret_name(name):
                yield UrlSecret(at + start, at + end, name)


_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#\"'<>]+(?P<rest>(?:[/?#][^\s\"'<>]*)?)", re.IGNORECASE)


def address_secrets(text: str) -> list[UrlSecret]:
    """The places of the secrets in a secret text that is a URL. Empty for other texts, and for a URL without a path.

    Of a URL without a known secret, everything that follows the host is one.
    """
    address = _ADDRESS.fullmatch(text)
    if address is None:
        return []
    places = [*url_secret_places(text)]
    if places or len(address["rest"]) < 2:
        return places
    return [UrlSecret(address.start("rest") + 1, len(text.rstrip("/")), "")]


def public_host(host: str) -> str:
    """Return the host of a URL, with `*` for the part that is a credential."""
    secret = _CREDENTIAL_HOSTS.match(host)
    return f"*{host[secret.end() :]}" if secret is not None else host


def url_secrets(text: str) -> Iterator[str]:
    """The secrets of the URLs in a string, as they are written and decoded."""
    for start, end, name in url_secret_places(text):
        written = text[start:end]
        yield written
        if name:
            yield unquote(written) if name in ("password", "user") else unquote_plus(written)
        else:
            yield written.rpartition("/")[2]
            if "/" not in written and written != written.lower():
                yield written.lower()  # of a host, which clients send in lower case


def config_url_secrets(value: Json) -> Iterator[str]:
    """The secrets of all URLs in a configuration, at any depth."""
    if isinstance(value, Secret):
        yield from url_secrets(value.reveal())
    elif isinstance(value, str):
        if "://" in value:
            yield from url_secrets(value)
    elif isinstance(value, (dict, list, tuple, Mapping)):  # concrete types first: abstract classes are slow
        for member in value.values() if isinstance(value, (dict, Mapping)) else value:
            if "://" in member if type(member) is str else type(member) not in LEAVES:
                yield from config_url_secrets(member)


def mask_url(text: str) -> str:
    """A string with the secrets in its URLs masked. Parameter names are kept."""
    if "://" not in text:
        return text
    return _mask_short_text(text) if len(text) <= _SHORT else _URL.sub(_mask, text)


@lru_cache(1024)
def _mask_short_text(text: str) -> str:
    """Cached, because requests and pages repeat the same few addresses."""
    return _URL.sub(_mask, text)


def mask_headers(headers: Mapping[str, Json]) -> dict[str, Json]:
    """Headers of a request or response with the values of credential headers masked."""
    return {name: MASK if is_secret_header(name) and value else value for name, value in headers.items()}


def header_secrets(value: Json) -> Iterator[str]:
    """The values of credential headers anywhere in JSON about requests, with and without `Bearer`."""
    if isinstance(value, list):
        for item in value:
            yield from header_secrets(item)
    elif isinstance(value, (dict, Mapping)):
        for name, member in value.items():
            if type(member) in LEAVES:
                continue
            if str(name).lower() == "headers" and isinstance(member, Mapping):
                texts = [text for key, text in member.items() if is_secret_header(str(key)) and isinstance(text, str)]
                yield from texts
                yield from (text.partition(" ")[2] for text in texts)
            else:
                yield from header_secrets(member)


#: Names of members with secrets, in every combination of upper and lower case: a lookup is much faster than lowering
#: each name.
_PLACES = {
    "".join(letters): name
    for name in ("headers", "url", "endpoint", "params")
    for letters in product(*zip(name, name.upper(), strict=True))
}
_PLACE_NAMES = frozenset(_PLACES)


def mask_http(value: Json) -> Json:
    """JSON about requests and answers with the secrets in headers and URLs masked.

    Only parts with masked values are copied; without any, it is `value` itself. Other mappings become dicts.
    """
    kind = type(value)
    if kind is dict:
        return _mask_members(value)
    if kind is not list and isinstance(value, Mapping):  # isinstance with an abstract class is slow
        return _mask_members(dict(value))
    if kind is not list and not isinstance(value, list):
        return value
    items = [item if type(item) in LEAVES else mask_http(item) for item in value]
    return value if all(map(is_, items, value)) else items


def _mask_members(value: dict[str, Any]) -> dict[str, Any]:
    masked = {}
    has_places = not _PLACE_NAMES.isdisjoint(value)
    for name, member in value.items():
        place = _PLACES.get(name) if has_places else None
        if place is not None:
            safe = _mask_place(place, member)
        elif type(member) in LEAVES:
            continue
        else:
            safe = mask_http(member)
        if safe is not member:
            masked[name] = safe
    return {**value, **masked} if masked else value


def _mask_place(place: str, member: Any) -> Any:
    if place == "headers" and isinstance(member, Mapping):
        return mask_headers(member) if any(map(is_secret_header, map(str, member))) else member
    if place in ("url", "endpoint") and isinstance(member, str):
        safe = mask_url(member)
        return member if safe == member else safe
    if place == "params" and isinstance(member, Mapping):
        names = [key for key, value in member.items() if value and is_secret_name(str(key))]
        return {**member, **dict.fromkeys(names, MASK)} if names else member
    return mask_http(member)


def _mask(url: re.Match[str]) -> str:
    userinfo = f"{MASK}@" if url["userinfo"] else "@" if url["userinfo"] == "" else ""
    rest = url["rest"]
    credential = _CREDENTIAL_PATHS.match(rest)
    if credential is not None:
        rest = credential["known"] + MASK + rest[credential.end() :]
    host = _CREDENTIAL_HOSTS.match(rest)
    if host is not None:
        rest = MASK + rest[host.end() :]
    address, *pieces = _PARAMETER_LISTS.split(rest)  # address, then each delimiter and the list that follows it
    lists = [piece if piece in _DELIMITERS else _mask_parameters(piece) for piece in pieces]
    return f"://{userinfo}{address}{''.join(lists)}"


def _mask_parameters(text: str) -> str:
    return "&".join(_mask_parameter(pair) for pair in text.split("&")) if "=" in text else text


def _mask_parameter(pair: str) -> str:
    name, _, value = pair.partition("=")
    return f"{name}={MASK}" if value and is_secret_name(name) else pair


def _parameters(rest: str) -> Iterator[tuple[str, int, int]]:
    """Yield the parameters in the query and in the fragment of a URL: each name, and where its value is."""
    first = _PARAMETER_LISTS.search(rest)
    for pair in _PAIR.finditer(rest, first.start()) if first else ():
        yield pair[1], *pair.span(2)
