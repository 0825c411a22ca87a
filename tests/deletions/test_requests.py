"""What each type asks its vendor, and how it reads the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svctoolkit.destinations import CATALOGUE
from svctoolkit.errors import CannotDelete, InvalidConfig, InvalidDeletion, MappingError, ToolkitError, Unsupported
from tests.examples import up_to

CONFIGS: dict[str, dict[str, Any]] = {
    "AF": {"apiToken": "k1", "androidAppId": "com.shop", "appleAppId": "id1"},
    "AM": {"apiKey": "k1", "apiSecret": "s1"},
    "BRAZE": {"restApiKey": "k1", "dataCenter": "EU-02"},
    "CLEVERTAP": {"accountId": "a1", "passcode": "p1", "region": "in1"},
    "CUSTIFY": {"apiKey": "k1"},
    "EMARSYS": {"emersysUsername": "n1", "emersysUserSecret": "s1", "defaultContactList": "l1"},
    "ENGAGE": {"publicKey": "p1", "privateKey": "k1"},
    "GA": {"trackingID": "UA-1"},
    "INTERCOM": {"apiKey": "k1"},
    "ITERABLE": {"apiKey": "k1"},
    "MP": {"token": "t1"},
    "SENDGRID": {"apiKey": "k1"},
    "SPRIG": {"apiKey": "k1"},
}
SECRET = {"access_token": "o1"}


def people(count: int) -> list[dict[str, str]]:
    ids = (f"u{number}" for number in range(count))
    return [{"userId": id, "email": f"{id}@mail.example", "appsflyer_id": f"af-{id}"} for id in ids]


class Vendor:
    """Answers requests with the given statuses, then with 200."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        self.answers = list(answers)

    def __call__(self, _: Mapping[str, Any]) -> tuple[int, Any]:
        return self.answers.pop(0) if self.answers else (200, {})


def delete(type: str, count: int = 1, *answers: tuple[int, Any], **config: Any) -> Any:
    return CATALOGUE[type].deletions(people(count), CONFIGS[type] | config, lookup=Vendor(*answers), secret=SECRET)


def test_thirteen_types_can_delete() -> None:
    assert {name for name in CATALOGUE if CATALOGUE[name].can_delete} == set(CONFIGS)


@pytest.mark.parametrize(
    ("type", "users", "requests"),
    [
        ("BRAZE", 101, 3),
        ("AM", 201, 3),
        ("INTERCOM", 3, 3),
        ("CLEVERTAP", 101, 2),
        ("AF", 2, 2),
        ("MP", 1001, 2),
        ("GA", 2, 2),
        ("ITERABLE", 11, 11),
        ("ENGAGE", 2, 2),
        ("CUSTIFY", 2, 2),
        ("SENDGRID", 2000, 2),
        ("SPRIG", 101, 2),
        ("EMARSYS", 1001, 2),
    ],
)
def test_requests_carry_as_many_ids_as_the_vendor_accepts(type: str, users: int, requests: int) -> None:
    outcome = delete(type, users)

    assert (len(outcome.requests), outcome.status, outcome.error) == (requests, 200, None)


@pytest.mark.parametrize("type", CONFIGS)
def test_without_users_nothing_is_sent(type: str) -> None:
    outcome = delete(type, 0)

    assert (outcome.requests, outcome.deleted) == ([], True)


def test_a_deletion_task_of_mixpanel_names_the_law_of_the_region() -> None:
    task = {"userDeletionApi": "task", "gdprApiToken": "g1"}
    (request,) = delete("MP", 1, **task, dataResidency="eu").requests

    assert request["url"] == "https://eu.mixpanel.com/api/app/data-deletions/v3.0/"
    assert request["body"] == {"distinct_ids": ["u0"], "compliance_type": "GDPR"}
    assert len(delete("MP", 2000, **task).requests) == 2


def test_appsflyer_calls_back_up_to_three_urls() -> None:
    (request,) = delete("AF", 1, statusCallbackUrls="https://a.example,https://b.example,").requests
    assert request["body"]["status_callback_urls"] == ["https://a.example", "https://b.example"]

    with pytest.raises(InvalidConfig, match="up to 3 URLs, got 4"):
        delete("AF", 1, statusCallbackUrls="a,b,c,d")


def test_requests_that_are_sent_together_do_not_wait_for_each_other() -> None:
    outcome = delete("BRAZE", 101, (500, {}), (404, {}))

    assert (len(outcome.requests), outcome.status) == (3, 500)


@pytest.mark.parametrize("type", ["CLEVERTAP", "SPRIG", "EMARSYS"])
def test_requests_that_are_sent_in_turn_end_with_the_first_failure(type: str) -> None:
    outcome = delete(type, 2001, (429, {}))

    assert (len(outcome.requests), outcome.status) == (1, 429)


def test_users_that_iterable_refuses_do_not_stop_the_others() -> None:
    outcome = delete("ITERABLE", 11, (400, {"msg": "unknown"}), (404, {}))

    assert (len(outcome.requests), outcome.status) == (11, 400)
    assert outcome.error == "User deletion request failed for user u0: unknown"
    assert len(delete("ITERABLE", 11, (401, {"msg": "bad key"})).requests) == 10


@pytest.mark.parametrize(
    ("type", "answer", "status"),
    [
        ("BRAZE", 404, 200),
        ("AM", 404, 404),
        ("CUSTIFY", 202, 202),
        ("CUSTIFY", 404, 200),
        ("SPRIG", 400, 200),
        ("EMARSYS", 400, 200),
        ("MP", 0, 500),
        ("GA", 0, 200),
        ("GA", 500, 200),
    ],
)
def test_each_type_has_its_own_idea_of_deleted(type: str, answer: int, status: int) -> None:
    assert delete(type, 1, (answer, "ETIMEDOUT")).status == status


@pytest.mark.parametrize(
    ("error", "status", "category"),
    [
        ({"status": "UNAUTHENTICATED", "code": 401}, 500, "REFRESH_TOKEN"),
        ({"errors": [{"reason": "insufficientPermissions"}], "code": 403}, 400, "AUTH_STATUS_INACTIVE"),
        ({"message": "no such property", "code": 404}, 404, None),
        ("plain text", 418, None),
    ],
)
def test_errors_of_google_say_what_is_wrong_with_the_account(error: Any, status: int, category: str | None) -> None:
    outcome = delete("GA", 1, (418, {"error": error}))

    assert (outcome.status, outcome.auth_error_category) == (status, category)


def test_google_without_an_account_is_refused() -> None:
    with pytest.raises(MappingError, match="access_token"):
        CATALOGUE["GA"].deletions(people(1), CONFIGS["GA"])


def test_users_without_the_id_are_left_out_or_refused() -> None:
    users = [{"userId": "u1"}, {"email": "a@mail.example"}]

    assert CATALOGUE["BRAZE"].deletions(users, CONFIGS["BRAZE"]).requests[0]["body"] == {"external_ids": ["u1"]}
    custify = CATALOGUE["CUSTIFY"].deletions(users, CONFIGS["CUSTIFY"])
    assert (len(custify.requests), custify.status, "users[1]" in str(custify.error)) == (1, 400, True)
    with pytest.raises(InvalidDeletion, match=r"users\[1\]: userId is missing"):
        CATALOGUE["GA"].deletions(users, CONFIGS["GA"], secret=SECRET)


def test_a_type_that_cannot_delete_says_so() -> None:
    with pytest.raises(CannotDelete, match=r"Google Analytics 4 .*cannot delete users") as error:
        _ = CATALOGUE["GA4"].deletions

    assert isinstance(error.value, Unsupported)
    assert not hasattr(CATALOGUE["GA4"], "deletions")


@pytest.mark.parametrize("type", CONFIGS)
def test_missing_settings_and_users_that_are_not_a_list_are_refused(type: str) -> None:
    run = CATALOGUE[type].deletions

    with pytest.raises(InvalidDeletion, match="must be a list of objects, not an object"):
        run({"userId": "u1"}, CONFIGS[type])
    with pytest.raises(InvalidConfig, match="configuration is missing"):
        run(people(1), None)
    if type != "GA":
        with pytest.raises(InvalidConfig, match="is required"):
            run(people(1), {})


HOSTILE = st.none() | st.text(max_size=20) | st.integers() | st.lists(st.integers(), max_size=2) | st.booleans()
NAMES = st.sampled_from(["userId", "email", "appsflyer_id", "x"])


@settings(max_examples=up_to(60), derandomize=True, deadline=None)
@given(
    st.sampled_from(sorted(CONFIGS)),
    st.lists(st.dictionaries(NAMES, HOSTILE, max_size=3) | HOSTILE, max_size=3) | HOSTILE,
    st.tuples(st.integers(0, 599), HOSTILE | st.dictionaries(st.just("error"), HOSTILE)),
)
def test_whatever_the_users_and_the_answer_are_there_is_an_outcome_or_a_refusal(
    type: str, users: Any, answer: tuple[int, Any]
) -> None:
    try:
        outcome = CATALOGUE[type].deletions(users, CONFIGS[type], lookup=lambda _: answer, secret=SECRET)
    except ToolkitError:
        return
    assert outcome.deleted == (outcome.error is None)


@pytest.mark.parametrize(
    ("user", "apps", "property_id"),
    [
        ({"appsflyer_id": "x", "ios_advertising_id": "y"}, {}, "com.shop"),
        ({"appsflyer_id": "x"}, {"androidAppId": ""}, "id1"),
        ({"ios_advertising_id": "x", "android_advertising_id": "y"}, {}, "id1"),
        ({"android_advertising_id": "x"}, {}, "com.shop"),
        ({"android_advertising_id": "x"}, {"androidAppId": ""}, None),
        ({"ios_advertising_id": "x"}, {"appleAppId": ""}, None),
        ({"userId": "x"}, {}, None),
    ],
)
def test_appsflyer_deletes_an_id_in_the_app_that_it_belongs_to(
    user: dict[str, str], apps: dict[str, str], property_id: str | None
) -> None:
    outcome = CATALOGUE["AF"].deletions([user, {"appsflyer_id": "other"}], CONFIGS["AF"] | apps)

    assert outcome.status == (200 if property_id else 400)
    assert [request["body"]["property_id"] for request in outcome.requests[:-1]] == (
        [property_id] if property_id else []
    )


@pytest.mark.parametrize(
    ("type", "config", "message"),
    [
        ("AF", {"androidAppId": "", "appleAppId": ""}, "androidAppId: required, unless appleAppId is set"),
        ("BRAZE", {"dataCenter": "EU"}, "expected one such as US-01 or EU-02, got 'EU'"),
        ("MP", {"userDeletionApi": "task"}, "gdprApiToken: is required to delete users with a task"),
    ],
)
def test_settings_that_do_not_fit_are_named(type: str, config: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfig, match=message):
        delete(type, 1, **config)
