"""Which objects of a request Braze's server refuses, and the reasons that it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from svctoolkit.json_types import Json
from svctoolkit.simulations import Visit
from svctoolkit.simulations.limits import is_email, time_of

#: the rule that is broken, the reason in the answer, and the value
Problem: TypeAlias = tuple[str, str, Json]
_STATES = ("subscribed", "unsubscribed", "opted_in")
_NO_ID = "'external_id', 'braze_id', 'user_alias', 'email' or 'phone' is required"


def problem(visit: Visit, kind: str, item: Mapping[str, Json]) -> Problem | None:
    """Return why Braze refuses an object of the list `kind`; None if it is valid."""
    if not _has_id(item):
        return "bz.id.required", _NO_ID, None
    id = item.get("external_id")
    if isinstance(id, str) and len(id.encode("utf-8", "replace")) > visit.limit("bz.object.errors"):
        return "bz.object.errors", "EXTERNAL_USER_ID_TOO_LARGE", len(id)
    return _CHECKS[kind](visit, item)


def _has_id(item: Mapping[str, Any]) -> bool:
    alias = item.get("user_alias")
    if isinstance(alias, dict) and alias.get("alias_name") and alias.get("alias_label"):
        return True
    return any(item.get(name) not in (None, "") for name in ("external_id", "braze_id", "email", "phone"))


def _attributes(_visit: Visit, item: Mapping[str, Any]) -> Problem | None:
    email, location = item.get("email"), item.get("current_location")
    if email is not None and not is_email(email):
        return "bz.object.errors", "EMAIL_BAD_FORMAT", email
    for name, reason in (
        ("email_subscribe", "BAD_EMAIL_SUBSCRIPTION_STATE"),
        ("push_subscribe", "BAD_PUSH_SUBSCRIPTION_STATE"),
    ):
        if item.get(name) is not None and item[name] not in _STATES:
            return "bz.object.errors", reason, item[name]
    if location is not None and not _is_location(location):
        return "bz.object.errors", "BAD_LOCATION_UPDATE", location
    return _groups(item.get("subscription_groups"))


def _is_location(value: Any) -> bool:
    numbers = [value.get("latitude"), value.get("longitude")] if isinstance(value, dict) else [None]
    return all(isinstance(n, (int, float)) and not isinstance(n, bool) for n in numbers)


def _groups(groups: Any) -> Problem | None:
    if groups is None:
        return None
    if not isinstance(groups, list):
        return "bz.object.errors", "BAD_SUBSCRIPTION_GROUP_ARRAY", groups
    for group in groups:
        if not isinstance(group, dict):
            return "bz.object.errors", "BAD_SUBSCRIPTION_GROUP_HASH", group
        if not group.get("subscription_group_id"):
            return "bz.object.errors", "BAD_SUBSCRIPTION_GROUP_ID", group.get("subscription_group_id")
        if group.get("subscription_state") not in ("subscribed", "unsubscribed"):
            return "bz.object.errors", "BAD_SUBSCRIPTION_GROUP_STATE", group.get("subscription_state")
    return None


def _events(_visit: Visit, item: Mapping[str, Any]) -> Problem | None:
    if not isinstance(item.get("name"), str) or not item["name"]:
        return "bz.event.required", "'name' is not valid", item.get("name")
    if not _is_time(item.get("time")):
        return "bz.event.required", "'time' is not valid", item.get("time")
    properties = item.get("properties")
    reserved = [name for name in ("time", "event_name") if isinstance(properties, dict) and name in properties]
    return ("bz.event.reserved_keys", f"'{reserved[0]}' is reserved", reserved[0]) if reserved else None


def _is_time(value: Any) -> bool:
    """Whether Braze reads a value as a time. It accepts more forms than ISO 8601, so only texts without a date fail."""
    if isinstance(value, str):
        return time_of(value) is not None or time_of(value[:10]) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _purchases(visit: Visit, item: Mapping[str, Any]) -> Problem | None:
    product, currency, quantity = item.get("product_id"), item.get("currency"), item.get("quantity", 1)
    if product in (None, "") or len(str(product)) > visit.limit("bz.purchase.required"):
        return "bz.purchase.required", "'product_id' is not valid", product
    if not isinstance(currency, str) or not (len(currency) == 3 and currency.isalpha()):
        return "bz.purchase.required", "'currency' is not valid", currency
    if not _is_number(item.get("price")):
        return "bz.purchase.required", "'price' is not valid", item.get("price")
    if not _is_time(item.get("time")):
        return "bz.purchase.required", "'time' is not valid", item.get("time")
    whole = isinstance(quantity, (int, float)) and not isinstance(quantity, bool) and quantity == int(quantity)
    if quantity is not None and not (whole and quantity <= visit.limit("bz.purchase.quantity")):
        return "bz.purchase.quantity", "'quantity' is not valid", quantity
    return None


def _is_number(value: Any) -> bool:
    """Whether a value is a number, or a text of one: what Braze does with those is not documented."""
    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            return False
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_CHECKS = {"attributes": _attributes, "events": _events, "purchases": _purchases}
