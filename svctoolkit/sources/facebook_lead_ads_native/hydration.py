"""Complete the events of Facebook leads with the leads' fields, which RudderStack fetches before the tracking plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.errors import InvalidWebhook
from svctoolkit.json_types import Json
from svctoolkit.sources import get, js_text, truthy

_ADDRESS = "https://graph.facebook.com/v24.0"


def lead_request(event: Mapping[str, Json], token: str) -> dict[str, Json]:
    """Return the request for the lead of an event: `method`, `url`, `params`.

    Raises `InvalidWebhook` for an event without an anonymousId, and for an empty token.
    """
    lead = event.get("anonymousId")
    if not truthy(lead):
        raise InvalidWebhook("anonymousId is required", field="anonymousId")
    if not token:
        raise InvalidWebhook("Page access token is required", field="pageAccessToken")
    return {"method": "GET", "url": f"{_ADDRESS}/{js_text(lead)}", "params": {"access_token": token}}


def with_lead(event: Mapping[str, Json], lead: Json) -> dict[str, Json]:
    """Return the event with the fields of Facebook's answer as traits: the first value of each; they replace traits.

    >>> event = {"type": "identify", "anonymousId": "lead-7"}
    >>> with_lead(event, {"field_data": [{"name": "city", "values": ["Bergen", "Oslo"]}]})["context"]
    {'traits': {'city': 'Bergen'}}
    """
    context = event.get("context")
    fields = get(lead, "field_data")
    traits: dict[str, Any] = {}
    for item in fields if isinstance(fields, list) else []:
        name, values = get(item, "name"), get(item, "values")
        if isinstance(name, str) and isinstance(values, list) and values:
            traits[name] = values[0]
    known = get(context, "traits")
    merged = {**(known if isinstance(known, dict) else {}), **traits}
    return {**event, "context": {**(context if isinstance(context, dict) else {}), "traits": merged}}
