"""The authentication of a request to Emarsys."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from datetime import UTC, datetime

from svctoolkit.secrets import Secret


def signature(username: Secret, secret: Secret, now: datetime, seed: str) -> str:
    """Return the header `X-WSSE`: a digest of the secret, the time and a nonce that is derived from `seed`."""
    created = f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
    nonce = hashlib.md5(f"{seed}{created}".encode(), usedforsecurity=False).hexdigest()
    checksum = hashlib.sha1(f"{nonce}{created}{secret.reveal()}".encode(), usedforsecurity=False).hexdigest()
    digest = b64encode(checksum.encode()).decode()
    name = username.reveal()
    return f'UsernameToken Username="{name}", PasswordDigest="{digest}", Nonce="{nonce}", Created="{created}"'
