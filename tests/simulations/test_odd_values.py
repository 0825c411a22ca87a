"""Odd values in what a simulated destination is given, and in requests of its vendor's clients."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from svctoolkit import DataPlane, Workspace, runner, simulations
from svctoolkit.cli import main
from svctoolkit.errors import InvalidSuite, InvalidWorkspace, UsageError
from svctoolkit.lost.names import workspace_of

SUITE = """
sources: {web: {destinations: [br, it]}}
destinations:
  br: {type: BRAZE, config: {restApiKey: k, dataCenter: US-01}, simulate: simulated}
  it: {type: ITERABLE, config: {apiKey: k}, simulate: simulated}
scenarios:
- name: x
  source: web
  given: %s
  send: {type: identify, userId: ada, traits: {tier: gold}}
  expect: {lost: []}
"""


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("{br: {profiles: [ada]}}", "must be an object, such as {ids: {...}, attributes: {...}}"),
        ("{br: {profiles: [{ids: [ada]}]}}", "must be an object, such as {id: ada}"),
        ("{br: {profiles: [{ids: {aliases: ada}}]}}", "must be a list of {alias_label, alias_name}"),
        ("{br: {profiles: [{attributes: [tier]}]}}", "must be an object"),
        ("{br: {events: [{name: A, under: ada}]}}", "must be an object, such as {id: ada}"),
        ("{it: {profiles: [{devices: {token: a}}]}}", "must be a list"),
        ("{it: {forgotten: a@b.example}}", "must be a list of rows"),
        ("{it: {fields: long}}", "must be a list"),
    ],
)
def test_what_cannot_be_given_is_reported_with_its_place(given: str, problem: str, tmp_path: Path) -> None:
    """The scenario crashed the data plane with a TypeError, and the run ended with the code of an internal error."""
    (tmp_path / "a.suite.yaml").write_text(SUITE % given)
    with pytest.raises(InvalidSuite) as error:
        runner.load(tmp_path / "a.suite.yaml")

    assert re.search(r"a\.suite\.yaml:9:\d\d: " + re.escape(problem), str(error.value))


def test_a_declared_account_has_lists() -> None:
    """A text instead of a list had the addresses that are part of it."""
    with pytest.raises(InvalidWorkspace, match=r"4:\d\d: must be a list"):
        Workspace.loads("""
workspace: shop
destinations:
  it: {type: ITERABLE, config: {apiKey: k}, simulate: simulated, account: {forgotten: a@b.example}}
""")


def test_the_api_reports_what_cannot_be_given() -> None:
    """With the place in the state, as an error of the client."""
    workspace = workspace_of(["BRAZE"], "simulated")
    with DataPlane(workspace) as plane:
        url, (key,), headers = (
            f"{plane.url}/admin/held",
            workspace.destinations,
            {"Authorization": f"Bearer {plane.token}"},
        )
        answer = httpx.post(f"{url}/{key}", json={"state": {"profiles": [{"ids": "ada"}]}}, headers=headers, timeout=60)

    assert (answer.status_code, answer.json()["message"]) == (
        400,
        "the body is invalid: given profiles.0.ids: must be an object, such as {id: ada}",
    )


def test_fields_may_be_declared_by_name() -> None:
    """Without types any value fits."""
    server = simulations.open("ITERABLE", {"apiKey": "k"})
    server.give({"fields": ["tier"], "create_new_fields": False})
    server.answer("POST", "https://api.iterable.com/api/users/update", body={"userId": "a", "dataFields": {"tier": 1}})

    assert (server.faults, list(server.losses)) == (0, [])
    with pytest.raises(UsageError, match="given fields: must be a list"):
        server.give({"fields": "tier"})


@pytest.mark.parametrize(
    ("type", "url", "body"),
    [
        ("AM", "https://api2.amplitude.com/batch", {"options": {"min_id_length": "1"}, "events": [{"user_id": "ada"}]}),
        ("POSTHOG", "https://app.posthog.com/capture", {"event": "a", "distinct_id": "u", "timestamp": 10**400}),
    ],
)  # fmt: skip
def test_odd_values_do_not_stop_a_simulation(type: str, url: str, body: Any) -> None:
    """It judges them; a request on which it fails would succeed without being held."""
    workspace = workspace_of([type], "simulated")
    (destination,) = workspace.destinations.values()
    server = simulations.open(type, destination.config)
    server.answer("POST", url, body=body)

    assert server.faults == 0


def test_people_at_salesforce_have_ids() -> None:
    """Like profiles elsewhere: finding a person raised KeyError, and so did `nobody` in a suite."""
    workspace = workspace_of(["SALESFORCE"], "simulated")
    (key,) = workspace.destinations
    workspace.source("web", destinations=[key])
    event = {"type": "identify", "userId": "ada", "traits": {"email": "ada@b.example", "lastName": "L", "company": "C"}}
    with DataPlane(workspace) as plane:
        plane.send(event, source="web")
        plane.drain(60)
        (lead,), found = plane.held(key).tables["profiles"], plane.person("ada@b.example")

    assert [person.ids for person in found[key]] == [lead["ids"]]
    assert lead["ids"]["type"] == "Lead"
    assert plane.held(key).profile(lead["ids"]["Id"])["attributes"]["Email"] == "ada@b.example"
    other = simulations.open("SALESFORCE", {})
    other.give({"profiles": [lead]})
    assert other.held()["profiles"][0]["ids"] == lead["ids"]


def test_nobody_can_be_expected_at_salesforce(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scenario was broken by a KeyError."""
    suite = tmp_path / "a.suite.yaml"
    suite.write_text("""
sources: {web: {destinations: [sf]}}
destinations: {sf: {type: SALESFORCE, config: {userName: u, password: p, initialAccessToken: t}, simulate: simulated}}
scenarios:
- name: x
  source: web
  send: {type: identify, userId: ada, traits: {email: ada@b.example, lastName: L, company: C}}
  expect: {holds: {nobody: [{Id: "1"}], counts: {profiles: 1}}}
""")

    assert main(["run", str(suite)]) == 0, capsys.readouterr().out
