"""The requests for many events: which events share a request, and why others do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, overload

from svctoolkit.displayed import Displayed
from svctoolkit.json_types import Json
from svctoolkit.lexical import storable_all
from svctoolkit.results.arrow import ArrowOut
from svctoolkit.secrets import Masker
from svctoolkit.url_secrets import mask_http, mask_url

if TYPE_CHECKING:
    import pandas as pd

    from svctoolkit.results._types import Payload


@dataclass(frozen=True, slots=True)
class SharedRequests:
    """The router's output for some events together: `payloads`, which are sent in order, or an `error`.

    `events` are the indexes of these events in the input, `call` is the number of the router call, and `batched` is the
    flag that RudderStack sets. `reason` says why the events are not in an earlier request; it is empty for the first.
    """

    status: Literal["sent", "refused", "dropped"]
    events: tuple[int, ...]
    call: int
    payloads: Sequence[Payload] = field(default=(), repr=False)
    error: str = ""
    batched: bool = False
    reason: str = ""


class SharedDeliveries(Displayed, ArrowOut, Sequence[SharedRequests]):
    """The requests for many events at one destination, in sending order, with refusals at their positions."""

    def __init__(self, destination: str, requests: Sequence[SharedRequests], masker: Masker) -> None:
        self.destination, self._requests, self.masker = destination, tuple(requests), masker

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without secrets, so that the result can be stored."""
        mask = self.masker
        requests = [
            replace(item, payloads=[mask_http(mask.mask(p)) for p in item.payloads], error=mask.text(item.error))
            for item in self._requests
        ]
        return SharedDeliveries, (self.destination, requests, mask)

    @overload
    def __getitem__(self, index: int) -> SharedRequests: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SharedRequests]: ...
    def __getitem__(self, index: int | slice) -> SharedRequests | Sequence[SharedRequests]:
        return self._requests[index]

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def payloads(self) -> list[Payload]:
        """Every payload, in sending order: one request each."""
        return [payload for item in self._requests for payload in item.payloads]

    def mask(self, value: Json) -> Json:
        """Return `value` (JSON, such as a payload) with every secret of the destination masked."""
        safe = self.masker.mask(value)
        return mask_http(safe) if isinstance(safe, dict) and "endpoint" in safe else safe

    def frame(self) -> pd.DataFrame:
        """Return one row for each event. Secrets are masked.

        Columns: `event`, `item` (index in this sequence), `call`, `status`, `together` (number of events that share the
        requests), `place` among them, `requests`, `method`, `endpoint`, `batched`, `reason` and `error`.
        """
        import pandas as pd

        rows = pd.DataFrame([storable_all(self.masker.mask(row)) for row in self._rows()], columns=_COLUMNS)
        return rows.sort_values(["event", "item"], ignore_index=True).astype({"status": "category"})

    def _rows(self) -> Iterator[dict[str, Any]]:
        for number, item in enumerate(self._requests):
            first: Mapping[str, Any] = item.payloads[0] if item.payloads else {}
            for place, event in enumerate(item.events):
                yield {
                    "event": event,
                    "item": number,
                    "call": item.call,
                    "status": item.status,
                    "together": len(item.events),
                    "place": place,
                    "requests": len(item.payloads),
                    "method": first.get("method", ""),
                    "endpoint": mask_url(str(first.get("endpoint", ""))),
                    "batched": item.batched,
                    "reason": item.reason,
                    "error": item.error,
                }

    def __repr__(self) -> str:
        lines = [f"{self.destination}: {len(self.payloads)} requests of {sum(len(r.events) for r in self)} events"]
        return "\n".join([*lines, *(self.masker.text(_line(item)) for item in self._requests)])


_COLUMNS = [
    *("event", "item", "call", "status", "together", "place", "requests", "method", "endpoint", "batched"),
    *("reason", "error"),
]


def _line(item: SharedRequests) -> str:
    events = ", ".join(map(str, item.events[:20])) + (" ..." if len(item.events) > 20 else "")
    sent = " + ".join(f"{p['method']} {str(p['endpoint']).partition('?')[0]}" for p in item.payloads[:3])
    answer = item.error or sent or "nothing is sent"
    return f"  events {events}: {item.status}: {answer}" + (f" (apart: {item.reason})" if item.reason else "")
