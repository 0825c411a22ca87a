"""Policies about all events of a run together: volumes, and queries about what was sent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import DataPlane, Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.events import track
from svctoolkit.pipeline import Stages
from svctoolkit.policies import Policies, Whole
from svctoolkit.policies.tables import QueryError, Sheets, Tables
from svctoolkit.replay import compare, replay
from tests.replay.shops import ndjson

WORKSPACE = """
workspace: shop
sources: {web: {destinations: [hook, mixpanel]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}
  mixpanel: {type: MP, config: {token: t0k3n, dataResidency: us, identityMergeApi: simplified}}
"""
NEGATIVE = {"name": "negative", "sql": "select event_id, revenue from mixpanel where revenue < 0"}


def paid(day: int, *revenues: Any) -> list[dict[str, Any]]:
    at = f"2026-01-{day:02}T10:00:00Z"
    return [
        {
            **track("Paid", user_id="u", properties={"revenue": revenue}),
            "messageId": f"m{day}-{number}",
            "timestamp": at,
            "originalTimestamp": at,
        }
        for number, revenue in enumerate(revenues)
    ]


def tables(query: str, payloads: Mapping[str, Any], **options: Any) -> Tables:
    """Return tables with one payload for each destination."""
    reads = Policies.of([{"sql": query}]).reads
    sheets, made = Sheets(reads), Tables(reads, **options)
    for destination, payload in payloads.items():
        sheets.add({"type": "track", "event": "E", "messageId": "m1"}, "f:1", destination, [payload])
    made.add(sheets.finish())
    return made


def test_rows_of_a_query_are_breaches(tmp_path: Path) -> None:
    """In payloads that are opened, on the later side."""
    events = ndjson(tmp_path / "e.ndjson", paid(1, 5, -3, -4))
    workspace = Workspace.loads(WORKSPACE)
    policies = Policies.of([NEGATIVE])

    for result in (
        replay([events], workspace, policies=policies),
        compare([events], workspace, workspace, policies=policies),
    ):
        assert [str(breach.text) for breach in result.policy_breaches] == ["2 events at mixpanel"]
        (group,) = [group for group in result.groups if group.kind == "breach"]
        assert [(e.event_id, e.after) for e in group.examples] == [("m1-1", "revenue = -3"), ("m1-2", "revenue = -4")]
        assert group.examples[0].place.endswith("e.ndjson:2")
        assert "negative: revenue = -… in 2 events of Paid" in repr(result)


CODE = """\
export function transformEvent(event) {
  event.properties.net = event.properties.revenue * 2;
  return event;
}
"""


@pytest.mark.parametrize(
    ("query", "origin"),
    [
        ("select event_id, revenue from mixpanel where revenue < 0", "properties.revenue"),
        ("select m.event_id, net as n from mixpanel m where net < 0", "properties.revenue (t.js:2)"),
        ("select event_id, token from mixpanel where net < 0", "properties.revenue (t.js:2), setting token"),
        ("select count(*) from mixpanel having count(*) > 1", ""),
    ],
)
def test_rows_of_a_query_say_where_their_values_come_from(tmp_path: Path, query: str, origin: str) -> None:
    """In a replay: the member of the event, the line of code, the setting. Rows of no event have none."""
    workspace = Workspace.loads(WORKSPACE)
    workspace.transformation("t", language="javascript", code=CODE)
    workspace.destination("mixpanel").transformation = "t"
    events = ndjson(tmp_path / "e.ndjson", paid(1, 5, -3, -4))

    result = replay([events], workspace, policies=Policies.of([{"name": "q", "sql": query}]))

    (group,) = [group for group in result.groups if group.kind == "breach"]
    assert group.decides == origin
    assert ("; from " in repr(result)) == bool(origin)


def test_rows_of_a_query_name_the_edit_they_are_due_to(tmp_path: Path) -> None:
    """In a comparison, as other policies do."""
    events, sides = ndjson(tmp_path / "e.ndjson", paid(1, 5, 3)), []
    for code in (CODE, CODE.replace("* 2", "* -2")):
        workspace = Workspace.loads(WORKSPACE)
        workspace.transformation("t", language="javascript", code=code)
        workspace.destination("mixpanel").transformation = "t"
        sides.append(workspace)

    result = compare(
        [events], *sides, policies=Policies.of([{"sql": "select event_id, net from mixpanel where net<0"}])
    )

    (group,) = [group for group in result.groups if group.kind == "breach"]
    assert group.because is not None
    assert group.because.text == "because of t.js:2"


def test_a_resumed_run_has_all_rows(tmp_path: Path) -> None:
    (tmp_path / "days").mkdir()
    ndjson(tmp_path / "days" / "1.ndjson", paid(1, -3))
    options: dict[str, Any] = {"policies": Policies.of([NEGATIVE]), "out": tmp_path / "out"}
    workspace = Workspace.loads(WORKSPACE)
    replay(tmp_path / "days", workspace, **options)
    ndjson(tmp_path / "days" / "2.ndjson", paid(2, -5))

    result = replay(tmp_path / "days", workspace, **options, resume=True)

    assert result.tally.policies == {"negative": {"mixpanel": 2}}


def test_tables_are_joined_and_columns_found_by_path() -> None:
    query = """
    select m.event_id, m.total, h."order.total" as of_hook, h.tags, json_extract(h.payload, '$.order.total') as again
    from hook h join mixpanel m using (event_id) where m.event like '%e' and h.place glob 'f:?'
    """
    payloads = {
        "hook": {"total": 1, "order": {"total": 2, "tags": ["a"]}},
        "mixpanel": {"batch": '[{"properties": {"total": 7, "more": {"total": 8}}}]'},
    }

    columns, rows = tables(query, payloads).query(query)

    assert columns == ["event_id", "total", "of_hook", "tags", "again"]
    assert rows == [("m1", 7, 2, '["a"]', 2)]


@pytest.mark.parametrize(
    "query",
    [
        "insert into ga4 values (1)",
        "attach 'other.db' as other",
        "pragma database_list",
        "select load_extension('x') from ga4",
        "select 1 from ga4; drop table ga4",
        "select 1",
        "selec event_id from ga4",
        "create table x (y)",
        "vacuum into 'file.db'",
    ],
)
def test_anything_but_one_query_is_refused(query: str) -> None:
    with pytest.raises(ConfigError, match=r"the query (is not valid|reads no table)"):
        Policies.of([{"sql": query}])


def test_a_query_has_limits() -> None:
    """Its time, also in patterns that take SQLite exponential time, and the size of values."""
    endless = "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c, ga4"
    with pytest.raises(QueryError, match=r"longer than 0\.01 seconds"):
        tables(endless, {"ga4": {}}, seconds=0.01).query(endless)
    huge = "select zeroblob(1000000000) from ga4"
    with pytest.raises(QueryError, match="too big"):
        tables(huge, {"ga4": {}}).query(huge)
    many = f"select 1 from ga4 where q like '{'%a' * 60}b' or q like 'a!%%' escape '!'"
    assert tables(many, {"ga4": {"q": "a" * 5_000}}).query(many) == (["1"], [])


@pytest.mark.parametrize(
    ("text", "pattern", "fits"),
    [("abc", "A_c", 1), ("abc", "ab", 0), ("abc", "%c", 1), ("abcbc", "a%bc", 1), ("ab", "ab%b", 0), ("", "%", 1)],
)
def test_patterns_are_those_of_sqlite(text: str, pattern: str, fits: int) -> None:
    query = f"select q like '{pattern}' from ga4"
    assert tables(query, {"ga4": {"q": text}}).query(query)[1] == [(fits,)]


def test_a_misspelt_member_does_not_pass_in_a_replay_but_few_events_need_not_have_it() -> None:
    query = {"sql": "select event_id from hook where revnue < 0 or \"a.b\" = 'x'"}
    workspace = Workspace.loads(WORKSPACE)
    result = replay(paid(1, 5), workspace, policies=Policies.of([query]))

    assert "cannot be checked: nothing that was sent has 'a.b'" in repr(result)
    with DataPlane(workspace, listen=False) as plane:
        plane.send(paid(1, 5)[0], source="web")
        plane.drain()
        assert plane.breaches(Policies.of([query])) == []
        (breach,) = plane.breaches(Policies.of([{"sql": "select event_id, revenue from mixpanel where revenue > 4"}]))
    assert str(breach) == "sql: mixpanel: revenue = 5 (Paid)"
    assert breach.event_id == "m1-0"


@pytest.mark.parametrize(
    ("policy", "breach", "unchecked"),
    [
        ({"agree": {"values": ["hook.properties.revenue", "mixpanel.revenue"]}}, "", ""),
        (
            {"agree": {"on": "revenue", "values": ["hook.properties.revnue", "mixpanel.revnue"]}},
            "properties.revnue is in none of the events with revenue, so nothing was compared",
            "",
        ),
        (
            {"agree": {"values": ["hook.properties.revnue", "mixpanel.revnue"]}},
            "properties.revnue is in none of the events, so nothing was compared. Did you mean 'properties.revenue'?",
            "",
        ),
        (
            {"agree": {"on": "revnue", "values": ["hook.properties.revenue", "mixpanel.revenue"]}},
            "cannot be checked: none of the events has a value at 'revnue'. Did you mean 'revenue'?",
            "",
        ),
        (
            {"agree": {"on": "zzz", "values": ["hook.properties.revenue", "mixpanel.revenue"]}},
            "cannot be checked: none of the events has a value at 'zzz'",
            "",
        ),
        (
            {"agree": {"on": "coupon", "values": ["hook.properties.revenue", "mixpanel.revenue"]}},
            "",
            "agree: no event with coupon arrives at two destinations",
        ),
        (
            {"agree": {"on": "zzz", "values": ["hook.properties.tax", "mixpanel.tax"]}},
            "",
            "agree: no event with zzz arrives at two destinations",
        ),
        (
            {"agree": {"values": ["hook.properties.tax", "mixpanel.tax"]}},
            "",
            "agree: no event has hook.properties.tax and mixpanel.tax, so nothing was compared",
        ),
        (
            {"agree": {"on": "revnue", "values": ["hook.properties.tax", "mixpanel.tax"]}},
            "cannot be checked: none of the events has a value at 'revnue'. Did you mean 'revenue'?",
            "",
        ),
        ({"required": {"event": "Paid", "at": {"hook": ["revenue"]}}}, "", ""),
        ({"required": {"event": "Payd", "at": {"hook": ["revenue"]}}}, "Did you mean 'Paid'?", ""),
        ({"required": {"event": "Refund", "at": {"hook": ["x"]}}}, "", "required: no 'Refund' event arrives at hook"),
        ({"nothing_lost": {"destinations": ["mixpanel"]}}, "cannot be checked: what is lost is only known with", ""),
        ({"nothing_lost": {}}, "", "nothing_lost: what is lost is only known with simulated destinations"),
    ],
)
def test_a_policy_that_checks_nothing_is_reported(policy: dict[str, Any], breach: str, unchecked: str) -> None:
    """It would hold for any event: after a typing mistake, or without what it needs. A member may be null, though."""
    workspace = Workspace.loads(WORKSPACE)
    events = paid(1, 5, 6)
    for event in events:
        event["properties"]["coupon"] = None
    for result in (
        replay(events, workspace, policies=Policies.of([policy])),
        compare(events, workspace, workspace, policies=Policies.of([policy])),
    ):
        assert bool(result.policy_breaches) is bool(breach)
        assert breach in repr(result)
        assert [unchecked in text for text in result.unchecked] == [True] * bool(unchecked)


MEANT = "Did you mean 'revenue'?"
AGREE = "agree: {on: revnue, values: [hook.properties.revenue, mixpanel.revenue]}"


def test_a_misspelt_option_has_its_place_in_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of policies, or of a workspace; the command fails."""
    file, workspace = tmp_path / "policies.yaml", tmp_path / "workspace.yaml"
    file.write_text(f"policies:\n- hosts: ['*.example', '*.com']\n- {AGREE}\n")
    workspace.write_text(f"{WORKSPACE}policies:\n- name: same\n  {AGREE}\n")
    events = ndjson(tmp_path / "e.ndjson", paid(1, 5))

    assert main(["replay", str(events), "--workspace", str(workspace), "--policies", str(file)]) == 1

    said = capsys.readouterr().out
    assert f"agree: cannot be checked: none of the events has a value at 'revnue'. {MEANT} ({file}:3:15)" in said
    assert f"same: cannot be checked: none of the events has a value at 'revnue'. {MEANT} ({workspace}:9:15)" in said


@pytest.mark.parametrize(("events", "destinations"), [(1, ["hook"]), (0, None)])
def test_a_policy_about_destinations_without_events_only_says_so(events: int, destinations: list[str] | None) -> None:
    """Nothing shows that its options are wrong."""
    policies = Policies.of([{"agree": {"on": "zzz", "values": ["hook.a", "mixpanel.b"]}}])

    result = replay(paid(1, 5)[:events], Workspace.loads(WORKSPACE), destinations=destinations, policies=policies)

    assert result.policy_breaches == []
    assert result.unchecked == ["agree: no event with zzz arrives at two destinations of hook.a and mixpanel.b"]


def test_losses_are_checked_if_their_destination_is_simulated() -> None:
    workspace = Workspace.loads(WORKSPACE.replace("type: MP,", "type: MP, simulate: simulated,"))
    policies = Policies.of([{"nothing_lost": {"destinations": ["mixpanel"]}}])

    assert replay(paid(1, 5), workspace, policies=policies, stages=Stages()).policy_breaches
    assert not replay(paid(1, 5), workspace, policies=policies).policy_breaches


def test_a_query_never_sees_a_secret() -> None:
    secret = "config: {headers: [{from: Authorization, to: Bearer s3cret-0f-sh0p}], "
    workspace = Workspace.loads(WORKSPACE.replace("config: {", secret, 1))
    said = repr(replay(paid(1, 5), workspace, policies=Policies.of([{"sql": "select authorization from hook"}])))
    assert "authorization = " in said
    assert "s3cret" not in said


def test_a_day_is_compared_with_the_week_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "workspace.yaml").write_text(f"{WORKSPACE}policies: [{{volume: {{within: 5%}}}}]\n")
    files = [ndjson(tmp_path / f"{day}.ndjson", paid(day, *range(count))) for day, count in ((1, 20), (8, 15))]
    rest = ["--workspace", str(tmp_path / "workspace.yaml"), "--history", str(tmp_path / "h.duckdb")]

    assert main(["replay", str(files[0]), *rest, "--report", "junit"]) == 0
    said = capsys.readouterr().out
    assert "volume: the history has no earlier day to compare 2026-01-01 with" in said
    assert '<skipped message="volume: the history has no earlier day' in said
    assert main(["replay", str(files[1]), *rest]) == 1
    said = capsys.readouterr().out
    counted = "volume: 15 delivered on 2026-01-08, 20 a week before (-25.0%, within 5%)"
    assert f"{counted}; cause unknown: no event of that day was dropped or failed in this run\n" in said
    assert main(["replay", str(files[1]), *rest[:2]]) == 4
    assert "name its file with `history`" in capsys.readouterr().err


def test_a_day_without_any_event_has_a_volume(tmp_path: Path) -> None:
    """Between other days of the run: nothing else says that it is missing."""
    workspace = Workspace.loads(WORKSPACE)
    options: dict[str, Any] = {"policies": Policies.of([{"volume": {}}]), "history": tmp_path / "h.duckdb"}
    replay([event for day in (1, 2, 3) for event in paid(day, *range(20))], workspace, **options)

    result = replay([event for day in (8, 10) for event in paid(day, *range(20))], workspace, **options)

    found = {(group.destination, group.after) for group in result.groups if group.kind == "breach"}
    text = "0 delivered on 2026-01-09, 20 a week before (-100.0%, within 10%)"
    assert found == {("hook", text), ("mixpanel", text)}


def test_a_day_with_fewer_events_says_what_became_of_the_others(tmp_path: Path) -> None:
    """By line of code, also in a comparison, and what the earlier side did is not a cause."""
    plain, dropping = Workspace.loads(WORKSPACE), Workspace.loads(WORKSPACE)
    for workspace, line in (plain, ""), (dropping, "  if (event.properties.revenue > 11) return null;\n"):
        code = f"export function transformEvent(event) {{\n{line}  return event;\n}}"
        workspace.transformation("t", language="javascript", code=code)
        workspace.destination("mixpanel").transformation = "t"
    options: dict[str, Any] = {"policies": Policies.of([{"volume": {}}]), "history": tmp_path / "h.duckdb"}
    replay(paid(1, *range(20)), plain, **options)

    for result, said in (
        (replay(paid(8, *range(20)), dropping, **options), "8 dropped (decided by transformation t)"),
        (compare(paid(8, *range(20)), plain, dropping, **options), "8 newly dropped (because of t.js:2)"),
    ):
        (group,) = [group for group in result.groups if group.kind == "breach"]
        assert "12 delivered on 2026-01-08, 20 a week before" in group.after
        assert group.decides == f"of that day: {said}"
        assert f"within 10%); of that day: {said}" in repr(result)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ["ga4: 60 delivered on 2026-01-29, 100 a week before (-40.0%, within 10%)"]),
        ({"of": "yesterday"}, []),
        ({"of": "last_4_weeks", "within": "20%"}, ["60 delivered on 2026-01-29, 90 on average before (-33.3%"]),
        ({"per": "event"}, ["60 delivered on 2026-01-29, 100 a week before (-40.0%, within 10%) (Paid)"]),
    ],
)
def test_what_a_volume_is_compared_with(options: dict[str, Any], said: list[str]) -> None:
    delivered = {(date(2026, 1, day), "ga4", "Paid"): n for day, n in ((15, 80), (22, 100), (28, 60), (29, 60))}
    whole = Whole(Tables({}), delivered, [date(2026, 1, 29)])

    found = [str(breach) for breach, _ in Policies.of([{"volume": options}]).check_whole(whole)]

    assert len(found) == len(said)
    assert all(text in one for text, one in zip(said, found, strict=True))


def test_a_data_plane_has_a_history_with_outcomes(tmp_path: Path) -> None:
    workspace = Workspace.loads(WORKSPACE)
    with DataPlane(workspace, listen=False) as plane:
        assert plane.history().events == 0
        for event in paid(1, 5, 6) + paid(2, 7):
            plane.send(event, source="web")
        plane.drain()
        history = plane.history()
    days = {day: of for (day, key, name), of in history.delivered().items() if (key, name) == ("hook", "Paid")}

    assert history.events == 3
    assert days == {date(2026, 1, 1): 2, date(2026, 1, 2): 1}


CLEAN = """\
export function transformEvent(event) {
  event.properties.note = event.context.traits.email;
  delete event.properties.currency;
  return event;
}
"""


def with_code(code: str) -> Workspace:
    workspace = Workspace.loads(WORKSPACE)
    workspace.transformation("t", language="javascript", code=code)
    workspace.destination("mixpanel").transformation = "t"
    return workspace


def test_a_breach_names_the_line_of_code_that_let_it_through(tmp_path: Path) -> None:
    """In a replay: what writes a value that must not be there, what removes one that must, and which setting it is."""
    paid_by = {**paid(1, 5)[0], "context": {"traits": {"email": "jo@mail.example"}}}
    paid_by["properties"] = {"currency": "EUR"}
    policies = Policies.of(
        [
            {"no_personal": {"destinations": ["mixpanel"], "kinds": ["email"], "except": ["properties.email"]}},
            {"required": {"event": "Paid", "at": {"mixpanel": ["currency", "coupon"]}}},
            {"hosts": ["api.mixpanel.com"]},
        ]
    )

    result = replay([ndjson(tmp_path / "e.ndjson", [paid_by])], with_code(CLEAN), policies=policies)

    decides = {(group.destination, group.path): group.decides for group in result.groups if group.kind == "breach"}
    assert decides == {
        ("mixpanel", "body.JSON_ARRAY.batch.*.properties.note"): "context.traits.email (t.js:2)",
        ("mixpanel", "currency"): "the event, but t.js:3 removes it",
        ("mixpanel", "coupon"): "",
        ("hook", "endpoint"): "setting webhookUrl",
    }


def test_a_breach_in_a_list_names_the_origin_of_its_item(tmp_path: Path) -> None:
    """Not that of the first item, which has the same path."""
    code = CLEAN.replace("properties.note", "properties.products[1].name")
    bought = {**paid(1, 5)[0], "context": {"traits": {"email": "jo@mail.example"}}}
    bought["properties"] = {"products": [{"name": "Shoes"}, {"name": "Socks"}]}
    policies = Policies.of([{"no_personal": {"destinations": ["mixpanel"], "except": ["properties.email"]}}])

    result = replay([ndjson(tmp_path / "e.ndjson", [bought])], with_code(code), policies=policies)

    origins = {group.path: group.decides for group in result.groups if group.kind == "breach"}
    assert origins["body.JSON_ARRAY.batch.*.properties.products.*.name"] == "context.traits.email (t.js:2)"


def test_a_breach_of_both_sides_is_due_to_no_edit(tmp_path: Path) -> None:
    """An edit elsewhere is not its cause, whether it is the only one or one of several."""
    events = ndjson(tmp_path / "e.ndjson", paid(1, 5))
    policies = Policies.of([{"hosts": ["api.mixpanel.com"]}])
    for later in (CODE.replace("* 2", "* 3"), CODE.replace("* 2", "* 3").replace("return", "event.a = 1;\n  return")):
        result = compare([events], with_code(CODE), with_code(later), policies=policies)

        (breach,) = [group for group in result.groups if group.kind == "breach"]
        assert breach.because is not None
        assert (breach.because.how, breach.because.edits) == ("earlier", [])
        assert "policy: not new: also on the earlier side" in repr(result)
