"""A request that the recorder has kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qsl

from svctoolkit.delivery._http import HttpRequest, HttpResponse
from svctoolkit.delivery._inflate import gunzip
from svctoolkit.delivery._sender import parse_body
from svctoolkit.delivery._url import Url
from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.secrets import Masker


@dataclass(frozen=True, slots=True)
class Recorded(Displayed):
    """One request as it arrived, and its response: None if the connection was closed or the sender gave up.

    A data plane adds where the request belongs: the key of the `destination`, the `run`, and the message ids of the
    `events`. A request of user code has the key of its `transformation`. `script` is the key of the script that
    answered, if there was one.
    """

    request: HttpRequest
    response: HttpResponse | None
    time: datetime
    destination: str = ""
    run: str = ""
    events: tuple[str, ...] = ()
    transformation: str = ""
    script: str = ""
    _secrets: Callable[[], Iterable[str]] = field(default=tuple, repr=False, compare=False)

    def __repr__(self) -> str:
        about = f"{self.request!r}, {self.response!r}, {self.destination!r}, run={self.run!r}, events={self.events!r}"
        return Masker.of(self._secrets()).text(f"<Recorded {about}>")

    @property
    def host(self) -> str:
        """The host, with the port unless it is the scheme's default."""
        return Url.parse(self.request.url).place

    @property
    def text(self) -> str:
        """The body, decompressed."""
        body = self.request.body
        if any(name.lower() == "content-encoding" and "gzip" in v for name, v in self.request.headers.items()):
            body = gunzip(body) or body
        return body.decode("utf-8", "replace")

    @property
    def json(self) -> Json:
        """The parsed body, or None if it is not JSON."""
        value = parse_body(self.text.encode())
        return value if value != self.text else None

    @property
    def form(self) -> dict[str, str]:
        """The body parsed as a form; if a name occurs several times, the last value."""
        return dict(parse_qsl(self.text, keep_blank_values=True))

    def masker(self) -> Masker:
        """Return a masker for the secrets that are known at this time."""
        return Masker.of(self._secrets())
