"""Spans of events: their ingestion, their way to each destination, and each request there.

    ingest                  the request of a client; its parent is the client's span
      deliver crm           from the ingestion until the fate of the event at a destination
        process             routing, the stages before the first request, and waiting for earlier events of the user
          user_transform    the user's code
          dest_transform    the mapping
        send_to_destination each request with its answer

How long a stage takes is measured; where it is within `process` is not, so stages are drawn directly before its end.
What events share, such as one call of the user's code, counts for each in equal parts.

Their attributes have keys of the workspace, numbers and statuses: nothing of an event, a setting or a URL.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeAlias

from svctoolkit.server.store.schema import Delivery, Fate
from svctoolkit.server.store.traces import StoredTrace
from svctoolkit.server.tracing.contexts import TraceContext, TraceContexts, format_traceparent, parse_traceparent

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

_Attributes: TypeAlias = Mapping[str, str | int]
#: Spans of deliveries that are under way; more of them end without a fate.
_MOST_OPEN = 100_000
_FAILURES = ("failed", "dead")
_NANOSECONDS = 1_000_000_000
_STAGES = ("user_transform", "dest_transform")


class Timed(Protocol):
    """An event at a destination. `stage_times`: milliseconds by stage, of those before the first request."""

    seq: int
    stage_times: Mapping[str, float] | None


class Traces:
    """What a data plane knows about traces. Without a provider of OpenTelemetry, only the contexts of clients.

    `load` returns the stored trace of an event by its seq.
    """

    def __init__(self, provider: TracerProvider | None, load: Callable[[int], StoredTrace | None]) -> None:
        self._provider = provider
        self._tracer = None if provider is None else provider.get_tracer("svctoolkit")
        self._contexts, self._lock = TraceContexts(load), Lock()
        self._open: OrderedDict[tuple[int, str], Span] = OrderedDict()
        self._stage_times: OrderedDict[tuple[int, str], Mapping[str, float]] = OrderedDict()

    @property
    def is_exporting(self) -> bool:
        """Whether spans are made: then also of requests without a context."""
        return self._tracer is not None

    def ingest(
        self, traceparent: str, first: int, count: int, at: float, about: _Attributes
    ) -> tuple[TraceContext | None, Span | None]:
        """Begin to record a request of a client, `at` in seconds since 1970.

        Return the context of what it causes, and its span, if spans are made.
        Must be called before the events are routed, so that their attempts find the trace.
        """
        span = None
        context = parse_traceparent(traceparent) if traceparent else None
        if self._tracer is not None:
            from opentelemetry.trace import SpanKind

            span = self._tracer.start_span(
                "ingest",
                context=None if context is None else _parent(context, is_remote=True),
                kind=SpanKind.SERVER,
                attributes={**_named(about), "svctoolkit.events": count},
                start_time=_nanoseconds(at),
            )
            own = span.get_span_context()
            context = TraceContext(f"{own.trace_id:032x}", f"{own.span_id:016x}", bool(own.trace_flags & 1))
        if context is not None:
            self._contexts.add(first, count, context, at)
        return context, span

    def trace_id(self, seq: int) -> str:
        """Return the id of the trace of an event; empty without one."""
        known = self._contexts.of(seq)
        return known[0].trace_id if known else ""

    def record_stages(self, destination: str, events: Iterable[Timed]) -> None:
        """Record how long stages of events took at a destination. Must be called before `settle` gets their results.

        Sets their `stage_times` to None, so that no stage is recorded twice.
        """
        if self._tracer is None:
            return
        with self._lock:
            for event in events:
                if event.stage_times is not None:
                    self._stage_times[event.seq, destination], event.stage_times = event.stage_times, None
            while len(self._stage_times) > _MOST_OPEN:
                self._stage_times.popitem(last=False)

    def settle(self, deliveries: Iterable[Delivery], fates: Iterable[Fate]) -> None:
        """Record attempts, and the fates of events."""
        if self._tracer is None:
            return
        for delivery in deliveries:
            self._attempt(delivery)
        for fate in fates:
            if fate.status != "pending":
                self._end(fate)

    def _attempt(self, delivery: Delivery) -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

        parent = self._delivery_span(delivery.seq, delivery.destination, delivery.run)
        if parent is None or self._tracer is None:
            return
        ended = delivery.at.timestamp()
        began, context = ended - delivery.milliseconds / 1000, set_span_in_context(parent)
        if delivery.attempt == 1 and delivery.part == 0:
            self._process(delivery.seq, delivery.destination, began, context)
        with self._lock:
            self._stage_times.pop((delivery.seq, delivery.destination), None)  # what a repeated mapping took
        about: dict[str, str | int] = {
            "destination": delivery.destination,
            "attempt": delivery.attempt,
            "part": delivery.part,
            "events": delivery.carries,
        }
        span = self._tracer.start_span(
            "send_to_destination",
            context=context,
            kind=SpanKind.CLIENT,
            attributes={**_named(about), "http.response.status_code": delivery.status},
            start_time=_nanoseconds(began),
        )
        if not delivery.accepted:
            span.set_status(Status(StatusCode.ERROR))
        span.end(_nanoseconds(ended))

    def _process(self, seq: int, destination: str, ended: float, context: Context) -> None:
        """Record what happened to an event before its first request, or its fate without one."""
        from opentelemetry.trace import set_span_in_context

        with self._lock:
            times = self._stage_times.pop((seq, destination), {})
        known = self._contexts.of(seq)
        if known is None or self._tracer is None:
            return
        arrived = known[1]
        ended = max(ended, arrived)
        process = self._tracer.start_span("process", context=context, start_time=_nanoseconds(arrived))
        within, until = set_span_in_context(process), ended
        for stage in reversed([stage for stage in _STAGES if stage in times]):
            since = max(arrived, until - times[stage] / 1000)
            span = self._tracer.start_span(stage, context=within, start_time=_nanoseconds(since))
            span.end(_nanoseconds(until))
            until = since
        process.end(_nanoseconds(ended))

    def _end(self, fate: Fate) -> None:
        from opentelemetry.trace import Status, StatusCode, set_span_in_context

        span = self._delivery_span(fate.seq, fate.destination, fate.run)
        if span is None:
            return
        with self._lock:
            has_stages = (fate.seq, fate.destination) in self._stage_times
        if has_stages:  # no request has recorded them: the user's code dropped the event, or the mapping refused it
            self._process(fate.seq, fate.destination, fate.at.timestamp(), set_span_in_context(span))
        with self._lock:
            self._open.pop((fate.seq, fate.destination), None)
        about: dict[str, str | int] = {
            "fate": fate.status,
            "by": fate.by,
            "attempts": fate.attempts,
            "event_type": fate.type,
        }
        span.set_attributes(_named(about))
        if fate.status in _FAILURES:
            span.set_status(Status(StatusCode.ERROR))
        span.end(_nanoseconds(fate.at.timestamp()))

    def _delivery_span(self, seq: int, destination: str, run: str) -> Span | None:
        """Return the span of an event's way to a destination; None for an event whose ingestion is not known."""
        known = self._contexts.of(seq)
        if known is None or self._tracer is None:
            return None
        with self._lock:
            span = self._open.get((seq, destination))
            if span is None:
                about: dict[str, str | int] = {"destination": destination, "run": run, "seq": seq}
                span = self._open[seq, destination] = self._tracer.start_span(
                    f"deliver {destination}",
                    context=_parent(known[0], is_remote=False),
                    attributes=_named(about),
                    start_time=_nanoseconds(known[1]),
                )
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)[1].end()
            return span

    def close(self, seconds: float) -> None:
        """End the spans of deliveries that are under way, and export everything within this time."""
        with self._lock:
            spans, self._open = list(self._open.values()), OrderedDict()
        for span in spans:
            span.end()
        flush = getattr(self._provider, "force_flush", None)
        if flush is not None:
            flush(int(seconds * 1000))


class RequestTrace:
    """The trace of one request of a client. `about` are attributes of its span."""

    def __init__(
        self, traces: Traces, traceparent: str, count: int, clock: Callable[[], datetime], about: _Attributes
    ) -> None:
        self._traces, self._traceparent, self._count = traces, traceparent, count
        self._clock, self._about = clock, about
        self._span: Span | None = None

    def begin(self, first: int) -> str:
        """Let its events, the first of which has this number, belong to the trace. Return its context to store."""
        at = self._clock().timestamp()
        context, self._span = self._traces.ingest(self._traceparent, first, self._count, at, self._about)
        return "" if context is None else format_traceparent(context)

    def end(self) -> None:
        """End the span: the events are stored, or cannot be."""
        if self._span is not None:
            self._span.end(_nanoseconds(self._clock().timestamp()))


def _parent(context: TraceContext, *, is_remote: bool) -> Context:
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    trace, span = int(context.trace_id, 16), int(context.span_id, 16)
    flags = TraceFlags(TraceFlags.SAMPLED if context.is_sampled else TraceFlags.DEFAULT)
    return set_span_in_context(NonRecordingSpan(SpanContext(trace, span, is_remote, flags)))


def _named(about: _Attributes) -> dict[str, str | int]:
    return {f"svctoolkit.{name}": value for name, value in about.items() if value != ""}


def _nanoseconds(seconds: float) -> int:
    return int(seconds * _NANOSECONDS)
