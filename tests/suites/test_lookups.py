"""Suites answer the look-ups of mappings: by destination, by condition and by URL, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from svctoolkit import Pipeline, Workspace, runner
from svctoolkit.destinations import CATALOGUE
from svctoolkit.destinations.lookups import looks_up
from svctoolkit.errors import InvalidSuite
from svctoolkit.replay import replay
from tests.catalogue import examples

WORKSPACE = """
destinations:
  tr: {type: TRENGO, config: {apiToken: t, channelId: "1", channelIdentifier: email, enableDedup: true}}
  kl: {type: KLAVIYO, config: {publicApiKey: p, privateApiKey: k}}
sources: {web: {destinations: [tr]}, app: {destinations: [kl]}}
"""
PERSON = {"type": "identify", "userId": "u1", "messageId": "m1", "traits": {"email": "a@mail.example", "name": "A"}}
URL = "https://app.trengo.com/api/v2/contacts"
FOUND = "body: {data: [{id: 5}]}"


def outcome(members: str) -> runner.Outcome:
    suite = runner.loads(f"scenarios:\n- {{name: a, {members}}}", Workspace.loads(WORKSPACE))
    with runner.open_planes(limit=60) as planes:
        (only,) = [n for n in runner.run(suite.scenarios, planes) if isinstance(n, runner.Outcome)]
    return only


def event(text: str) -> str:
    return text.replace("PERSON", str(PERSON))


VERIFY = "destination: tr, event: PERSON, expect: {dest_transform: [{method: PUT}]}"
SEND = "source: web, send: PERSON, expect: {delivered: [{method: PUT, url: {$contains: '/5'}}]}"


@pytest.mark.parametrize(
    "members",
    [
        f"recorder: {{tr: [{{{FOUND}}}]}}, {VERIFY}",
        f"recorder: {{tr: [{{{FOUND}}}, {{status: 202}}]}}, {SEND}",  # all its requests, in order
        f"recorder: {{tr: [{{when: {{url: {{$contains: contacts}}}}, {FOUND}}}]}}, {SEND}",
        f"recorder: {{'{URL}': {{{FOUND}}}}}, {SEND}",
        f"recorder: {{'{URL}': {{{FOUND}}}}}, {VERIFY}",
        # 40 s pass at once; the second attempt finds the contact
        f"recorder: {{'{URL}': [{{delay: 70s}}, {{delay: 40s, {FOUND}}}]}}, {SEND}",
    ],
)
def test_look_ups_are_answered(members: str) -> None:
    found = outcome(event(members))

    assert found.status == "passed", runner.explanation(found)


def test_an_answer_that_no_look_up_gets_is_reported() -> None:
    found = outcome(event(f"recorder: {{'https://app.trengo.com/other': {{{FOUND}}}}}, source: web, send: PERSON, "
                          "expect: {delivered: [{}]}"))  # fmt: skip

    assert "recorder: no request to https://app.trengo.com/other got response 1 of 1" in runner.explanation(found)


def test_a_url_that_nothing_requests_is_refused() -> None:
    hooks = Workspace.loads("destinations: {hook: {type: WEBHOOK, config: {webhookUrl: 'https://hook.example/in'}}}")
    text = "scenarios:\n- {name: a, recorder: {'https://a.example': {}}, destination: hook, event: {type: track}}"

    with pytest.raises(InvalidSuite, match="no transformation and no mapping that could request this"):
        runner.loads(text, hooks)


def test_scripts_of_a_simulated_type_are_for_deliveries() -> None:
    """Klaviyo's simulation answers look-ups; a script without a condition says what becomes of the delivery."""
    found = outcome(event("recorder: {kl: [{status: 503}, {status: 200}]}, source: app, "
                          "send: {type: track, event: E, userId: u1, traits: {email: a@mail.example}}, "
                          "expect: {attempts: 2}"))  # fmt: skip

    assert found.status == "passed", runner.explanation(found)


def test_an_identify_of_klaviyo_needs_no_script() -> None:
    """In suites and in replays: the profile's id is in the default answer."""
    found = outcome(event("source: app, send: PERSON, expect: {delivered: {$length: {$gte: 1}}}"))
    result = replay([PERSON], Workspace.loads(WORKSPACE), destinations=["kl"])

    assert found.status == "passed", runner.explanation(found)
    assert result.counts == {"kl": {"delivered": 1}}


def sent(name: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The settings and the event of an example with look-ups that is sent and needs no account."""
    for example in examples(name):
        if example.lookups and example.payloads and not example.metadata:
            return example.config, {"messageId": "m1", "anonymousId": "a1", **example.event}
    return None


@pytest.mark.parametrize("name", [name for name in CATALOGUE if looks_up(name) and sent(name)])
def test_every_mapping_can_read_the_default_answers(name: str) -> None:
    """Of a pipeline and of a replay, without a script."""
    found = sent(name)
    assert found is not None
    config, person = found
    shop = Workspace("shop")
    shop.destination("d", name, config=config, simulate="answers")
    result = Pipeline(shop).test_destination("d", person)

    assert result.data[0].payloads, result
    assert replay([person], shop).counts == {"d": {"delivered": 1}}
