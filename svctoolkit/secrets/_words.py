"""Names of parameters, headers and settings whose values are credentials."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote_plus

CREDENTIAL_HEADERS = frozenset({
    "authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate", "x-auth-token", "x-api-key",
    "x-wsse",
})  # fmt: skip
#: A parameter's whole name, or its last word: `api_key`, `access-token`, `X-Amz-Signature`, `userToken`, but `monkey`.
_SECRET_NAME = re.compile(
    r"(?:.*(?:[-_.]|(?-i:(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))))?"
    r"(?:(?:api|access|secret|private|auth|app|client|consumer|license|subscription|write)?[-_]?"
    r"key|token|secret|password|passwd|pwd|pass|auth|authorization|credentials?|sig|signature|jwt|bearer)",
    re.IGNORECASE | re.DOTALL,
)
_LONGEST_NAME = 200  # characters of a name; a longer text is not one


def is_secret_name(name: str) -> bool:
    """Whether a parameter, header or setting with this name is a credential."""
    return len(name) <= _LONGEST_NAME and _is_secret_name(name)


@lru_cache(4096)
def _is_secret_name(name: str) -> bool:
    return _SECRET_NAME.fullmatch(unquote_plus(name)) is not None


@lru_cache(4096)
def is_secret_header(name: str) -> bool:
    """Whether a header with this name is a credential."""
    lower = name.lower()
    return lower in CREDENTIAL_HEADERS or (lower != "idempotency-key" and is_secret_name(name))
