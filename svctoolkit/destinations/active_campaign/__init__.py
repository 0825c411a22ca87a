"""ActiveCampaign: contacts with their tags, lists and fields, events, and tracked sites.

identify creates or updates the contact. ActiveCampaign identifies tags and fields by number, so the mapping looks them
up, creates missing tags, and adds the contact to its tags and lists. track and screen log an event, whose name is
registered first by a lookup. page adds its site to the tracked sites.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svctoolkit.destinations import (
    FORM,
    JSON,
    Answer,
    Context,
    DestinationType,
    Endpoint,
    Header,
    Method,
    Payload,
    Settings,
)
from svctoolkit.events import Event
from svctoolkit.mapping import (
    FIRST_NAME,
    LAST_NAME,
    LookupFailed,
    Misfit,
    Table,
    as_object,
    first,
    javascript_text,
    json_text,
    objects,
    required,
    trait,
    value_of,
)
from svctoolkit.secrets import Secret

_STATUSES = {"subscribe": "1", "unsubscribe": "2"}


class ActiveCampaignSettings(Settings, frozen=True, kw_only=True):
    api_url: str
    api_key: Secret
    event_key: Secret | None = None
    actid: str | None = None


destination = DestinationType(
    "ActiveCampaign",
    ActiveCampaignSettings,
    docs="https://developers.activecampaign.com/reference/sync-a-contacts-data",
    differences=[
        "The golden case of an event that is not created was recorded with a different answer, which creates it.",
    ],
    quirks=[
        "Tags must be a list: a single tag as text is left out.",
        "An event's contact is identified only by the e-mail address in the context's traits.",
    ],
    answers=[
        Answer("success", 200, {"success": 1, "message": "Event spawned"}, at="trackcmp.net"),
        Answer("success", 201, {"siteTrackingDomain": {"name": "shop.example"}}, at="/siteTrackingDomains"),
        Answer("success", 201, {"contact": {"id": "113", "email": "mira@mail.example"}}),
        Answer("bad key", 403, {"message": "You do not have permission to access this resource"}),
        Answer("rate limit", 429, "", headers={"Retry-After": "1"}),
        Answer("invalid field", 422, {"errors": [{"title": "Email address is invalid.", "code": "email_invalid"}]}),
    ],
    needs=["lookup"],
)

API = Endpoint("{api_url}/api/3", JSON, Header("Api-Token", "{api_key}"))
EVENTS = Endpoint("https://trackcmp.net/event", Header("Api-Token", "{api_key}"), FORM)

CONTACT = Table(
    {
        "email": required(trait("email")),
        "phone": trait("phone"),
        "firstName": FIRST_NAME,
        "lastName": LAST_NAME,
    }
)
NAME = required(first("event", "properties.name"))
DETAIL = Table({"eventdata": first("properties.eventData", "properties.name")})
SITE = required(first("properties.domain", "context.page.url", "properties.url"))
TAGS, LISTS, FIELDS = trait("tags"), trait("lists"), trait("fieldInfo")


@destination.on("identify")
def send_person(event: Event, settings: ActiveCampaignSettings, context: Context) -> Payload:
    """Return the contact with ActiveCampaign's own fields; lookups set its tags and lists."""
    account, contact = _Account(settings, context), CONTACT(event)
    answer = as_object(account.ask("POST", "contact/sync", {"contact": contact}, field="traits.email").get("contact"))
    for tag in account.tag_ids(_texts(value_of(event, TAGS))):
        account.ask(
            "POST", "contactTags", {"contactTag": {"contact": answer.get("id"), "tag": tag}}, field="traits.tags"
        )
    for entry in objects(value_of(event, LISTS)):
        status = _STATUSES.get(str(entry.get("status")))
        if status:
            membership = {"list": entry.get("id"), "contact": answer.get("id"), "status": status}
            account.ask("POST", "contactLists", {"contactList": membership}, field="traits.lists")
    fields = account.field_values(as_object(value_of(event, FIELDS)))
    return account.send("contact/sync", {"contact": {**contact, "fieldValues": fields}})


@destination.on("track", "screen")
def send_action(event: Event, settings: ActiveCampaignSettings, context: Context) -> Payload:
    """Return an event of the visitor with the e-mail address in the context's traits."""
    account, name = _Account(settings, context), value_of(event, NAME)
    names = [
        entry.get("name")
        for entry in objects(account.ask("GET", "eventTrackingEvents", field="event").get("eventTrackingEvents"))
    ]
    if name not in names:
        account.ask("POST", "eventTrackingEvents", {"eventTrackingEvent": {"name": name}}, field="event")
    key = None if settings.event_key is None else settings.event_key.reveal()
    keys = {name: value for name, value in (("key", key), ("actid", settings.actid)) if value is not None}
    form = {**keys, "event": name, **DETAIL(event), "visit": json_text({"email": _visitor(event)})}
    return EVENTS.post(settings, body=form)


def _visitor(event: Event) -> str:
    """Return the e-mail address in the context's traits as text; without one, RudderStack sends the word undefined."""
    traits = as_object(event.context.get("traits"))
    return javascript_text(traits["email"]) if "email" in traits else "undefined"


@destination.on("page")
def send_page(event: Event, settings: ActiveCampaignSettings) -> Payload:
    """Return the site of the page."""
    url = str(value_of(event, SITE))
    site = _site(url)
    if not site:
        raise Misfit("properties.domain", "an address such as https://shop.example", url)
    return API.post(settings, "siteTrackingDomains", {"siteTrackingDomain": {"name": site}})


def _site(url: str) -> str:
    """Return the host of a URL, without `www.`; `urlsplit` would take longer than the rest of the mapping."""
    _, _, rest = url.partition("://")
    for mark in "/?#":
        rest, _, _ = rest.partition(mark)
    host, _, _ = rest.rpartition("@")[2].partition(":")
    return host.lower().removeprefix("www.")


class _Account:
    """Lookups in one account, and requests to it."""

    def __init__(self, settings: ActiveCampaignSettings, context: Context) -> None:
        self._settings, self._context = settings, context

    def ask(
        self, method: Method, place: str, body: Mapping[str, Any] | None = None, *, field: str
    ) -> Mapping[str, Any]:
        answer = self._context.ask(API.lookup(self._settings, place, method, body), field=field)
        if not isinstance(answer, dict):  # such as the page of a login
            raise LookupFailed(field, "ActiveCampaign did not answer with a JSON object")
        return answer

    def send(self, place: str, body: Mapping[str, Any]) -> Payload:
        return API.post(self._settings, place, body)

    def tag_ids(self, tags: list[str]) -> list[Any]:
        """Return the numbers of these tags, and create those that do not exist yet."""
        if not tags:
            return []
        ids = {
            entry.get("tag"): entry.get("id")
            for entry in objects(self.ask("GET", "tags?limit=100", field="traits.tags").get("tags"))
        }
        return [ids[tag] if tag in ids else self._new_tag(tag) for tag in tags]

    def _new_tag(self, tag: str) -> Any:
        body = {"tag": {"tag": tag, "tagType": "contact", "description": ""}}
        return as_object(self.ask("POST", "tags", body, field="traits.tags").get("tag")).get("id")

    def field_values(self, fields: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the values of fields that exist in ActiveCampaign, by number; several values are separated by bars."""
        if not fields:
            return []
        listed = objects(self.ask("GET", "fields?limit=100", field="traits.fieldInfo").get("fields"))
        ids = {entry.get("title"): entry.get("id") for entry in listed}
        return [{"field": ids[name], "value": _field_value(value)} for name, value in fields.items() if name in ids]


def _field_value(value: Any) -> Any:
    return "||" + "||".join(map(str, value)) + "||" if isinstance(value, list) else value


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
