"""Turns payloads into HTTP requests and gets responses. The pipeline's only network call is here.

    payload -> request() -> HttpRequest -> Transport -> HttpResponse -> Delivered

`Sender` does all of it. A `Transport` is any callable of that shape: `Recorder` keeps the requests and returns
configured responses, `live.LiveTransport` uses the network within the limits of a `policy.NetworkPolicy`, `Cassette`
records real responses and replays them. `curl` shows a request as a command.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from svctoolkit.delivery._caller import caller, calling
from svctoolkit.delivery._http import HttpRequest, HttpResponse, Transport
from svctoolkit.delivery._inflate import gunzip
from svctoolkit.delivery._masking import mask_request, mask_response
from svctoolkit.delivery._plain import PlainRequest, plain_request
from svctoolkit.delivery._rejection import rejection_of
from svctoolkit.delivery._request import request
from svctoolkit.delivery._sender import Delivered, Sender, delivered, parse_body, response_value, undelivered
from svctoolkit.delivery._templates import Templates
from svctoolkit.delivery.recorder import Answer, MappingLookup, Recorded, Recorder, Server

if TYPE_CHECKING:
    from svctoolkit.delivery import live, policy
    from svctoolkit.delivery._curl import curl
    from svctoolkit.delivery.cassette import Cassette

__all__ = [
    "Answer",
    "Cassette",
    "Delivered",
    "HttpRequest",
    "HttpResponse",
    "MappingLookup",
    "PlainRequest",
    "Recorded",
    "Recorder",
    "Sender",
    "Server",
    "Templates",
    "Transport",
    "caller",
    "calling",
    "curl",
    "delivered",
    "gunzip",
    "live",
    "mask_request",
    "mask_response",
    "parse_body",
    "plain_request",
    "policy",
    "rejection_of",
    "request",
    "response_value",
    "undelivered",
]

#: Imported on first use: in mode `record` nothing needs the network.
_HOME = {"Cassette": "cassette", "curl": "_curl", "live": "live", "policy": "policy"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{_HOME[name]}")
    return module if name == _HOME[name] else getattr(module, name)
