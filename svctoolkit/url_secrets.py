"""What is secret in HTTP wherever it goes: passwords and parameters of URLs, URLs that are credentials, headers.

>>> mask_url("https://ann:pw@api.example/v1?token=abc123&page=2")
'https://••••@api.example/v1?token=••••&page=2'
>>> mask_url("https://hooks.slack.com/services/T0/B0/XyZ")
'https://hooks.slack.com/services/••••'
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, unquote_plus

from svctoolkit.json_types import Json
from svctoolkit.secrets import MASK, Secret

CREDENTIAL_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "x-auth-token", "x-api-key"}
)
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?:(?P<userinfo>[^/?#\s\"'<>]*)@)?(?P<rest>[^\s\"'<>]*)")
#: The whole of a parameter's name, or its last word: `api_key`, `access-token`, `X-Amz-Signature`, `sig`.
_SECRET_NAME = re.compile(
    r"(?:.*[-_.]|.*(?=[A-Z]))?(?:(?:api|access|secret|private|auth|app|client|consumer|license|subscription|write)?[-_]?"
    r"key|token|secret|password|passwd|pwd|pass|auth|authorization|credentials?|sig|signature|jwt|bearer)",
    re.IGNORECASE,
)
#: Hosts whose URLs let in whoever knows them, and what of the path is the same for everybody.
_CREDENTIAL_PATHS = re.compile(
    r"(?P<known>(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)"
    r"|(?:[\w-]+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks"
    r"|[\w-]+\.webhook\.office\.com/webhookb2|outlook\.office(?:365)?\.com/webhook"
    r"|hooks\.zapier\.com/hooks/(?:catch|standard)|hook\.[\w.-]*make\.com|hooks\.[\w-]+\.workers\.dev"
    r"|maker\.ifttt\.com/(?:use|trigger)|api\.telegram\.org)/)(?P<secret>[^?#]+)",
    re.IGNORECASE,
)


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """Whether a parameter or header of this name holds a credential."""
    return _SECRET_NAME.fullmatch(unquote_plus(name)) is not None


def url_secrets(text: str) -> Iterator[str]:
    """The secrets of the URLs in a text."""
    if "://" not in text:
        return
    for url in _URL.finditer(text):
        if url["userinfo"]:
            name, _, password = url["userinfo"].partition(":")
            yield unquote(password or name)
        credential = _CREDENTIAL_PATHS.match(url["rest"])
        if credential is not None:
            yield credential["secret"]
            yield credential["secret"].rstrip("/").rpartition("/")[2]
        for name, value in _parameters(url["rest"]):
            if value and is_secret_name(name):
                yield value
                yield unquote_plus(value)


def config_url_secrets(value: Json) -> Iterator[str]:
    """The secrets of the URLs in a configuration, wherever they stand in it."""
    if isinstance(value, Secret):
        yield from url_secrets(value.reveal())
    elif isinstance(value, str):
        yield from url_secrets(value)
    elif isinstance(value, Mapping | list | tuple):
        for member in value.values() if isinstance(value, Mapping) else value:
            yield from config_url_secrets(member)


def mask_url(text: str) -> str:
    """A text with what is secret in its URLs masked. Parameters keep their names."""
    return _URL.sub(_mask, text) if "://" in text else text


def mask_headers(headers: Mapping[str, Json]) -> dict[str, Json]:
    """Headers with the values of those masked that hold credentials, whoever sends them."""
    return {name: MASK if _is_credential(name) and value else value for name, value in headers.items()}


def header_secrets(value: Json) -> Iterator[str]:
    """What stands in headers that hold credentials, wherever in JSON about requests, with and without `Bearer`."""
    if isinstance(value, list):
        for item in value:
            yield from header_secrets(item)
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if str(name).lower() == "headers" and isinstance(member, Mapping):
                texts = [text for key, text in member.items() if _is_credential(str(key)) and isinstance(text, str)]
                yield from texts
                yield from (text.partition(" ")[2] for text in texts)
            else:
                yield from header_secrets(member)


_PLAIN = frozenset({int, float, bool, type(None)})


def mask_http(value: Json) -> Json:
    """JSON about requests and answers with what is secret by its place masked: members that are headers or URLs."""
    if type(value) is list or isinstance(value, list):
        return [mask_http(item) for item in value]
    if type(value) is not dict and not isinstance(value, Mapping):  # asking for an abstract class takes long
        return value
    # Most members are plain values, which only their name and an address in them could make secret.
    return {
        name: member
        if (kind := type(member)) in _PLAIN or (kind is str and "://" not in member)
        else _mask_member(str(name).lower(), member)
        for name, member in value.items()
    }


def _mask_member(name: str, member: Any) -> Any:
    if name == "headers" and isinstance(member, Mapping):
        return mask_headers(member)
    if name in ("url", "endpoint") and isinstance(member, str):
        return mask_url(member)
    if name == "params" and isinstance(member, Mapping):
        return {key: MASK if is_secret_name(str(key)) and value else value for key, value in member.items()}
    return mask_http(member)


@lru_cache(4096)
def _is_credential(header: str) -> bool:
    return header.lower() in CREDENTIAL_HEADERS or (header.lower() != "idempotency-key" and is_secret_name(header))


def _mask(url: re.Match[str]) -> str:
    userinfo = f"{MASK}@" if url["userinfo"] else "@" if url["userinfo"] == "" else ""
    rest = _CREDENTIAL_PATHS.sub(lambda path: path["known"] + MASK, url["rest"], count=1)
    for name, value in _parameters(rest):
        if value and is_secret_name(name):
            rest = rest.replace(f"{name}={value}", f"{name}={MASK}", 1)
    return f"{url['scheme']}{userinfo}{rest}"


def _parameters(rest: str) -> Iterator[tuple[str, str]]:
    query = rest.partition("?")[2].partition("#")[0]
    for pair in query.split("&") if query else ():
        name, _, value = pair.partition("=")
        yield name, value
