"""An export of a shop for outdoor gear: 3 sources, 13 destinations, a tracking plan; names and ids are made up.

Its code reacts to members that sample events lack: loyalty points, a margin, personal data in a list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LOYALTY = """\
import { roundTo } from "numbers";

const PRIVATE = ["iban", "tax_number", "passport"];

export function transformEvent(event) {
  const traits = (event.context || {}).traits || {};
  for (const key of PRIVATE) delete traits[key];
  if (event.type !== "track") return event;
  const p = event.properties || (event.properties = {});
  if (p.loyalty_points > 1000) p.tier = "gold";
  else if (p.loyalty_points > 200) p.tier = "silver";
  if (p.margin !== undefined) p.margin = roundTo(p.margin);
  return event;
}
"""
NUMBERS = """\
export function roundTo(value) {
  return Math.round(value * 100) / 100;
}
"""
RETURNS = '''\
"""Refunds are negative, and large ones are marked for the finance team."""

LARGE = 500


def transformEvent(event, metadata):
    if event.get("event") != "Order Refunded":
        return event
    properties = event.get("properties") or {}
    amount = properties.get("refund_amount")
    if isinstance(amount, (int, float)):
        properties["is_large"] = amount >= LARGE
        properties["refund_amount"] = -abs(amount)
    return event
'''
CODE = {
    "transformations": [
        {"id": "bT1", "versionId": "bT1v3", "name": "Loyalty", "language": "javascript", "codeVersion": "1",
         "code": LOYALTY},
        {"id": "bT2", "versionId": "bT2v1", "name": "Returns", "language": "pythonfaas", "codeVersion": "1",
         "code": RETURNS},
    ],
    "libraries": [{"id": "bL1", "versionId": "bL1v1", "name": "Numbers", "importName": "numbers",
                   "language": "javascript", "code": NUMBERS}],
}  # fmt: skip
PLAN = {
    "id": "tp_brook",
    "name": "Brook web",
    "version": 2,
    "events": [
        {"id": "e1", "name": "Order Completed", "eventType": "track", "rules": {"type": "object", "properties": {
            "properties": {"type": "object", "required": ["order_id", "total"], "properties": {
                "order_id": {"type": "string"}, "total": {"type": "number"}}}}}},
        {"id": "e2", "name": "Gear Rented", "eventType": "track", "rules": {"type": "object", "properties": {
            "properties": {"type": "object", "required": ["days"], "properties": {
                "days": {"type": "integer", "minimum": 1}}}}}},
    ],
}  # fmt: skip
_LINK = {
    "sourceId": "bS1",
    "version": 2,
    "config": {"track": {"allowUnplannedEvents": "true", "anyOtherViolation": "forward"}},
    "deleted": False,
    "trackingPlan": {"id": "tp_brook", "version": 2},
}
#: key -> name, type, code, configuration
DESTINATIONS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "ga4": ("GA4 brook", "GA4", "bT1", {"apiSecret": "q7Lm2Zx9brook", "typesOfClient": "gtag",
            "measurementId": "G-BR00K77", "connectionMode": {"web": "cloud", "cloud": "cloud"}}),
    "braze": ("Braze CRM", "BRAZE", "bT1", {"restApiKey": "9d2e41c7-5a0b-4c33-brook", "appKey": "app-77",
              "dataCenter": "EU-02", "connectionMode": {"web": "cloud", "ios": "cloud", "cloud": "cloud"}}),
    "meta": ("Meta conversions", "FACEBOOK_CONVERSIONS", "", {"datasetId": "771144", "accessToken": "EAAbrook92kx",
             "actionSource": "website", "eventsToEvents": [{"from": "Order Completed", "to": "Purchase"}]}),
    "cio": ("Customer.io", "CUSTOMERIO", "bT1", {"apiKey": "cio9k2brook", "siteID": "cio-site-4", "datacenter": "EU"}),
    "hubspot": ("HubSpot sales", "HS", "", {"authorizationType": "newPrivateAppApi", "accessToken": "pat-eu1-77brook",
                "hubID": "7712", "apiVersion": "newApi", "lookupField": "email", "hubspotEvents": [
                    {"rsEventName": "Order Completed", "hubspotEventName": "pe7712_order",
                     "eventProperties": [{"from": "total", "to": "amount"}, {"from": "currency", "to": "currency"}]}]}),
    "slack": ("Slack orders", "SLACK", "", {
        "webhookUrl": "https://hooks.slack.com/services/T0BRK/B0771/z8Kq3LmZpQr1St5Uv",
        "eventTemplateSettings": [{"eventName": "Order Completed", "eventRegex": False,
                                   "eventTemplate": "order for {{properties.total}} {{properties.currency}}"}]}),
    "flow": ("Refund flow", "WEBHOOK", "bT2", {"webhookUrl": "https://eo4k9x2m7q8w1zb.m.pipedream.net/refunds",
             "webhookMethod": "POST"}),
    "zap": ("Zap on rentals", "WEBHOOK", "", {"webhookUrl": "https://hooks.zapier.com/hooks/catch/771144/b7x2kq/",
            "webhookMethod": "POST"}),
    "posthog": ("PostHog", "POSTHOG", "", {"teamApiKey": "phc_brook7Kq2", "yourInstance": "https://eu.i.posthog.com"}),
    "mixpanel": ("Mixpanel", "MP", "", {"token": "brookmp77a1c9", "dataResidency": "eu", "useNewMapping": True}),
    "klaviyo": ("Klaviyo", "KLAVIYO", "", {"publicApiKey": "Kbrk77", "privateApiKey": "pk_7x2kbrook",
                "apiVersion": "v2"}),
    "kafka": ("Kafka lake", "KAFKA", "", {"hostName": "kafka.brook.example", "port": "9092", "topic": "events"}),
    "snowflake": ("Snowflake", "SNOWFLAKE", "", {"account": "bk77", "database": "EVENTS", "warehouse": "LOAD",
                  "user": "rudder", "password": "sf-brook-91x", "namespace": "brook", "syncFrequency": "60",
                  "useRudderStorage": True}),
}  # fmt: skip
SOURCES: dict[str, tuple[str, str, dict[str, bool]]] = {
    "bS1": ("Brook web", "Javascript", {"ga4": True, "braze": True, "meta": True, "slack": True, "posthog": True,
                                        "snowflake": True, "cio": True, "zap": False}),
    "bS2": ("Brook app", "iOS", {"braze": True, "mixpanel": True, "klaviyo": True, "snowflake": True}),
    "bS3": ("Shop backend", "Node", {"flow": True, "zap": True, "hubspot": True, "kafka": True, "cio": True}),
}  # fmt: skip


def export(*, posthog: str = "phc_brook7Kq2") -> dict[str, Any]:
    """Return the workspace configuration, as the control plane gives it."""
    return {
        "workspaceId": "wsBrook",
        "sources": [
            {
                "id": id,
                "name": name,
                "writeKey": f"wk{id}",
                "enabled": True,
                "sourceDefinition": {"name": definition},
                "destinations": [_destination(key, on, posthog) for key, on in connections.items()],
                "dgSourceTrackingPlanConfig": _LINK if id == "bS1" else None,
            }
            for id, (name, definition, connections) in SOURCES.items()
        ],
        "libraries": [{"versionId": "bL1v1"}],
    }


def _destination(key: str, connected: bool, posthog: str) -> dict[str, Any]:
    name, type, code, config = DESTINATIONS[key]
    versions = {item["id"]: item["versionId"] for item in CODE["transformations"]}
    return {
        "id": f"bD{key}",
        "name": name,
        "enabled": True,
        "config": {**config, "teamApiKey": posthog} if key == "posthog" else config,
        "transformations": [{"id": code, "versionId": versions[code], "config": {}}] if code else [],
        "destinationDefinition": {"name": type},
        "isConnectionEnabled": connected,
        "isProcessorEnabled": True,
    }


def write(folder: Path) -> Path:
    """Write the export, its code and its plan to a folder; return the path of the export."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workspaceConfig.json").write_text(json.dumps(export(), indent=1))
    (folder / "code.json").write_text(json.dumps(CODE))
    (folder / "plans.json").write_text(json.dumps({"trackingPlans": [PLAN]}))
    return folder / "workspaceConfig.json"
