"""The destination catalogue: one folder per type that has a mapping, and the definitions of all types.

>>> payload, = CATALOGUE["WEBHOOK"].payloads({"type": "track", "event": "E"}, {"webhookUrl": "https://hook.example"})
>>> payload["method"], payload["endpoint"]
('POST', 'https://hook.example')

Decisions for all types. Variables that a request needs are required here; RudderStack would send the request with an
empty value. A list in place of a string is joined as RudderStack does it (`a,b`) or refused. An object in place of a
string, which RudderStack sends as `[object Object]`, is sent as JSON text or refused.
"""

from __future__ import annotations

import os
from functools import cached_property

from svctoolkit.destinations._answers import Answer
from svctoolkit.destinations._batches import Batch, Batching, Job, MappedJob, Merge
from svctoolkit.destinations._context import Context, Lookup
from svctoolkit.destinations._define import DestinationType
from svctoolkit.destinations._deletions.deletion import Deletion, User, chunks, in_url, required_user_id
from svctoolkit.destinations._deletions.outcome import (
    DeletionOutcome,
    DeletionRequest,
    Exchange,
    Failure,
    by_status,
)
from svctoolkit.destinations._endpoint import (
    ACCEPT_JSON,
    FORM,
    JSON,
    Endpoint,
    Header,
    Param,
    authorization,
    basic,
    basic_key,
    bearer,
    by_setting,
    oauth,
)
from svctoolkit.destinations._examples import (
    Asked,
    BatchExample,
    Example,
    ExpectedError,
    OutcomeExample,
    difference,
    load_batch_examples,
    load_examples,
    load_outcome_examples,
)
from svctoolkit.destinations._mapping import DestinationMapping
from svctoolkit.destinations._outcomes import Delivery, JobOutcome, Outcome, OutcomeKind, Reply, outcome_of_status
from svctoolkit.destinations._payload import Method, Payload
from svctoolkit.destinations._settings import Parsed, Rows, SecretRows, Settings, Tags
from svctoolkit.displayed import Displayed
from svctoolkit.registry import Registry

__all__ = [
    "ACCEPT_JSON",
    "CATALOGUE",
    "FORM",
    "JSON",
    "Answer",
    "Asked",
    "Batch",
    "BatchExample",
    "Batching",
    "Context",
    "Deletion",
    "DeletionOutcome",
    "DeletionRequest",
    "Delivery",
    "DestinationMapping",
    "DestinationType",
    "Endpoint",
    "Example",
    "Exchange",
    "ExpectedError",
    "Failure",
    "Header",
    "Job",
    "JobOutcome",
    "Lookup",
    "MappedJob",
    "Merge",
    "Method",
    "Outcome",
    "OutcomeExample",
    "OutcomeKind",
    "Param",
    "Parsed",
    "Payload",
    "Reply",
    "Rows",
    "SecretRows",
    "Settings",
    "Tags",
    "User",
    "authorization",
    "basic",
    "basic_key",
    "batch_examples",
    "bearer",
    "by_setting",
    "by_status",
    "chunks",
    "difference",
    "examples",
    "in_url",
    "oauth",
    "outcome_examples",
    "outcome_of_status",
    "required_user_id",
]


def _has_mapping(entry: os.DirEntry[str]) -> bool:
    return entry.name[0] not in "_." and os.path.isfile(os.path.join(entry.path, "__init__.py"))


class _Catalogue(Displayed, Registry[DestinationType]):
    """The destination types that can be tested: `CATALOGUE["MP"]` loads one, iteration gives the names.

    `UnknownName` is raised for other names, with the nearest ones.
    """

    @cached_property
    def _local(self) -> dict[str, str]:
        # `pkgutil` would list the content of each folder, which takes most of a small run's time.
        names = sorted(entry.name for path in __path__ for entry in os.scandir(path) if _has_mapping(entry))
        return {name.upper(): name for name in names}

    def __repr__(self) -> str:
        return f"<catalogue of {len(self)} destination types: {', '.join(self)}>"


CATALOGUE = _Catalogue(DestinationType, package=__name__, attribute="destination", what="destination type")


def examples(type: str) -> list[Example]:
    """Return the worked examples of one type: event and configuration, and the resulting payloads or refusal.

    They are read from `examples.yaml` next to the mapping; empty if the type does not have that file. Raises
    `UnknownName` for a type without a mapping, and `ConfigError` for a file that cannot be read.
    """
    return load_examples(CATALOGUE[type].settings)


def batch_examples(type: str) -> list[BatchExample]:
    """Return the examples of shared requests of one type, from `batches.yaml`. Raises the same errors as `examples`."""
    return load_batch_examples(CATALOGUE[type].settings)


def outcome_examples(type: str) -> list[OutcomeExample]:
    """Return the examples of answers and their outcomes, from `outcomes.yaml`. Raises the same errors as `examples`."""
    return load_outcome_examples(CATALOGUE[type].settings)
