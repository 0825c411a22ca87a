"""`never` and `$anywhere` find a value in every text that carries it, in every spelling."""

from __future__ import annotations

import base64
import html
import json
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, urlencode

import pytest

from svctoolkit import Workspace, runner
from svctoolkit.errors import InvalidSuite
from svctoolkit.runner import differences

WORKSPACE = """
destinations:
  fb: {type: FACEBOOK_PIXEL, config: {pixelId: "1", accessToken: x}}
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}
sources: {web: {destinations: [hook]}, meta: {destinations: [fb]}}
"""
NAME, SECRET = "José O'Brien", "hunter22"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


#: Texts that carry the name as a value of `password`.
CARRIERS: dict[str, Any] = {
    "json": json.dumps({"password": NAME}),
    "json without escapes": json.dumps({"a": [{"password": NAME}]}, ensure_ascii=False),
    "json in json": json.dumps({"x": json.dumps({"password": NAME})}),
    "form": urlencode({"a": 1, "password": NAME}),
    "url": "https://x.example/p?" + urlencode({"password": NAME}),
    "base64 of json": b64(json.dumps({"password": NAME})),
    "base64 in a form": urlencode({"data": b64(json.dumps({"password": NAME}))}),
    "form of json": urlencode({"data": json.dumps([{"password": NAME}])}),
    "web token": "eyJhbGciOiJIUzI1NiJ9." + b64(json.dumps({"password": NAME})).rstrip("=") + ".c2ln",
}
#: Spellings of the name without its member.
SPELLINGS: dict[str, str] = {
    "escapes": json.dumps(f"hello {NAME}!"),
    "html": html.escape(f"<b>{NAME}</b>"),
    "numeric entities": "".join(f"&#{ord(letter)};" for letter in NAME),
    "url": "/p/" + quote(NAME),
    "decomposed": normalize("NFD", f"to {NAME}"),
    "twice": quote(quote(NAME)),
    "base64": b64(f"to {NAME}"),
}


@pytest.mark.parametrize("text", [*CARRIERS.values(), *SPELLINGS.values()], ids=[*CARRIERS, *SPELLINGS])
def test_values_are_found_in_texts(text: str) -> None:
    payload = {"properties": {"note": text}}

    assert [str(found).partition(":")[0] for found in differences({"$not": {"$anywhere": NAME}}, payload)] == [
        "properties.note"
    ]
    assert differences({"$anywhere": NAME}, payload) == []
    assert differences({"$not": {"$anywhere": "Jose Nobody"}}, payload) == []


def outcome(rule: str, properties: dict[str, Any], source: str = "web") -> str:
    event = {"type": "track", "event": "A", "userId": "u", "properties": properties}
    scenario = {"name": "a", "source": source, "send": event, "expect": {"delivered": [{"method": "POST"}]}}
    suite = runner.loads(f"never: [{rule}]\nscenarios: [{json.dumps(scenario)}]\n", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        result = runner.attempt(suite.scenarios[0], planes)
    return "" if result.ok else runner.explanation(result)


def test_never_sees_keys_and_values_in_texts() -> None:
    """The carriers in one event: each is found alone, too."""
    for name, text in CARRIERS.items():
        for rule in ("{key: password}", json.dumps(NAME), json.dumps(NAME.upper())):
            assert "properties.note" in outcome(rule, {"note": text}), (name, rule)
    for name, text in SPELLINGS.items():
        assert "properties.note" in outcome(json.dumps(NAME), {"note": text}), name
    for text in (*CARRIERS.values(), "a word", "password", "a+b&c", "%", "\\u12", "=", "?=&"):
        assert outcome("{key: passwords}", {"note": text}) == ""


def test_never_sees_the_form_that_a_mapping_fills_with_json() -> None:
    """Meta's event is JSON in a form field."""
    assert "never:" in outcome("{key: password}", {"password": SECRET}, "meta")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("properties.mail", "'properties.mail' is a path, and members have one name: write {key: mail}"),
        ("", "must be the name of a member"),
        ("5", "must be the name of a member"),
    ],
)
def test_a_key_of_never_is_one_name(key: str, text: str) -> None:
    scenario = "{name: a, source: web, send: {type: track, event: A, userId: u}, expect: {delivered: [{}]}}"
    with pytest.raises(InvalidSuite) as caught:
        runner.loads(
            f"never: [{{key: {key or json.dumps('')}}}]\nscenarios: [{scenario}]\n", Workspace.loads(WORKSPACE)
        )

    assert text in str(caught.value)
