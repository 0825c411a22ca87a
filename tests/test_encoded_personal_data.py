"""`no_personal` and `mask_personal` find personal data in every text that carries it, in every spelling."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from svctoolkit import Workspace, personal, runner
from svctoolkit.cli import main
from svctoolkit.policies import Arrival, Policies
from svctoolkit.policies.arrivals import Sent

WORKSPACE = """
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
sources: {web: {destinations: [hook]}}
"""
VALUES = {"email": "mira@mail.example", "phone": "+49 151 12345678", "card": "4111 1111 1111 1111"}


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def wide(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if letter.isalnum() or letter in "@+" else letter for letter in text)


CARRIERS: dict[str, Callable[[str], str]] = {
    "json": lambda v: json.dumps({"x": v}),
    "json in json": lambda v: json.dumps({"x": json.dumps([v])}),
    "form": lambda v: urlencode({"a": 1, "x": v}),
    "url": lambda v: "https://x.example/p?" + urlencode({"x": v}),
    "url in a url": lambda v: "https://x.example/p?" + urlencode({"to": "https://y.example/?" + urlencode({"x": v})}),
    "path": lambda v: "https://x.example/" + quote(v, safe=""),
    "quoted twice": lambda v: quote(quote(v)),
    "every character quoted": lambda v: "".join(f"%{byte:02x}" for byte in v.encode()),
    "html": lambda v: "<b>" + "".join(f"&#{ord(letter)};" for letter in v) + "</b>",
    "html, hexadecimal": lambda v: "".join(f"&#x{ord(letter):x};" for letter in v),
    "html, separators": lambda v: v.replace(" ", "&nbsp;").replace("@", "&commat;"),
    "escapes of JSON": lambda v: "say " + "".join(f"\\u{ord(letter):04x}" for letter in v),
    "escapes": lambda v: "".join(f"\\x{ord(letter):02x}" for letter in v),
    "wide": wide,
    "invisible characters": lambda v: v.replace("1", "1\u200b").replace("@", "\u2060@"),
    "small at sign": lambda v: v.replace("@", "\ufe6b").replace(" ", "\u2007"),
    "base64": b64,
    "base64 without padding": lambda v: b64(f"to  {v}!").rstrip("="),
    "base64 in a path": lambda v: f"https://x.example/leave/{b64(v)}/now",
    "base64 in a form": lambda v: urlencode({"data": b64(json.dumps({"x": v}))}),
    "base64 twice": lambda v: b64(b64(v)),
    "form of JSON": lambda v: urlencode({"data": json.dumps([{"x": v}])}),
    "web token": lambda v: "eyJhbGciOiJIUzI1NiJ9." + b64(json.dumps({"x": v})).rstrip("=") + ".c2ln",
}  # fmt: skip
ALL = [(f"{kind}, {name}", kind, carry(value)) for kind, value in VALUES.items() for name, carry in CARRIERS.items()]
#: What only the name of a field says.
NAMED = {
    "form": "a=1&first_name=Mira&tel=555-1234",
    "url": "https://x.example/?first_name=Mira&tel=555%2D1234",
    "base64 of JSON": b64(json.dumps({"first_name": "Mira", "tel": "555-1234"})),
    "JSON in a form": urlencode({"data": json.dumps({"first_name": "Mira", "tel": "555-1234"})}),
}
#: Texts of the same forms without personal data.
HARMLESS = (
    "https://x.example/p?a=1&total=12345&at=2024-05-01T12%3A00%3A00%2B02%3A00", "2024-05-01T12:00:00+02:00",
    "R&amp;D &#39;21", b64("nothing at all, only words"), b64(json.dumps({"total": 12.5, "id": "o-1042"})), "50% + 3",
    "6f0c3a52-6f0d-4a3e-9a51-000000000000", "d41d8cd98f00b204e9800998ecf8427e", "a=b&c=d", "\\u0041\\x42", "C:\\new",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36",
)  # fmt: skip
POLICIES = [{"name": kind, "no_personal": {"kinds": [kind]}} for kind in VALUES]
PERSON = {"name": "person", "no_personal": {"kinds": ["name", "phone"]}}


def event(number: int, text: str) -> dict[str, Any]:
    return {
        "type": "track", "event": "A", "userId": "u", "messageId": f"m-{number}", "properties": {"note": text},
        "timestamp": "2026-01-01T00:00:00Z", "originalTimestamp": "2026-01-01T00:00:00Z",
    }  # fmt: skip


def replayed(folder: Path, capsys: pytest.CaptureFixture[str], texts: list[str], policies: list[Any]) -> list[Any]:
    """Return what breaks the policies when these texts are replayed."""
    (folder / "workspace.yaml").write_text(WORKSPACE)
    (folder / "policies.yaml").write_text(json.dumps({"policies": policies}))
    (folder / "events.ndjson").write_text("".join(json.dumps(event(n, text)) + "\n" for n, text in enumerate(texts)))
    command = ["replay", "events.ndjson", "--policies", "policies.yaml", "--json"]
    main([*command[:2], "--workspace", "workspace.yaml", *command[2:]])
    return list(json.loads(capsys.readouterr().out)["breaches"])


def test_a_replay_finds_every_spelling(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = replayed(tmp_path, capsys, [text for _, _, text in ALL] + list(HARMLESS), POLICIES)

    assert {one["condition"]: one["text"] for one in found} == dict.fromkeys(VALUES, f"{len(CARRIERS)} events at hook")


@pytest.mark.parametrize(("kind", "text"), [each[1:] for each in ALL], ids=[each[0] for each in ALL])
def test_a_search_and_a_visit_find_every_spelling(kind: str, text: str) -> None:
    """With and without the search that comes first, alone and in JSON."""
    policies = Policies.of(POLICIES)
    for sent in (text, json.dumps({"a": text}), {"b": [text]}):
        payloads = [[{"body": {"JSON": {"note": sent}}}]]
        together = policies.check_batch([event(0, "")], {"hook": Sent("hook", payloads, [()])})
        assert {breach.policy for _, breach in together} == {kind}
        assert {breach.policy for breach in policies.check(event(0, ""), [Arrival("hook", payloads[0])])} == {kind}


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_are_kept(text: str) -> None:
    policies = Policies.of([{"no_personal": {}}, {"name": "all", "no_personal": {"kinds": ["name", "text", "phone"]}}])

    assert [*policies.check(event(0, ""), [Arrival("hook", [{"body": {"JSON": {"note": text}}}])])] == []
    assert personal.replace({"note": text}, personal.mask) == {"note": text}


@pytest.mark.parametrize("text", NAMED.values(), ids=NAMED)
def test_names_of_fields_in_texts_count(text: str) -> None:
    sent = Arrival("hook", [{"body": {"JSON": {"note": text}}}])
    said = [breach.text for breach in Policies.of([PERSON]).check(event(0, ""), [sent])]

    assert sorted(said) == ["has a name", "has a telephone number"]
    assert "Mira" not in str(personal.replace({"note": text}, personal.mask))
    assert text not in str(personal.replace({"note": text}, personal.mask))


@pytest.mark.parametrize("text", [text for _, kind, text in ALL if kind != "card"])
def test_masks_hide_every_spelling(text: str) -> None:
    masked = personal.replace({"note": text}, personal.mask)["note"]

    assert "••••" in masked
    payload = [{"body": {"JSON": {"note": masked}}}]
    assert [*Policies.of(POLICIES[:2]).check(event(0, ""), [Arrival("hook", payload)])] == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [("email", ALL[7][2]), *[(kind, text) for _, kind, text in ALL if kind == "phone"][1::5]],
)
def test_a_suite_finds_what_a_replay_finds(kind: str, text: str) -> None:
    workspace = Workspace.loads(f"{WORKSPACE}policies: [{{no_personal: {{}}}}]\n")
    scenario = {"name": "a", "source": "web", "send": event(0, text), "expect": {"delivered": [{"method": "POST"}]}}
    suite = runner.loads(json.dumps({"scenarios": [scenario]}), workspace)
    with runner.open_planes(limit=60) as planes:
        result = runner.attempt(suite.scenarios[0], planes)

    words = {"phone": "a telephone number", "email": "an e-mail address"}[kind]
    said = runner.explanation(result)
    assert re.search(rf"policy no_personal: hook: body\.JSON\.properties\.note[.*x]* has {words}", said), said
