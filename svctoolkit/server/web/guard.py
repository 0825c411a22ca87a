"""Access control: who may inspect a data plane, and who may change it."""

from __future__ import annotations

import hmac
from ipaddress import ip_address

from starlette.requests import Request
from starlette.responses import Response

from svctoolkit.errors import RequestError
from svctoolkit.server.web import auth
from svctoolkit.server.web.operation import Handler
from svctoolkit.workspace import Workspace


class Guard:
    """Access control for inspection and changes.

    A bearer token or the Basic credentials of a user open everything. Without them, inspection is possible only if the
    server listens on loopback, and then neither from another web page, which browsers mark with `Origin` or
    `Sec-Fetch-Site`, nor under a foreign host name whose DNS points here.
    """

    def __init__(self, workspace: Workspace, token: str, loopback: bool) -> None:
        self._workspace, self._token, self._loopback = workspace, token, loopback

    def always(self, handle: Handler) -> Handler:
        """Require credentials."""

        async def guard_first(request: Request) -> Response:
            self._check(request)
            return await handle(request)

        return guard_first

    def local(self, handle: Handler) -> Handler:
        """Require credentials unless the request is local."""

        async def guard_first(request: Request) -> Response:
            if "authorization" in request.headers or not self._loopback:
                self._check(request)
            elif _is_foreign(request) or not _names_loopback(request.url.hostname or ""):
                message = "credentials are required, except for programs on this machine at a loopback address"
                raise RequestError(401, {"message": message})
            return await handle(request)

        return guard_first

    def machine(self, handle: Handler) -> Handler:
        """Allow only programs on this machine, whatever credentials the request has: they are not those of a user."""

        async def guard_first(request: Request) -> Response:
            local = self._loopback and "origin" not in request.headers and _names_loopback(request.url.hostname or "")
            if not local:
                raise RequestError(401, {"message": "only programs on this machine may use it, at a loopback address"})
            return await handle(request)

        return guard_first

    def _check(self, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token.encode()):
            return
        auth.person(request, self._workspace)


def _is_foreign(request: Request) -> bool:
    """Whether another web page caused the request. It could not read the answer, but it could make this server work
    and measure how long that takes.
    """
    site = request.headers.get("sec-fetch-site", "none")
    is_link = site == "same-site" and request.headers.get("sec-fetch-mode") == "navigate"
    return "origin" in request.headers or not (site in ("none", "same-origin") or is_link)


def _names_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
