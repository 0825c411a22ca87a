"""Who is asking: HTTP Basic with an e-mail address and a personal access token (specification, Authentication).

The service also takes a service access token with an empty user name: that of a person without an e-mail address.
"""

from __future__ import annotations

import base64

from starlette.requests import Request

from svctoolkit.errors import RequestError
from svctoolkit.workspace import Person, Workspace


def person(request: Request, workspace: Workspace) -> Person:
    """Who sent the request. Raises `RequestError` (401) for credentials that are absent, malformed or wrong."""
    lines = request.headers.getlist("authorization")
    email, token = _credentials(lines[0]) if len(lines) == 1 else ("", "")
    owner = workspace.person(email, token)
    if owner is None:
        raise RequestError(401, {"message": "Invalid Authorization Header"})
    return owner


def _credentials(header: str) -> tuple[str, str]:
    """E-mail address and token, both empty for a header that is no Basic header. The token may have colons in it."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        email, _, token = base64.b64decode(text.strip(), validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return email, token
