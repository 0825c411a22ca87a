"""Regulations at a data plane: jobs, tries, what is asked of vendors, and what is left there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.errors import InvalidDeletion, ToolkitError, UnknownName
from svctoolkit.server.regulations.parse import MAX_USERS, users_of
from svctoolkit.workspace import Account
from tests.examples import up_to

BRAZE = {"restApiKey": "br-secret-1", "dataCenter": "US-01"}
#: simulated type -> settings, and whether its events are deleted, too
SIMULATED: dict[str, tuple[str, dict[str, Any], bool]] = {
    "AM": ("AM", {"apiKey": "k", "apiSecret": "s"}, True),
    "BRAZE": ("BRAZE", BRAZE, True),
    "ITERABLE": ("ITERABLE", {"apiKey": "k"}, True),
    "MP": ("MP", {"token": "t"}, False),
    "MP task": ("MP", {"token": "t", "userDeletionApi": "task", "gdprApiToken": "g"}, True),
}


def shop() -> Workspace:
    workspace = Workspace("shop")
    workspace.destination("br", "BRAZE", config=BRAZE)
    workspace.destination("mp", "MP", config={"token": "t1"})
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace.source("web", write_key="w", destinations=["br", "mp", "hook"])
    return workspace


def test_each_destination_that_can_delete_gets_a_job() -> None:
    with DataPlane(shop(), listen=False) as plane:
        regulation = plane.delete(["ada", {"userId": "bob", "email": "bob@mail.example"}])
        plane.drain()

        assert [(job.destination, job.status, len(job.tries)) for job in regulation.jobs] == [
            ("br", "complete", 1),
            ("mp", "complete", 1),
        ]
        assert [recorded.request.url for recorded in plane.recorder.requests] == [
            "https://rest.iad-01.braze.com/users/delete",
            "https://api.mixpanel.com/engage",
        ]
        assert regulation.jobs[0].requests()[0].body == {"external_ids": ["ada", "bob"]}


def test_a_failed_job_is_tried_again_and_aborted_after_the_fourth_failure() -> None:
    with DataPlane(shop(), listen=False) as plane:
        plane.script("br", Answer(500), Answer(429), Answer(200))
        plane.script("mp", Answer(503))
        regulation = plane.delete("ada")
        plane.advance(3600)

        br, mp = regulation.jobs
        assert (br.status, [one.status for one in br.tries]) == ("complete", [500, 429, 200])
        assert (mp.status, [one.status for one in mp.tries]) == ("aborted", [503] * 4)
        assert br.tries[0].at < br.tries[1].at < br.tries[2].at
        assert regulation.is_done


@pytest.mark.parametrize("status", [404, 405])
def test_statuses_that_mean_not_supported_abort_at_once(status: int) -> None:
    with DataPlane(shop(), listen=False) as plane:
        plane.script("mp", Answer(status))
        regulation = plane.delete("ada", destinations=["mp"])
        plane.drain()

        assert (regulation.jobs[0].status, len(regulation.jobs[0].tries)) == ("aborted", 1)


def test_a_destination_that_cannot_delete_says_so() -> None:
    with DataPlane(shop(), listen=False) as plane:
        regulation = plane.delete("ada", destinations=["hook"])
        plane.drain()

        assert (regulation.jobs[0].status, regulation.jobs[0].requests()) == ("aborted", [])
        assert "cannot delete users" in regulation.jobs[0].error


def test_lost_answers_and_missing_settings_are_failures() -> None:
    workspace = shop()
    workspace.destination("am", "AM", config={"apiKey": "k"})
    with DataPlane(workspace, listen=False) as plane:
        plane.script("br", Answer(close=True))
        regulation = plane.delete("ada", destinations=["br", "am"])
        plane.advance(3600)

        br, am = regulation.jobs
        assert (br.status, br.tries[0].status, br.requests()[0].status) == ("aborted", 500, 0)
        assert (am.status, am.tries[0].status) == ("aborted", 400)
        assert "apiSecret" in am.error


def google(*renewals: str) -> Workspace:
    workspace = Workspace()
    workspace.accounts["g"] = Account("g", {"access_token": "o1"}, [{"access_token": token} for token in renewals])
    workspace.destination("ga", "GA", config={"trackingID": "UA-1"}, account="g")
    return workspace


def test_an_expired_token_is_renewed_and_the_job_sent_once_more() -> None:
    with DataPlane(google("o2"), listen=False) as plane:
        expired = {"error": {"code": 401, "status": "UNAUTHENTICATED"}}
        plane.script("ga", Answer(401, expired), Answer(200, {}))
        regulation = plane.delete("ada")
        plane.drain()

        job = regulation.jobs[0]
        assert (job.status, [one.auth for one in job.tries]) == ("complete", ["REFRESH_TOKEN", ""])
        assert [request.headers["Authorization"] for request in job.requests()] == ["Bearer o1", "Bearer o2"]


def test_an_account_without_permission_is_switched_off() -> None:
    workspace = google()
    with DataPlane(workspace, listen=False) as plane:
        plane.script("ga", Answer(200, {"error": {"code": 403, "errors": [{"reason": "insufficientPermissions"}]}}))
        regulation = plane.delete("ada")
        plane.drain()

        assert (regulation.jobs[0].status, workspace.accounts["g"].active) == ("aborted", False)


def test_jobs_continue_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "plane.db"
    with DataPlane(shop(), listen=False, store=file) as plane:
        plane.script("br", Answer(500))
        plane.delete("ada", destinations=["br"])
        plane.wait(lambda: plane.regulations[0].jobs[0].tries)
    assert b"br-secret-1" not in file.read_bytes()

    with DataPlane(shop(), listen=False, store=file) as plane:
        plane.drain()
        (regulation,) = plane.regulations

        assert ([one.status for one in regulation.jobs[0].tries], regulation.jobs[0].status) == ([500, 200], "complete")
        assert plane.delete("bob").number == 2


def test_a_regulation_belongs_to_its_run() -> None:
    with DataPlane(shop(), listen=False) as plane:
        plane.script("br", Answer(404), run="r1")
        first, second = plane.delete("ada", destinations=["br"], run="r1"), plane.delete("ada", destinations=["mp"])
        plane.drain(run="r1")
        plane.drain()
        assert {request.run for request in plane.recorder.requests} == {"r1", ""}

        plane.reset("r1")
        assert plane.regulations == [second]
        assert first.is_done


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_vendors_hold_nothing_of_a_deleted_user(name: str) -> None:
    type, config, with_events = SIMULATED[name]
    workspace = Workspace()
    workspace.destination("d", type, config=config, simulate="simulated")
    workspace.source("web", destinations=["d"])
    with DataPlane(workspace, listen=False) as plane:
        for user in ("ada", "bob"):
            traits = {"traits": {"email": f"{user}@mail.example"}}
            plane.send({"type": "identify", "userId": user, "context": traits}, source="web")
            plane.send({"type": "track", "event": "Viewed", "userId": user, "context": traits}, source="web")
        plane.drain()
        plane.delete("ada")
        plane.drain()

        server = plane.simulation("d")
        assert (len(server.rows("profiles")), len(server.rows("events"))) == (1, 1 if with_events else 2)


def test_the_user_id_does_not_find_a_contact_of_intercom() -> None:
    """The request needs Intercom's own id. The answer 404 counts as deleted, but the contact is still there."""
    workspace = Workspace()
    workspace.destination("ic", "INTERCOM", config={"apiKey": "k"}, simulate="simulated")
    with DataPlane(workspace, listen=False) as plane:
        server = plane.simulation("ic")
        server.give({"profiles": [{"ids": {"external_id": "ada"}}]})
        regulation = plane.delete("ada")
        plane.drain()
        assert (regulation.jobs[0].status, len(server.rows("profiles"))) == ("complete", 1)

        plane.delete(next(iter(server.held()["profiles"]))["ids"]["id"])
        plane.drain()
        assert len(server.rows("profiles")) == 0


def test_regulations_over_http() -> None:
    with DataPlane(shop()) as plane, httpx.Client(base_url=plane.url, timeout=60) as client:
        login = {"authorization": f"Bearer {plane.token}", "x-svctoolkit-run": "r1"}
        body = {"regulationType": "suppress_with_delete", "destinationIds": ["br"], "users": [{"userId": "ada"}]}
        created = client.post("/v2/regulations", json=body, headers=login).json()
        plane.drain()

        shown = client.get(f"/inspect/regulations/{created['id']}").json()
        assert [(job["destination"], job["status"]) for job in shown["jobs"]] == [("br", "complete")]
        assert shown["jobs"][0]["tries"][0]["requests"][0]["headers"]["Authorization"] == "Bearer ••••"
        assert client.get("/inspect/regulations", params={"run": "r1"}).json()["items"] == [shown]
        assert client.get("/inspect/regulations", params={"run": "r2"}).json()["items"] == []
        assert client.get("/inspect/regulations/unknown").status_code == 404
        assert client.post("/v2/regulations", json=body).status_code == 401

        def refused(**change: Any) -> tuple[int, str]:
            content = json.dumps(body | change)  # with escapes: half of a surrogate pair can be sent only so
            answer = client.post("/v2/regulations", content=content, headers=login)
            return answer.status_code, answer.json()["message"]

        assert refused(destinationIds=["br", "nope"]) == (404, "unknown destination 'nope'.")
        assert refused(regulationType="suppress")[0] == 400
        assert refused(users=[])[0] == 400
        assert refused(users=[{"userId": 1}])[0] == 400
        assert refused(users=[{"userId": "\ud800"}])[0] == 400
        assert refused(users=[{"userId": str(n)} for n in range(MAX_USERS + 1)])[0] == 400
        assert refused(more=1)[0] == 400


@pytest.mark.parametrize("users", [[], "", {}, None, 7, [[]], [{"userId": ""}], [{"userId": ["a"]}], ["x" * 1001]])
def test_bad_users_are_refused(users: Any) -> None:
    with DataPlane(shop(), listen=False) as plane:
        with pytest.raises(InvalidDeletion, match="users"):
            plane.delete(users)
        with pytest.raises(UnknownName):
            plane.delete("ada", destinations=["nope"])
        assert plane.regulations == []


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=up_to(80), derandomize=True, deadline=None)
@given(ANY)
def test_any_value_is_a_list_of_users_or_refused(value: Any) -> None:
    try:
        users = users_of(value)
    except ToolkitError:
        return
    assert users
    assert all(text for user in users for text in user.values())
