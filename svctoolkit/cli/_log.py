"""What a served data plane logs, on a stream: lines of text for people, of JSON for programs."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Literal, TextIO

_ACCESS = "svctoolkit.access"


def start(stream: TextIO, form: Literal["text", "json"]) -> None:
    """Write everything from `INFO` on of the package's loggers to `stream`, one record a line."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        _JsonLines() if form == "json" else _TextLines("%(asctime)s %(levelname)s %(name)s %(message)s")
    )
    logger = logging.getLogger("svctoolkit")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


class _TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\n  ")


class _JsonLines(logging.Formatter):
    """`time`, `level`, `logger` and `message`; of a request its members instead of the message."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        if record.name == _ACCESS:
            return json.dumps({**line, **json.loads(record.getMessage())})
        error = {"error": self.formatException(record.exc_info)} if record.exc_info else {}
        return json.dumps({**line, "message": record.getMessage(), **error})
