"""HTTP Basic authentication with an e-mail address and a personal access token (specification, Authentication).

RudderStack also accepts a service access token with an empty user name. Here it belongs to a user without an e-mail
address.
"""

from __future__ import annotations

import base64

from starlette.requests import Request

from svctoolkit.errors import RequestError
from svctoolkit.workspace import Person, Workspace


def person(request: Request, workspace: Workspace) -> Person:
    """Return the user who sent the request. Raises `RequestError` (401) for missing, malformed or wrong credentials."""
    lines = request.headers.getlist("authorization")
    email, token = _credentials(lines[0]) if len(lines) == 1 else ("", "")
    owner = workspace.person(email, token)
    if owner is None:
        raise RequestError(401, {"message": "Invalid Authorization Header"})
    return owner


def _credentials(header: str) -> tuple[str, str]:
    """Return e-mail address and token, both empty if the header is not Basic. The token may contain colons."""
    scheme, _, text = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        email, _, token = base64.b64decode(text.strip(), validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return email, token
