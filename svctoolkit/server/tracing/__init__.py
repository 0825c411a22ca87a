"""Traces: the contexts that clients send with their events, and spans of what happens to these events."""

from __future__ import annotations

from svctoolkit.server.tracing.contexts import TraceContext, TraceContexts, parse_traceparent
from svctoolkit.server.tracing.traces import RequestTrace, Traces

__all__ = ["RequestTrace", "TraceContext", "TraceContexts", "Traces", "parse_traceparent"]
