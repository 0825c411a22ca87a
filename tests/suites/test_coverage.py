"""Coverage reports which lines of user code no scenario runs, whatever the kind of scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import runner

HEAD = """\
transformations:
  clean:
    language: {language}
    code: |
{code}
  idle:
    language: python
    code: |
      def transformEvent(event, metadata):
          return event
destinations:
  hook: {{type: WEBHOOK, transformation: clean, config: {{webhookUrl: https://hook.example/in}}}}
sources:
  web: {{writeKey: wk, destinations: [hook]}}
scenarios:
"""
CODE = {
    "python": """\
      def transformEvent(event, metadata):
          if event["event"] == "Test":
              return None
          return event
""",
    "javascript": """\
      export function transformEvent(event) {
        if (event.event === "Test")
          return null
        return event
      }
""",
}
EVENT = "{type: track, event: Order, userId: u1}"
SCENARIOS = {
    "verify": f"{{destination: hook, event: {EVENT}, expect: {{user_transform: {{event: Order}}}}}}",
    "transformation": f"{{transformation: clean, event: {EVENT}, expect: {{user_transform: {{event: Order}}}}}}",
    "send": f"{{send: {EVENT}, expect: {{delivered: [{{body: {{event: Order}}}}]}}}}",
    "calls": "{calls: [{track: {name: Order}}], expect: {delivered: [{body: {event: Order}}]}}",
    "request": "{request: {path: /v1/track, auth: {source: web}, json: {event: Order, userId: u1}}, "
    "expect: {delivered: [{body: {event: Order}}]}}",
    "frozen": f"{{freeze: {{ids: sequence}}, send: {EVENT}, expect: {{delivered: [{{body: {{event: Order}}}}]}}}}",
    "scripted": f"{{recorder: {{hook: {{}}}}, send: {EVENT}, expect: {{delivered: [{{body: {{event: Order}}}}]}}}}",
}


def covered(path: Path) -> dict[str, tuple[set[str], set[str]]]:
    """By group: what a run covers, and what it misses."""
    planes = runner.Planes(coverage=True)
    try:
        notices = list(runner.run(runner.load(path).scenarios, planes, coverage=True))
    finally:
        planes.close()
    assert {n.status for n in notices if isinstance(n, runner.Outcome)} == {"passed"}
    (told,) = [n for n in notices if isinstance(n, runner.Covered)]
    return {group.name: (group.covered, group.missing) for group in told.coverage.groups}


@pytest.mark.parametrize(
    ("kind", "language"), [*((kind, "python") for kind in SCENARIOS), ("verify", "javascript"), ("send", "javascript")]
)
def test_every_kind_of_scenario_counts_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, language: str
) -> None:
    """A branch that is not taken is missing, and so is a whole transformation that no scenario runs."""
    monkeypatch.chdir(tmp_path)
    scenario = SCENARIOS[kind].replace("{", "{name: a, ", 1)
    path = Path("s.suite.yaml")
    path.write_text(f"{HEAD.format(language=language, code=CODE[language])}  - {scenario}\n", encoding="utf-8")
    ran, missed = covered(path)["lines"]

    name = f"s.suite.yaml clean.{'py' if language == 'python' else 'js'}"
    assert {f"{name}:2", f"{name}:4"} <= ran
    assert {line for line in missed if line.startswith(name)} == {f"{name}:3"}
    assert "s.suite.yaml idle.py:2" in missed


def test_equal_names_in_different_suites_are_distinguished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code in files has its path; inline code has the name of the suite in front."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        text = (
            HEAD.format(language="python", code=CODE["python"])
            + "  - "
            + SCENARIOS["send"].replace("{", "{name: a, ", 1)
        )
        Path(f"{name}.suite.yaml").write_text(text.replace("Order", "Test") if name == "b" else text, encoding="utf-8")
    Path("b.suite.yaml").write_text(
        Path("b.suite.yaml").read_text(encoding="utf-8").replace("delivered: [{body: {event: Test}}]", "delivered: []"),
        encoding="utf-8",
    )
    _, scenarios = runner.collect(["."])
    planes = runner.Planes(coverage=True)
    for scenario in scenarios:
        runner.attempt(scenario, planes)
    counts = planes.lines()
    planes.close()

    assert [counts[f"{name}.suite.yaml clean.py"][3] for name in ("a", "b")] == [0, 1]


def test_sdk_calls_cover_event_types_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Just as written events do."""
    monkeypatch.chdir(tmp_path)
    scenario = SCENARIOS["calls"].replace("{", "{name: a, ", 1)
    path = Path("s.suite.yaml")
    path.write_text(f"{HEAD.format(language='python', code=CODE['python'])}  - {scenario}\n", encoding="utf-8")
    found = covered(path)

    assert "hook track" in found["event types"][0]
    assert "Order" in found["event names"][0]


def test_fields_count_when_destinations_get_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field counts once, whether its payload or its request is checked; an error does not count as a field."""
    monkeypatch.chdir(tmp_path)
    path = Path("s.suite.yaml")
    scenarios = [
        f"{{name: a, destination: hook, event: {EVENT}, "
        "expect: {dest_transform: {body: {JSON: {event: Order}}}}}",
        f"{{name: b, send: {EVENT}, expect: {{delivered: [{{method: POST, body: {{userId: u1}}}}]}}}}",
        "{name: c, destination: hook, event: {type: track, event: Test}, "
        "expect: {user_transform: {error: {$contains: dropped}}}}",
    ]
    head = HEAD.format(language="python", code=CODE["python"])
    path.write_text(head + "".join(f"  - {scenario}\n" for scenario in scenarios), encoding="utf-8")
    found = covered(path)["fields"]

    assert {"hook body.event", "hook body.userId", "hook method"} <= found[0]
    assert "hook url" in found[1]
    assert not {name for name in found[0] | found[1] if "error" in name or "JSON" in name}


def test_files_with_the_same_name_are_counted_separately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two transformations with equal file names in different folders have separate lines."""
    monkeypatch.chdir(tmp_path)
    for folder in ("shop", "app"):
        (tmp_path / folder).mkdir()
        code = "\n".join(line[6:] for line in CODE["javascript"].splitlines())
        (tmp_path / folder / "clean.js").write_text(code)
    path = tmp_path / "two.suite.yaml"
    path.write_text(f"""\
transformations: {{shop: {{file: shop/clean.js}}, app: {{file: app/clean.js}}}}
destinations: {{hook: {{type: WEBHOOK, config: {{webhookUrl: https://hook.example/in}}}}}}
scenarios:
  - {{name: a, transformation: shop, event: {EVENT}, expect: {{user_transform: {{event: Order}}}}}}
  - {{name: b, transformation: app, event: {EVENT.replace("Order", "Test")}, expect: {{user_transform: []}}}}
""")
    lines, missing = covered(path)["lines"]

    assert missing == {"shop/clean.js:3", "app/clean.js:4"}
    assert {"shop/clean.js:4", "app/clean.js:3"} <= lines


def test_fields_that_reach_no_destination_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A field is lost, and not covered, if every destination that gets the event loses it."""
    monkeypatch.chdir(tmp_path)
    properties = "{order_id: o, revenue: 2, total: 3, products: [{name: n}]}"
    order = f"{{type: track, event: Order Completed, anonymousId: a1, properties: {properties}}}"
    text = f"""\
destinations:
  ga: {{type: GA4, config: {{apiSecret: x, measurementId: G-1, typesOfClient: gtag}}}}
  hook: {{type: WEBHOOK, config: {{webhookUrl: https://hook.example/in}}}}
scenarios:
  - {{name: a, destination: ga, event: {order}, expect: {{dest_transform: {{method: POST}}}}}}
"""
    Path("s.suite.yaml").write_text(text, encoding="utf-8")

    def coverage(lines: str) -> runner.Coverage:
        Path("s.suite.yaml").write_text(text + lines, encoding="utf-8")
        with runner.open_planes(limit=60) as planes:
            notices = list(runner.run(runner.load(Path("s.suite.yaml")).scenarios, planes, coverage=True))
        return next(n.coverage for n in notices if isinstance(n, runner.Covered))

    lost = coverage("")
    both = coverage(
        f"  - {{name: b, destination: hook, event: {order}, expect: {{dest_transform: {{method: POST}}}}}}\n"
    )

    assert lost.lost == ["Order Completed properties.revenue"]
    assert "reach no destination: Order Completed properties.revenue" in str(lost._repr_mimebundle_())
    assert both.lost == []


def test_an_event_without_a_valid_type_is_covered_without_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lineage measures each shape of an event, whose type and name may be anything."""
    monkeypatch.chdir(tmp_path)
    expect = "{status: 400, body: {message: {$type: string}}}"
    Path("s.suite.yaml").write_text(
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://h.example}}}\n"
        f"scenarios: [{{name: a, destination: hook, event: {{type: {{}}, event: {{}}}}, expect: {expect}}}]\n",
        encoding="utf-8",
    )

    assert covered(Path("s.suite.yaml"))["destinations"] == ({"hook"}, set())


BRANCHES = {
    "clean.js": """\
export function transformEvent(event) {
  if (event.event === "Test") return null;
  event.vip = event.userId === "u1" ? true : false;
  switch (event.type) { case "track": break; case "page": event.seen = true; break; default: return null }
  return event;
}
""",
    "clean.py": """\
def transformEvent(event, metadata):
    if event["event"] == "Test": return None
    event["vip"] = True if event["userId"] == "u1" else False
    match event["type"]:
        case "track": pass
        case "page": event["seen"] = True
    return event
""",
}
#: by file: the branches that one event takes, and those that it does not take
TAKEN = {
    "clean.js": ({"2:3 false", "3:15 true", "4:25 case"}, {"2:3 true", "3:15 false", "4:46 case", "4:85 default"}),
    "clean.py": ({"2:5 false", "3:20 true", "5:14 case"}, {"2:5 true", "3:20 false", "6:14 case"}),
}


@pytest.mark.parametrize("file", BRANCHES)
def test_branches_on_one_line_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """Both outcomes of conditions and each case, also where they share a line; the code gives the same events."""
    monkeypatch.chdir(tmp_path)
    Path(file).write_text(BRANCHES[file], encoding="utf-8")
    Path("s.suite.yaml").write_text(
        f"transformations: {{clean: {{file: {file}}}}}\n"
        f"scenarios: [{{name: a, transformation: clean, event: {EVENT}, expect: {{user_transform: {{vip: true}}}}}}]\n",
        encoding="utf-8",
    )
    ran, missed = covered(Path("s.suite.yaml"))["branches"]

    assert ({name.partition(":")[2] for name in ran}, {name.partition(":")[2] for name in missed}) == TAKEN[file]


def test_sources_connections_warehouses_and_settings_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no scenario uses is missing by name; settings without effect do not count, and no name is empty."""
    monkeypatch.chdir(tmp_path)
    Path("s.suite.yaml").write_text(
        """\
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://h.example, webhookMethod: POST,
                                 blacklistedEvents: [{eventName: X}]}}
  ga: {type: GA4, config: {apiSecret: s, measurementId: G-1, typesOfClient: gtag,
                           piiPropertiesToIgnore: [{piiProperty: email}]}}
  wh: {type: POSTGRES, config: {namespace: shop}}
sources:
  web: {destinations: [hook, ga, wh]}
  app: {destinations: [hook]}
scenarios:
  - name: one
    source: web
    only: [hook, ga]
    send: {type: track, event: Order, userId: u1, anonymousId: a, properties: {"": 1}}
    expect: {delivered: {hook: {body: {event: Order}}, ga: {body: {user_id: u1}}}}
""",
        encoding="utf-8",
    )
    groups = covered(Path("s.suite.yaml"))

    assert groups["sources"] == ({"web"}, {"app"})
    assert groups["connections"] == ({"web -> hook", "web -> ga"}, {"web -> wh", "app -> hook"})
    assert groups["warehouses"] == (set(), {"wh"})
    assert groups["settings"][0] == {"hook webhookUrl", "hook webhookMethod", "ga apiSecret", "ga measurementId"}
    assert groups["settings"][1] == {"ga piiPropertiesToIgnore"}
    assert groups["event names"] == ({"Order"}, set())
    assert all(word for group in groups.values() for names in group for name in names for word in name.split(" "))
    assert 'hook body.properties.""' in groups["fields"][1]
