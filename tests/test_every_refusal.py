"""Every refusal of every type is data: it names a field or a setting, and its rule is unique."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest

from svctoolkit import CATALOGUE
from svctoolkit.causes import Refusal
from svctoolkit.errors import MappingError, ToolkitError
from tests.catalogue import examples

PACKAGE = Path(__file__).parent.parent / "svctoolkit"
ROOMS = ("destinations", "mapping", "warehouse")
#: Exceptions that authors raise, and the number of arguments that locate the mistake in event or configuration.
KINDS = ("Missing", "Misfit", "NotConfigured", "Unsupported", "Misconfigured", "NotFound", "LookupFailed")
#: Those without field and setting: a bug in a mapping, and an event without a handler.
FRAME = {
    "destinations/_context.py", "destinations/_define.py", "destinations/_examples.py", "destinations/_mapping.py",
    "destinations/_settings.py", "destinations/definitions.py", "mapping/refusals.py",
}  # fmt: skip


def files() -> Iterator[Path]:
    for room in ROOMS:
        yield from (file for file in (PACKAGE / room).rglob("*.py") if str(file.relative_to(PACKAGE)) not in FRAME)


def calls(file: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id, node
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value
            if node.func.attr != "ask" or getattr(of, "id", getattr(of, "attr", "")) in ("context", "_context"):
                yield node.func.attr, node


def given(call: ast.Call, name: str, place: int | None = None) -> ast.expr | None:
    """An argument of a call; None if it is missing or an empty text."""
    value = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    if value is None and place is not None and len(call.args) > place:
        value = call.args[place]
    return None if isinstance(value, ast.Constant) and value.value == "" else value


def test_no_mapping_raises_plain_text() -> None:
    """Mappings raise refusals of the vocabulary, never a sentence."""
    bare = [
        f"{file.relative_to(PACKAGE)}:{call.lineno}"
        for file in files()
        for name, call in calls(file)
        if name in ("MappingError", "EventError", "UnsupportedEvent")
        and not (call.args and isinstance(call.args[0], ast.Call) and getattr(call.args[0].func, "id", "") == "Refusal")
    ]

    assert bare == []


def test_every_refusal_names_a_field_or_a_setting() -> None:
    """In the source, including refusals that no example reaches, and those of lookups."""
    nameless = [
        f"{file.relative_to(PACKAGE)}:{call.lineno} {name}"
        for file in files()
        for name, call in calls(file)
        if (name in KINDS or name == "ask") and not names_a_place(name, call)
    ]

    assert nameless == []


def names_a_place(name: str, call: ast.Call) -> bool:
    if name in ("NotFound", "ask"):
        return given(call, "field") is not None or given(call, "setting") is not None
    if name == "Unsupported":
        return given(call, "setting") is not None
    return given(call, "field", 0) is not None or given(call, "setting", 0) is not None


def refusals(name: str) -> Iterator[Refusal]:
    """The refusals in the examples of a type."""
    for example in examples(name):
        if example.error is None:
            continue
        try:
            CATALOGUE[name].payloads(
                deepcopy(example.event),
                example.config,
                clock=example.now,
                lookup=example.lookup,
                metadata=example.metadata,
            )
        except MappingError as error:
            yield error.refusal
        except ToolkitError:
            continue  # a configuration that is rejected


@pytest.mark.parametrize("name", CATALOGUE.names())
def test_rules_of_a_type_are_unique(name: str) -> None:
    """Each has its place and the expected value; rules of a type never share an id; ids contain no value."""
    rules: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for refusal in refusals(name):
        rule = refusal.rule(name)
        rules[rule].add((refusal.kind, refusal.field if refusal.kind != "unsupported" else "", refusal.expected))
        assert refusal.kind != "fault", refusal.text
        assert refusal.field or refusal.setting, refusal.text
        assert refusal.expected, refusal.text
        assert rule.startswith(f"{name}.{refusal.kind}")
        assert " " not in rule

    assert {rule: said for rule, said in rules.items() if len(said) > 1} == {}


def test_rules_in_the_source_are_distinguishable() -> None:
    """In one type, refusals with the same kind, place and case expect the same value."""
    shared = []
    for folder in sorted(path for path in (PACKAGE / "destinations").iterdir() if (path / "__init__.py").is_file()):
        expected: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for file in folder.glob("*.py"):
            for name, call in calls(file):
                if name in ("Missing", "Misfit") and all(isinstance(arg, ast.Constant) for arg in call.args[:1]):
                    fields = call.args if name == "Missing" else call.args[:1]
                    wants = given(call, "wants", 1 if name == "Misfit" else None)
                    case = given(call, "case")
                    key = (name, *map(ast.unparse, fields), ast.unparse(case) if case else "")
                    expected[key].add(ast.unparse(wants) if wants else "")
        shared += [(folder.name, key, texts) for key, texts in expected.items() if len(texts) > 1]

    assert shared == []


FAR = ("1990-01-01T00:00:00Z", "2099-01-01T00:00:00Z")


@pytest.mark.parametrize("name", CATALOGUE.names())
def test_what_refusals_depend_on_is_declared(name: str) -> None:
    """Examples at other times, without an account, and whose lookups fail: what they need is `needs` of the type.

    A refusal names one need. A declaration that no example reaches would be a claim without evidence.
    """
    asked, needs, texts = [], set(), set()

    def fail(request: object) -> tuple[int, object]:
        asked.append(request)
        return 500, {}

    for example in examples(name):
        for clock, lookup, metadata in (
            *((far, example.lookup, example.metadata) for far in FAR),
            (example.now, example.lookup, None),
            (example.now, fail, example.metadata),
        ):
            try:
                CATALOGUE[name].payloads(
                    deepcopy(example.event), example.config, clock=clock, lookup=lookup, metadata=metadata
                )
            except MappingError as error:
                needs.add(error.refusal.needs)
                texts.add((error.refusal.needs, error.refusal.text))
            except ToolkitError:
                continue
    reached = needs - {""} | ({"lookup"} if asked else set())

    assert reached | in_batches_only(name) == set(CATALOGUE[name].needs)
    for need, text in texts:
        assert {"clock": "the current time", "account": "account"}.get(need, "") in text


def in_batches_only(name: str) -> set[str]:
    """Needs of payloads that only shared requests have."""
    return {"REDDIT": {"clock"}}.get(name, set())
