"""Record responses of real destinations once, and replay them from a file afterwards."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._http import HttpRequest, HttpResponse, Transport
from svctoolkit.delivery._masking import mask_request, mask_response
from svctoolkit.delivery._url import Url
from svctoolkit.errors import ConfigError, DeliveryError
from svctoolkit.secrets import Masker

_VERSION = 1
#: UUIDs, ISO 8601 times, and Unix times in seconds to microseconds.
_GENERATED = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\d{4}-\d{2}-\d{2}[T ]\d{2}(?::|%3A)\d{2}(?::|%3A)\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?"
    r"|\b1\d{9}(?:\d{3}|\d{6})?\b",
    re.IGNORECASE,
)
_SECRET_ANSWERS = ("set-cookie", "www-authenticate")


class Cassette:
    """A transport that asks the real destination once, and afterwards answers from the file `path`.

    Requests match by method, URL and body, with secrets masked. Headers are ignored, and so are UUIDs and times in the
    URL and the body, because they change with every run. Requests that were in the file at the start are never sent
    again. A repeated request gets its recorded responses in order, then the last one again. `secrets` returns the
    strings to mask in the file. Without `live` nothing is ever sent, and a request that is not in the file raises
    `DeliveryError`.

    The file is JSON, suited to review and version control. It is rewritten atomically after every new response. Raises
    `ConfigError` for a file that is not a cassette.
    """

    def __init__(
        self, path: Path | str, live: Transport | None = None, *, secrets: Callable[[], Iterable[str]] = tuple
    ) -> None:
        self._path, self._live, self._secrets = Path(path), live, secrets
        self._lock = Lock()
        self._entries = _load(self._path)
        self._answers: dict[str, deque[dict[str, Any]]] = {}
        for entry in self._entries:
            self._answers.setdefault(entry["key"], deque()).append(entry["response"])

    @classmethod
    def once(cls, path: Path | str, live: Transport, *, secrets: Callable[[], Iterable[str]] = tuple) -> Cassette:
        """Return a cassette that records if the file is missing, and else never uses `live`. Raises `ConfigError`."""
        return cls(path, None if Path(path).exists() else live, secrets=secrets)

    @property
    def is_recording(self) -> bool:
        """Whether requests that are not in the file are sent."""
        return self._live is not None

    def __call__(self, request: HttpRequest, *, timeout: float) -> HttpResponse:
        masker = Masker.of(self._secrets())
        key = _key(request, masker)
        with self._lock:
            answers = self._answers.get(key)
            if answers:
                return _response(answers.popleft() if len(answers) > 1 else answers[0])
        place = Url.parse(request.url).place
        if self._live is None:
            hint = "delete the file to record again"
            raise failure(
                "ENOTRECORDED", f"the cassette {self._path.name} has no response from {place} to this request: {hint}"
            )
        try:
            answer = self._live(request, timeout=timeout)
        except DeliveryError as error:
            self._keep(
                key, request, {"error": masker.mask(str(error)), "code": error.code, "status": error.status}, masker
            )
            raise
        self._keep(key, request, _response_entry(answer, masker), masker)
        return answer

    def _keep(self, key: str, request: HttpRequest, response: dict[str, Any], masker: Masker) -> None:
        with self._lock:
            self._entries.append({"key": key, "request": _request_entry(request, masker), "response": response})
            _save(self._path, self._entries)


def _key(request: HttpRequest, masker: Masker) -> str:
    masked = _request_entry(request, masker)
    text = "\n".join((masked["method"], masked["url"], json.dumps(masked["body"], sort_keys=True)))
    text = _GENERATED.sub("~", text)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _request_entry(request: HttpRequest, masker: Masker) -> dict[str, Any]:
    masked = mask_request(request, masker)
    return {"method": masked.method, "url": masked.url, "headers": masked.headers, "body": _body(masked.body)}


def _body(raw: bytes) -> Any:
    """Return the body in readable form: JSON as is, else text, else base64."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (dict, list)) else text


def _response_entry(answer: HttpResponse, masker: Masker) -> dict[str, Any]:
    masked = mask_response(answer, masker)
    headers = {n: v for n, v in masked.headers.items() if n not in _SECRET_ANSWERS}
    return {"status": masked.status, "headers": headers, "body": _body(masked.body)}


def _response(written: Mapping[str, Any]) -> HttpResponse:
    if "error" in written:
        raise DeliveryError(written["error"], code=written["code"], status=written["status"])
    body = written["body"]
    if isinstance(body, dict) and set(body) == {"base64"}:
        raw = base64.b64decode(body["base64"])
    else:
        raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return HttpResponse(written["status"], written["headers"], raw)


def _load(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_text("utf-8"))
        if content["cassette"] != _VERSION or not all(
            {"key", "request", "response"} <= set(e) for e in content["entries"]
        ):
            raise ValueError("unsupported version or format")
        return list(content["entries"])
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"cannot read the cassette {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{path} is not a cassette: {error}") from error


def _save(path: Path, entries: list[dict[str, Any]]) -> None:
    text = json.dumps({"cassette": _VERSION, "entries": entries}, indent=1, ensure_ascii=False)
    new = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(f"{text}\n", "utf-8", "surrogatepass")
        os.replace(new, path)
    except OSError as error:
        raise ConfigError(f"cannot write the cassette {path}: {error.strerror}") from error
