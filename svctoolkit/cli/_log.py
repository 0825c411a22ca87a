"""Write the log of a served data plane to a stream, as lines of text or of JSON."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Literal, TextIO

_ACCESS = "svctoolkit.access"


def start(stream: TextIO, form: Literal["text", "json"]) -> None:
    """Write the records of the package's loggers at `INFO` and above to `stream`, one per line."""
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
    """`time`, `level`, `logger` and `message`; for access log records, the keys of the request instead of `message`."""

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
