"""Which destinations get an event, and why others do not."""

from __future__ import annotations

from typing import Any

import pytest

from svctoolkit import DataPlane, Pipeline, Workspace
from svctoolkit.errors import Unsupported
from svctoolkit.pipeline.rules import exclusion
from svctoolkit.workspace import Destination, Source

EVENT = {"type": "track", "event": "E", "userId": "u1"}


def why(event: dict[str, Any], type: str = "MP", source: str = "web", **config: Any) -> str:
    return exclusion({**EVENT, **event}, Source("s", "s", "s", source), Destination("d", "d", "d", type, config=config))


@pytest.mark.parametrize(
    ("integrations", "goes"),
    [
        ({}, True),
        ({"All": True}, True),
        ({"All": False}, False),
        ({"All": False, "Mixpanel": True}, True),
        ({"All": False, "Mixpanel": {}}, True),
        ({"All": False, "Mixpanel": {"a": 1}}, True),
        ({"All": False, "Mixpanel": "yes"}, False),
        ({"All": False, "mixpanel": True}, False),
        ({"Mixpanel": False}, False),
        ({"All": True, "Mixpanel": False}, False),
        ({"All": True, "Mixpanel": None}, True),
        ({"Amplitude": False}, True),
        ({"All": "true"}, False),
        ({"All": None}, False),
        (None, True),
        ([], False),
        ("All", False),
    ],
)
def test_integrations_choose_destinations(integrations: Any, goes: bool) -> None:
    """Display name in exact case; a boolean decides, an object means true, anything else counts as `All`."""
    assert (why({"integrations": integrations}) == "") is goes


@pytest.mark.parametrize(
    ("type", "event_type", "config", "goes"),
    [
        ("WEBHOOK", "alias", {}, True),
        ("GA4", "track", {}, True),
        ("GA4", "identify", {}, False),
        ("MP", "identify", {}, True),
        ("MP", "identify", {"enableServerSideIdentify": False}, False),
        ("MP", " Track ", {}, True),
    ],
)
def test_unsupported_event_types_are_filtered(type: str, event_type: str, config: dict[str, Any], goes: bool) -> None:
    """A type missing from the destination's definition is filtered with 298; without a list, nothing is."""
    said = why({"type": event_type}, type, **config)

    assert (said == "") is goes
    assert goes or "Message type not supported" in said


@pytest.mark.parametrize(
    ("type", "event_type", "source", "config", "goes"),
    [
        ("HOTJAR", "track", "web", {}, False),
        ("MP", "track", "web", {"connectionMode": "cloud"}, True),
        ("MP", "track", "web", {"connectionMode": "device"}, False),
        ("MP", "track", "web", {"connectionMode": {"web": "device"}}, False),
        ("MP", "track", "ios", {"connectionMode": {"web": "device"}}, True),
        ("MP", "track", "web", {"useNativeSDK": {"web": True}}, False),
        ("MP", "track", "web", {"useNativeSDK": False}, True),
        ("GA4", "track", "web", {"connectionMode": "hybrid"}, True),
        ("GA4", "page", "web", {"connectionMode": "hybrid"}, False),
        ("GA4", "page", "cloud", {"connectionMode": "hybrid"}, True),
    ],
)
def test_modes_avoid_duplicates(type: str, event_type: str, source: str, config: dict[str, Any], goes: bool) -> None:
    """Events that the client's SDK sends itself are not sent again; in hybrid mode this depends on the event type."""
    assert (why({"type": event_type}, type, source, **config) == "") is goes


NEEDS_A_AND_B = [{"provider": "custom", "resolutionStrategy": "or", "consents": [{"consent": "a"}, {"consent": "b"}]}]
ONE_TRUST = [{"provider": "oneTrust", "consents": [{"consent": "a"}, {"consent": "b"}]}]


@pytest.mark.parametrize(
    ("given", "config", "goes"),
    [
        ({"deniedConsentIds": []}, {"consentManagement": ONE_TRUST}, True),
        ({"deniedConsentIds": ["a"], "provider": "oneTrust"}, {"consentManagement": ONE_TRUST}, False),
        (
            {"deniedConsentIds": ["a"], "provider": "oneTrust", "resolutionStrategy": "or"},
            {"consentManagement": ONE_TRUST},
            True,
        ),
        ({"deniedConsentIds": ["a"], "provider": "custom"}, {"consentManagement": NEEDS_A_AND_B}, True),
        ({"deniedConsentIds": ["a", "b"], "provider": "custom"}, {"consentManagement": NEEDS_A_AND_B}, False),
        ({"deniedConsentIds": ["a"], "provider": "ketch"}, {"consentManagement": ONE_TRUST}, True),
        ({"deniedConsentIds": ["c"]}, {"oneTrustCookieCategories": [{"oneTrustCookieCategory": "c"}]}, False),
        ({"deniedConsentIds": ["c"]}, {"ketchConsentPurposes": [{"purpose": "c"}, {"purpose": "d"}]}, True),
        ({"deniedConsentIds": ["c", "d"]}, {"ketchConsentPurposes": [{"purpose": "c"}, {"purpose": "d"}]}, False),
        ({"deniedConsentIds": ["a"]}, {"consentManagement": {"web": ONE_TRUST}}, True),
        ({"deniedConsentIds": ["a"], "provider": "oneTrust"}, {"consentManagement": {"web": ONE_TRUST}}, False),
        ({"deniedConsentIds": ["a"], "provider": "oneTrust"}, {"consentManagement": {"ios": ONE_TRUST}}, True),
        ({"deniedConsentIds": ["c"]}, {"ketchConsentPurposes": {"web": [{"purpose": "c"}]}}, False),
        ("denied", {"consentManagement": ONE_TRUST}, True),
    ],
)
def test_denied_consent_blocks_a_destination(given: Any, config: dict[str, Any], goes: bool) -> None:
    """A destination whose consents the user denied gets nothing; the provider's strategy decides."""
    assert (why({"context": {"consentManagement": given}}, **config) == "") is goes


def test_conversions_restrict_names() -> None:
    """`listOfConversions` passes only the track events that it names."""
    listed = [{"conversions": "Order Completed"}, {"conversions": ""}]

    assert "listOfConversions" in why({}, listOfConversions=listed)
    assert why({"event": "Order Completed"}, listOfConversions=listed) == ""
    assert why({"type": "identify"}, listOfConversions=listed) == ""


def test_each_destination_has_its_own_fate(workspace: Workspace, plane: DataPlane) -> None:
    """Delivered at one connection, filtered at another, with the reason."""
    workspace.destinations["mail"].enabled = False
    plane.send({**EVENT, "integrations": {"All": True}}, source="web")
    plane.send(EVENT, source="quiet")
    plane.drain()

    assert [(f.destination, f.status, f.by, f.reason) for f in plane.fates] == [
        ("crm", "delivered", "", ""),
        ("mail", "filtered", "routing", "the destination is disabled"),
    ]
    assert len(plane.received) == 2


def test_events_of_one_request_have_the_fates_that_they_have_alone(workspace: Workspace) -> None:
    """Also those that differ only in what few destinations read: consent, names, integrations."""
    consent = [{"provider": "custom", "resolutionStrategy": "and", "consents": [{"consent": "ads"}]}]
    workspace.destination("ads", "WEBHOOK", config={"webhookUrl": "https://ads.example", "consentManagement": consent})
    workspace.destination("few", "WEBHOOK", config={"listOfConversions": [{"conversions": "E"}]})
    workspace.source("all", write_key="all-key", destinations=[*workspace.destinations])
    workspace.data_plane.event_blocking = {"track": ["Blocked"]}
    denied = {"consentManagement": {"provider": "custom", "deniedConsentIds": ["ads"]}}
    differences: list[dict[str, Any]] = [
        {}, {"event": "Other"}, {"event": "Blocked"}, {"type": "identify"}, {"type": "alias"}, {"type": 1},
        {"integrations": {"All": True}}, {"integrations": {"All": 1}}, {"integrations": {"All": False}},
        {"integrations": []}, {"context": denied}, {"event": None},
    ]  # fmt: skip
    events = [{**EVENT, **difference, "messageId": f"m{n}"} for n, difference in enumerate(2 * differences)]
    fates = []
    for calls in ([events], [[event] for event in events]):
        with DataPlane(workspace, listen=False) as plane:
            for call in calls:
                plane.send(call, source="all")
            plane.drain()
            fates.append({(fate.message_id, fate.destination): (fate.status, fate.reason) for fate in plane.fates})

    assert fates[0] == fates[1]
    assert len({status for status, _ in fates[0].values()}) >= 3


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"userId": "u1"}, "message type missing or invalid"),
        ({"userId": "u1", "type": 5}, "message type missing or invalid"),
        ({"userId": "u1", "type": "record"}, "message type is unsupported"),
    ],
)
def test_an_event_without_a_type_is_accepted_and_fails(plane: DataPlane, event: dict[str, Any], reason: str) -> None:
    """The gateway accepts it in a batch, but no destination can process it."""
    answer = plane.send(event, source="web")
    plane.drain()

    assert answer.status == 200
    assert {(f.status, f.by, f.reason) for f in plane.fates} == {("failed", "routing", reason)}


def test_a_type_without_a_mapping_fails_with_the_reason(workspace: Workspace, plane: DataPlane) -> None:
    """An unsupported destination does not affect the others."""
    workspace.destination("bucket", "S3", config={"bucketName": "b"})
    workspace.source("all", write_key="all-key", destinations=["bucket", "crm"])
    plane.send(EVENT, source="all")
    plane.drain()

    bucket, crm = plane.fates
    assert (bucket.status, crm.status) == ("unmapped", "delivered")
    assert "the data-plane server itself sends the events" in bucket.reason


def test_the_recorder_shows_records_of_streams(workspace: Workspace, plane: DataPlane) -> None:
    """A stream has no HTTP: the recorder shows its records; other delivery modes do nothing with its events."""
    kafka = {"hostName": "broker.example", "port": "9092", "topic": "events"}
    workspace.destination("queue", "KAFKA", config=kafka)
    workspace.destination("nothing", "KAFKA", config={})
    workspace.source("all", write_key="all-key", destinations=["queue", "nothing"])
    plane.send(EVENT, source="all")
    plane.drain()

    fates = {fate.destination: fate for fate in plane.fates}
    (request,) = plane.recorder.requests
    assert (fates["queue"].status, fates["nothing"].status) == ("delivered", "unmapped")
    assert "delivery mode record shows" in fates["nothing"].reason
    assert request.request.url == "http://broker.example:9092/topics/events"
    assert [(record["key"], record["value"]["event"]) for record in request.json["records"]] == [("u1", "E")]

    pipeline = Pipeline(workspace.in_mode("live"))
    assert "the data-plane server itself sends" in pipeline.route(workspace.destinations["queue"]).unmapped
    with pytest.raises(Unsupported, match="streaming or message-queue"):
        pipeline.test_destination("queue", EVENT)


def test_invalid_settings_fail_until_they_are_fixed(workspace: Workspace, plane: DataPlane) -> None:
    """The failure names the invalid setting; once it is fixed, the event can be retried."""
    workspace.destinations["crm"].config = {}
    plane.send(EVENT, source="web")
    plane.drain()
    failed = next(f for f in plane.fates if f.destination == "crm")
    workspace.destinations["crm"].config = {"webhookUrl": "https://crm.example/in"}
    again = plane.replay("crm", status="failed")
    plane.drain()

    assert (failed.status, again) == ("failed", 1)
    assert "webhookUrl" in failed.reason
    assert {f.status for f in plane.fates} == {"delivered"}
