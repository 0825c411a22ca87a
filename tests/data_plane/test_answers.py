"""The recorder answers batches in the form of the destination's own server, item by item where that is its form."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer, Recorder, Sender
from svctoolkit.delivery import request as http_request
from svctoolkit.destinations import CATALOGUE, batch_examples, examples
from svctoolkit.errors import DeliveryError
from svctoolkit.pipeline import Pipeline
from svctoolkit.server import Backoff

JUDGING = [name for name in CATALOGUE if CATALOGUE[name].judges]
BY_ITEM = [name for name in CATALOGUE if CATALOGUE[name].answers_items]


@pytest.mark.parametrize("name", JUDGING)
def test_the_default_answer_means_success(name: str) -> None:
    """By default, the answer of the recorder means "accepted" for every destination type."""
    payloads = [(e.config, p) for e in examples(name) for p in e.payloads]
    payloads += [(e.config, p) for e in batch_examples(name) for shared in e.results for p in shared.payloads]
    for config, payload in payloads:
        workspace = Workspace("shop")
        route = Pipeline(workspace).route(workspace.destination("d", name, config=config))
        with suppress(DeliveryError):  # an example of input that is not a request
            http_request(payload)
            recorder = Recorder()
            answer = Sender(partial(recorder.exchange, server=route.answer)).send(payload)
            reply = answer.status, answer.headers, answer.response
            outcome = CATALOGUE[name].outcome(payload, [reply], jobs=[1], metadata=[{}])

            assert outcome.outcome == "delivered", (payload["endpoint"], answer.response, outcome)


EMARSYS = {
    "emersysUsername": "u",
    "emersysUserSecret": "s",
    "defaultContactList": "1",
    "fieldMapping": [{"rudderProperty": "email", "emersysProperty": "3"}],
}
HS = {"authorizationType": "newPrivateAppApi", "accessToken": "k", "apiVersion": "newApi", "lookupField": "email"}
#: requests that look something up in HubSpot first
PROPERTIES = {
    "https://api.hubapi.com/crm/v3/properties/contacts": {
        "results": [{"name": "email", "type": "string", "hasUniqueValue": True}]
    },
    "https://api.hubapi.com/properties/v1/contacts/properties": [{"name": "email", "type": "string"}],
}
PEOPLE = [
    {"type": "identify", "userId": f"u{n}", "traits": {"email": f"u{n}@shop.example", "phone": f"+4917{n}"}}
    for n in range(3)
]
RECORDS = [{"type": "record", "action": "insert", "identifiers": {"external_id": f"u{n}"}} for n in range(3)]
TRACKS = [{"type": "track", "event": "Paid", "userId": f"u{n}", "context": {"traits": {"email": f"u{n}@s.example"}}}
          for n in range(3)]  # fmt: skip
GROUPS = [{"type": "group", "userId": f"u{n}", "groupId": f"g{n}", "traits": {"name": "G"}} for n in range(3)]
CONVERSIONS = [
    {
        "type": "track",
        "event": "Paid",
        "userId": f"u{n}",
        "timestamp": "2026-01-15T10:04:30.120Z",
        "properties": {
            "requestType": "batchinsert",
            "floodlightConfigurationId": "213",
            "floodlightActivityId": "456",
            "ordinal": "1",
            "quantity": "2",
            "gclid": f"c{n}",
        },
    }
    for n in range(3)
]
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "MP": ({"token": "t", "apiSecret": "s", "dataResidency": "us", "strictMode": True}, TRACKS),
    "BLOOMREACH": (
        {
            "apiKey": "k",
            "apiSecret": "s",
            "apiBaseUrl": "https://api.bloomreach.example",
            "projectToken": "p",
            "hardID": "registered",
            "softID": "cookie",
        },
        TRACKS,
    ),
    "ITERABLE": ({"apiKey": "k"}, TRACKS),
    "CUSTOMERIO": ({"siteID": "s", "apiKey": "k", "datacenter": "US"}, GROUPS),
    "EMARSYS": (EMARSYS, PEOPLE),
    "HS": (HS, PEOPLE),
    "BRAZE_AUDIENCE": ({"restApiKey": "k", "connection": {"customAttributeName": "member"}}, RECORDS),
    "CAMPAIGN_MANAGER": ({"profileId": "5"}, CONVERSIONS),
}


def test_every_type_with_answers_per_item_has_a_case() -> None:
    """ClickSend's contacts are the exception: they are answered as a whole."""
    assert {*CASES, "CLICKSEND"} == {*BY_ITEM}


@pytest.mark.parametrize("name", CASES)
def test_some_items_are_refused(name: str) -> None:
    """`Answer.partial(failed=[1])` uses the destination's own format, and its rules read the failed items back."""
    config, events = CASES[name]
    workspace = Workspace("shop")
    workspace.account("ads", secret={"access_token": "t-1"})
    workspace.destination("d", name, config=config, account="ads" if name == "CAMPAIGN_MANAGER" else None)
    workspace.source("web", write_key="k", destinations=["d"])
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0)) as plane:
        for url, answer in PROPERTIES.items():
            plane.recorder.answer(url, Answer(200, answer))
        plane.script("d", Answer.partial(failed=[1]), Answer.partial(failed=[]))
        plane.send(events, source="web")
        plane.drain()

        assert [len(d.events) for d in plane.deliveries] == [3]
        assert [(f.status, f.outcome) for f in plane.fates] == [
            ("delivered", "delivered"),
            ("failed", "abort"),
            ("delivered", "delivered"),
        ]


def test_a_partial_refusal_refuses_the_whole_request_where_items_have_no_status() -> None:
    """Braze has no format for one refused item, so a partial refusal refuses the request."""
    workspace = Workspace("shop")
    workspace.destination("d", "BRAZE", config={"restApiKey": "k-1", "dataCenter": "EU-01", "appKey": "a-1"})
    workspace.source("web", write_key="k", destinations=["d"])
    with DataPlane(workspace, listen=False, backoff=Backoff(scale=0)) as plane:
        plane.script("d", Answer.partial(failed=[1]))
        plane.send(TRACKS, source="web")
        plane.drain()

        assert {f.status for f in plane.fates} == {"failed"}
