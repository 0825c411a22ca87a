"""Results of the Test API, local or remote. `to_dict()` returns exactly the JSON of RudderStack's specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from msgspec import structs

from svctoolkit.displayed import Displayed, render
from svctoolkit.json_types import Json
from svctoolkit.results._entries import DestinationEntries, EventResult
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.secrets import Masker

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.results.failures import Failures


_MEMBERS = (
    "user_transformed_payload",
    "dest_transformed_payload",
    "destination_response",
    "destination_response_status",
)


@dataclass(slots=True, repr=False)
class DestinationResult(Displayed, ArrowOut, DestinationEntries):
    """The result for one destination: `data` has one entry per event, or `error` says why it is empty.

    `unmapped` says why an event without errors has no payloads: the toolkit has no mapping for this destination
    type, so only the user transformation ran. Only a `Pipeline` that is `exploring` has such results.
    """

    def to_dict(self) -> dict[str, Json]:
        """Return the JSON of the specification, including secrets. For display, use `to_masked_dict`."""
        head = {"destinationId": self.destination_id, "destinationName": self.destination_name}
        if self.error is not None:
            return {**head, "error": self.error}
        data = [entry.to_dict() for entry in self.data]
        return {
            "destinationId": self.destination_id,
            "destination": self.destination,
            "destinationName": self.destination_name,
            "data": data,
        }

    def to_masked_dict(self) -> dict[str, Json]:
        """Return `to_dict()` with every secret masked, for display."""
        masked: dict[str, Any] = self.mask(self.to_dict())
        return masked

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without secrets, so that the result can be stored."""
        entries = [entry.without_secrets(self.masker) for entry in self.data]
        error = None if self.error is None else self.masker.text(self.error)
        members = (self.destination_id, self.destination_name, self.destination, entries, error)
        lost = tuple(structs.replace(loss, value=self.masker.mask(loss.value)) for loss in self.lost)
        return DestinationResult, (*members, Masker(()), self.unmapped, None, lost)

    @classmethod
    def from_dict(cls, data: Mapping[str, Json], event: Mapping[str, Json]) -> DestinationResult:
        """Return the result from the JSON of a Test API. Raises `KeyError` or `TypeError` for other JSON."""
        entries = [EventResult.from_dict(entry, event) for entry in data.get("data") or ()]
        head = data["destinationId"], data["destinationName"], data.get("destination")
        return cls(*head, entries, data.get("error"))

    @property
    def ok(self) -> bool:
        """Whether every stage that ran succeeded. Dropped events and refused requests are not ok."""
        return self.error is None and not any(entry.error or entry.is_rejected for entry in self.data)

    def frame(self) -> pd.DataFrame:
        """Return one row per event, destination and stage: see `svctoolkit.results.frame`."""
        from svctoolkit.results.frames import frame

        return frame([self])

    def failures(self) -> Failures:
        """Return the events that failed, as data: stage, rule, field, value, expected value. Drops are not failures."""
        from svctoolkit.results.failures import failures

        return failures([self])

    def __repr__(self) -> str:
        return render(self, "text")


class SourceResult(Displayed, ArrowOut, Sequence[DestinationResult]):
    """The results of one source: one `DestinationResult` per connected destination, in order."""

    def __init__(self, results: Sequence[DestinationResult]) -> None:
        self._results = tuple(results)

    @overload
    def __getitem__(self, index: int) -> DestinationResult: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[DestinationResult]: ...
    def __getitem__(self, index: int | slice) -> DestinationResult | Sequence[DestinationResult]:
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[DestinationResult]:
        return iter(self._results)

    def to_dict(self) -> list[dict[str, Json]]:
        """Return the JSON array of the specification."""
        return [result.to_dict() for result in self._results]

    def to_masked_dict(self) -> list[dict[str, Json]]:
        return [result.to_masked_dict() for result in self._results]

    @property
    def ok(self) -> bool:
        return all(result.ok for result in self._results)

    def frame(self) -> pd.DataFrame:
        """Return one row per event, destination and stage: see `svctoolkit.results.frame`."""
        from svctoolkit.results.frames import frame

        return frame(self._results)

    def failures(self) -> Failures:
        """Return the failures of all destinations: see `DestinationResult.failures`."""
        from svctoolkit.results.failures import failures

        return failures(self._results)

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._results)) or "no destinations"
