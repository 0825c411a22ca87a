"""The rows of the Test API specification as checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from svctoolkit.client.conformance._api import (
    Api,
    Response,
    destination_result,
    entries,
    equal,
    list_at,
    object_at,
    shown,
    typed,
)
from svctoolkit.json_types import Json

NO_TRANSFORMATION = "Transformation VersionID not found"
USER_ABORT = "error encountered in user_transformation stage. Aborting."
DEST_ABORT = "error encountered in dest_transformation stage. Aborting."
_TYPES = ("identify", "track", "page", "screen", "group", "alias")
_WEBHOOK_VARIABLES = {"webhookUrl", "webhookMethod", "headers"}
_OVERRIDE = "https://override.example/conform"
_PAYLOAD: dict[str, type[object]] = {
    "version": str, "type": str, "method": str, "endpoint": str, "headers": dict, "params": dict, "body": dict,
    "files": dict,
}  # fmt: skip

Check = Callable[[Api], str | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A row of the specification. `needs` names the members of `Targets` without which it is skipped.

    `check` raises `ValueError` for a difference. The text it returns says why the row cannot be checked here.
    """

    id: str
    section: str
    text: str
    check: Check
    needs: tuple[str, ...] = ()


def _result_members(api: Api) -> None:
    result = api.result(api.targets.destination)
    equal("destinationId", result["destinationId"], api.targets.destination)
    for name in ("destination", "destinationName"):
        typed(name, result.get(name), str)
    entries(result)
    if "error" in result:
        raise ValueError(f"error: expected to be absent, found {shown(result['error'])}")


def _entry_members(api: Api) -> None:
    for entry in entries(api.result(api.targets.destination)):
        object_at("user_transformed_payload", entry.get("user_transformed_payload"))
        _list_or_error("dest_transformed_payload", entry.get("dest_transformed_payload"))


def _payload_members(api: Api) -> None:
    for payload in _payloads(api.result(api.targets.destination, stages="dest")):
        for name, kind in _PAYLOAD.items():
            typed(name, payload.get(name), kind)
        for name in ("JSON", "JSON_ARRAY", "XML", "FORM"):
            object_at(f"body.{name}", payload["body"].get(name))


def _accepted(type: str, api: Api) -> None:
    result = api.result(api.targets.destination, api.event(type), stages="dest")
    if "error" in result:
        raise ValueError(f"error: {shown(result['error'])}")
    entries(result)


def _rule_1(api: Api) -> None:
    for entry in entries(api.result(api.targets.transformed)):
        event = object_at("user_transformed_payload", entry.get("user_transformed_payload"))
        if "error" in event:
            raise ValueError(f"user_transformed_payload.error: {shown(event['error'])}")


def _rule_2(api: Api) -> None:
    (entry,) = _single(api.result(api.targets.destination))
    payload = object_at("user_transformed_payload", entry.get("user_transformed_payload"))
    equal("user_transformed_payload.error", payload.get("error"), NO_TRANSFORMATION)
    list_at("dest_transformed_payload", entry.get("dest_transformed_payload"))


def _rule_3(api: Api) -> None:
    (entry,) = _single(api.result(api.targets.destination, stages="dest"))
    _absent(entry, "user_transformed_payload")
    _list_or_error("dest_transformed_payload", entry.get("dest_transformed_payload"))


def _rule_4(api: Api) -> None:
    (entry,) = _single(api.result(api.targets.failing))
    payload = object_at("user_transformed_payload", entry.get("user_transformed_payload"))
    typed("user_transformed_payload.error", payload.get("error"), str)
    aborted = object_at("dest_transformed_payload", entry.get("dest_transformed_payload"))
    equal("dest_transformed_payload.error", aborted.get("error"), USER_ABORT)


def _rule_4_sending(api: Api) -> None:
    (entry,) = _single(api.result(api.targets.failing, stages="user dest send"))
    aborted = object_at("destination_response", entry.get("destination_response"))
    equal("destination_response.error", aborted.get("error"), DEST_ABORT)


def _rule_5(api: Api) -> None:
    for payload in _payloads(api.result(api.targets.destination)):
        typed("endpoint", payload.get("endpoint"), str)


def _rule_6(api: Api) -> None:
    _answers(api.result(api.targets.destination, stages="user dest send"))


def _not_sent(api: Api) -> None:
    for entry in entries(api.result(api.targets.destination)):
        _absent(entry, "destination_response")
        _absent(entry, "destination_response_status")


def _rejected(api: Api) -> None:
    statuses = _answers(api.result(api.targets.rejecting, stages="user dest send"))
    if all(200 <= status < 300 for status in statuses):
        raise ValueError(f"destination_response_status: expected a failure, found {', '.join(map(str, statuses))}")


def _override(api: Api) -> str | None:
    result = api.result(api.targets.destination, stages="dest")
    if result.get("destination") != "WEBHOOK":
        return "the destination is not a WEBHOOK"
    config: dict[str, Json] = {"webhookUrl": _OVERRIDE}
    for payload in _payloads(api.result(api.targets.destination, stages="dest", config=config)):
        equal("endpoint", payload.get("endpoint"), _OVERRIDE)
    return None


def _disabled_destination(api: Api) -> None:
    _is_disabled(api.result(api.targets.disabled_destination), api.targets.disabled_destination)


def _forced_destination(api: Api) -> None:
    result = api.result(api.targets.disabled_destination, force=True)
    if "error" in result:
        raise ValueError(f"error: expected to be absent, found {shown(result['error'])}")
    entries(result)


def _source(api: Api) -> None:
    for result in _results(api.test(f"testSource/{api.targets.source}")):
        if "error" in result:
            _is_disabled(result, result["destinationId"])
        else:
            entries(result)


def _source_stages(api: Api) -> None:
    for result in _results(api.test(f"testSource/{api.targets.source}", stages="dest")):
        for entry in [] if "error" in result else entries(result):
            _absent(entry, "user_transformed_payload")
            _list_or_error("dest_transformed_payload", entry.get("dest_transformed_payload"))


def _source_with_disabled(api: Api) -> str | None:
    id = api.targets.disabled_destination
    results = _results(api.test(f"testSource/{api.targets.source}"))
    found = [result for result in results if result["destinationId"] == id]
    for result in found:
        _is_disabled(result, id)
    return None if found else "the source is not connected to the disabled destination"


def _source_override(api: Api) -> None:
    response = api.test(f"testSource/{api.targets.source}", stages="dest", config={"webhookUrl": _OVERRIDE})
    if isinstance(response.data, dict) and "message" in response.data:
        return  # rejected: the specification does not say which of the two happens
    for result in _results(response):
        for entry in [] if "error" in result else entries(result):
            payloads = entry.get("dest_transformed_payload")
            for payload in payloads if isinstance(payloads, list) else []:
                if payload.get("endpoint") == _OVERRIDE:
                    raise ValueError("endpoint: the override took effect")


def _disabled_source(api: Api) -> None:
    id = api.targets.disabled_source
    _message(api.test(f"testSource/{id}"), f"Source with {id} is disabled")


def _forced_source(api: Api) -> None:
    _results(api.test(f"testSource/{api.targets.disabled_source}", force=True))


def _invalid_message(message: Json, text: str, api: Api) -> None:
    _message(api.test(f"testDestination/{api.targets.destination}", message), text)


def _unsupported(api: Api) -> None:
    data = api.test(f"testDestination/{api.targets.unsupported}", stages="dest").data
    for entry in data.get("data") or [] if isinstance(data, dict) else [{"dest_transformed_payload": []}]:
        if isinstance(entry, dict) and isinstance(entry.get("dest_transformed_payload"), list):
            raise ValueError("expected a refusal, found a result with payloads")


def _authentication(api: Api) -> None:
    response = api.test(f"testDestination/{api.targets.destination}", login=False)
    if response.status < 400 or (isinstance(response.data, dict) and "destinationId" in response.data):
        raise ValueError(f"expected a refusal of a wrong token, found status {response.status}")


def _default_config(api: Api) -> None:
    found = list(_definitions(api))
    without = [name for name, variables in found if variables is None]
    if not found:
        raise ValueError("the answer contains no definitions")
    if without:
        raise ValueError(f"defaultConfig: missing in {len(without)} definitions, such as {shown(without[0])}")


def _webhook_variables(api: Api) -> None:
    for name, variables in _definitions(api):
        if name == "WEBHOOK":
            missing = sorted(_WEBHOOK_VARIABLES.difference(variables or ()))
            if missing:
                raise ValueError(f"defaultConfig of WEBHOOK: {', '.join(missing)} is missing")
            return
    raise ValueError("WEBHOOK has no definition")


RULES = (
    *(
        Rule(f"type.{type}", "Request body", f"message.type {type} is accepted", partial(_accepted, type))
        for type in _TYPES
    ),
    Rule("config.override", "Request body", "destinationConfig overrides the stored configuration", _override),
    Rule("result.members", "Destination result", "destinationId, destination, destinationName, data", _result_members),
    Rule("entry.members", "Entry of data", "each member has the specified type", _entry_members),
    Rule("payload.members", "Element of dest_transformed_payload", "each member has its type", _payload_members),
    Rule("stage.1", "Stage rules", "1: the transformed event", _rule_1, ("transformed",)),
    Rule("stage.2", "Stage rules", f"2: {NO_TRANSFORMATION}; the next stage runs", _rule_2),
    Rule("stage.3", "Stage rules", "3: user_transform=false skips the stage", _rule_3),
    Rule("stage.4", "Stage rules", "4: a transformation's error aborts dest_transform", _rule_4, ("failing",)),
    Rule("stage.4.send", "Stage rules", "4: it aborts send_to_destination", _rule_4_sending, ("failing", "send")),
    Rule("stage.5", "Stage rules", "5: dest_transform=true shows the payload", _rule_5),
    Rule("stage.6", "Stage rules", "6: a sent event has responses and statuses", _rule_6, ("send",)),
    Rule("stage.off", "Stage rules", "send_to_destination=false skips the stage completely", _not_sent),
    Rule(
        "errors.destination", "Errors", "a destination's failure is in its response", _rejected, ("rejecting", "send"),
    ),
    Rule(
        "state.destination", "States", "a disabled destination has its error", _disabled_destination,
        ("disabled_destination",),
    ),
    Rule(
        "state.destination.force", "States", "force=true tests a disabled destination", _forced_destination,
        ("disabled_destination",),
    ),
    Rule("source.results", "Endpoints", "testSource returns an array of results", _source, ("source",)),
    Rule("source.stages", "Endpoints", "the same stage applies to every destination", _source_stages, ("source",)),
    Rule("source.config", "Endpoints", "testSource does not accept destinationConfig", _source_override, ("source",)),
    Rule(
        "state.source.destination", "States", "a disabled destination of a source has its error",
        _source_with_disabled, ("source", "disabled_destination"),
    ),
    Rule("state.source", "States", "a disabled source has its message", _disabled_source, ("disabled_source",)),
    Rule("state.source.force", "States", "force=true tests a disabled source", _forced_source, ("disabled_source",)),
    Rule(
        "errors.type.absent", "Errors", "message.type is absent",
        partial(_invalid_message, {"userId": "u1"}, "message type missing or invalid"),
    ),
    Rule(
        "errors.type.number", "Errors", "message.type is not a string",
        partial(_invalid_message, {"type": 7, "userId": "u1"}, "message type missing or invalid"),
    ),
    Rule(
        "errors.type.unsupported", "Errors", "message.type is another string",
        partial(_invalid_message, {"type": "trakc", "userId": "u1"}, "message type is unsupported"),
    ),
    Rule("unsupported", "Unsupported destinations", "events are not tested", _unsupported, ("unsupported",)),
    Rule("authentication", "Authentication", "a wrong token is refused", _authentication),
    Rule("definitions", "Destination definitions", "each has a defaultConfig", _default_config),
    Rule("definitions.webhook", "Destination definitions", "the variables of a webhook", _webhook_variables),
)  # fmt: skip


def _single(result: dict[str, Json]) -> list[dict[str, Json]]:
    found = entries(result)
    if len(found) != 1:
        raise ValueError(f"data: expected 1 entry, found {len(found)}")
    return found


def _payloads(result: dict[str, Json]) -> list[dict[str, Json]]:
    """The payloads of all entries, at least one."""
    found = [
        object_at("dest_transformed_payload[]", payload)
        for entry in entries(result)
        for payload in list_at("dest_transformed_payload", entry.get("dest_transformed_payload"))
    ]
    if not found:
        raise ValueError("dest_transformed_payload is empty")
    return found


def _answers(result: dict[str, Json]) -> list[int]:
    """The statuses of the destination, one per response."""
    statuses: list[int] = []
    for entry in entries(result):
        responses = list_at("destination_response", entry.get("destination_response"))
        found = list_at("destination_response_status", entry.get("destination_response_status"))
        for response in responses:
            object_at("destination_response[]", response)
        statuses += [typed("destination_response_status[]", status, int) for status in found]
        equal("number of statuses", len(found), len(responses))
    return statuses


def _results(response: Response) -> list[dict[str, Json]]:
    """The results of a source, at least one."""
    if isinstance(response.data, dict) and "message" in response.data:
        raise ValueError(f"expected an array, found status {response.status} with {shown(response.data['message'])}")
    data = list_at("the answer", response.data)
    if not data:
        raise ValueError("the answer is an empty array")
    return [destination_result(Response(response.status, item)) for item in data]


def _is_disabled(result: dict[str, Json], id: str) -> None:
    equal("members", ", ".join(sorted(result)), "destinationId, destinationName, error")
    equal("destinationId", result["destinationId"], id)
    equal("error", result["error"], f"Destination with id {id} is disabled")


def _message(response: Response, text: str) -> None:
    data = object_at("the answer", response.data)
    equal("message", data.get("message"), text)


def _absent(entry: dict[str, Json], name: str) -> None:
    if entry.get(name) is not None:
        raise ValueError(f"{name}: expected to be absent, found {shown(entry[name])}")


def _list_or_error(where: str, value: Json) -> None:
    if isinstance(value, dict):
        typed(f"{where}.error", value.get("error"), str)
    else:
        list_at(where, value)


def _definitions(api: Api) -> Iterator[tuple[str, list[str] | None]]:
    """Yield name and configuration variables of each definition; only `defaultConfig` itself is specified."""
    data = api.definitions().data
    named = data.items() if isinstance(data, dict) else [("", item) for item in list_at("the answer", data)]
    for name, definition in named:
        own = definition.get("name") if isinstance(definition, dict) else None
        yield own if isinstance(own, str) else name, _find_default_config(definition)


def _find_default_config(definition: Json) -> list[str] | None:
    """The names under `defaultConfig`, wherever it is. The answer's depth is bounded."""
    waiting: list[Json] = [definition]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(names := value.get("defaultConfig"), (list, dict)):
                return [name for name in names if isinstance(name, str)]
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return None
