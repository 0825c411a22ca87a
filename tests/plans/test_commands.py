"""`svctoolkit plan`: the output of its commands, and their exit codes."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import plans
from svctoolkit.cli import _parser, main
from svctoolkit.cli.commands.plan import COMMANDS
from svctoolkit.errors import InvalidPlan
from svctoolkit.plans.compare import changes
from svctoolkit.plans.infer import infer
from tests.plans.test_formats import PROJECT, write

GOOD = {"type": "track", "event": "Order Paid", "userId": "u", "properties": {"total": 3, "method": "cash"}}
EXTRA = {**GOOD, "properties": {"total": 3, "methud": "cash"}}
UNPLANNED = {**GOOD, "event": "Order Payed"}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a project in `tracking`."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "tracking", PROJECT)
    return tmp_path


def lines(folder: Path, *events: Any, name: str = "events.ndjson") -> str:
    (folder / name).write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return name


def test_check_reports_line_rule_and_suggestion(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The event's line, the rule's line, the nearest name; one line for all events with the same mistake."""
    code = main(["plan", "check", lines(shop, GOOD, EXTRA, EXTRA, UNPLANNED), "--plan", "tracking"])
    said = capsys.readouterr()

    assert code == 1
    assert (
        "events.ndjson:2:1: /properties: Additional-Properties: must NOT have unevaluated properties 'methud'"
        in said.out
    )
    assert "in 2 events (rule: tracking/plan.yaml:8:7) Did you mean 'method'?" in said.out
    assert "no schema for event: Order Payed in 1 event Did you mean 'Order Paid'?" in said.out
    assert "4 events, 3 with violations" in said.err
    assert "planned but never sent: identify" in said.err


@pytest.mark.parametrize(
    ("events", "options", "code"),
    [
        ([GOOD], [], 0),
        ([EXTRA], [], 1),
        ([EXTRA], ["--max-violations", "1"], 0),
        ([EXTRA, EXTRA], ["--max-violations", "1"], 1),
        ([GOOD, 7], [], 1),
        ([], [], 5),
    ],
)
def test_exit_codes_of_check(shop: Path, events: list[Any], options: list[str], code: int) -> None:
    """0 if all is well, 1 for invalid events or violations beyond the limit, 5 if there are no events."""
    assert main(["plan", "check", lines(shop, *events), "--plan", "tracking", *options]) == code


@pytest.mark.parametrize("compressed", [False, True])
def test_places_in_large_and_compressed_files(
    shop: Path, capsys: pytest.CaptureFixture[str], *, compressed: bool
) -> None:
    """The line and the text of the event itself, wherever in the file it is."""
    long = {**GOOD, "context": {"note": "x" * 150_000}}
    text = "".join(json.dumps(event) + "\n" for event in [long] * 8 + [EXTRA])
    name = "events.ndjson.gz" if compressed else "events.ndjson"
    (shop / name).write_bytes(gzip.compress(text.encode(), 1) if compressed else text.encode())

    assert main(["plan", "check", name, "--plan", "tracking"]) == 1
    said = capsys.readouterr().out
    assert f"{name}:9:1: " in said
    assert f"    {json.dumps(EXTRA)[:60]}" in said


def test_check_uses_plan_and_settings_of_a_source(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output says what would be dropped."""
    (shop / "workspace.yaml").write_text("trackingPlans: {shop: {project: tracking}}\nsources: {web: {}, app: {}}\n")

    assert main(["plan", "check", lines(shop, UNPLANNED), "--source", "web"]) == 1
    assert "1 would be dropped" in capsys.readouterr().err
    assert main(["plan", "check", "events.ndjson", "--source", "app"]) == 4
    assert main(["plan", "check", "events.ndjson"]) == 4


def test_reports_have_the_formats_of_suites(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JUnit, annotations, HTML, and rows as a table."""
    files = ["--report", "junit=r.xml", "--report", "html=r.html", "--report", "json=r.json", "--report", "github"]
    main(["plan", "check", lines(shop, GOOD, EXTRA), "--plan", "tracking", *files])

    assert "<testcase name=\"track 'Order Paid'\"" in (shop / "r.xml").read_text()
    assert "methud" in (shop / "r.html").read_text()
    assert "methud" in (shop / "r.json").read_text()
    assert "::error file=events.ndjson,line=2,col=1" in capsys.readouterr().out


def test_unknown_commands_are_errors_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    """`plan chek`, and `plan` alone."""
    assert main(["plan", "chek"]) == 4
    assert "Did you mean 'check'?" in capsys.readouterr().err
    assert main(["plan"]) == 4
    assert main(["plan", "check", "--help"]) == 0


def test_a_draft_accepts_the_events_it_is_made_from(shop: Path) -> None:
    """Types, required properties, enums of few values, formats, lists, nested objects; rare events are left out."""
    events = [
        {
            "type": "track",
            "event": "Order Paid",
            "properties": {
                "total": 3 if n % 2 else 3.5,
                "method": "card" if n % 2 else "cash",
                "at": "2026-01-01T00:00:00Z",
                "tags": ["a", 1],
                "who": {"mail": f"u{n}@b.io", **({"age": n} if n % 2 else {})},
                **({"note": f"n{n}"} if n % 3 else {}),
            },
        }
        for n in range(20)
    ]
    few = [{"type": "track", "event": "Rare", "properties": {}}] * 4
    assert main(["plan", "infer", lines(shop, *events, *few), "-o", "draft", "--name", "My shop"]) == 0
    plan = plans.load(shop / "draft").plan()

    assert [plan.check(event).violations for event in events] == [()] * 20 or not any(
        plan.check(event).violations for event in events
    )
    assert plan.names == ["Order Paid"]
    assert plan.name == "My shop"
    frame = plan.frame().set_index("property")
    assert list(frame.index[frame["required"]]) == ["at", "method", "tags", "total", "who", "who.mail"]
    assert frame.loc["method", "values"] == "card, cash"
    assert (frame.loc["at", "format"], frame.loc["who.mail", "format"]) == ("date-time", "email")
    assert (frame.loc["total", "types"], frame.loc["tags[]", "types"]) == ("number", "integer, string")
    assert "# 13 of 20" in (shop / "draft/plan.yaml").read_text()
    assert main(["plan", "infer", "events.ndjson", "-o", "draft"]) == 4  # no file is replaced


def test_a_draft_is_one_file_if_its_name_is_that_of_a_file(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-o shop.plan.yaml` writes what is printed without it, and not a folder with this name."""
    arguments = ["plan", "infer", lines(shop, *[GOOD] * 20)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out

    assert main([*arguments, "-o", "new/shop.plan.yaml"]) == 0

    assert (shop / "new" / "shop.plan.yaml").read_text(encoding="utf-8") == printed
    assert main(["plan", "check", "events.ndjson", "--plan", "new/shop.plan.yaml"]) == 0
    assert main([*arguments, "-o", "new/shop.plan.yaml"]) == 4  # it is not replaced


def test_a_printed_draft_is_a_plan_file(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Notes go to standard error; other commands accept the file, and its problems have positions in it."""
    paid: list[dict[str, Any]] = [{"type": "track", "event": "Paid", "properties": {"total": n}} for n in range(8)]
    assert main(["plan", "infer", lines(shop, *paid, {"type": "track", "event": "Rare"})]) == 0
    said = capsys.readouterr()
    file = shop / "draft.plan.yaml"
    file.write_text(said.out, encoding="utf-8")

    assert said.err == "svctoolkit: skipped: 'Rare' has 1 event; at least 5 are needed\n"
    assert plans.load(file).plan().names == ["Paid"]
    file.write_text(f"%YAML 1.1\n# draft\n---\n{said.out}\n---\n", encoding="utf-8")
    assert main(["lost", "--plan", str(file), "--to", "mp"]) == 0
    file.write_text(said.out.replace("#property:total", "#property:totl"), encoding="utf-8")
    line = 1 + said.out[: said.out.index("#property:total")].count("\n")
    with pytest.raises(InvalidPlan, match=rf"draft\.plan\.yaml:{line}:\d+: .*'totl'"):
        plans.load(file)
    file.write_text("version: rudder/v1\n---\nversion: [\n", encoding="utf-8")
    with pytest.raises(InvalidPlan, match=r"draft\.plan\.yaml:3:\d+: "):
        plans.load(file)


def test_a_draft_has_no_mistakes_of_few_events_and_no_text_of_people(shop: Path) -> None:
    """One `n/a` among numbers is set aside; search terms and names, though few, are not values of the plan."""
    searched = ["jo.doe@mail.example", "red shoes", "blue"]
    properties = [
        {"total": "n/a" if n == 7 else n, "query": searched[n % 3], "label": searched[n % 2], "first_name": "Jo"}
        for n in range(100)
    ]
    paid = [{"type": "track", "event": "Paid", "properties": members} for members in properties]
    assert main(["plan", "infer", lines(shop, *paid), "-o", "draft"]) == 0
    text = (shop / "draft/properties.yaml").read_text()

    assert 'types: ["integer"]}  # 99 integer; set aside as mistakes: 1 string' in text
    assert [word for word in ("enum", "jo.doe", "Jo", "shoes") if word in text] == []


def test_a_draft_has_enums_only_of_sets_that_look_complete() -> None:
    """An enum rejects every other value: the next page, person, order, release or file."""
    open_sets = {
        "path": ["/", "/cart"], "screen": ["/home/list", "Cart"], "title": ["Home", "Cart"], "userId": ["a", "b"],
        "referrer": ["google", "bing"], "contact": ["Jo Doe", "Ann Lee"], "productSku": ["A", "B"],
        "app": ["1.2.3", "1.2.4"],
        "area": ["52.5,13.4", "48.1,11.5"], "etag": ["d41d8cd98f00b204", "d41d8cd98f00b205"], "utmSource": ["x", "y"],
        "number": ["1", "2"], "fileName": ["a", "b"], "constant": ["ok"], "rare": ["a"],
    }  # fmt: skip
    closed = {"currency": ["EUR", "USD"], "sizeOfShoe": ["S", "M", "L"], "payment_method": ["card", "paypal"]}
    events = [
        {"type": "track", "event": "E", "properties": {k: v[n % len(v)] for k, v in (open_sets | closed).items()}}
        for n in range(60)
    ]
    events[7]["properties"] = {"rare": "b"}
    few = [{**event, "event": "Few"} for event in events[:12]]

    drafted = infer([*events, *few]).files["properties.yaml"].splitlines()

    assert {line.split("id: ")[1].split(",")[0] for line in drafted if "enum" in line} == {
        "currency", "sizeofshoe", "payment_method",
    }  # fmt: skip
    assert len([line for line in drafted if 'name: "currency"' in line]) == 2  # of 12 values, others may follow


@pytest.mark.parametrize("value", ["a: b", "NO", '"', "#x", "${{", "{{ .X }}", "ü\n", "\x00", "", "x" * 100])
def test_a_draft_can_be_read_for_any_names(tmp_path: Path, value: str) -> None:
    """Names, values and keys that YAML or rudder-cli could misread."""
    events = [{"type": "track", "event": value, "properties": {value: value, "p": value, "q": {value: 1}}}] * 6
    for name, text in infer(events).files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    loaded = plans.load(tmp_path).plan()

    assert not any(loaded.check(event).violations for event in events) or loaded.names == []


def diff(shop: Path, text: str, instead: str) -> list[str]:
    project = {name: content.replace(text, instead) for name, content in PROJECT.items()}
    assert project != PROJECT
    old, new = plans.load(shop / "tracking").plan(), plans.load(write(shop / "new", project)).plan()
    return [str(change) for change in changes(old, new)]


METHOD, TOTAL = '{property: "#property:method"}', '"#property:total", required: true'
REQUIRED = '{property: "#property:method", required: true}'
NARROW, WIDER = "name: total, types: [number", "name: total, types: [string, number"


@pytest.mark.parametrize(
    ("text", "instead", "expected"),
    [
        (
            "name: total, types: [number",
            WIDER,
            ["breaking for readers: 'total': is null or number or string now, not null or number"],
        ),
        ('types: [number, "null"]', "type: number", ["breaking: 'total': is number now, not null or number"]),
        (METHOD, REQUIRED, ["breaking: 'method': is required now"]),
        (TOTAL, '"#property:total"', ["breaking for readers: 'total': is not required now"]),
        (
            "[card, cash]",
            "[card, bill]",
            [
                "breaking: 'method': 'cash' is no longer an allowed value",
                "breaking for readers: 'method': 'bill' is an allowed value now",
            ],
        ),
        ("minimum: 0", "minimum: 1", ["breaking: 'total': has minimum 1 now, not 0"]),
        (
            "name: Order Paid",
            "name: Order Done",
            ["breaking: is no longer planned", "harmless: track 'Order Done': is planned now"],
        ),
    ],
)
def test_diff_reports_breaking_changes(shop: Path, text: str, instead: str, expected: list[str]) -> None:
    """A change that may reject valid events is breaking; one that allows more is not."""
    said = diff(shop, text, instead)
    texts = [line.replace("track 'Order Paid'", "").replace(": , ", ": ").replace(": : ", ": ") for line in said]

    assert texts == expected


def limits_diff(old: dict[str, Any], new: dict[str, Any], **both: Any) -> list[str]:
    """The changes of a rule whose property `a` changes; `both` are parts of the rule that stay as they are."""

    def plan(of: dict[str, Any]) -> Any:
        body = {"type": "object", **both, "properties": {"a": of}}
        schema = {"type": "object", "properties": {"properties": body}}
        return plans.of_service({"id": "tp", "events": [{"name": "E", "eventType": "track", "rules": schema}]})

    return [
        str(change).replace(" track 'E',", "").replace(" track 'E':", "") for change in changes(plan(old), plan(new))
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({"minimum": 0}, {"minimum": -1}, ["breaking for readers: 'a': has minimum -1 now, not 0"]),
        ({"minimum": 0}, {}, ["breaking for readers: 'a': has no minimum now"]),
        ({}, {"maxLength": 9}, ["breaking: 'a': has maxLength 9 now, and had none before"]),
        ({"minLength": 0}, {}, []),
        ({"multipleOf": 0.01}, {"multipleOf": 0.1}, ["breaking: 'a': has multipleOf 0.1 now, not 0.01"]),
        ({"pattern": "^a"}, {}, ["breaking for readers: 'a': has no pattern now"]),
        ({"type": "string", "maxLength": 9}, {"type": "number"}, ["breaking: 'a': is number now, not string"]),
        ({}, {"description": "text"}, []),
        ({}, {"not": {"const": 1}}, ["breaking: its rules have changed in another way"]),
        ({"items": {"minimum": 1}}, {"items": {"minimum": 2}}, ["breaking: 'a[]': has minimum 2 now, not 1"]),
        ({}, {"additionalProperties": False}, ["breaking: 'a': no longer accepts unplanned properties"]),
        ({"additionalProperties": False}, {}, ["harmless: 'a': accepts unplanned properties now"]),
        (
            {"properties": {"b": {}}, "additionalProperties": False},
            {"additionalProperties": False},
            ["breaking: 'a.b': is no longer planned"],
        ),
        (
            {"minimum": 0, "properties": {}},
            {"minimum": 1, "properties": {"b": {}}, "additionalProperties": True},
            ["breaking: 'a': has minimum 1 now, not 0", "breaking: 'a.b': is planned now"],
        ),
    ],
)
def test_diff_knows_the_direction_of_each_limit(old: dict[str, Any], new: dict[str, Any], said: list[str]) -> None:
    """Also of members of objects, and if another change is harmless; texts about a property reject nothing."""
    assert limits_diff(old, new) == said


def test_diff_with_events_judges_by_these(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A breaking change that affects no event is not a failure, and the other way round."""
    project = {
        name: text.replace('{property: "#property:method"}', '{property: "#property:method", required: true}')
        for name, text in PROJECT.items()
    }
    write(shop / "new", project)
    arguments = ["plan", "diff", "tracking", "new"]

    assert main(arguments) == 1
    assert main([*arguments, "--events", lines(shop, GOOD)]) == 0
    assert main([*arguments, "--events", lines(shop, {**GOOD, "properties": {"total": 1}})]) == 1
    assert "must have required property 'method' in 1 event" in capsys.readouterr().out
    assert main(["plan", "diff", "tracking", "tracking"]) == 0


def test_diff_has_directions(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A property that is not required any more breaks no sender, but readers of the data."""
    write(shop / "new", {name: text.replace(TOTAL, '"#property:total"') for name, text in PROJECT.items()})
    arguments = ["plan", "diff", "tracking", "new", "--compatibility"]

    assert [main([*arguments, way]) for way in ("backward", "forward", "full")] == [0, 1, 1]
    assert "1 change, 0 breaking, 1 breaking for readers" in capsys.readouterr().err
    assert [main(["plan", "diff", "new", "tracking", "--compatibility", way]) for way in ("backward", "forward")] == [
        1,
        0,
    ]


def test_show_prints_all_events_or_one_schema(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt event is an error with a suggestion."""
    assert main(["plan", "show", "tracking"]) == 0
    assert "total        null or number  required" in capsys.readouterr().out
    assert main(["plan", "show", "tracking", "Order Paid", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out)["type"] == "object"
    assert main(["plan", "show", "tracking", "Order Pade"]) == 4
    assert "Did you mean 'Order Paid'?" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS.names())
def test_examples_are_valid_command_lines(name: str) -> None:
    """Every example is accepted by its command."""
    for example in COMMANDS[name].examples:
        words = shlex.split(example)

        assert words[:3] == ["svctoolkit", "plan", name]
        _parser.of(name, COMMANDS[name]).parse(words[3:])


def test_test_and_transform_can_show_violations(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On request; the exit code is that of the stages."""
    (shop / "workspace.yaml").write_text(
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: 'https://hook.example'}}}\n"
    )
    (shop / "event.json").write_text(json.dumps(EXTRA))
    (shop / "same.py").write_text("def transformEvent(event, metadata):\n    return event\n")

    for command in (["test", "destination", "hook"], ["transform", "same.py"]):
        assert main([*command, "--event", "event.json"]) == 0
        assert "tracking plan" not in capsys.readouterr().out
        assert main([*command, "--event", "event.json", "--plan", "tracking"]) == 0
        said = capsys.readouterr().out
        assert "tracking plan  1 violation" in said
        assert "Did you mean 'method'?" in said


def test_generated_events_pass_and_near_misses_fail(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`plan check` accepts all generated events and none of the near misses, each of which names its violation."""
    assert main(["plan", "examples", "tracking", "--count", "5"]) == 0
    good = capsys.readouterr().out
    assert main(["plan", "examples", "tracking", "Order Paid", "--near-misses", "--seed", "7"]) == 0
    misses = capsys.readouterr()
    plan = plans.load("tracking").plan()
    (shop / "good.ndjson").write_text(good)

    assert main(["plan", "check", "good.ndjson", "--plan", "tracking"]) == 0
    assert {json.loads(line)["type"] for line in good.splitlines()} == {rule.type for rule in plan}
    for line, said in zip(misses.out.splitlines(), misses.err.splitlines(), strict=True):
        assert any(v.message in said for v in plan.check(json.loads(line)).violations)
    assert "Required-Missing" in misses.err
    assert main(["plan", "examples", "tracking", "Order Payed"]) == 4
    assert "Did you mean 'Order Paid'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["plan", "check", "events.ndjson", "--plan", "tracking"], 1),
        (["plan", "infer", "events.ndjson"], 0),
        (["plan", "diff", "tracking", "tracking", "--events", "events.ndjson"], 1),
        (["trend", "events.ndjson"], 0),
    ],
)
def test_lines_that_are_no_events_are_named(
    shop: Path, capsys: pytest.CaptureFixture[str], command: list[str], code: int
) -> None:
    """A result without some of the events is not mistaken for one with all of them."""
    lines(shop, *[GOOD] * 5)
    with Path("events.ndjson").open("a") as file:
        file.write("no JSON\n" * 12)

    assert main(command) == code

    said = capsys.readouterr().err
    assert "events.ndjson:6: invalid JSON" in said
    assert "2 more records are not events" in said
