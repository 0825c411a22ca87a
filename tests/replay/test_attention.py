"""A report begins with what needs attention: new personal data, failures, changes. The rest is one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from svctoolkit import Workspace
from svctoolkit.cli import main
from svctoolkit.policies import Policies
from svctoolkit.profile import profile
from svctoolkit.replay import Comparison, compare, replay
from tests.replay.shops import ndjson, order

EMAIL = "mira.lind@mail.example"


def hashed(event: dict[str, Any]) -> dict[str, Any]:
    """Hash the address."""
    event["properties"]["email"] = hashlib.sha256(event["properties"]["email"].encode()).hexdigest()
    return event


def lowered(event: dict[str, Any]) -> dict[str, Any]:
    """Send the address in lower case."""
    event["properties"]["email"] = event["properties"]["email"].lower()
    return event


def moved(event: dict[str, Any]) -> dict[str, Any]:
    """Send the address in another place."""
    event["properties"]["contact"] = event["properties"].pop("email")
    return event


def failing(event: dict[str, Any]) -> dict[str, Any]:
    """Fail."""
    raise ValueError("broken")


def plain(event: dict[str, Any]) -> dict[str, Any]:
    return event


def shop(first: Any, last: Any = plain, *, quiet: int = 3) -> Workspace:
    """Destinations that do not change, one with the first transformation, and one with the last."""
    workspace = Workspace("shop")
    workspace.transformation("first", first)
    workspace.transformation("last", last)
    for n in range(quiet):
        workspace.destination(f"quiet{n}", "WEBHOOK", config={"webhookUrl": f"https://q{n}.example/"})
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://a.example/"}, transformation="first")
    workspace.destination("mail", "WEBHOOK", config={"webhookUrl": "https://b.example/"}, transformation="last")
    return workspace


def orders(count: int, email: str = EMAIL) -> list[dict[str, Any]]:
    return [order(number, email=email) for number in range(count)]


@pytest.fixture(scope="module")
def unhashed() -> Comparison:
    """`hook` no longer hashes the address; `mail` fails."""
    return compare(orders(12), shop(hashed), shop(plain, failing))


def test_a_value_that_is_no_longer_hashed_is_personal_data(unhashed: Comparison) -> None:
    """Not another text: the report says which kind reaches which destination, and in how many events."""
    lines = repr(unhashed).splitlines()

    assert lines[1] == "PERSONAL DATA: plain e-mail addresses now reach hook in 12 events"
    assert unhashed.personal == {"hook": {"email": 12}}
    assert any(line.startswith("  PERSONAL DATA  hook: body.JSON.properties.email: plain e-mail") for line in lines)
    assert [breach.condition for breach in unhashed.breaches("personal>0")] == ["personal>0"]


def test_the_news_come_first_and_the_rest_is_one_line(unhashed: Comparison) -> None:
    """A story for each cause, failures before other changes; destinations that are the same share the last line."""
    lines = repr(unhashed).splitlines()
    titles = [line for line in lines[2:] if not line.startswith(" ")]

    assert titles[:2] == ["failing: because of transformation last", "personal data: because of transformation first"]
    assert lines[-1] == "quiet0, quiet1, quiet2: 12 same each"


def test_markdown_and_html_have_the_same_order(unhashed: Comparison, tmp_path: Path) -> None:
    """The first lines of a pull-request comment are those that matter."""
    from svctoolkit.replay import REPORTS

    markdown = REPORTS["markdown"].text(unhashed, [], "")
    page = unhashed.to_html()

    for text in (markdown, page):
        body = text.partition("36 same")[2]
        assert body.index("plain e-mail addresses now reach hook") < body.index("newly failing")
        assert body.count("quiet1") == 1


def test_reports_begin_with_the_verdict_and_have_one_story_for_each_cause(unhashed: Comparison) -> None:
    """JSON, HTML and annotations; a cause at several destinations is one story, with a bar for each day."""
    from svctoolkit.replay import REPORTS

    events = [{**order(n), "timestamp": f"2026-11-{day:02}T10:00:00Z"} for n, day in enumerate((1, 1, 3))]
    result = compare(events, shop(plain, plain), shop(failing, failing))
    result.verdict = result.breaches("lost>0")
    told = result.to_dict()

    assert told["verdict"] == "failed"
    assert [story["severity"] for story in told["stories"]] == ["failing", "failing"]
    assert told["stories"][0]["days"] == {"2026-11-01": 2, "2026-11-03": 1}
    assert repr(result).startswith("failed: 1 failure condition met\n  lost>0: 6 lost\n")
    assert "by day, 2026-11-01 to 2026-11-03  █ ▄" in repr(result)
    assert result.to_html().index("1 failure condition met") < result.to_html().index("by day")
    annotations = REPORTS["github"].text(unhashed, [], "")
    assert annotations.startswith("::warning title=mail%3A failing%3A because of transformation last::newly failing")


@pytest.mark.parametrize(("before", "after"), [(plain, lowered), (plain, moved), (plain, hashed), (lowered, plain)])
def test_personal_data_that_was_plain_before_is_not_new(before: Any, after: Any) -> None:
    """Another spelling, another place, and the way from plain to hashed."""
    result = compare(orders(3, "Mira.Lind@mail.example"), shop(before), shop(after))

    assert result.personal == {}
    assert result.kinds["changed"] == 3


@pytest.mark.parametrize(
    "value",
    [
        "call +49 170 1234567", "(555) 010-9999", "01701234567", {"tel": "555-1234"}, 'said "call":01701234567, twice',
        '{"note": "030 1234567"}', "0012345678", "4111 1111", "555-1234", "due 2024-05-01", "203.0.113.24",
    ],
)  # fmt: skip
def test_the_condition_and_the_policy_agree_on_telephone_numbers(value: Any) -> None:
    """In any place, also in quotes and in JSON inside a text."""

    def adds(event: dict[str, Any]) -> dict[str, Any]:
        event["properties"]["number"] = value
        return event

    policies = Policies.of([{"no_personal": {"kinds": ["phone"]}}])
    result = compare(orders(3), shop(plain), shop(adds), policies=policies)

    assert ("phone" in result.personal.get("hook", {})) == bool(result.policy_breaches)


@pytest.mark.parametrize("value", ["0012345678", "4111 1111", "2026-01-01T12:00:00Z", "0.7557873", "Chrome/126.0.0.0"])
def test_numbers_and_times_are_not_personal_data(value: str) -> None:
    """An order number that looks like a telephone number is not reported as one."""

    def adds(event: dict[str, Any]) -> dict[str, Any]:
        event["properties"]["number"] = value
        return event

    assert compare(orders(3), shop(plain), shop(adds)).personal == {}


def test_accepted_personal_data_is_not_news(tmp_path: Path) -> None:
    """What a person has reviewed is counted as accepted."""
    before, after = shop(hashed), shop(plain)
    file = tmp_path / "accepted.yaml"
    compare(orders(3), before, after).write_accepted(file, reason="the legal department agrees")

    assert compare(orders(3), before, after, accept=file).personal == {}


def test_a_connection_that_is_switched_on_brings_personal_data() -> None:
    """The destination did not get the events at all; now it does, with the address."""
    off = shop(plain)
    off.destination("late", "WEBHOOK", config={"webhookUrl": "https://c.example/"}, enabled=False)
    on = shop(plain)
    on.destination("late", "WEBHOOK", config={"webhookUrl": "https://c.example/"})

    assert compare(orders(3), off, on).personal == {"late": {"email": 3}}


def test_failures_of_a_replay_come_before_what_is_filtered_by_configuration() -> None:
    """A disabled destination is one line at the end."""
    workspace = shop(failing, quiet=1)
    workspace.destination("aaa", "WEBHOOK", config={"webhookUrl": "https://c.example/"}, enabled=False)

    lines = repr(replay(orders(4), workspace)).splitlines()

    assert lines[1].startswith("hook")
    assert lines[-1] == "aaa: 4 filtered (the destination is disabled)"


def test_a_profile_begins_with_refusals_new_personal_data_and_mixed_types(tmp_path: Path) -> None:
    """Filters that the configuration asks for are one line per destination."""
    late = [{**order(n, email=EMAIL, total="9.5"), "timestamp": "2026-03-01T10:00:00Z"} for n in range(3)]
    early = [{**order(n, total=9.5), "timestamp": "2026-01-01T10:00:00Z"} for n in range(3)]
    for event in (*late, *early):
        event["originalTimestamp"] = event["timestamp"]
    workspace = shop(failing, quiet=0)
    workspace.destination("aaa", "WEBHOOK", config={"webhookUrl": "https://c.example/"}, enabled=False)

    lines = repr(profile([*late, *early], workspace, since="2026-02-01")).splitlines()

    assert "hook (WEBHOOK) refuses them: ValueError: broken" in lines[1]
    assert lines[2] == "  Order Completed: PERSONAL DATA: e-mail addresses are new at properties.email"
    assert lines[3].startswith("  Order Completed: properties.total is ")
    assert lines[4] == "  aaa (WEBHOOK) filters 6 events: the destination is disabled"


def test_the_command_fails_on_new_personal_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--fail-on personal` is a gate for pull requests."""
    code = "def transformEvent(e, m):\n    import hashlib\n    e['properties']['email'] = {}\n    return e\n"
    text = "transformations: {{t: {{language: python, file: {0}.py}}}}\ndestinations:\n  hook: {{type: WEBHOOK, "
    text += "config: {{webhookUrl: https://a.example/}}, transformation: t}}\n"
    sides = {
        "old": "hashlib.sha256(e['properties']['email'].encode()).hexdigest()",
        "new": "e['properties']['email']",
    }
    for name, value in sides.items():
        (tmp_path / f"{name}.py").write_text(code.format(value))
        (tmp_path / f"{name}.yaml").write_text(text.format(name))
    events = ndjson(tmp_path / "events.ndjson", orders(2))
    arguments = [str(events), "--before", str(tmp_path / "old.yaml"), "--workspace", str(tmp_path / "new.yaml")]

    assert main(["replay", *arguments, "--fail-on", "personal"]) == 1
    assert main(["replay", *arguments, "--json"]) == 0
    printed = capsys.readouterr()
    assert "2 events with new personal data" in printed.err
    assert json.loads(printed.out[printed.out.index("{") :])["personal"] == {"hook": {"email": 2}}
