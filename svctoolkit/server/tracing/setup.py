"""The exporter of traces that the environment describes, by the variables of OpenTelemetry."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

_LOG = logging.getLogger("svctoolkit.traces")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def provider_of(environ: Mapping[str, str]) -> TracerProvider | None:
    """Return a provider that exports over OTLP; None unless the environment names an endpoint.

    `OTEL_SDK_DISABLED=true` and `OTEL_TRACES_EXPORTER=none` turn it off. The SDK reads the other variables itself:
    headers, timeouts, resource, sampler and batches. Without `svctoolkit[otel]`, a warning is logged.
    """
    exporter = environ.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower() or "otlp"
    is_off = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or exporter == "none"
    if is_off or not any(environ.get(name) for name in _ENDPOINTS):
        return None
    if exporter != "otlp":
        _LOG.warning("OTEL_TRACES_EXPORTER=%s is not supported: traces are exported with otlp only", exporter[:50])
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider as Provider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        _LOG.warning("traces are not exported: install svctoolkit[otel]")
        return None
    name = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": "svctoolkit"}
    provider = Provider(resource=Resource.create(name))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider
