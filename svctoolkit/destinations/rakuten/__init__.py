"""Rakuten Advertising: orders from affiliate links.

Every track event is an order, whatever its name. Its fields and items are the query of one request. Each item field is
one string, with `|` between the items. Amounts are in the currency's smallest unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from svctoolkit.destinations import (
    ACCEPT_JSON,
    JSON,
    Answer,
    Delivery,
    DestinationType,
    Endpoint,
    Outcome,
    Payload,
    Settings,
)
from svctoolkit.events import Event
from svctoolkit.mapping import (
    Misfit,
    Missing,
    Table,
    WrongValue,
    as_object,
    default,
    first,
    js_join,
    number,
    required,
)
from svctoolkit.secrets import Secret


class RakutenSettings(Settings, frozen=True, kw_only=True):
    mid: Secret


destination = DestinationType(
    "Rakuten",
    RakutenSettings,
    docs="https://pubhelp.rakutenadvertising.com/hc/en-us/articles/7946464013325",
    quirks=["An order without an affiliate site ID is sent with a blank one."],
    answers=[
        Answer("success", 200, None),
        Answer("bad key", 200, "<response><summary><error><bad_mid/></error></summary></response>"),
        Answer("rate limit", 429, None),
        Answer("invalid field", 200, "<response><summary><error><bad_amount/></error></summary></response>"),
    ],
)

API = Endpoint("https://track.linksynergy.com/ep", ACCEPT_JSON, JSON)


_BAD = re.compile(r"<bad>([1-9][0-9]{0,9})</bad>")


@destination.judge
def judge(delivery: Delivery) -> Outcome | None:
    """Retry success responses that are not XML; XML counts the bad records."""
    reply = delivery.reply
    bad = _BAD.search(reply.body) if reply.successful and isinstance(reply.body, str) else None
    if bad:
        return Outcome("abort", f"{bad[1]} bad records")
    if reply.successful and isinstance(reply.body, (dict, list)):
        return Outcome("retry", f"{reply.status}: the response is not XML")
    return None


ORDER = Table(
    {
        "ord": required(first("properties.order_id", "properties.orderId")),
        "tr": default(first("properties.tr", "properties.ran_site_id", "properties.ranSiteID"), " "),
        "land": required(first("properties.land", "properties.land_time", "properties.landTime")),
        "date": first("properties.date", "properties.order_completed_time", "properties.orderCompletedTime"),
        "altord": first(
            "properties.alt_ord", "properties.altord", "properties.alter_order_id", "properties.alterOrderId"
        ),
        "cur": "properties.currency",
        "cc": first("properties.credit_card_type", "properties.creditCardType"),
        "commreason": first("properties.comm_reason", "properties.commReason"),
        "iscomm": first("properties.is_comm", "properties.isComm"),
        "consumed": "properties.consumed",
        "coupon": "properties.coupon",
        "custid": first(
            "properties.cust_id",
            "properties.custId",
            "properties.customer_id",
            "properties.customerId",
            "properties.userId",
        ),
        "custscore": first(
            "properties.cust_score", "properties.custScore", "properties.customer_score", "properties.customerScore"
        ),
        "custstatus": first(
            "properties.cust_status", "properties.custStatus", "properties.customer_status", "properties.customerStatus"
        ),
        "did": first("properties.dId", "properties.advertising_id", "properties.advertisingId"),
        "disamt": first("properties.disamt", "properties.discount_amount", "properties.discountAmount"),
        "ordstatus": first(
            "properties.ord_status", "properties.ordStatus", "properties.order_status", "properties.orderStatus"
        ),
        "segment": "properties.segment",
        "shipcountry": first("properties.ship_country", "properties.shipcountry"),
        "shipped": "properties.shipped",
        "sitename": first("properties.site_name", "properties.sitename", "properties.url", "context.page.url"),
        "storeid": first("properties.store_id", "properties.storeId"),
        "storecat": first(
            "properties.store_cat", "properties.storecat", "properties.store_category", "properties.storeCategory"
        ),
    }
)
_NEEDED = {"skulist": "sku", "qlist": "quantity", "namelist": "name"}
_LISTS = {
    **_NEEDED,
    "brandlist": "brand",
    "couponlist": "coupon",
    "catidlist": "categoryId",
    "catlist": "category",
    "disamtlist": "discountAmount",
    "distypelist": "discountType",
    "isclearancelist": "isClearance",
    "ismarketplacelist": "isMarketPlace",
    "issalelist": "isSale",
    "itmstatuslist": "itmStatus",
    "marginlist": "margin",
    "markdownlist": "markdown",
    "shipidlist": "shipId",
    "shipbylist": "shipBy",
    "taxexemptlist": "taxExempt",
    "sequencelist": "sequence",
}


@destination.on("track")
def send_order(event: Event, settings: RakutenSettings) -> Payload:
    """Return one order with its items, whatever the event's name."""
    order = ORDER(event)
    items = event.properties.get("products")
    if not isinstance(items, list) or not items:
        raise Misfit("properties.products", "a list of items", items)
    lists = _lists([as_object(item) for item in items])
    account = {"xml": 1, "source": "rudderstack", "mid": settings.mid.reveal()}
    return API.get(settings, params={**order, **lists, **account})


def _lists(items: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return each field that occurs in an item, joined over all items."""
    out = {}
    for name, key in _LISTS.items():
        values = ["" if item.get(key) is None else js_join(item[key]) for item in items]
        if name in _NEEDED and "" in values:
            where = f"properties.products.{values.index('')}.{key}"
            raise Missing(where)
        if any(values):
            out[name] = "|".join(values)
    out["amtlist"] = "|".join(js_join(_amount(item, at)) for at, item in enumerate(items))
    return out


def _amount(item: Mapping[str, Any], at: int) -> int | float:
    """Return the total amount of an item in the smallest unit; without one, price times quantity."""
    where = f"properties.products.{at}.amount"
    pieces = 1 if item.get("amount") else item["quantity"]
    value = item.get("amount") or item.get("price")
    if not value:
        raise Missing(where, f"properties.products.{at}.price", wants="the amount or the price of the item")
    try:
        return _number(value) * _number(pieces) * 100
    except WrongValue as error:
        raise Misfit(where, error.expected, error.value, case=error.case) from error


def _number(value: Any) -> int | float:
    return int(value) if isinstance(value, bool) else number.of(value)
