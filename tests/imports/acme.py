"""An export as real teams have them: 3 sources, 11 destinations, three transformations with two libraries.

Two sources share destinations; one connection is disabled, one destination needs an OAuth account, one is a warehouse,
one has device mode only, one is disabled; consent, event blocking and event mappings are configured.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

ENRICH_ORDERS = """\
import { roundMoney } from "moneyTools";

export function transformEvent(event, metadata) {
  if (event.event === "Debug Event") return null;
  const p = event.properties || {};
  if (event.type === "track" && event.event === "Order Completed") {
    p.item_count = (p.products || []).length;
    p.revenue = roundMoney(p.revenue, p.currency);
    p.currency = (p.currency || "EUR").toUpperCase();
    p.source_name = metadata(event).sourceName;
  }
  event.properties = p;
  return event;
}
"""

MONEY_TOOLS = """\
export function roundMoney(value, currency) {
  if (typeof value !== "number") return value;
  if (currency === "JPY") return Math.round(value);
  return Math.round(value * 100) / 100;
}
"""

RENAME_SIGNUP = """\
function transform(events) {
  const kept = events.filter((event) => event.userId !== "synthetic-monitor");
  return kept.map((event) => {
    if (event.event === "Signup") event.event = "Signed Up";
    delete (event.context || {}).ip;
    return event;
  });
}
"""

MASK_PII = '''\
"""No personal data in clear text reaches marketing tools."""

from hashing import sha256_hex

SENSITIVE = ("phone", "birthday", "address")


def transformEvent(event, metadata):
    name = event.get("event") or ""
    if name.startswith("Internal"):
        return None
    context = event.get("context") or {}
    traits = context.get("traits") or {}
    for key in SENSITIVE:
        traits.pop(key, None)
    if "email" in traits:
        traits["email_hash"] = sha256_hex(traits["email"])
        del traits["email"]
    context.pop("ip", None)
    return event
'''

HASHING = """\
import hashlib


def sha256_hex(value):
    text = str(value)
    text = text.strip()
    text = text.lower()
    return hashlib.sha256(text.encode()).hexdigest()
"""

CODE: dict[str, Any] = {
    "transformations": [
        {"id": "2TfEnrich1", "versionId": "2TfEnrichV7", "name": "Enrich orders", "language": "javascript",
         "codeVersion": "1", "code": ENRICH_ORDERS},
        {"id": "2TfRename2", "versionId": "2TfRenameV2", "name": "Rename signup (legacy)", "language": "javascript",
         "codeVersion": "0", "code": RENAME_SIGNUP},
        {"id": "2TfPii3", "versionId": "2TfPiiV4", "name": "Mask PII", "language": "pythonfaas",
         "codeVersion": "1", "code": MASK_PII},
    ],
    "libraries": [
        {"id": "2LibMoney", "versionId": "2LibMoneyV1", "name": "Money tools", "importName": "moneyTools",
         "language": "javascript", "code": MONEY_TOOLS},
        {"id": "2LibHash", "versionId": "2LibHashV1", "name": "Hashing", "importName": "hashing",
         "language": "pythonfaas", "code": HASHING},
    ],
}  # fmt: skip

_MARKETING = [{"provider": "custom", "resolutionStrategy": "and", "consents": [{"consent": "marketing"}]}]

DESTINATIONS: dict[str, dict[str, Any]] = {
    "ga4": {
        "name": "GA4 web", "type": "GA4", "transformation": "2TfEnrich1",
        "config": {"apiSecret": "Vq3mZk81ga4Sx", "typesOfClient": "gtag", "measurementId": "G-7K2ACME",
                   "connectionMode": {"web": "cloud", "cloud": "cloud"}, "sendUserId": True},
    },
    "braze": {
        "name": "Braze", "type": "BRAZE", "transformation": "",
        "config": {"restApiKey": "6f1d0c55-98e2-4f0a-b1c7-acme", "appKey": "app-31", "dataCenter": "EU-01",
                   "connectionMode": {"web": "hybrid", "ios": "cloud", "cloud": "cloud"}},
    },
    "meta": {
        "name": "Meta CAPI", "type": "FACEBOOK_CONVERSIONS", "transformation": "2TfEnrich1",
        "config": {"datasetId": "556677", "accessToken": "EAAGacme81kqpZ", "actionSource": "website",
                   "eventsToEvents": [{"from": "Order Completed", "to": "Purchase"}],
                   "consentManagement": _MARKETING},
    },
    "klaviyo": {
        "name": "Klaviyo", "type": "KLAVIYO", "transformation": "2TfPii3",
        "config": {"publicApiKey": "Kpub77", "privateApiKey": "pk_9s8d7f6acme", "listId": "Xy12",
                   "apiVersion": "v2", "enforceEmailAsPrimary": False, "consentManagement": _MARKETING},
    },
    "mixpanel": {
        "name": "Mixpanel EU", "type": "MP", "transformation": "2TfPii3",
        "config": {"token": "c1f9mixpanelacme0a", "dataResidency": "eu", "useNewMapping": True,
                   "eventFilteringOption": "blacklistedEvents", "blacklistedEvents": [{"eventName": "Cart Viewed"}],
                   "connectionMode": {"web": "cloud", "ios": "device"}},
    },
    "bq": {
        "name": "BigQuery DWH", "type": "BQ", "transformation": "",
        "config": {"project": "acme-dwh", "bucketName": "acme-staging", "credentials": '{"private_key": "bq-7Hs2"}',
                   "namespace": "events", "syncFrequency": "30"},
    },
    "hook": {
        "name": "Orders hook", "type": "WEBHOOK", "transformation": "2TfRename2",
        "config": {"webhookUrl": "https://orders.acme.example/events", "webhookMethod": "POST",
                   "headers": [{"from": "X-Team", "to": "data"}, {"from": "X-Api-Key", "to": "hk-5d1a77c0e2acme"}],
                   "isDefaultMapping": True},
    },
    "hubspot": {
        "name": "HubSpot", "type": "HS", "transformation": "",
        "config": {"authorizationType": "newPrivateAppApi", "accessToken": "pat-eu1-4b7e91acme", "hubID": "4411",
                   "apiVersion": "newApi", "lookupField": "email",
                   "hubspotEvents": [{"rsEventName": "Order Completed", "hubspotEventName": "pe4411_order",
                                      "eventProperties": [{"from": "total", "to": "amount"},
                                                          {"from": "currency", "to": "currency"}]}]},
    },
    "ads": {
        "name": "Google Ads Enhanced Conversions", "type": "GOOGLE_ADWORDS_ENHANCED_CONVERSIONS", "transformation": "",
        "config": {"rudderAccountId": "2AccGoogle1", "customerId": "123-456-7890", "subAccount": False,
                   "listOfConversions": [{"conversions": "Order Completed"}], "requireHash": True},
    },
    "hotjar": {"name": "Hotjar", "type": "HOTJAR", "transformation": "", "config": {"siteID": "9911"}},
    "amplitude": {
        "name": "Amplitude legacy (off)", "type": "AM", "transformation": "", "enabled": False,
        "config": {"apiKey": "am-0f1e2dacme", "residencyServer": "standard"},
    },
}  # fmt: skip

#: source -> its destinations, and whether each connection is enabled
CONNECTIONS: dict[str, dict[str, bool]] = {
    "web": {"ga4": True, "braze": True, "meta": True, "klaviyo": True, "mixpanel": True, "bq": True, "hotjar": True,
            "ads": True, "amplitude": True},
    "ios": {"braze": True, "mixpanel": True, "klaviyo": True, "bq": True, "hook": False},
    "node": {"hook": True, "hubspot": True, "meta": True, "bq": True},
}  # fmt: skip
SOURCES = {"web": ("Web shop", "web"), "ios": ("iOS app", "ios"), "node": ("Backend", "cloud")}


def _destination(key: str, *, connected: bool) -> dict[str, Any]:
    shape = deepcopy(DESTINATIONS[key])
    versions = {item["id"]: item["versionId"] for item in CODE["transformations"]}
    code = shape["transformation"]
    return {
        "id": f"2Dest{key.title()}",
        "name": shape["name"],
        "enabled": shape.get("enabled", True),
        "config": shape["config"],
        "transformations": [{"id": code, "versionId": versions[code], "config": {}}] if code else [],
        "destinationDefinition": {"name": shape["type"]},
        "isConnectionEnabled": connected,
        "isProcessorEnabled": connected,
    }


def export() -> dict[str, Any]:
    """Return the workspace configuration as RudderStack's control plane gives it."""
    return {
        "workspaceId": "2WsAcme",
        "enableMetrics": False,
        "sources": [
            {
                "id": f"2Src{key.title()}",
                "name": name,
                "writeKey": f"2Wk{key.title()}Acme0000001",
                "enabled": True,
                "sourceDefinition": {"name": name, "type": type, "category": None},
                "geoEnrichment": {"enabled": key == "web"},
                "destinations": [_destination(d, connected=on) for d, on in CONNECTIONS[key].items()],
                "dgSourceTrackingPlanConfig": _PLAN_LINK if key == "web" else None,
            }
            for key, (name, type) in SOURCES.items()
        ],
        "libraries": [{"versionId": "2LibMoneyV1"}, {"versionId": "2LibHashV1"}],
        "credentials": {"c1": {"key": "crm", "value": "crm-9Zk1acme", "isSecret": True}},
        "accounts": {"2AccGoogle1": {"accountDefinitionName": "GOOGLE_ADS_OAUTH", "options": {"email": "ads@acme"}}},
        "settings": {"eventAuditEnabled": False, "eventBlocking": {"events": {"track": ["Heartbeat", "Debug Ping"]}}},
    }


_PLAN_LINK = {
    "sourceId": "2SrcWeb",
    "version": 1,
    "config": {"track": {"allowUnplannedEvents": "true", "anyOtherViolation": "drop"}},
    "deleted": False,
    "trackingPlan": {"id": "tp_shop", "version": 3},
}


def write(folder: Path, data: Any = None) -> Path:
    """Write the export (`data`) and the code of its transformations to a folder; return the path of the export."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "workspaceConfig.json").write_text(json.dumps(data or export(), indent=1))
    (folder / "code.json").write_text(json.dumps(CODE))
    return folder / "workspaceConfig.json"
