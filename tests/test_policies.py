"""Policies: what must hold for everything that reaches destinations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ConfigError
from svctoolkit.events import samples, track
from svctoolkit.policies import Arrival, Policies
from svctoolkit.policies.arrivals import Sent
from svctoolkit.policies.paths import has_value, values_at
from svctoolkit.policies.propose import propose
from svctoolkit.policies.scalars import scalar_at
from svctoolkit.pytest_plugin import assert_policies
from svctoolkit.replay import replay
from svctoolkit.results.texts import open_texts
from svctoolkit.simulations import Loss
from tests.examples import some_by_default
from tests.replay.shops import ndjson

HASH = "a" * 64


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


JWT_HEADER = base64('{"alg":"HS256","typ":"JWT"}').rstrip("=")


def texts(policy: Mapping[str, Any], payload: Any, destination: str = "ga4", **event: Any) -> list[str]:
    """Return what a policy says about an event and one payload."""
    arrivals = [Arrival(destination, [payload])]
    return [str(breach) for breach in Policies.of([policy]).check({"type": "track", "event": "E", **event}, arrivals)]


def body(**members: Any) -> dict[str, Any]:
    return {"endpoint": "https://a.example/in", "body": {"JSON": members}}


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        (body(q="jo.doe@mail.example"), ["body.JSON.q has an e-mail address"]),
        (body(url="https://x.example/?m=jo%40mail.example"), ["body.JSON.url has an e-mail address"]),
        (body(items=[{"note": "call +49 170 1234567"}]), ["body.JSON.items.*.note has a telephone number"]),
        (body(note="card 4111 1111 1111 1111"), ["body.JSON.note has a card number"]),
        (body(note="4111111111111112"), []),  # the check digit is wrong
        (body(email=HASH, hashed=[HASH], ean="4006381333931", at=1717171717171), []),
        ({"body": {"FORM": {"data": ['{"user_data": {"em": "a@mail.example"}}']}}}, ["body.FORM.data.*.user_data.em"]),
        (body(email=""), []),
        (body(client_ip_address="203.0.113.24", at="203.0.113.24"), []),
        (body(email=None, emailOptIn=True), []),
        (body(users={"a.b@mail.example": 1}), ["body.JSON.users has an e-mail address"]),
        (body(users='{"a.b%40mail.example": 1}'), ["body.JSON.users has an e-mail address"]),
        (body(url="https://x.example/?to=%2Flogin%3Fm%3Djo%2540mail.example"), ["body.JSON.url has an e-mail"]),
        ({"endpoint": "https://a.example/users/jo@mail.example"}, ["endpoint has an e-mail address"]),
        ({"headers": {"x-user": "jo@mail.example"}}, ["headers.x-user has an e-mail address"]),
    ],
)
def test_personal_data_is_found_wherever_it_is(payload: Any, said: list[str]) -> None:
    """In search terms, addresses, JSON inside texts; not as a hash."""
    found = texts({"no_personal": {}}, payload)

    assert len(found) == len(said)
    assert all(f"ga4: {words}" in text for words, text in zip(said, found, strict=True))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("+4917012345678", "telephone"),
        ("call (030) 1234-5678 now", "telephone"),
        ("ordered 2024-05-01 0170 1234567", "telephone"),
        ("https://x.example/4111111111111111", "card"),
        ("Grüße\n0170 1234567", "telephone"),
        ("+٠١٧٠١٢٣٤٥٦٧٨", "telephone"),
        ({"home_phone": "0170 123"}, "telephone"),
        ({"tel": {"number": "0170 123"}}, "telephone"),
        ({"tel": "555-1234"}, "telephone"),
        ({"phone": "4915112345678"}, "telephone"),
        ({"mobile_phone": 4155550132}, "telephone"),
        ("https://x.example/?tel=%2B4915112345678", "telephone"),
        ("https://x.example/?tel=%2B49%20151%2012345678", "telephone"),
        ("https://x.example/?r=https%3A//y.example/%3Fr%3Dz%253Fm%253Djo%252540mail.example", "e-mail"),
        ("555-123-4567", "telephone"),
        ("612 345 678", "telephone"),
        ("126.0.6478.127", ""),  # numbers of other things: a version,
        ("01.03.2026", ""),  # days,
        ("03/01/2026", ""),
        ("2026.03.01 12.00.00", ""),
        ("20260301-120000", ""),
        ("978-3-16-148410-0", ""),  # a book,
        ("302-1234567-1234567", ""),  # orders,
        ("1234-5678-9012", ""),
        ("2026-0301-000123", ""),
        ("0000012345678", ""),
        ("12345-6789", ""),  # a postal code,
        ("1 234 567 890", ""),  # an amount,
        ("1000000-2000000", ""),  # a range
        ("10 20 30 40 50", ""),
        ("https://x.example/logo@2x.png", ""),
        ("a@mail.example.pdf", "e-mail"),
        ({"phone": 123456789}, ""),
        ({"note": 4915112345678}, ""),
        ('said "call":01701234567, twice', "telephone"),
        ({"note": "555-1234"}, ""),
        ({"phone": "on 2024-05-01"}, ""),
        ("due 2024-05-01", ""),
        ("52.5200066", ""),
        ("203.0.113.24", ""),
        (0.23999999999999996, ""),
        ([51.50735091, -0.12775830], ""),
        ("2024-05-01T12:00:00.000Z", ""),
        ("2024-05-01", ""),
        ("9a51-000000000012", ""),
        ("Mozilla/5.0 (Linux; Android 10) AppleWebKit/537.36 Mobile Safari/537.36", ""),
        ("write to mira\uff20mail.example", "e-mail"),
        ("https://x.example/?m=mira%EF%BC%A0mail.example", "e-mail"),
        ("https://x.example/?to=%2Flogin%3Fm%3Dmira%25EF%25BC%25A0mail.example", "e-mail"),
        ("mira&#64;mail.example", "e-mail"),
        ("<b>mira&#x40;mail&#46;example</b>", "e-mail"),
        ("mira&commat;mail.example", "e-mail"),
        ("R&D &#39;21 &#64; home, mail.example", ""),  # an at sign without an address
        (base64("mira@mail.example"), "e-mail"),
        ({"u": base64('{"email": "mira@mail.example", "plan": "gold", "city": "Leeds"}')}, "e-mail"),
        ({"u": base64('{\n  "user": {"email": "mira@mail.example"}, "q": "who?"\n}')}, "e-mail"),
        (f"https://x.example/?n=1&u={base64('mira@mail.example')}", "e-mail"),
        (f"https://x.example/leave/{base64('mira@mail.example')}", "e-mail"),
        (f"https://x.example/leave/{base64(json.dumps({'email': 'mira@mail.example'})).rstrip('=')}?n=1", "e-mail"),
        (f"{JWT_HEADER}.{base64(json.dumps({'sub': 'mira@mail.example'}))}.c2ln", "e-mail"),
        (f"{JWT_HEADER}.{base64(json.dumps({'sub': '1234567890'}))}.c2ln", ""),
        (base64("at 10 @ the office"), ""),  # an at sign without an address
        (base64("mira@mail.example")[1:], ""),
        ("SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV", ""),
    ],
)
def test_personal_data_is_found_in_any_form(value: Any, kind: str) -> None:
    """As it is, and as JSON inside a text, once and twice: most payloads are searched as text only."""
    for sent in (value, json.dumps({"in": value}), [json.dumps({"in": json.dumps([value])})]):
        found = texts({"no_personal": {}}, {"body": {"FORM": {"data": sent}}})
        assert [kind in text for text in found] == [True] * bool(kind)


def test_random_ids_hashes_and_tokens_are_no_addresses() -> None:
    """As hexadecimal digits and both kinds of base64: their bytes are not text."""
    random = Random(7)
    for size in range(10, 66):
        for _ in range(20):
            value = random.randbytes(size)
            for text in (value.hex(), b64encode(value).decode(), urlsafe_b64encode(value).decode().rstrip("=")):
                payload = body(id=text, url=f"https://x.example/{text}?t={text}")
                assert texts({"no_personal": {"kinds": ["email"]}}, payload) == []


def test_a_place_can_be_written_as_reports_show_it() -> None:
    payload = body(items=[{"user": {"email": "jo@mail.example"}}])

    assert texts({"no_personal": {"except": ["body.JSON.items.*.user.email"]}}, payload) == []
    assert texts({"required": {"at": {"ga4": ["body.JSON.items.*.user.email"]}}}, payload) == []


def test_every_element_of_a_list_has_a_required_value() -> None:
    payload = body(items=[{"id": 1, "of": [{"k": 1}]}, {"id": "", "of": [{"k": 1}, {"k": None}]}])

    assert texts({"required": {"at": {"ga4": ["items.id"]}}}, payload) == ["required: ga4: items.id is missing (E)"]
    assert texts({"required": {"at": {"ga4": ["items.of.k"]}}}, payload) == ["required: ga4: items.of.k is missing (E)"]
    assert texts({"required": {"at": {"ga4": ["id"]}}}, payload) == []
    assert texts({"required": {"at": {"ga4": ["items.id"]}}}, body(items=[{"id": 1}, {"id": 2}])) == []


def test_all_values_of_a_list_agree() -> None:
    policies = Policies.of([{"agree": {"values": ["ga4.items.price", "mixpanel.prices"]}}])

    def said(prices: list[int]) -> list[str]:
        sent = [Arrival("ga4", [body(items=[{"price": 1}, {"price": 2}])]), Arrival("mixpanel", [body(prices=prices)])]
        return [breach.text for breach in policies.check({"type": "track", "event": "E"}, sent)]

    assert said([1, 2]) == []
    assert said([1, 3]) == ["is 3, but ga4 has 2"]
    assert said([1]) == ["has 1 value, but ga4 has 2 values"]


def test_personal_data_is_only_forbidden_where_the_policy_says_so() -> None:
    payload = {"body": {"JSON": {"user_data": {"em": "a@mail.example"}}}}

    assert texts({"no_personal": {"destinations": ["facebook"]}}, payload) == []
    assert texts({"no_personal": {"except": ["user_data.em"]}}, payload) == []
    assert texts({"no_personal": {"kinds": ["phone"]}}, payload) == []
    assert len(texts({"no_personal": {"destinations": ["ga4"]}}, payload)) == 1


EXACTLY = "; the tolerance is for numbers up to 2^53: texts and larger numbers must be exactly the same"


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (12.5, 12.5, []),
        (12.5, "12.50", []),  # a form has only texts
        (100, 100.9, []),
        (100, 102, ["agree: mixpanel: body.JSON.revenue is 102, but ga4 has 100 (E)"]),
        (100, None, ["agree: mixpanel: body.JSON.revenue is missing, but ga4 has 100 (E)"]),
        (None, None, []),
        ("INF", "INF", []),
        ("nan", "nan", []),
        ("10023", 10023, []),
        (0.1, "1e-1", []),
        ("12.3", 12.3, []),
        (2**60, float(2**60), []),
        *(
            (one, other, [f"agree: mixpanel: body.JSON.revenue is {other!r}, but ga4 has {one!r}{EXACTLY} (E)"])
            for one, other in [
                ("12345678901234567891", 12345678901234567000),
                (12345678901234567891, 12345678901234567000),
                (9.007e15, 2**53),
                (10**400, 10**400 + 1),
                ("10023", 10024),  # within 1%, but an identifier
                ("100.5", 100.6),
                (100, "100.004"),
                (100.6, "100"),
            ]
        ),
        *(
            (one, other, [f"agree: mixpanel: body.JSON.revenue is {other!r}, but ga4 has {one!r} (E)"])
            for one, other in [
                ("10023", "10024"),
                ("100.5", "100.6"),
                ("007", 7),
                ("1e5", 100000),
                ("+4915112", 4915112),
                ("1.10", "1.1"),
                ("Infinity", "inf"),
                (True, 1),
                (" 5", 5),
            ]
        ),
    ],
)
def test_values_agree_within_a_tolerance(one: Any, other: Any, said: list[str]) -> None:
    policies = Policies.of(
        [{"agree": {"on": "order_id", "values": ["ga4.params.value", "mixpanel.revenue"], "tolerance": "1%"}}]
    )
    arrivals = [Arrival("ga4", [body(params={"value": one})]), Arrival("mixpanel", [body(revenue=other)])]
    order = {"type": "track", "event": "E", "properties": {"order_id": "o-1"}}

    assert [str(breach) for breach in policies.check(order, arrivals)] == said
    assert list(policies.check({"type": "track", "event": "E"}, arrivals)) == []


def test_every_request_of_an_event_agrees_and_has_what_is_required() -> None:
    """User code may return two events of one; a mapping that makes other requests, too, puts the value in one kind."""
    policies = Policies.of(
        [{"agree": {"values": ["a.revenue", "b.revenue"]}}, {"required": {"event": "E", "at": {"b": ["revenue"]}}}]
    )

    def said(a: Sequence[Any], b: Sequence[Any], name: str = "E") -> list[str]:
        sent = [
            Arrival("a", [body(event="E", revenue=value) for value in a]),
            Arrival("b", [body(event=name if n else "E", revenue=value) for n, value in enumerate(b)]),
        ]
        batch = policies.check_batch(
            [{"type": "track", "event": "E"}],
            {one.destination: Sent(one.destination, [one.payloads], [()]) for one in sent},
        )
        found = [str(breach) for breach in policies.check({"type": "track", "event": "E"}, sent)]
        assert [str(breach) for _, breach in batch] == found
        return found

    assert said([5], [5, 50]) == ["agree: b: body.JSON.revenue is 50, but a has 5 (E)"]
    assert said([5, 50], [5]) == ["agree: b: body.JSON.revenue is 5, but a has 50 (E)"]
    assert said([5, 50], [5, 51]) == ["agree: b: body.JSON.revenue is 51, but a has 50 (E)"]
    assert said([5, 50], [5, 50]) == said([5], [5, 5]) == []
    assert said([5], [5, None]) == [
        "agree: b: body.JSON.revenue is missing, but a has 5 (E)",
        "required: b: revenue is missing (E)",
    ]
    assert said([5, 5], [5, ""], "Item Bought")[1:] == []  # another event, which has no revenue


def test_what_does_not_arrive_has_no_required_values() -> None:
    """Dropped, filtered and repeated events: in suites, too."""
    policies = Policies.of([{"required": {"at": {"ga4": ["value"]}}}])

    assert [*policies.check({"type": "track", "event": "E"}, [Arrival("ga4", [])])] == []


def test_required_values_and_hosts() -> None:
    required = {"required": {"event": "E", "at": {"ga4": ["currency"]}}}
    hosts = {"hosts": ["*.example"]}

    assert texts(required, body(items=[{"currency": "EUR"}])) == []
    assert texts(required, body(currency="")) == ["required: ga4: currency is missing (E)"]
    missing = ["required: ga4: currency is missing (E)"]
    assert texts(required, body(note='a text with "currency":"EUR" in it')) == missing
    deep = {"required": {"at": {"ga4": ["params.value"]}}}
    assert texts(deep, body(params={"a": "}"}, other={"inner": {"value": 1}})) != []
    assert texts(deep, body(params={"a": "}", "value": 1})) == []
    assert texts(required, body(), event="F") == []
    assert texts(hosts, body()) == []
    assert texts(hosts, {"endpoint": "https://evil.test/x"}) == ["hosts: ga4: endpoint goes to evil.test (E)"]


def test_policies_that_another_reader_of_yaml_has_read_are_checked() -> None:
    """YAML 1.1 takes `on` for true."""
    with pytest.raises(
        ConfigError, match=r"policies\.0\.agree: the name True is not a text\. For a file, use Policies\.load"
    ):
        Policies.of([{"agree": {True: "order_id", "values": ["ga4.value", "mixpanel.revenue"]}}])  # type: ignore[dict-item]


def test_accepted_breaches_have_a_reason_and_expire() -> None:
    def policy(expires: str) -> dict[str, Any]:
        accepted = [{"path": "body.JSON.q", "reason": "search terms are reviewed", "expires": expires}]
        return {"name": "privacy", "owner": "data@shop.example", "no_personal": {}, "accepted": accepted}

    assert texts(policy("2999-01-01"), body(q="a@mail.example")) == []
    assert texts(policy("2020-01-01"), body(q="a@mail.example")) == [
        "privacy: ga4: body.JSON.q has an e-mail address (was accepted until 2020-01-01) (E)"
    ]


def test_an_accepted_path_is_the_end_of_a_path_as_in_other_options() -> None:
    def said(path: str) -> list[str]:
        accepted = [{"path": path, "reason": "reviewed", "expires": "2999-01-01"}]
        return texts({"no_personal": {}, "accepted": accepted}, body(items=[{"note": "a@mail.example"}]))

    assert [said(path) for path in ("body.JSON.items.*.note", "items.note", "items.*.note", "note")] == [[]] * 4
    assert len(said("other.note")) == len(said("ote")) == 1


def test_events_without_names_are_required_by_their_type() -> None:
    policies = Policies.of([{"required": {"event": "identify", "at": {"ga4": ["email"]}}}])

    def said(event: dict[str, Any]) -> list[str]:
        return [breach.text for breach in policies.check(event, [Arrival("ga4", [body()])])]

    assert said({"type": "identify", "userId": "u"}) == ["is missing"]
    assert said({"type": "track", "event": "identified"}) == []


def test_an_error_in_a_kind_of_another_package_is_one_of_its_policy(tmp_path: Path) -> None:
    """Not an internal error of the toolkit."""
    package, about = tmp_path / "strict_kinds.py", tmp_path / "strict_kinds-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strict-kinds\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[svctoolkit.policies]\nstrict = strict_kinds:kind\n")
    package.write_text(
        "from svctoolkit.policies import Finding, PolicyKind\n"
        "def make(options):\n"
        "    def check(event, arrivals):\n"
        "        yield Finding('hook', '', 'is ' + event['properties']['query'])\n"
        "    return check\n"
        "kind = PolicyKind('strict', {'type': 'object'}, make)\n"
    )
    (tmp_path / "workspace.yaml").write_text(WORKSPACE.replace(", simulate: simulated", ""))
    (tmp_path / "policies.yaml").write_text("policies: [{name: mine, strict: {}}]")
    command = [sys.executable, "-m", "svctoolkit", "replay", "e.ndjson", "--policies", "policies.yaml"]
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parent.parent)])

    def run(*events: dict[str, Any]) -> tuple[int, str]:
        ndjson(tmp_path / "e.ndjson", list(events))
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    assert run(*searches()) == (1, "svctoolkit: mine: 4 events at hook\n")
    code, said = run(track("Search", user_id="u"))
    assert (code, said.strip()) == (4, "svctoolkit: policy 'mine': its check failed: KeyError: 'query'")


def test_no_two_policies_have_one_name() -> None:
    """Otherwise a warning about one list of hosts would fail a check as a breach of the other one."""
    hosts: list[dict[str, Any]] = [{"hosts": ["*.example"]}, {"hosts": ["*.test"], "severity": "warn"}]
    policies = Policies.of(hosts)
    both = policies + Policies.of(hosts)

    assert [listed[0] for listed in policies.listed] == ["hosts", "hosts 2"]
    assert policies.strict == {"hosts"}
    assert [listed[0] for listed in both.listed] == ["hosts", "hosts 2", "hosts 3", "hosts 4"]
    assert both.listed == Policies.of(both.items).listed


def test_a_group_counts_events_and_not_requests(tmp_path: Path) -> None:
    """Mixpanel gets two requests of an order with revenue, and an address may be in a list twice."""
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    notes = ["a@mail.example", "b@mail.example"]
    order = track("Order Completed", user_id="u", properties={"revenue": 5, "notes": notes})
    policies = Policies.of([{"hosts": ["x.example"]}, {"no_personal": {}}])
    result = replay([order], Workspace.load(tmp_path / "workspace.yaml"), policies=policies)

    assert {group.count for group in result.groups if group.kind == "breach"} == {1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policies: [{no_personl: {}}]", "policies.yaml:1:13.*Did you mean 'no_personal'"),
        ("policies: [{no_personal: {kinds: [mail]}}]", "policies.yaml:1:"),
        ("policies: [{agree: {values: [ga4, mixpanel.revenue]}}]", "'ga4' is not a value"),
        ("policies: [{name: a}]", "1:12: the policy has no kind: add one of agree, hosts, no_personal,"),
        ("policies: [{hosts: [a], nothing_lost: {}}]", "the policy is of two kinds, hosts and nothing_lost"),
        ("policies: [{hosts: ['https://a.example/in']}]", "'https://a.example/in' is not a host. Write 'a.example'"),
        ("policies: [{hosts: ['a.example', '*']}]", r"'\*' allows every host"),
        ("policies: [{hosts: ['*.*']}]", "allows every host"),
        ("policies: [{required: {event: track, at: {ga4: [a]}}}]", "'track' is a type .*Name the event"),
        ("policies: [{agree: {values: [a.b, a.b]}}]", "'a.b' is listed twice"),
        ("policies: [{agree: {values: [a.b, c.d], tolerance: x}}]", "'x' is not a share from 0 to below 1"),
        ("policies: [{hosts: [a], required: {at: {b: [c]}}}]", "policies.yaml:1:"),
        ("policies: [{hosts: [a], accepted: [{reason: r, expires: '2027-13-01'}]}]", "is not a valid date"),
    ],
)
def test_mistakes_have_their_position(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "policies.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        Policies.load(tmp_path / "policies.yaml")


WORKSPACE = """
workspace: shop
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}
  mixpanel: {type: MP, config: {token: t0k3n, dataResidency: us, identityMergeApi: simplified}, simulate: simulated}
"""
POLICIES = """
policies:
- {name: privacy, no_personal: {destinations: [hook, mixpanel], kinds: [email]}, owner: data@shop.example}
- {severity: warn, hosts: ["*.mixpanel.com"]}
"""


def searches() -> list[dict[str, Any]]:
    queries = ["shoes", "ada@mail.example", "socks", "socks"]
    return [
        {**track("Search", user_id="u", properties={"query": query}), "messageId": f"m{number}"}
        for number, query in enumerate(queries)
    ]


def test_a_replay_fails_on_a_breach_and_names_event_and_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("workspace.yaml").write_text(WORKSPACE.replace(", simulate: simulated", ""))
    Path("policies.yaml").write_text(POLICIES)
    ndjson(Path("e.ndjson"), searches())

    assert main(["replay", "e.ndjson", "--policies", "policies.yaml"]) == 1
    said = capsys.readouterr()
    assert "privacy: 1 event at hook, 1 event at mixpanel" in said.err
    assert "hosts" not in said.err  # a warning
    assert "breach  privacy: body.JSON.properties.query has an e-mail address in 1 event of Search" in said.out
    assert "e.ndjson:2  ada@mail.example" in said.out
    assert "breach  hosts: endpoint goes to … in 4 events of Search" in said.out or "goes to hook.example" in said.out
    assert main(["replay", "e.ndjson", "--policies", "policies.yaml", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["policies"]["privacy"] == {"hook": 1, "mixpanel": 1}
    assert main(["replay", "e.ndjson", "--before", "workspace.yaml", "--policies", "policies.yaml"]) == 1
    assert main(["replay", "e.ndjson"]) == 0
    assert main(["replay", "e.ndjson", "--policies", "policies.yaml", "--report", "junit=r.xml"]) == 1
    cases = {case.get("name"): case for case in ET.parse("r.xml").iter("testcase")}
    failure = cases["privacy"].find("failure")
    assert failure is not None
    assert failure.get("message") == "1 event at hook, 1 event at mixpanel"
    assert "e.ndjson:2  ada@mail.example" in str(failure.text)
    assert "goes to hook.example" in str(cases["hosts"].findtext("system-out"))  # a warning


def test_a_replay_in_processes_checks_the_same(tmp_path: Path) -> None:
    (tmp_path / "workspace.yaml").write_text(WORKSPACE.replace(", simulate: simulated", ""))
    (tmp_path / "policies.yaml").write_text(POLICIES + "- sql: select event_id from hook where query = 'socks'\n")
    events = ndjson(tmp_path / "e.ndjson", searches())
    workspace = Workspace.load(tmp_path / "workspace.yaml")

    alone = replay([events], workspace, policies=tmp_path / "policies.yaml")
    many = replay([events], workspace, policies=Policies.load(tmp_path / "policies.yaml"), workers=2)

    assert alone.policy_breaches == many.policy_breaches
    assert [breach.condition for breach in alone.policy_breaches] == ["privacy", "sql"]
    assert alone.tally.policies["sql"] == {"hook": 2}


def test_a_data_plane_is_checked_in_pytest(tmp_path: Path) -> None:
    """What was sent, also inside JSON in texts."""
    (tmp_path / "workspace.yaml").write_text(WORKSPACE + "sources: {web: {destinations: [hook, mixpanel]}}\n")
    (tmp_path / "policies.yaml").write_text(POLICIES)
    with DataPlane(Workspace.load(tmp_path / "workspace.yaml")) as plane:
        plane.send(searches()[0], source="web")
        assert_policies(plane, tmp_path / "policies.yaml")
        plane.send(searches()[1], source="web")
        with pytest.raises(AssertionError) as failed:
            assert_policies(plane, tmp_path / "policies.yaml")
        assert sorted(str(failed.value).splitlines()) == [
            "  query: from properties.query",
            "  query: from properties.query",
            "privacy: hook: body.JSON.properties.query has an e-mail address (Search)",
            "privacy: mixpanel: body.JSON_ARRAY.batch.*.properties.query has an e-mail address (Search)",
        ]


def test_nothing_lost_names_the_vendors_rule() -> None:
    loss = Loss(what="dropped", rule="kl.x", says="is too long", source="docs", confidence="documented", value="v")
    arrivals = [Arrival("klaviyo", [], [loss, loss]), Arrival("braze", [])]

    def said(**options: Any) -> list[str]:
        return [str(breach) for breach in Policies.of([{"nothing_lost": options}]).check({"type": "page"}, arrivals)]

    assert said() == ["nothing_lost: klaviyo: dropped by kl.x: is too long (page)"]
    assert said(destinations=["braze"]) == []


SUITE = """
policies: policies.yaml
workspace: workspace.yaml
scenarios:
  - name: a harmless search
    source: web
    send: {type: track, event: Search, userId: u1, properties: {query: shoes}}
    expect: {delivered: {hook: [{}], mixpanel: [{}]}}
  - name: a search with an address
    source: web
    send: {type: track, event: Search, userId: u1, properties: {query: ada@mail.example}}
    expect: {delivered: {hook: [{}], mixpanel: [{}]}}
  - name: the same, mapped only
    destination: hook
    event: {type: track, event: Search, userId: u1, properties: {query: ada@mail.example}}
    expect: {dest_transform: {body: {JSON: {event: Search}}}}
"""


@pytest.mark.parametrize("shared", [False, True])
def test_a_suite_fails_on_a_breach(tmp_path: Path, capsys: pytest.CaptureFixture[str], shared: bool) -> None:
    """Whether a scenario sends or maps, and whether the suite or its folder names the policies."""
    (tmp_path / "workspace.yaml").write_text(WORKSPACE + "sources: {web: {destinations: [hook, mixpanel]}}\n")
    (tmp_path / "policies.yaml").write_text(POLICIES)
    suite = tmp_path / "suites" / "s.suite.yaml"
    suite.parent.mkdir()
    text = SUITE.replace("workspace: ", "workspace: ../")
    if shared:
        (suite.parent / "_common.yaml").write_text("policies: ../policies.yaml\n")
        of_another = "- {required: {at: {warehouse-of-another-workspace: [total]}}}\n"
        (tmp_path / "policies.yaml").write_text(POLICIES + of_another)
        suite.write_text(text.replace("policies: policies.yaml\n", ""))
    else:
        suite.write_text(text.replace("policies: policies.yaml", "policies: ../policies.yaml"))

    assert main(["run", str(suite)]) == 1

    said = capsys.readouterr().out
    assert "1 passed, 2 failed" in said
    assert "policy privacy: hook: body.JSON.properties.query has an e-mail address (Search)" in said
    assert "policy privacy: mixpanel: body.JSON_ARRAY.batch.*.properties.query has an e-mail address" in said
    (tmp_path / "policies.yaml").write_text("policies: [{hosts: [nothing]}, {no_personl: {}}]")
    assert main(["run", str(suite)]) == 4
    assert "Did you mean 'no_personal'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "policy",
    [
        {"no_personal": {"destinations": ["hok"]}},
        {"agree": {"values": ["hook.total", "hok.total"]}},
        {"required": {"at": {"hok": ["total"]}}},
        {"nothing_lost": {"destinations": ["hok"]}},
    ],
)
def test_a_policy_about_an_unknown_destination_does_not_pass(tmp_path: Path, policy: dict[str, Any]) -> None:
    """It would hold for any event."""
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    workspace = Workspace.load(tmp_path / "workspace.yaml")
    policies = Policies.of([policy])

    with pytest.raises(ConfigError, match=r"unknown destination 'hok'. Did you mean 'hook'\?"):
        replay(searches(), workspace, policies=policies)
    with DataPlane(workspace, listen=False) as plane, pytest.raises(ConfigError, match="unknown destination 'hok'"):
        plane.breaches(policies)
    policies.require(["crm"], misspelt_only=True)  # another workspace of the same folder


def test_policies_of_a_workspace_are_checked_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In replays, served planes and suites; a breach says from where in the event its value comes."""
    text = """
workspace: shop
sources: {web: {destinations: [hook]}}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: "https://hook.example/in"}}
policies:
- no_personal: {destinations: [hook]}
  owner: data
"""
    workspace = Workspace.loads(text)
    search = track("Search", user_id="u1", properties={"query": "jo@mail.example"})
    result = replay([search], workspace, rows=False)

    assert workspace.loads(workspace.dumps()).policies == workspace.policies
    assert [breach.condition for breach in result.policy_breaches] == ["no_personal"]
    assert "has an e-mail address in 1 event of Search; from properties.query" in repr(result)
    with DataPlane(workspace) as plane:
        plane.send(search, source="web")
        with pytest.raises(AssertionError, match="no_personal: hook: body"):
            assert_policies(plane)
    (tmp_path / "workspace.yaml").write_text(text)
    scenarios = [
        {"name": "a", "destination": "hook", "event": search, "expect": {"dest_transform": {"method": "POST"}}}
    ]
    suite = json.dumps({"workspace": "workspace.yaml", "scenarios": scenarios})
    (tmp_path / "a.suite.yaml").write_text(suite)
    assert main(["run", str(tmp_path / "a.suite.yaml")]) == 1
    assert "policy no_personal: hook: body.JSON.properties.query has an e-mail address" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="unknown destination 'hok'"):
        replay([search], Workspace.loads(text.replace("[hook]}\n  owner", "[hok]}\n  owner")))


def test_mistakes_in_a_workspace_have_their_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also those that only the rest of the workspace shows."""
    file = tmp_path / "workspace.yaml"
    for mistake, said in (
        ("no_personl: {}", r"workspace.yaml:8:3: .*Did you mean 'no_personal'"),
        ("agree: {values: [hook.a, mixpanel.b], tolerance: x}", "workspace.yaml:8:3: 'x' is not a share"),
        ("no_personal: {destinations: [hok]}", "workspace.yaml:8:3: .*unknown destination 'hok'. Did you mean 'hook'"),
        ("sql: selec event_id from hook", "workspace.yaml:8:3: the query is not valid: near"),
    ):
        file.write_text(f"{WORKSPACE}policies:\n- hosts: ['*.example', api.mixpanel.com]\n- {mistake}\n")
        with pytest.raises(ConfigError, match=said):
            Policies.of_workspace(Workspace.load(file))
    assert main(["check", str(file)]) == 4
    assert "workspace.yaml:8:3" in capsys.readouterr().err


def test_a_served_plane_checks_policies_while_it_runs() -> None:
    """Each event once, when it is no longer pending; new policies are checked on all events."""
    policies = [
        {"name": "privacy", "no_personal": {}, "owner": "data"},
        {"sql": "select event_id, query from hook where query = 'socks'", "severity": "warn"},
    ]
    workspace = Workspace.loads(WORKSPACE + "sources: {web: {destinations: [hook]}}\n")
    workspace.policies = [*policies]

    def state(query: str = "") -> Any:
        return plane.ingest("GET", f"/inspect/policies{query}").json

    with DataPlane(workspace, listen=False) as plane:
        for number, event in enumerate(searches()):
            plane.send(event, source="web", run="a" if number < 2 else "b")
            plane.drain()
            assert state()["events"] == number + 1
        while state()["more"]:  # origins: a slow machine needs several calls
            pass
        privacy, socks = state()["items"]
        of_run = state("?run=b")["items"]
        workspace.policies[:] = [{"hosts": ["hook.example"]}]
        hosts = state()
        workspace.policies[:] = [{"hosts": []}]
        problem = state()["problem"]

    assert (privacy["breaches"], privacy["owner"], socks["severity"]) == (1, "data", "warn")
    assert privacy["groups"] == [
        {
            "count": 1,
            "first": 2,
            "seq": 2,
            "event": "Search",
            "destination": "hook",
            "path": "body.JSON.properties.query",
            "text": "has an e-mail address",
            "value": "ada@mail.example",
            "origin": {"text": "properties.query", "seq": 2, "workspace": "current", "note": ""},
        }
    ]
    assert [(one["text"], one["count"], one["first"], one["seq"]) for one in socks["groups"]] == [
        ("query = 'socks'", 2, 3, 4)
    ]
    assert [one["breaches"] for one in of_run] == [0, 2]
    assert (hosts["events"], hosts["items"][0]["breaches"]) == (4, 0)
    assert "hosts" in problem


def test_a_served_plane_checks_all_events_at_once() -> None:
    """Also thousands that came before the first look."""
    workspace = Workspace.loads(WORKSPACE + "sources: {web: {destinations: [hook]}}\n")
    workspace.policies = [{"name": "privacy", "no_personal": {}}]
    with DataPlane(workspace, listen=False) as plane:
        for number in range(0, 2_500, 100):
            plane.send([{**searches()[1], "messageId": f"m{number + n}"} for n in range(100)], source="web")
        plane.drain(60)
        while (state := plane.ingest("GET", "/inspect/policies").json)["more"]:  # a slow machine needs several calls
            assert state["events"] > 0

    assert (state["events"], state["items"][0]["breaches"]) == (2_500, 2_500)


def test_a_proposed_host_of_an_address_without_a_scheme() -> None:
    """The mapping sends to it, so a policy without it would not be true today."""
    text = "destinations: {hog: {type: POSTHOG, config: {teamApiKey: k, yourInstance: eu.posthog.example}}}"
    workspace = Workspace.loads(text)
    events = [samples()["track"]]

    proposed = propose(workspace, events)
    assert {"hosts": ["eu.posthog.example"]} in proposed
    assert replay(events, workspace, policies=Policies.of(proposed)).policy_breaches == []


def test_proposed_policies_are_true_today_and_not_of_a_change() -> None:
    workspace = Workspace.loads(WORKSPACE.replace(", simulate: simulated", ""))
    events = [*samples().values()]

    proposed = propose(workspace, events)
    said = {next(name for name in policy if name != "name"): policy for policy in proposed}
    unchanged = replay(events, workspace, policies=Policies.of(proposed))
    workspace.transformation("leak", lambda event: {**event, "properties": {"q": "jo@mail.example", "revenue": 1}})
    workspace.destinations["hook"].transformation = "leak"
    workspace.destinations["hook"].config["webhookUrl"] = "https://evil.example"

    assert said["hosts"] == {"hosts": ["api.mixpanel.com", "hook.example"]}
    assert said["agree"]["agree"]["values"] == ["hook.properties.revenue", "mixpanel.properties.revenue"]
    assert unchanged.policy_breaches == []
    breached = replay(events, workspace, policies=Policies.of(proposed)).policy_breaches
    assert {breach.condition for breach in breached} == {"hosts", "no_personal at hook", "agree"}


def test_events_that_arrive_at_none_of_the_destinations_agree() -> None:
    workspace = Workspace("shop")
    workspace.transformation("drop", lambda _event: None)
    for key in "abc":
        config = {"webhookUrl": f"https://{key}.example"}
        workspace.destination(key, "WEBHOOK", config=config, transformation="drop" if key in "ab" else None)
    policies = [{"agree": {"values": ["a.properties.total", "b.properties.total"]}}, {"hosts": ["c.example"]}]
    result = replay(
        [track("Paid", user_id="u1", properties={"total": 5})],
        workspace,
        policies=Policies.of(policies),
        progress=False,
    )

    assert result.counts == {"a": {"dropped": 1}, "b": {"dropped": 1}, "c": {"delivered": 1}}
    assert result.policy_breaches == []


def test_the_nearest_object_of_a_name_is_the_one_that_contains_a_value() -> None:
    """A payload may have several objects of a name, before and after the one with the value."""
    others = {"before": {"a": {"x": {}}}, "after": {"a": {"e": None}}}
    found = texts({"required": {"at": {"ga4": ["a.e"]}}}, body(**others, a={"b": {"c": 1}, "e": 1}))

    assert found == []
    assert scalar_at(b'[{"a":{"x":{}},"b":{"a":{"c":{},"e":1}},"a":{}}]', "a.e") == b"1"
    assert scalar_at(b'[{"a":{"x":{}},"b":{"e":1}}]', "a.e") == b""


def test_a_value_in_another_object_is_missing() -> None:
    found = texts({"required": {"at": {"ga4": ["a.e"]}}}, body(a=[], b={"e": 1}))

    assert found == ["required: ga4: a.e is missing (E)"]


@pytest.mark.parametrize(
    ("payload", "total"),
    [
        ({"body": {"FORM": {"data": '[{"total": 5}]'}}}, 5),
        ({"body": {"JSON_ARRAY": {"batch": '[{"properties":{"total":5,"note":"a \\"b\\""}}]'}}}, 5),
        ({"body": {"JSON": {"note": '[no JSON, "total": 7', "total": 5}}}, 5),
        ({"body": {"JSON": {"note": 'say "[x]" and "total":7', "total": 5}}}, 5),
        ({"body": {"JSON": {"note": r"[\"total\":7]", "total": 5}}}, 5),
        ({"body": {"JSON": {"deep": '{"more": "{\\"total\\": 5}"}'}}}, 5),
        ({"body": {"JSON": {"total": [None, 5]}}}, None),
        ({"body": {"JSON": {"in": {"brace": "{", "total": 5}}}}, 5),
    ],
)
def test_values_in_texts_are_found_where_they_are(payload: Any, total: Any) -> None:
    """Also if a text looks like JSON, or has quotes; the fast search and the visit of each value agree."""
    arrival = Arrival("a", [payload])

    assert arrival.scalar("total") in (b"", str(total).encode())
    assert values_at(arrival, "total")[0][1] == total
    assert has_value(arrival, "total")
    assert values_at(arrival, "body.nothing") == []


def _written(value: Any) -> st.SearchStrategy[str]:
    """JSON of a value: plain, with spaces, and with the first character of a text in it escaped."""
    plain = json.dumps({"in": value})
    escaped = plain.replace('"{', '"\\u007b').replace('"[', '"\\u005b').replace('" ', '"\\u0020')
    return st.sampled_from([plain, json.dumps([value], indent=1), f" {plain}", escaped])


def _open_each(value: Any) -> Any:
    """Return a value with its texts opened, by a visit of each value."""
    if isinstance(value, dict):
        return {key: _open_each(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_open_each(inner) for inner in value]
    try:
        content = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return value
    return _open_each(content) if isinstance(content, (dict, list)) else value


@given(
    st.recursive(
        st.integers(0, 9) | st.text('[]{}" a', max_size=3),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("a", max_size=2), inner, max_size=2)
        | inner.flatmap(_written),
        max_leaves=6,
    )
)  # fmt: skip
def test_texts_in_texts_are_opened_however_they_are_written(value: Any) -> None:
    """The search for texts to open misses none."""
    assert open_texts(value) == _open_each(value)


_MEMBERS = ("total", "note", "phone", "cell_phone", "hotel", "value", "e", "batch", "order id")
_LEAVES: Sequence[Any] = (
    None, True, 5, 5.5, 491511234567, "", "5", "jo@mail.example", "jo%40mail.example", '["jo\\u0040mail.example"]',
    "+49 151 1234567", "0151/1234567", "4111 1111 1111 1111", "/4111111111111111", "2024-05-01T12:00:00.000Z",
    "p-000000000123", "Chrome/126.0.0.0 Safari/537.36 (KHTML)", 'say "total":7', "[1,2]", "[no JSON", "{}", "ü", "a\\b",
    "(555) 010-9999", "555-1234", "due 2024-05-01", 'said "call":01701234567, twice', "203.0.113.24", "52.5200066",
    [float("nan")], "tel.\n0170 1234567", {"home_phone": "555-1234"}, "\ud800", 10**30,
    "6f0c3a52-6f0d-4a3e-9a51-000000000000", "d41d8cd98f00b204e9800998ecf8427e",
)  # fmt: skip


def _random_json(random: Random, depth: int = 3) -> Any:
    shape = random.random()
    if depth == 0 or shape < 0.4:
        return random.choice(_LEAVES)
    if shape < 0.5:
        return json.dumps(_random_json(random, depth - 1), separators=random.choice([(",", ":"), (", ", ": ")]))
    if shape < 0.6:
        return [_random_json(random, depth - 1) for _ in range(random.randrange(3))]
    return {random.choice(_MEMBERS): _random_json(random, depth - 1) for _ in range(random.randrange(1, 5))}


class _Unsearchable(Sent):
    """Payloads without JSON."""

    lines = (b"",)  # type: ignore[assignment]


class _Visited(Arrival):
    """An arrival of which each value is visited, because it has no JSON that could be searched."""

    @property
    def _sent(self) -> Sent:  # type: ignore[override]
        return _Unsearchable(self.destination, [self.payloads], [self.losses])


@pytest.mark.parametrize("seed", some_by_default(range(4), 1))
def test_a_search_of_the_json_finds_what_a_visit_of_each_value_finds(seed: int) -> None:
    """In payloads of any shape, also with JSON in texts, at any depth."""
    policies = Policies.of(
        [
            {"no_personal": {"except": ["note"]}},
            {"name": "phone", "no_personal": {"kinds": ["phone"]}},
            {"name": "card", "no_personal": {"kinds": ["card"]}},
            {"name": "email", "no_personal": {"kinds": ["email"], "destinations": ["a"]}},
            {"agree": {"values": ["a.total", "b.value"]}},
            {"required": {"event": "Order", "at": {"a": ["total", "value.e"]}}},
            {"hosts": ["x.example"]},
        ]
    )
    random, event = Random(seed), {"type": "track", "event": "Order", "messageId": "m"}
    found = 0
    batch: list[list[tuple[str, list[Any]]]] = []
    for _ in range(100):
        forms = {form: {random.choice(_MEMBERS): _random_json(random)} for form in ("JSON", "JSON_ARRAY", "FORM")}
        payload = {"endpoint": "https://x.example", "body": {**forms, "XML": _random_json(random)}}
        payloads = [("a", [payload]), ("b", [_random_json(random), payload])]
        batch.append(payloads)
        searched = list(policies.check(event, [Arrival(*each) for each in payloads]))
        assert searched == list(policies.check(event, [_Visited(*each) for each in payloads]))
        found += len(searched)
    assert found > 50
    sent = {key: Sent(key, [dict(of)[key] for of in batch], [()] * len(batch)) for key in ("a", "b")}
    together = sorted(policies.check_batch([event] * len(batch), sent), key=lambda each: each[0])
    alone = [[*policies.check(event, [Arrival(*each) for each in of])] for of in batch]
    assert together == [(number, breach) for number, of in enumerate(alone) for breach in of]


_PIECES = (
    "+49", "0170 ", "1234567", "4111", "1111-", "555-", "(0)", "/", ".", "-", " ", ",", ":", "[", "{", "a", "é", "@",
    "٣", "+٣٤٥٦٧٨٩١٢", "%40", "mail.example", "2024-05-01", "T12", "\\", "\n", '"', "\x85",
)  # fmt: skip
_TEXTS = st.lists(st.sampled_from(_PIECES), max_size=7).map("".join)
_VALUES = _TEXTS | st.integers(0, 10**17) | st.floats(0, 1e9)


@given(st.lists(st.tuples(st.sampled_from(["value", "phone", "cell_phone"]), _VALUES), min_size=1, max_size=4))
def test_no_text_or_number_escapes_the_search_for_personal_data(members: list[tuple[str, Any]]) -> None:
    """Whatever is before and after an address or a number, and in which of several events it is."""
    policies = Policies.of([{"no_personal": {}}, *({"no_personal": {"kinds": [kind]}} for kind in ("phone", "card"))])
    payloads: list[list[Any]] = [[{"body": {"JSON": {name: value}}}, [value]] for name, value in members]
    event = {"type": "track", "event": "Order", "messageId": "m"}

    found = [*policies.check_batch([event] * len(payloads), {"a": Sent("a", payloads, [()] * len(payloads))})]

    visited = [[*policies.check(event, [_Visited("a", payload)])] for payload in payloads]
    assert sorted(found, key=lambda each: each[0]) == [(n, one) for n, of in enumerate(visited) for one in of]


def test_a_file_with_an_unknown_destination_says_where_and_which_there_are(tmp_path: Path) -> None:
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    file = tmp_path / "policies.yaml"
    file.write_text(
        "policies:\n- hosts: ['*.example']\n- no_personal: {destinations: [hok]}\n- no_personal: {destinations: [x]}\n"
    )
    workspace = Workspace.load(tmp_path / "workspace.yaml")

    with pytest.raises(ConfigError) as error:
        replay(searches(), workspace, policies=file)

    first, second = error.value.problems
    assert first.where.endswith("policies.yaml:3:3")
    assert "Did you mean 'hook'?" in first.message
    assert second.where.endswith("policies.yaml:4:3")
    assert "The workspace has: hook, mixpanel" in second.message


def test_a_failed_scenario_says_where_the_value_of_a_breach_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The member of the event and the line of code, or the setting; for a missing value, the line that removes it."""
    workspace = Workspace.loads(WORKSPACE)
    lines = "event['properties']['note'] = event['userId']", "del event['properties']['total']", "return event"
    code = "\n    ".join(["def transformEvent(event, metadata):", *lines])
    workspace.transformation("t", language="python", code=code)
    workspace.destination("hook").transformation = "t"
    (tmp_path / "workspace.yaml").write_text(workspace.dumps() + "sources: {web: {destinations: [hook]}}\n")
    rules = "[{no_personal: {}}, {required: {at: {hook: [total]}}}, {hosts: [other.example]}]"
    (tmp_path / "policies.yaml").write_text(f"policies: {rules}\n")
    event = "{type: track, event: Paid, userId: jo@mail.example, properties: {total: 3}}"
    scenario = f"- {{name: paid, source: web, send: {event}, expect: {{attempts: 1}}}}"
    (tmp_path / "s.suite.yaml").write_text(
        f"policies: policies.yaml\nworkspace: workspace.yaml\nscenarios:\n{scenario}\n"
    )

    assert main(["run", str(tmp_path / "s.suite.yaml")]) == 1

    said = capsys.readouterr().out
    assert "note: from userId, changed by t.py:2" in said
    assert "total: total is removed by t.py:3" in said
    assert "endpoint: from setting webhookUrl" in said


def test_a_destination_without_its_settings_breaks_no_policy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing arrives there, so nothing is missing: the scenario fails, and says why."""
    (tmp_path / "workspace.yaml").write_text(
        "workspace: w\nsources: {web: {destinations: [mixpanel]}}\ndestinations: {mixpanel: {type: MP, config: {}}}\n"
        "policies: [{required: {at: {mixpanel: [total]}}}]\n"
    )
    event = "{type: track, event: Paid, userId: u1, properties: {total: 3}}"
    scenario = f"- {{name: paid, source: web, send: {event}, expect: {{attempts: 0}}}}"
    (tmp_path / "s.suite.yaml").write_text(f"workspace: workspace.yaml\nscenarios:\n{scenario}\n")

    assert main(["run", str(tmp_path / "s.suite.yaml")]) == 1
    said = capsys.readouterr().out
    assert "policy required" not in said
    assert "token" in said
