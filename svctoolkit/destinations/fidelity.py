"""How far each mapping was found to agree with RudderStack, measured with recordings of its transformer.

>>> fidelity("MP").observations.share > 0.9
True

The figures are in `fidelity.json`, one type per line. They were measured on `measured()`, with recordings of
`service()`. The recordings are not part of this package; `python -m tests.fidelity FOLDER` in a checkout measures
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from svctoolkit.destinations import CATALOGUE
from svctoolkit.json_types import Json


class Agreement(NamedTuple):
    """How many comparisons were equal, out of how many. `total` is 0 if there was nothing to compare."""

    equal: int
    total: int

    @property
    def share(self) -> float:
        """The equal part of all comparisons, 0 to 1; 1 without comparisons."""
        return self.equal / self.total if self.total else 1.0

    def __str__(self) -> str:
        return f"{self.equal:,} of {self.total:,}" if self.total else "none"


_NONE = Agreement(0, 0)


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one type.

    `cases` are single events with their payloads or refusal. `observations` are events and configurations with a few
    changes, and the effect of the changes. `calls` are several events and the requests that they share. `answers` are
    responses of the destination and their outcome for each event. `differing` are fields of payloads that were not
    equal in observations, most frequent first, with the number of observations; `refused only here` and `refused only
    by RudderStack` count events instead.
    """

    cases: Agreement = _NONE
    observations: Agreement = _NONE
    calls: Agreement = _NONE
    answers: Agreement = _NONE
    differing: dict[str, int] = {}

    def to_dict(self) -> dict[str, Json]:
        """Return the figures as JSON: `{"cases": {"equal": 19, "total": 20}, ..., "differing": {...}}`."""
        return {
            **{name: getattr(self, name)._asdict() for name in ("cases", "observations", "calls", "answers")},
            "differing": dict(self.differing),
        }


class _File(msgspec.Struct, frozen=True):
    service: str
    measured: str
    types: dict[str, Fidelity]


def service() -> str:
    """The implementation and version that was recorded."""
    return _read().service


def measured() -> str:
    """The day of the measurement, as an ISO 8601 date."""
    return _read().measured


def fidelity(type: str) -> Fidelity:
    """Return the figures of a type; all are zero for a type without recordings."""
    return _read().types.get(type, Fidelity())


def known_differences(type: str) -> tuple[str, ...]:
    """Return what is known to differ from RudderStack: sentences of the mapping's author. Raises `UnknownName`."""
    return CATALOGUE[type].differences


def page() -> Iterator[str]:
    """Yield the Markdown of all types: a table of the figures, then the known differences of each type."""
    yield f"Compared on {measured()} with recordings of {service()}."
    yield ""
    yield "| type | cases | observations | | shared requests | answers | fields that differ in observations |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for name in CATALOGUE.names():
        figures = fidelity(name)
        share = f"{figures.observations.share:.1%}" if figures.observations.total else ""
        cells = [name, figures.cases, figures.observations, share, figures.calls, figures.answers, _fields(figures)]
        yield f"| {' | '.join(map(str, cells))} |"
    total = _sum()
    share = f"{total.observations.share:.1%}"
    yield f"| all | {total.cases} | {total.observations} | {share} | {total.calls} | {total.answers} | |"
    yield ""
    yield "### Known differences"
    for name in CATALOGUE.names():
        if known_differences(name):
            yield ""
            yield f"**{name}**"
            yield ""
            yield from (f"- {sentence}" for sentence in known_differences(name))


def _fields(figures: Fidelity) -> str:
    return ", ".join(f"{_code(field)} {count}" for field, count in figures.differing.items())


def _code(field: str) -> str:
    """A field as Markdown code; `refused only here` is not a field."""
    return field if " " in field else f"`{field}`".replace("|", "\\|")


def _sum() -> Fidelity:
    every = _read().types.values()
    sums: dict[str, Any] = {
        name: Agreement(sum(getattr(one, name).equal for one in every), sum(getattr(one, name).total for one in every))
        for name in ("cases", "observations", "calls", "answers")
    }
    return Fidelity(**sums)


@cache
def _read() -> _File:
    text = (files("svctoolkit.destinations") / "fidelity.json").read_bytes()
    return msgspec.json.decode(text, type=_File)
