"""Events as records of the standard logging."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.sdk.client import ServiceClient


class LoggingFactory:
    """Logs each event as one line with its type and name; the whole event is the record's attribute `event`."""

    def __init__(
        self, display_name: str = "", *, logger: str = "svctoolkit.sdk.events", level: int = logging.INFO
    ) -> None:
        self.display_name = display_name
        self._logger, self._level = logging.getLogger(logger), level

    def create(self, config: Mapping[str, Json], client: ServiceClient) -> _Logging:  # noqa: ARG002 - the protocol
        return _Logging(self._logger, self._level)


class _Logging:
    def __init__(self, logger: logging.Logger, level: int) -> None:
        self._logger, self._level = logger, level

    def dump(self, event: dict[str, Any]) -> None:
        name = event.get("event") or event.get("groupId") or event.get("userId") or ""
        self._logger.log(self._level, "%s %s", event.get("type"), name, extra={"event": event})

    def reset(self) -> None:
        self._logger.log(self._level, "reset")

    def flush(self) -> None:
        for handler in self._logger.handlers:
            handler.flush()
