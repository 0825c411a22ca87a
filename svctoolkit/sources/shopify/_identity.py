"""Who a Shopify webhook is about: what carts and visitors are remembered, and ids computed from a cart's token."""

from __future__ import annotations

import hashlib
import uuid
from datetime import timedelta

from svctoolkit.json_types import Json
from svctoolkit.mapping import json_text
from svctoolkit.sources import Webhook, crash, get, js_text, remember, truthy

_CART = timedelta(hours=1)
_PIXEL_CART = timedelta(hours=12)
_PIXEL_VISITOR = timedelta(hours=24)
#: The name space of ids that the pixel app computes.
_PIXEL_SPACE = uuid.UUID("e76c6e51-06f9-4222-9636-5aba7e3a84b6")


def remembered(webhook: Webhook, key: str, name: str) -> str | None:
    """A field that is remembered under a key."""
    fields = webhook.memory.get(key)
    return fields.get(name) if fields else None


def items_hash(items: Json) -> str:
    """The hash of a cart's items; `EMPTY` for an empty cart."""
    if not isinstance(items, list) or not items:
        return "EMPTY"
    return hashlib.sha256(json_text(items).encode("utf-8", "replace")).hexdigest()


def tracker_id(token: Json) -> str:
    """The anonymousId that the tracker computes from a cart's token. Raises `InvalidWebhook` for a number."""
    return _named_id(uuid.NAMESPACE_URL, token)


def pixel_id(token: Json) -> str:
    """The anonymousId that the pixel app computes from a cart's token. Raises `InvalidWebhook` for a number."""
    return _named_id(_PIXEL_SPACE, token)


def _named_id(space: uuid.UUID, token: Json) -> str:
    """A UUID of version 5. `uuid.uuid5` fails for lone surrogates."""
    if not isinstance(token, str):
        raise crash("offset is out of bounds", "body.cart_token")
    digest = hashlib.sha1(space.bytes + token.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))


def note(attributes: Json, name: str) -> Json:
    """The value of a note attribute; None if it is missing."""
    found = [item for item in attributes if get(item, "name") == name] if isinstance(attributes, list) else []
    return get(found[0], "value") if found else None


def remember_visitor(webhook: Webhook) -> None:
    """Remember a cart's visitor and items, as the tracker's call `rudderIdentifier` asks."""
    body = webhook.body
    fields = {
        "anonymousId": js_text(get(body, "anonymousId")),
        "itemsHash": items_hash(get(body, "cart", "line_items")),
    }
    remember(webhook.memory, _cart_key(body), fields, _CART)


def remember_session(webhook: Webhook) -> None:
    """Remember a cart's session, as the tracker's call `rudderSessionIdentifier` asks."""
    body = webhook.body
    remember(webhook.memory, _cart_key(body), {"sessionId": js_text(get(body, "sessionId"))}, _CART)


def remember_items(webhook: Webhook, token: str, items: str) -> None:
    """Remember the items of a cart of the tracker."""
    remember(webhook.memory, token, {"itemsHash": items}, _CART)


def _cart_key(body: Json) -> str:
    return js_text(get(body, "cartToken")).partition("?")[0]


def remember_pixel_cart(webhook: Webhook, token: str, visitor: str) -> None:
    """Remember the visitor of a cart of the pixel."""
    remember(webhook.memory, f"pixel:{token}", {"anonymousId": visitor}, _PIXEL_CART)


def remember_pixel_user(webhook: Webhook, visitor: Json, user: Json) -> None:
    """Remember the user of a visitor of the pixel, if both are known."""
    if truthy(visitor) and truthy(user):
        remember(webhook.memory, f"pixel:{js_text(visitor)}", {"userId": js_text(user)}, _PIXEL_VISITOR)
