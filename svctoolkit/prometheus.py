"""The text format of Prometheus (version 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


# Any: tuples of as many label values as there are labels
def family(name: str, text: str, kind: str, labels: tuple[str, ...], values: Mapping[Any, float]) -> Iterator[str]:
    """Yield the lines of one metric: its description, then one line per combination of label values."""
    name = f"svctoolkit_{name}"
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for key, value in sorted(values.items()):
        pairs = ",".join(f'{label}="{_escape(part)}"' for label, part in zip(labels, key, strict=True))
        yield f"{name}{{{pairs}}} {value}" if pairs else f"{name} {value}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
