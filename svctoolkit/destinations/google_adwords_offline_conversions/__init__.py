"""Google Ads Offline Conversions: conversions from clicks, calls and store sales.

track sends what is configured for the event's name: a click conversion, a call conversion, a store sale, or several of
them. The names of conversions and custom variables are looked up to get Google's resource names. Requests carry the
access token of the account. https://developers.google.com/google-ads/api/docs/conversions/overview
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from svctoolkit.destinations import Answer, Context, DestinationType, Payload
from svctoolkit.destinations._families.google_ads import account_number, judge_google_ads
from svctoolkit.destinations.google_adwords_offline_conversions import _tables
from svctoolkit.destinations.google_adwords_offline_conversions._batches import share
from svctoolkit.destinations.google_adwords_offline_conversions._settings import (
    _METHODS,
    OfflineConversionsSettings,
)
from svctoolkit.events import Event
from svctoolkit.json_types import Json
from svctoolkit.mapping import (
    Misconfigured,
    NotConfigured,
    NotFound,
    as_object,
    event_name,
    objects,
    path,
    text,
)

_HOST = "https://googleads.googleapis.com/v23/customers"
_CONSENTS = ("UNSPECIFIED", "UNKNOWN", "GRANTED", "DENIED")


destination = DestinationType(
    "Google Ads Offline Conversions",
    OfflineConversionsSettings,
    docs="https://developers.google.com/google-ads/api/docs/conversions/upload-offline",
    names=("google_adwords_offline_conversions",),
    quirks=[
        "Telephone numbers are hashed unchanged; Google expects E.164 and cannot match others.",
        "Only one of e-mail address and telephone number is sent: the default one, else the other.",
        "A store sale takes three requests: the delivery creates a job, adds the sales, and runs it.",
        "Conversions that share a request are sent with the `params` of the first one.",
    ],
    answers=[
        Answer("success", 200, {"results": [{"gclid": "click1"}], "jobId": "1"}, at="Conversions"),
        Answer("success", 200, {"resourceName": "customers/1/offlineUserDataJobs/7"}, at="offlineUserDataJobs"),
        Answer("success", 200, [{"results": []}]),
        Answer("bad key", 401, {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "Invalid credentials"}}),
        Answer("rate limit", 429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Too many"}}),
        Answer("invalid field", 400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "gclid"}}),
    ],
    differences=[
        "Times are written in UTC; RudderStack uses the time zone of its machine.",
        "Golden cases without lookups of conversions depend on earlier answers, which RudderStack caches.",
    ],
    needs=["account", "lookup"],
)
destination.batch(share, may_refuse=False)
destination.judge(judge_google_ads)


@destination.on("track")
def send_conversions(event: Event, settings: OfflineConversionsSettings, context: Context) -> Iterator[Payload]:
    """Return a request for each kind of conversion that is configured for the event."""
    name = event_name(event)
    key = name.strip().lower()
    conversion = settings.conversions.get(key, "")
    if key not in settings.kinds:
        raise NotConfigured("event", name, setting="eventsToOfflineConversionsTypeMapping")
    if not conversion:
        raise NotConfigured("event", name, setting="eventsToConversionsNamesMapping")
    headers = _headers(settings, context)
    resources = _Resources(settings, headers, context)
    action, consent = resources.action(conversion), _consent(event)
    for kind in settings.kinds[key]:
        params = {"event": conversion, "customerId": settings.customer}
        if kind == "store":
            body = _tables.store_sale(event, settings)
            sale = body["addConversionPayload"]["operations"]["create"]
            sale["consent"] = consent
            sale["transaction_attribute"]["conversion_action"] = action
        else:
            upload = (_tables.click if kind == "click" else _tables.call)(event, settings)
            upload["consent"] = consent
            upload["conversionAction"] = action
            if variables := resources.variables(event):
                upload["customVariables"] = variables
            body = {"conversions": [upload], "partialFailure": True}
            params |= _details(event, settings)
        endpoint = f"{_HOST}/{settings.customer}{_METHODS[kind]}"
        yield Payload(endpoint=endpoint, headers=headers, params=params, json=body)


def _headers(settings: OfflineConversionsSettings, context: Context) -> dict[str, str]:
    account = account_number(settings.login_customer_id)
    if settings.sub_account and not account:
        raise Misconfigured("loginCustomerId", "is required with subAccount: the number of the account above it")
    headers = {"Authorization": f"Bearer {context.secret('access_token')}", "Content-Type": "application/json"}
    return {**headers, "login-customer-id": account} if settings.sub_account else headers


def _details(event: Event, settings: OfflineConversionsSettings) -> dict[str, Json]:
    """Return the parameters for the delivery of the request."""
    rows = [{"from": row.from_, "to": row.to} for row in settings.custom_variables]
    return {**({"customVariables": rows} if rows else {}), "properties": event.properties}


def _consent(event: Event) -> dict[str, str]:
    """Return the user's consents in the event's options for this type."""
    options = destination.options(event).get("consents")
    chosen = options if isinstance(options, dict) else {}
    kinds = ("adUserData", "adPersonalization")
    return {kind: chosen[kind] if chosen.get(kind) in _CONSENTS else "UNSPECIFIED" for kind in kinds}


class _Resources:
    """Lookups of the account's resources in Google Ads by name."""

    def __init__(self, settings: OfflineConversionsSettings, headers: Mapping[str, str], context: Context) -> None:
        self._settings, self._headers, self._context = settings, headers, context

    def action(self, conversion: str) -> str:
        """Look up the conversion action with this name."""
        actions = self._search("conversionAction", self._settings.action_query)
        if conversion not in actions:
            raise NotFound("conversion action", conversion, setting="eventsToConversionsNamesMapping", field="event")
        return actions[conversion]

    def variables(self, event: Event) -> list[dict[str, str]]:
        """Return the custom variables for which the event has a value."""
        values = {row.to: path(row.from_)(event.properties) for row in self._settings.variable_rows}
        if all(value is None or value == "" for value in values.values()):
            return []
        resources = self._search("conversionCustomVariable", self._settings.variable_query)
        return [
            {"conversionCustomVariable": resources[name], "value": text(value)}
            for name, value in values.items()
            if value is not None and value != "" and name in resources
        ]

    def _search(self, member: str, query: str) -> dict[str, str]:
        url = f"{_HOST}/{self._settings.customer}/googleAds:searchStream"
        request = {"method": "POST", "url": url, "headers": self._headers, "body": {"query": query}}
        pages = objects(self._context.ask(request, setting="customerId"))
        resources = [as_object(result.get(member)) for page in pages for result in objects(page.get("results"))]
        return {resource["name"]: resource["resourceName"] for resource in resources if resource}
