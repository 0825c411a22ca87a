"""The parts of a result of a test event: one entry per event, and the data of its destination."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from svctoolkit.causes import Cause, Refusal, Rejection, map_texts
from svctoolkit.delivery import rejection_of
from svctoolkit.displayed import Displayed, render
from svctoolkit.errors import Unsupported
from svctoolkit.json_types import Json
from svctoolkit.results._types import ABSENT, DROPPED, NO_TRANSFORMATION, Absent, Payload, StageError, error_of
from svctoolkit.secrets import Masker
from svctoolkit.url_secrets import mask_http

if TYPE_CHECKING:
    from svctoolkit import simulations
    from svctoolkit.delivery import HttpRequest
    from svctoolkit.results.lineage import Lineage
    from svctoolkit.transformations import CodeLoss, Log
    from svctoolkit.warehouse import Loss


_MEMBERS = (
    "user_transformed_payload",
    "dest_transformed_payload",
    "destination_response",
    "destination_response_status",
)


class Judgement(NamedTuple):
    """What a destination's answer means for an event, by the rules of its type; `reason` and `cause` have no secrets.

    `outcome` is `delivered`, `retry`, `abort` or `throttle`.
    """

    outcome: str
    reason: str = ""
    cause: Cause | None = None


@dataclass(slots=True, repr=False)
class EventResult(Displayed):
    """One entry of `data`: the output of each stage for one event. Members of disabled stages are `ABSENT` (and false).

    - `user_transformed_payload`: the event, or `{"error": text}`
    - `dest_transformed_payload`: list of payloads, or `{"error": text}`
    - `destination_response`: list of the destination's answers, or `{"error": text}`
    - `destination_response_status`: list of HTTP statuses

    Additional members, which are not in the Test API: `event` is the input, `milliseconds` the time per stage, `logs`
    the log of the user code, `requests` the requests as sent, `losses` values that JSON or a warehouse cannot keep as
    they were returned or sent, `origins` column -> field of the event for each warehouse row, `cause` why the user code
    or the mapping failed, as data without secrets, `judgements` what each answer means. Pickling removes the secrets
    that `masker`, URLs and headers hold.
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
    losses: Sequence[Loss | CodeLoss] = ()
    origins: Sequence[Mapping[str, str]] = ()
    cause: Cause | None = None
    judgements: Sequence[Judgement] = ()
    masker: Masker = field(default=Masker(()), repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        entry = self.without_secrets(self.masker)
        return EventResult, tuple(getattr(entry, name) for name in self.__slots__ if name != "masker")

    def without_secrets(self, masker: Masker) -> EventResult:
        """Return a copy without secrets, for display."""
        from svctoolkit.delivery import mask_request

        def mask(value: Any) -> Any:
            return mask_http(masker.mask(value))

        masked = EventResult.from_dict(mask(self.to_dict()), mask(self.event))
        requests = [mask_request(request, masker) for request in self.requests]
        losses = [loss.masked(masker.text) for loss in self.losses]
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
            judgements=self.judgements,
        )

    def refuse(self, refusal: Refusal) -> None:
        """Record that the mapping refused the event."""
        self.cause = map_texts(refusal, self.masker.text)
        self.dest_transformed_payload = {"error": self.cause.text}

    @property
    def payloads(self) -> list[Payload]:
        """The payloads of `dest_transformed_payload`; empty if it is an error or absent."""
        return self.dest_transformed_payload if isinstance(self.dest_transformed_payload, list) else []

    @property
    def answers(self) -> list[Json]:
        """The destination's answers (JSON or text); empty if `destination_response` is an error or absent."""
        return self.destination_response if isinstance(self.destination_response, list) else []

    @property
    def statuses(self) -> list[int]:
        """The HTTP statuses of `destination_response_status`; empty if it is absent."""
        return self.destination_response_status or []

    def rejection(self, part: int, mask: Callable[[str], str]) -> Cause | None:
        """Return why the destination did not accept the request `part`; None if it did.

        A result of a remote server has no judgements: then the status decides, and the cause that the server reported.
        `mask` hides secrets in the answer.
        """
        if part < len(self.judgements):
            return self.judgements[part].cause
        status = self.statuses[part] if part < len(self.statuses) else 200
        if not 200 <= status < 300:
            return rejection_of(status, self.answers[part] if part < len(self.answers) else "", mask)
        last = part == len(self.statuses) - 1
        return self.cause if last and isinstance(self.cause, Rejection) else None

    @property
    def is_rejected(self) -> bool:
        """Whether the destination did not accept one of the requests."""
        return any(self.rejection(part, self.masker.text) is not None for part in range(len(self.statuses)))

    def __repr__(self) -> str:
        """Show the status of the stages, without payloads and errors: only the whole result can mask their secrets."""
        return f"<EventResult: {render(self, 'text')}>"

    def to_dict(self) -> dict[str, Json]:
        members = ((name, getattr(self, name)) for name in _MEMBERS)
        return {name: value for name, value in members if value is not ABSENT}

    @classmethod
    def from_dict(cls, data: Mapping[str, Json], event: Mapping[str, Json]) -> EventResult:
        """Return the entry from the JSON of a Test API."""
        members = {name: data[name] for name in _MEMBERS if name in data}
        dropped = error_of(members.get("user_transformed_payload")) == DROPPED
        return cls(event=event, dropped=dropped, **members)

    @property
    def error(self) -> str:
        """The first error of the stages that ran, or an empty string. A missing user transformation is not an error."""
        for name in _MEMBERS[:3]:
            text = error_of(getattr(self, name))
            if text and text != NO_TRANSFORMATION:
                return text
        return ""


@dataclass(slots=True, repr=False)
class DestinationEntries:
    """The data of a `DestinationResult`, which adds the views."""

    destination_id: str
    destination_name: str
    destination: str | None = None
    data: list[EventResult] = field(default_factory=list)
    error: str | None = None
    masker: Masker = field(default_factory=lambda: Masker(()))
    unmapped: str = ""
    measure: Callable[[Mapping[str, Any]], Lineage] | None = field(default=None, compare=False)
    #: what the simulated server lost of the event, although it may have answered with success
    lost: tuple[simulations.Loss, ...] = ()

    def lineage(self, number: int = 0) -> Lineage:
        """Return where each field of the payloads comes from, and where the fields of the event went.

        For a refused event, the lineage ends at the stage that refused it, and shows which fields caused that. `number`
        is the index of the event. The lineage is measured now, with the same settings and code. Raises `Unsupported`
        for a result from a remote server or from a pickle, because it has no pipeline to run.
        """
        if self.measure is None:
            raise Unsupported(
                "lineage needs the pipeline that ran the event: this result is from a remote server or a pickle"
            )
        return self.measure(self.data[number].event)

    def mask(self, value: Json) -> Json:
        """Return JSON about this result without the secrets of the workspace, of URLs and of headers.

        Parts without secrets are not copied.
        """
        return mask_http(self.masker.mask(value))
