"""The Test API's calls as methods."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from svctoolkit.client import _shape
from svctoolkit.client._causes import set_causes
from svctoolkit.client._server import Server
from svctoolkit.destinations import definitions
from svctoolkit.displayed import Displayed
from svctoolkit.errors import ConfigError, EventError
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Stages, check_config, check_flag
from svctoolkit.results import DestinationResult, SourceResult
from svctoolkit.secrets import Masker, Secret, reveal, secret_texts

if TYPE_CHECKING:
    import httpx

#: Headers of a payload whose values are usually secrets. A remote API does not say which values are secret.
_SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "apikey"})


class TestApiClient(Displayed):
    """Runs tests on a server with the Test API. Same arguments and results as `svctoolkit.Pipeline`.

    `base_url` is the part before `/v0/`. `email` and `token` (a personal access token; for a service access token,
    leave `email` empty) are sent in every request to that host, and to no other: redirects to other hosts are errors.
    `timeout` is in seconds, per response.

    Calls raise `RequestError` if the server rejects them (`status` and `body` are its response): for a server of this
    package, the same classes as those of `Pipeline` (`UnknownId`, `InvalidMessageType`, `InvalidConfig`,
    `Unsupported`); for others, those that the specified texts show. They raise `DeliveryError`
    without a usable response: host unreachable (`ECONNREFUSED`, `ENOTFOUND`...), timeout (`ETIMEDOUT`), a redirect
    (`EREDIRECT`), a response that is not JSON or not of the documented shape (`EBADMSG`).

    A call is attempted up to three times if that cannot send an event twice: when the connection was refused, when
    definitions are read, and after 429 or 503 with `Retry-After` if no stage sends. A client is thread-safe.
    """

    __test__ = False  # pytest would collect it because of its name

    def __init__(
        self,
        base_url: str,
        email: str,
        token: str | Secret,
        *,
        transport: httpx.BaseTransport | None = None,
        timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.email = email
        self._token = token if isinstance(token, Secret) else Secret(token)
        self._server = Server(base_url, email, self._token, transport=transport, timeout=timeout, sleep=sleep)

    @property
    def base_url(self) -> str:
        """The URL that paths are appended to, without a trailing slash."""
        return self._server.base_url

    def test_destination(
        self,
        destination: str,
        event: Mapping[str, Json],
        *,
        stages: Stages | Mapping[str, bool] | None = None,
        config: Mapping[str, Json] | None = None,
        force: bool = False,
        run: str = "",
    ) -> DestinationResult:
        """Test one destination, by its id. `config` overrides its configuration key by key.

        `run` selects scripted answers on an svctoolkit server; RudderStack does not support runs. Nothing is sent to
        the destination unless `stages` includes sending. A disabled destination is a result with `error`.
        """
        override = {} if config is None else {"destinationConfig": reveal(check_config(config))}
        answer = self._test("testDestination", destination, event, stages, force, override, run)
        result = self._server.parse_answer(answer, lambda data: _shape.destination_result(data, event))
        self._mask(result, config or {})
        set_causes([result], answer.headers)
        return result

    def test_source(
        self,
        source: str,
        event: Mapping[str, Json],
        *,
        stages: Stages | Mapping[str, bool] | None = None,
        force: bool = False,
        run: str = "",
    ) -> SourceResult:
        """Test every destination that is connected to one source, by the source's id.

        A disabled source is a `RequestError` unless `force`.
        """
        answer = self._test("testSource", source, event, stages, force, {}, run)
        results = self._server.parse_answer(answer, lambda data: _shape.source_result(data, event))
        for result in results:
            self._mask(result, {})
        set_causes(results, answer.headers)
        return SourceResult(results)

    def destination_definitions(self) -> list[dict[str, Json]]:
        """Return all destination definitions: `name`, `displayName`, `config.destConfig.defaultConfig`..."""
        return self._server.parse_answer(self._server.get("/destination-definitions"), _shape.definitions)

    def destination_definition(self, name: str) -> dict[str, Json]:
        """Return the definition of one destination type. Raises `RequestError` with status 404 if it does not exist."""
        path = f"/destination-definitions/{_segment('destination type', name)}"
        return self._server.parse_answer(self._server.get(path), _shape.definition)

    def close(self) -> None:
        """Close the connections. Later calls open new ones."""
        self._server.close()

    def __enter__(self) -> TestApiClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"TestApiClient({self.base_url!r}, {self.email!r})"

    def _test(
        self,
        operation: str,
        id: str,
        event: Mapping[str, Any],
        given: Stages | Mapping[str, bool] | None,
        force: bool,
        override: Mapping[str, Any],
        run: str,
    ) -> Any:
        stages = Stages() if given is None else Stages.from_json(given)
        flags = {name: getattr(stages, name) for name in Stages.__slots__}
        body = _encode_credentials({"stage": flags, "message": event, **override})
        query = "?force=true" if check_flag("force", force, "true or false") else ""
        path = f"/v0/{operation}/{_segment('id', id)}{query}"
        return self._server.post(path, body, sends=stages.send_to_destination, run=run)

    def _mask(self, result: DestinationResult, config: Mapping[str, Any]) -> None:
        secrets = {self._token.reveal(), *secret_texts(config), *_header_secrets(result)}
        if result.destination in definitions.names():
            secrets.update(definitions.secret_values(result.destination, config))
        result.masker = Masker(secrets)


def _segment(what: str, text: str) -> str:
    """Return `text` quoted as one segment of a path."""
    if text in ("", ".", ".."):
        raise ConfigError(f"{text!r} is not a valid {what}")
    return quote(text, safe="", errors="replace")


def _encode_credentials(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise EventError(f"the event or the configuration cannot be written as JSON: {error}") from error


def _header_secrets(result: DestinationResult) -> Iterator[str]:
    for entry in result.data:
        payloads = entry.dest_transformed_payload
        for payload in payloads if isinstance(payloads, list) else ():
            headers = payload.get("headers")
            for name, value in headers.items() if isinstance(headers, Mapping) else ():
                if name.lower() in _SECRET_HEADERS and isinstance(value, str):
                    yield value.partition(" ")[2] or value  # `Bearer` and `Basic` are not masked
