"""What a result of a test event is made of: one entry per event, and the facts of its destination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from svctoolkit.causes import Cause, Refusal, map_texts
from svctoolkit.displayed import Displayed, render
from svctoolkit.errors import Unsupported
from svctoolkit.json_types import Json
from svctoolkit.results._types import ABSENT, DROPPED, NO_TRANSFORMATION, Absent, Payload, StageError, error_of
from svctoolkit.secrets import Masker
from svctoolkit.url_secrets import mask_http

if TYPE_CHECKING:
    from svctoolkit.delivery import HttpRequest
    from svctoolkit.results.lineage import Lineage
    from svctoolkit.transformations import Log
    from svctoolkit.warehouse import Loss


_MEMBERS = (
    "user_transformed_payload",
    "dest_transformed_payload",
    "destination_response",
    "destination_response_status",
)


@dataclass(slots=True, repr=False)
class EventResult(Displayed):
    """One entry of `data`: what each stage gave for one event. A member whose stage was off is `ABSENT` (and false).

    - `user_transformed_payload`: the event, or `{"error": text}`
    - `dest_transformed_payload`: list of payloads, or `{"error": text}`
    - `destination_response`: list of the destination's answers, or `{"error": text}`
    - `destination_response_status`: list of HTTP statuses

    Beside the specified members: `event` went in, `milliseconds` per stage, `logs` of the user's code, `requests` as
    they were sent, `losses`: values that do not arrive in a warehouse as they were sent, `origins`: for each row of
    one, column -> field of the event, `cause`: why the user's code or the mapping failed, as data, without secrets. It
    is pickled without the secrets that `masker`, URLs and headers hold.
    """

    event: Mapping[str, Any] = field(default_factory=dict)
    user_transformed_payload: Mapping[str, Any] | Absent = ABSENT
    dest_transformed_payload: list[Payload] | StageError | Absent = ABSENT
    destination_response: list[Any] | StageError | Absent = ABSENT  # whatever JSON or text the destination answers
    destination_response_status: list[int] | Absent = ABSENT
    dropped: bool = False
    milliseconds: dict[str, float] = field(default_factory=dict)
    logs: Sequence[Log] = ()
    requests: Sequence[HttpRequest] = ()
    losses: Sequence[Loss] = ()
    origins: Sequence[Mapping[str, str]] = ()
    cause: Cause | None = None
    masker: Masker = field(default=Masker(()), repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        entry = self.without_secrets(self.masker)
        return EventResult, tuple(getattr(entry, name) for name in self.__slots__ if name != "masker")

    def without_secrets(self, masker: Masker) -> EventResult:
        """A copy for people to see."""
        from svctoolkit.delivery import mask_request

        def mask(value: Any) -> Any:
            return mask_http(masker.mask(value))

        masked = EventResult.from_dict(mask(self.to_dict()), mask(self.event))
        requests = [mask_request(request, masker) for request in self.requests]
        losses = [replace(loss, text=masker.text(loss.text)) for loss in self.losses]
        spent = self.milliseconds
        return replace(
            masked,
            dropped=self.dropped,
            milliseconds=spent,
            logs=self.logs,
            requests=requests,
            losses=losses,
            origins=self.origins,
            cause=self.cause,
        )

    def refuse(self, refusal: Refusal) -> None:
        """Record that the mapping refused the event."""
        self.cause = map_texts(refusal, self.masker.text)
        self.dest_transformed_payload = {"error": self.cause.text}

    @property
    def payloads(self) -> list[Payload]:
        """The payloads of `dest_transformed_payload`; none where it is an error, or absent."""
        return self.dest_transformed_payload if isinstance(self.dest_transformed_payload, list) else []

    @property
    def answers(self) -> list[Json]:
        """The destination's answers (JSON or text); none where `destination_response` is an error, or absent."""
        return self.destination_response if isinstance(self.destination_response, list) else []

    @property
    def statuses(self) -> list[int]:
        """The HTTP statuses of `destination_response_status`; none where it is absent."""
        return self.destination_response_status or []

    def __repr__(self) -> str:
        """How the stages ended. Without payloads and errors: only the whole result knows what is secret in them."""
        return f"<EventResult: {render(self, 'text')}>"

    def to_dict(self) -> dict[str, Json]:
        members = ((name, getattr(self, name)) for name in _MEMBERS)
        return {name: value for name, value in members if value is not ABSENT}

    @classmethod
    def from_dict(cls, data: Mapping[str, Json], event: Mapping[str, Json]) -> EventResult:
        """The entry as it came from a Test API."""
        members = {name: data[name] for name in _MEMBERS if name in data}
        dropped = error_of(members.get("user_transformed_payload")) == DROPPED
        return cls(event=event, dropped=dropped, **members)

    @property
    def error(self) -> str:
        """The first error of the stages that ran, or an empty text. A missing user transformation is none."""
        for name in _MEMBERS[:3]:
            text = error_of(getattr(self, name))
            if text and text != NO_TRANSFORMATION:
                return text
        return ""


@dataclass(slots=True, repr=False)
class DestinationEntries:
    """The facts of a `DestinationResult`, which adds the views of them."""

    destination_id: str
    destination_name: str
    destination: str | None = None
    data: list[EventResult] = field(default_factory=list)
    error: str | None = None
    masker: Masker = field(default_factory=lambda: Masker(()))
    unmapped: str = ""
    measure: Callable[[Mapping[str, Any]], Lineage] | None = field(default=None, compare=False)

    def lineage(self, number: int = 0) -> Lineage:
        """Where each field of the payloads comes from, and where the fields of the event went; of a refused event as
        far as it came, and what of it decides.

        `number` chooses among the events. It is measured now, with the same settings and code. Raises `Unsupported`
        for a result that a remote service gave or that was pickled: there is nothing to measure with.
        """
        if self.measure is None:
            raise Unsupported("lineage is measured where the pipeline is: this result came from elsewhere")
        return self.measure(self.data[number].event)

    def mask(self, value: Json) -> Json:
        """JSON about this result without the secrets of the workspace, of any URL and of any header.

        A copy as far as there are any.
        """
        return mask_http(self.masker.mask(value))
