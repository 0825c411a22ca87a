"""Inputs that would test nothing are rejected before the run, with what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import ConfigError

WORKSPACE = """
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
  wh: {type: POSTGRES, config: {}}
sources: {web: {destinations: [hook]}, both: {destinations: [hook, wh]}}
"""
FIXTURES = (
    "fixtures:\n  o: {type: track, event: A, userId: u, properties: {total: 1}}\n"
    "  p: {type: track, event: A, context: {traits: {email: a}}, properties: {products: [{price: 1}]}}\n"
)
SEND = "source: web, send: {type: track, event: A, userId: u}, expect: {delivered: [{}]}"


def load(scenario: str, head: str = "") -> None:
    """Load a suite with one scenario."""
    runner.loads(f"{head}\n{FIXTURES}scenarios:\n  - {{name: s, {scenario}}}\n", Workspace.loads(WORKSPACE))


def event(members: str, expect: str = "delivered: [{}]", source: str = "web") -> str:
    return f"source: {source}, send: {{type: track, event: A, userId: u, {members}}}, expect: {{{expect}}}"


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        (f"cases: [{{id: a, expected: 5}}, {{id: b, expected: 1}}], {SEND}", r"the column 'expected' is used nowhere"),
        (f"matrix: {{currency: [EUR, NOK]}}, {SEND}", r"the axis 'currency' is used nowhere.*write \$\(currency\)"),
        (event("propertes: {x: 1}"), r"an event has no member 'propertes'. Did you mean 'properties'\?"),
        ("source: web, send: {$use: o, $set: {propertes.x: 1}}, expect: {delivered: [{}]}", "mean 'properties'"),
        ("source: web, send: {$use: o, $set: {property.x: 1}}, expect: {delivered: [{}]}", "mean 'properties'"),
        (
            "source: web, send: {$use: p, $set: {context.TRAITS.x: 1}}, expect: {delivered: [{}]}",
            "mean 'context.traits'",
        ),
        (
            "source: web, send: {$use: p, $set: {context.traits.Email: x}}, expect: {delivered: [{}]}",
            "no 'context.traits.Email'. Did you mean 'context.traits.email'.*set 'context.traits' as a whole",
        ),
        (
            "source: web, send: {$use: p, $set: {properties.products.0.prce: 1}}, expect: {delivered: [{}]}",
            "mean 'properties.products.0.price'",
        ),
        (
            "matrix: {m: [a, b]}, source: web, send: {$use: p, $set: {context.traits.emial: $(m)}}, "
            "expect: {delivered: [{}]}",
            "mean 'context.traits.email'",
        ),
        (event("x: 1", "delivered: [{body: {list: {$each: {}}}}]"), "must not be {}: everything matches it"),
        (event("integrations: {Amplitud: false, All: true}"), r"'Amplitud', so this switches nothing. .*'Amplitude'"),
        (event("x: 1", source="both") + ", recorder: {wh: {status: 503}}", "'wh' is a warehouse"),
        (event("x: 1", "delivered: [{body: {$any: [{event: B}, {}]}}]"), "has the alternative {}, which any object"),
        (event("x: 1", "delivered: [{body: {x: {$any: [{$absent: true}, {$absent: false}]}}}]"), "always matches"),
    ],
)
def test_what_tests_nothing_is_rejected(scenario: str, message: str) -> None:
    """The message says what to write."""
    with pytest.raises(ConfigError, match=message):
        load(scenario)


def test_a_column_that_is_only_in_the_name_makes_no_test() -> None:
    """All rows would be the same test; next to another column it may be there for readers."""
    rows = "cases: [{n: 1, currency: EUR}, {n: 2, currency: NOK}]"
    used = event("properties: {c: $(currency)}")
    with pytest.raises(ConfigError, match="'n' is used only in the name"):
        runner.loads(f"scenarios: [{{name: 'n $(n)', {rows}, {SEND}}}]", Workspace.loads(WORKSPACE))
    runner.loads(f"scenarios: [{{name: 'n $(n)', {rows}, {used}}}]", Workspace.loads(WORKSPACE))


@pytest.mark.parametrize(
    "scenario",
    [
        f"cases: [{{n: 1, note: cheap, tags: [a]}}], {event('properties: {n: $(n)}')}",
        f"cases: [{{n: 1}}], vars: {{m: $(n)}}, {event('properties: {n: $(m)}')}",
        f"cases: [{{n: 1}}], never: [$(n)], {SEND}",
        event("propertes: {x: 1}", "response: {status: 200}, delivered: [{}]"),
        event("integrations: {Amplitude: false, Something Else: true, All: true, hook: true}"),
        "source: web, send: {$use: o, $set: {traits.x: 1, property: 1}}, expect: {delivered: [{}]}",
        "source: web, send: {$use: p, $set: {context.traits: {Email: a, email: b}, context.app.name: c}}, "
        "expect: {delivered: [{}]}",
        "source: web, send: {$use: p, $set: {properties.product: a, properties.coupon.x: b, context.traits.age: 3}}, "
        "expect: {delivered: [{}]}",
        event("ids: [1], trait: 1, traits: {}, custom_properties: 1"),
        event("x: 1", "delivered: [{body: {x: {$any: [{$absent: true}, 1]}}}]"),
    ],
)
def test_ordinary_inputs_are_accepted(scenario: str) -> None:
    """Remarks in rows, variables of rows, a refusal that is expected, other members and integrations."""
    load(scenario)


def test_rows_in_a_file_may_serve_several_scenarios(tmp_path: Path) -> None:
    """A column has to be used by one of them; a suite-wide rule may use it, too."""
    folder = tmp_path
    (folder / "rows.csv").write_text("id, a, b\nx, 1, 2\n", encoding="utf-8")
    one, two = (f"  - {{name: {n}, cases: rows.csv, {event(f'properties: {{{n}: $({n})}}')}}}\n" for n in "ab")

    def load_file(scenarios: str) -> None:
        file = folder / "s.suite.yaml"
        file.write_text(f"{WORKSPACE}scenarios:\n{scenarios}", encoding="utf-8")
        runner.load(file)

    load_file(one + two)
    with pytest.raises(ConfigError, match="the column 'b' is used nowhere"):
        load_file(one)
