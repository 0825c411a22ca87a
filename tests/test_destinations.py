"""Every destination type proves itself with its own examples.yaml; then what types have in common."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import errors, events
from svctoolkit.destinations import CATALOGUE, Context, DestinationType, Example, Payload, Rows, Settings, examples
from svctoolkit.destinations import definitions as defs
from svctoolkit.events import EVENT_TYPES, Event
from svctoolkit.mapping import Table, path
from svctoolkit.secrets import Secret

TYPES = CATALOGUE.names()
EXAMPLES = [pytest.param(name, example, id=f"{name}: {example.name}") for name in TYPES for example in examples(name)]
HOOK = {"webhookUrl": "https://hook.example/in"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_example(name: str, example: Example) -> None:
    """The example's event and configuration give exactly its payloads, or its refusal; the event stays as it was."""
    event = deepcopy(example.event)

    if example.error:
        with pytest.raises(getattr(errors, example.error.class_)) as caught:
            CATALOGUE[name].payloads(event, example.config)
        assert example.error.says in str(caught.value)
    else:
        assert CATALOGUE[name].payloads(event, example.config) == example.payloads
    assert event == example.event


@pytest.mark.parametrize("name", TYPES)
def test_every_handler_and_every_path_has_an_example(name: str) -> None:
    """A path that no example has may be misspelt, and no type checker would tell."""
    kind = CATALOGUE[name]
    sent = [example.event for example in examples(name) if example.payloads]
    tables = [value for value in vars(import_module(kind.settings.__module__)).values() if isinstance(value, Table)]
    paths = [p for table in tables for _, source in table for p in source.paths]

    assert {event["type"] for event in sent} == set(kind.handlers)
    assert [p for p in paths if all(path(p)(event) is None for event in sent)] == []


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_a_definition_with_its_title_and_the_variables_it_reads(name: str) -> None:
    """What a mapping reads is a variable that users know, and the title is the name that users know."""
    definition = defs.get(name)

    assert CATALOGUE[name].title == definition.display_name
    assert set(CATALOGUE[name].settings.__struct_encode_fields__) <= set(definition.default_config)


@pytest.mark.parametrize("name", TYPES)
@given(parts=st.dictionaries(st.sampled_from(sorted(events.ROOTS - {"type"})), JSON), kind=st.sampled_from(EVENT_TYPES))
def test_no_event_breaks_a_mapping(name: str, parts: dict[str, Any], kind: str) -> None:
    """Whatever an event holds, its mapping gives payloads or a refusal of its own, and leaves the event alone."""
    event = {"type": kind, **parts}
    before = deepcopy(event)

    refusals = []
    for config in sending(name):
        try:
            CATALOGUE[name].payloads(event, config)
        except errors.EventError as refusal:
            refusals.append(str(refusal))

    assert [refusal for refusal in refusals if "mapping failed on this event" in refusal] == []
    assert event == before


@cache
def sending(name: str) -> list[dict[str, Any]]:
    return [example.config for example in examples(name) if example.payloads]


def test_an_unknown_type_is_a_key_error_with_the_nearest_name() -> None:
    """`CATALOGUE["NOPE"]` is an `UnknownName`, which is a `KeyError` too."""
    with pytest.raises(KeyError) as caught:
        CATALOGUE["WEBHOK"]

    assert isinstance(caught.value, errors.UnknownName)
    assert str(caught.value) == "no destination type is called 'WEBHOK'. Did you mean 'WEBHOOK'?"


def test_only_folders_are_types() -> None:
    """The modules beside the folders (definitions, helpers) are no destination types."""
    assert {"HTTP", "WEBHOOK"} <= set(TYPES)
    assert "DEFINITIONS" not in CATALOGUE


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({}, "Webhook config: webhookUrl: is required"),
        ({"webhookUrll": "x"}, "webhookUrl: is required; there is 'webhookUrll' instead"),
        ({"webhookUrl": None}, "webhookUrl: is required"),
        ({"webhookUrl": 7}, "webhookUrl: expected a text, got a number"),
        ({**HOOK, "headers": "x"}, "headers: expected a list, got a text"),
        ({**HOOK, "headers": [{"from": []}]}, "headers[0].from: expected a text, got a list"),
        ({**HOOK, "headers": [{"from": "a", "to": {"b": 1}}]}, "headers[0].to: expected a text, got an object"),
        ({**HOOK, "webhookMethod": "get"}, "webhookMethod: invalid enum value 'get'. It is one of GET, POST"),
    ],
)
def test_a_configuration_that_does_not_fit_names_the_variable(config: dict[str, Any], says: str) -> None:
    """Every refusal of a configuration says which variable, what was expected, and what was there."""
    with pytest.raises(errors.InvalidConfig) as caught:
        CATALOGUE["WEBHOOK"].configure(config)

    assert says in str(caught.value)


def test_a_missing_member_of_a_row_is_named_with_its_row() -> None:
    """A row without a member that it needs is found by its number."""
    with pytest.raises(errors.InvalidConfig, match=r"pathParams\[1\]\.path: is required"):
        CATALOGUE["HTTP"].configure({"apiUrl": "https://a.example", "pathParams": [{"path": "a"}, {}]})


def test_variables_that_a_mapping_does_not_read_are_accepted() -> None:
    """Consent settings and the like do not disturb, and numbers may stand as text, as the service stores them."""
    settings = CATALOGUE["HTTP"].configure(
        {
            "apiUrl": "https://a.example",
            "consentManagement": {"web": []},
            "maxBatchSize": "2",
            "isDefaultMapping": "true",
        }
    )

    assert settings.is_default_mapping is True


def test_secrets_of_settings_never_show() -> None:
    """A secret shows masked in a repr, also inside a row, and `secrets()` gives its text for masking."""
    settings = CATALOGUE["WEBHOOK"].configure({**HOOK, "headers": [{"from": "x-token", "to": Secret("s3cr3t")}]})

    assert "s3cr3t" not in repr(settings)
    assert "••••" in repr(settings)
    assert settings.secrets() == ["s3cr3t"]


class ToySettings(Settings, frozen=True, kw_only=True):
    names: tuple[Rows, ...] = ()
    api_token: Secret = Secret("")


def toy() -> DestinationType:
    return DestinationType("Toy", ToySettings)


def test_a_handler_may_send_several_payloads_and_use_the_context() -> None:
    """A third parameter is the context: its clock and its lookup are arguments of `payloads`."""
    kind = toy()
    asked: list[Mapping[str, Any]] = []

    def lookup(request: Mapping[str, Any]) -> tuple[int, Any]:
        asked.append(request)
        return 200, {"id": 7}

    @kind.on("identify", "alias")
    def send(event: Event, settings: ToySettings, context: Context) -> Any:
        _, answer = context.lookup({"method": "GET", "url": "https://toy.example/id"})
        yield Payload(endpoint="https://toy.example/a", json_array=[answer["id"], context.clock().isoformat()])
        yield Payload(endpoint="https://toy.example/b", method="PUT", form={"a": 1})

    first, second = kind.payloads({"type": "alias"}, {}, clock="2026-01-31T12:00:00Z", lookup=lookup)

    assert asked == [{"method": "GET", "url": "https://toy.example/id"}]
    assert first["body"]["JSON_ARRAY"] == {"batch": '[7,"2026-01-31T12:00:00+00:00"]'}
    assert (second["method"], second["body"]["FORM"]) == ("PUT", {"a": 1})


def test_without_a_lookup_a_question_is_a_refusal() -> None:
    """A mapping that must ask, and has nobody to ask, refuses the event and names the address."""
    kind = toy()
    kind.on("page")(lambda event, settings, context: context.lookup({"url": "https://toy.example"}))

    with pytest.raises(
        errors.MappingError, match=r"needs an answer from https://toy\.example, and no lookup was given"
    ):
        kind.payloads({"type": "page"}, {})


def test_an_event_type_without_a_handler_is_refused() -> None:
    """The refusal names the event type and those that the destination takes."""
    kind = toy()
    kind.on("page", "screen")(lambda event, settings: Payload(endpoint="https://toy.example"))

    with pytest.raises(errors.UnsupportedEvent, match="Toy takes no group events, only page, screen"):
        kind.payloads({"type": "group"}, {})


def test_a_fault_in_a_mapping_costs_one_event_and_names_its_line() -> None:
    """What a mapping raises by accident is a `MappingError` with the line, and the traceback hangs on to it."""
    kind = toy()
    kind.on("page")(lambda event, settings: (_ for _ in [event.raw["nothing"]]))

    with pytest.raises(errors.MappingError, match=r"KeyError: 'nothing' \(.*test_destinations\.py:\d+\)") as caught:
        kind.payloads({"type": "page"}, {})

    assert isinstance(caught.value.__cause__, KeyError)


def test_one_event_type_has_one_handler() -> None:
    """A second handler for a type, or a type that does not exist, fails when the module is imported."""
    kind = toy()
    kind.on()(lambda event, settings: Payload(endpoint="https://toy.example"))

    with pytest.raises(ValueError, match="Toy: cannot register 'page'"):
        kind.on("page")(lambda event, settings: Payload(endpoint="https://toy.example"))
    assert set(kind.handlers) == set(EVENT_TYPES)


def test_a_type_added_at_run_time_is_a_type_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A running program adds a type; without a definition its settings say what its variables are."""
    monkeypatch.setattr(CATALOGUE, "_added", {})

    CATALOGUE.add("TOY", toy())

    assert "TOY" in CATALOGUE.names()
    assert defs.variables("TOY") == ["names", "apiToken"]
    assert examples("TOY") == []
    assert defs.secret_values("TOY", {"apiToken": "s3cr3t"}) == []
    defs.check_supported("TOY")
    defs.check_variables("TOY", {"apiToken": 5})
    with pytest.raises(errors.InvalidConfig, match="Did you mean 'apiToken'"):
        defs.check_variables("TOY", {"apiTokn": "x"})


def test_a_payload_has_exactly_the_specified_members() -> None:
    """Test API specification, element of `dest_transformed_payload`; nulls of a body are kept."""
    payload = Payload(endpoint="https://a.example", json={"a": None}).to_dict()

    assert payload == {
        "version": "1",
        "type": "REST",
        "method": "POST",
        "endpoint": "https://a.example",
        "headers": {},
        "params": {},
        "body": {"JSON": {"a": None}, "JSON_ARRAY": {}, "XML": {}, "FORM": {}},
        "files": {},
    }


def test_the_clock_of_payloads_takes_a_datetime_too() -> None:
    """`clock` is ISO 8601 text or a datetime."""
    kind = toy()
    kind.on("page")(
        lambda event, settings, context: Payload(endpoint="https://a.example", params={"at": context.clock().year})
    )

    (payload,) = kind.payloads({"type": "page"}, {}, clock=datetime(2001, 1, 1, tzinfo=UTC))

    assert payload["params"] == {"at": 2001}


def test_importing_the_catalogue_reads_no_definitions_and_no_types() -> None:
    """Listing types imports none of them, and the definitions are read at their first use."""
    program = (
        "import sys; from svctoolkit.destinations import CATALOGUE, definitions; CATALOGUE.names();"
        "assert not definitions._definitions.cache_info().currsize;"
        "print([m for m in ('yaml', 'svctoolkit.destinations.webhook', 'httpx', 'pandas') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_webhook_payload_takes_microseconds() -> None:
    """An event of 2 KB becomes its payload in well under 20 us (measured: 3 us); the bound is ten times that."""
    event = Event({"type": "track", "event": "E", "context": {"ip": "192.0.2.1"}, "properties": {"p": "x" * 2000}})
    kind, settings = CATALOGUE["WEBHOOK"], CATALOGUE["WEBHOOK"].configure(HOOK)

    def spent() -> float:
        started = perf_counter()
        for _ in range(200):
            kind.transform(event, settings)[0].to_dict()
        return (perf_counter() - started) / 200

    assert min(spent() for _ in range(5)) < 200e-6


def test_examples_that_cannot_be_read_say_where(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in an examples.yaml is a `ConfigError` with the file."""
    (tmp_path / "broken_type.py").write_text("from svctoolkit.destinations import Settings\nclass S(Settings): pass\n")
    (tmp_path / "examples.yaml").write_text("- {name: x, config: {}, event: {}, payload: []}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(CATALOGUE, "_added", {"BROKEN": DestinationType("Broken", import_module("broken_type").S)})

    with pytest.raises(errors.ConfigError, match=r"examples\.yaml.*unknown field `payload`"):
        examples("BROKEN")
    assert issubclass(import_module("broken_type").S, msgspec.Struct)
