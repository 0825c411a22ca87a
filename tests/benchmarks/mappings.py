"""Microseconds per recorded event for every mapping, compared with RudderStack's own JavaScript.

SVCTOOLKIT_RECORDINGS names a folder of recordings (`processor/<type>.json`), which is not part of this repository;
without it, the examples of the types are measured, whose events are smaller. Those that need a lookup are left out.
An event is mapped as `payloads(event, config)` does, refusals included. The figures of JavaScript are those of one
machine, on which a JSON round trip of all these events took `_TRIP` per event; they are scaled by the same round trip
in this run. Aims: no type above 1.5 times JavaScript, the median at most 0.7.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

from svctoolkit.destinations import CATALOGUE, DestinationType, examples
from svctoolkit.errors import ToolkitError
from tests.benchmarks._figures import Figure, Options

#: Microseconds of a JSON round trip per event, on the machine of the figures below.
_TRIP = 25.9
#: Microseconds of CPU time per event in JavaScript (rudder-transformer 1.145.0, V8, without HTTP).
_IN_JAVASCRIPT: dict[str, float] = {
    "ACCOIL_ANALYTICS": 27, "ACTIVE_CAMPAIGN": 2.8, "ADJ": 9.6, "ADOBE_ANALYTICS": 70.8, "AF": 23.3,
    "AIRSHIP": 31.4, "ALGOLIA": 54.4, "AM": 90.2, "APPCUES": 6.6, "ATTENTIVE_TAG": 10.4, "ATTRIBUTION": 8.5,
    "AUTOPILOT": 21.4, "AWIN": 7.6, "BLOOMREACH": 43.3, "BLUECORE": 42.3, "BLUESHIFT": 11.2, "BRANCH": 11.3,
    "BRAZE": 19.9, "CAMPAIGN_MANAGER": 51.7, "CANDU": 4.1, "CANNY": 7.7, "CLEVERTAP": 27.3, "CLICKSEND": 10.4,
    "CLICKUP": 11.5, "CORDIAL": 13.8, "COURIER": 1.5, "CUSTIFY": 16, "CUSTOMERIO": 7.6, "DCM_FLOODLIGHT": 23.3,
    "DELIGHTED": 5.8, "DISCORD": 155.4, "DRIP": 33, "DUB": 15.2, "DYNAMIC_YIELD": 18.4, "ELOQUA": 5,
    "EMARSYS": 23.9, "ENGAGE": 7.9, "FACEBOOK_CONVERSIONS": 24.7, "FACEBOOK_OFFLINE_CONVERSIONS": 124.9,
    "FACEBOOK_PIXEL": 24.2, "FACTORSAI": 4.4, "FB": 39.1, "FRESHMARKETER": 37.9, "FRESHSALES": 42.5,
    "FULLSTORY": 9.4, "GA": 30.8, "GA360": 31.4, "GA4": 25.4, "GA4_V2": 40, "GAINSIGHT": 17.4, "GAINSIGHT_PX": 15.4,
    "GOOGLE_ADWORDS_ENHANCED_CONVERSIONS": 57.5, "GOOGLE_ADWORDS_OFFLINE_CONVERSIONS": 24.8, "HEAP": 7.8,
    "HTTP": 861.1, "IMPACT": 61.4, "INDICATIVE": 59.8, "INTERCOM": 38.4, "ITERABLE": 9.7, "JUNE": 3.8, "KEEN": 9.1,
    "KISSMETRICS": 2.2, "KLAVIYO": 52.1, "KLAVIYO_BULK_UPLOAD": 12.5, "KOALA": 7.1, "KOCHAVA": 7.9, "KODDI": 9.9,
    "KUSTOMER": 52.5, "LEANPLUM": 16.7, "LEMNISK": 5.9, "LOOPS": 10.7, "LYTICS": 31.4, "MAILCHIMP": 16.6,
    "MAILJET": 15.7, "MAILMODO": 41.5, "MARKETO": 15786, "MARKETO_BULK_UPLOAD": 1.4, "MAUTIC": 38.5,
    "MOENGAGE": 28.8, "MONETATE": 4.9, "MOVABLE_INK": 8.5, "MP": 78, "NEW_RELIC": 17.4, "NINETAILED": 15.3,
    "OMETRIA": 30.1, "ONE_SIGNAL": 15.9, "ORTTO": 76.7, "PERSISTIQ": 45.2, "PINTEREST_TAG": 121.4, "PIPEDREAM": 6.3,
    "POSTHOG": 43, "RAKUTEN": 76, "REDDIT": 80.9, "REFINER": 5.4, "REVENUE_CAT": 27.3, "ROCKERBOX": 12.4,
    "SEGMENT": 3.7, "SENDGRID": 2161.9, "SENDINBLUE": 14.7, "SERENYTICS": 7.1, "SHYNET": 2.6, "SIGNL4": 10.6,
    "SINGULAR": 34.8, "SLACK": 140.3, "SMARTLY": 22.5, "SNAPCHAT_CONVERSION": 127.4, "SPLITIO": 9.3, "SPRIG": 9.5,
    "STATSIG": 4.4, "STORMLY": 3.8, "THE_TRADE_DESK_REAL_TIME_CONVERSIONS": 36.8, "TIKTOK_ADS": 52.9,
    "TIKTOK_ADS_OFFLINE_EVENTS": 20.8, "TOPSORT": 18, "TRENGO": 8.8, "TUNE": 6.5, "TWITTER_ADS": 16.8,
    "USERLIST": 5.2, "USERPILOT": 8.8, "VARIANCE": 4.5, "VERO": 6.6, "VITALLY": 4.3, "WEBENGAGE": 11.4,
    "WEBHOOK": 15.2, "WOOPRA": 105.1, "YANDEX_METRICA_OFFLINE_EVENTS": 8.9, "ZAPIER": 6.1,
}  # fmt: skip


def run(options: Options) -> Iterator[Figure]:
    folder = os.environ.get("SVCTOOLKIT_RECORDINGS")
    every = {name: recordings(Path(folder), name) if folder else worked_examples(name) for name in _IN_JAVASCRIPT}
    cases = {name: found for name, found in every.items() if found}
    note = "" if folder else "examples: SVCTOOLKIT_RECORDINGS is not set"
    events = [case.event for found in cases.values() for case in found]
    scale = _microseconds(lambda: [json.loads(json.dumps(event)) for event in events], options) / len(events) / _TRIP
    figures = []
    for name, found in cases.items():
        spent = _microseconds(partial(_map, found), options) / len(found)
        figures.append(Figure(name, spent, "us", "JavaScript", _IN_JAVASCRIPT[name] * scale, note))
    yield from sorted(figures, key=lambda figure: figure.ratio or 0)
    yield Figure("the median ratio", median(figure.ratio or 0 for figure in figures), "", "the aim", 0.7)
    yield Figure("the largest ratio", max(figure.ratio or 0 for figure in figures), "", "the aim", 1.5)


class Case(NamedTuple):
    """One event with its configuration."""

    kind: DestinationType
    event: Mapping[str, Any]
    config: Mapping[str, Any]
    now: Any
    metadata: Mapping[str, Any] | None


def recordings(folder: Path, name: str) -> list[Case]:
    cases = json.loads((folder / "processor" / f"{name.lower()}.json").read_text(encoding="utf-8"))
    kind = CATALOGUE[name]
    return [
        Case(kind, case["message"], case["config"], case.get("now"), case.get("metadata"))
        for case in cases
        if not case.get("lookups")
    ]


def worked_examples(name: str) -> list[Case]:
    return [Case(CATALOGUE[name], e.event, e.config, e.now, e.metadata) for e in examples(name) if not e.lookups]


def _map(cases: list[Case]) -> None:
    for kind, event, config, now, metadata in cases:
        # `suppress` would take up to a tenth of the time that is measured
        try:  # noqa: SIM105
            kind.payloads(event, config, now, None, metadata)
        except ToolkitError:
            pass


def _microseconds(call: Callable[[], object], options: Options) -> float:
    """CPU time of one call: the best of many rounds of 5 ms, so that some have the core and its cache to themselves."""
    started, times = process_time(), 0
    while process_time() - started < 0.005 and times < options.many(10_000, 1):
        call()
        times += 1
    return min(_round(call, times) for _ in range(options.many(40, 1)))


def _round(call: Callable[[], object], times: int) -> float:
    started = process_time()
    for _ in range(times):
        call()
    return (process_time() - started) / times * 1e6
