"""Redis: a user's traits become the fields of a hash, or a JSON value with `useJSONModule`."""

from __future__ import annotations

import msgspec

from svctoolkit.destinations import JSON, DestinationType, Endpoint, Payload, Settings
from svctoolkit.destinations._families.streams import ANSWERS
from svctoolkit.events import Event
from svctoolkit.mapping import USER_ID, Missing, as_object, javascript_text, required, text, value_of


class RedisSettings(Settings, frozen=True, kw_only=True):
    address: str
    database: str = ""
    prefix: str = ""
    use_json_module: bool = msgspec.field(name="useJSONModule", default=False)


destination = DestinationType(
    "Redis",
    RedisSettings,
    docs="https://redis.io/docs/latest/commands/hset/",
    answers=ANSWERS,
    quirks=["The configured database is selected when the connection opens, so commands do not show it."],
    differences=["Redis does not use HTTP: requests show the command and the store's address."],
)

API = Endpoint("http://{address}/", JSON)
_USER = required(USER_ID)


@destination.on("identify")
def send_traits(event: Event, settings: RedisSettings) -> Payload:
    traits = {**as_object(event.context.get("traits")), **as_object(event.raw.get("traits"))}
    if not traits:
        raise Missing("traits", "context.traits", wants="the traits to store")
    user = javascript_text(value_of(event, _USER))
    key = ":".join(part for part in (settings.prefix.strip(), "user", user) if part)
    if settings.use_json_module:
        command = {"command": "JSON.SET", "key": key, "path": "$", "value": traits}
    else:
        fields = {name: text(value) for name, value in traits.items() if value is not None}
        command = {"command": "HSET", "key": key, "fields": fields}
    return API.post(settings, body=command)
