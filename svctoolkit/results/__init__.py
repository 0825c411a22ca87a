"""Results of test runs: objects that mirror the JSON of the Test API, rows, and frames.

pandas is imported only when a frame is requested.
"""

from __future__ import annotations

from svctoolkit.results._deliveries import SharedDeliveries, SharedRequests
from svctoolkit.results._entries import EventResult, Judgement
from svctoolkit.results._model import DestinationResult, SourceResult
from svctoolkit.results._rows import Row, Step, rows, steps
from svctoolkit.results._types import (
    ABSENT,
    DROPPED,
    NO_TRANSFORMATION,
    Absent,
    Body,
    Payload,
    StageError,
    error_of,
)
from svctoolkit.results.columns import Column, spread
from svctoolkit.results.failures import Failure, Failures, failures
from svctoolkit.results.frames import flatten, frame

__all__ = [
    "ABSENT",
    "DROPPED",
    "NO_TRANSFORMATION",
    "Absent",
    "Body",
    "Column",
    "DestinationResult",
    "EventResult",
    "Failure",
    "Failures",
    "Judgement",
    "Payload",
    "Row",
    "SharedDeliveries",
    "SharedRequests",
    "SourceResult",
    "StageError",
    "Step",
    "error_of",
    "failures",
    "flatten",
    "frame",
    "rows",
    "spread",
    "steps",
]
