"""Both sides of the bounds of Iterable's rules."""

from __future__ import annotations

from typing import Any

from tests.simulations.bounds import SECONDS, Case, Requests, each, numbered

CONFIG = {"apiKey": "k1", "dataCenter": "USDC"}


def it(path: str, method: str = "POST", headers: dict[str, str] | None = None, **body: Any) -> Requests:
    return lambda server: server.answer(method, f"https://api.iterable.com/api/{path}", headers, body)


def user(email: str | None = "a@b.example", **members: Any) -> Requests:
    return it("users/update", email=email, **members)


def users(*records: dict[str, Any], **members: Any) -> Requests:
    return it("users/bulkUpdate", users=list(records), **members)


def event(name: str = "A", **members: Any) -> Requests:
    return it("events/track", eventName=name, createdAt=SECONDS * 1000, email="a@b.example", **members)


def purchase(total: float = 5, **members: Any) -> Requests:
    return it("commerce/trackPurchase", user={"email": "a@b.example"}, total=total, items=[], **members)


def items(count: int) -> Requests:
    return it("catalogs/c/items", documents=numbered(count))


def change(new: str, current: str = "a@b.example") -> Requests:
    return it("users/updateEmail", currentEmail=current, newEmail=new)


TWO = each(user(userId="u1"), user("c@d.example", userId="u2"))
BIG = "x" * 4_200_000
CASES = {
    "it.auth": Case(it("users/update", headers={"Api_Key": "k2"}), user()),
    "it.size": Case(users({"email": "a@b.example", "dataFields": {"a": BIG}}), user(dataFields={"a": BIG})),
    "it.body": Case(users({"email": "a@b.example"}, {"email": "c@d.example", "preferUserId": "abc"}), TWO),
    "it.email": Case(user("ada"), user()),
    "it.bulk.email": Case(users({"email": "ada"}), users({"email": "a@b.example"})),
    "it.type": Case(
        each(user(dataFields={"age": 25}), user(dataFields={"age": "25"})),
        each(user(dataFields={"age": 25}), user(dataFields={"age": None}), event(dataFields={"age": "25"})),
    ),
    "it.fields": Case(
        each(
            users({"email": "a@b.example", "dataFields": {"b": 1}}, createNewFields=False),
            event(dataFields=numbered(8001)),
        ),
        each(
            users({"email": "a@b.example", "dataFields": {"a": 1}}, createNewFields=False),
            user(dataFields={"a": 2}, createNewFields=False),
            event(dataFields=numbered(8000)),
        ),
        {"fields": {"a": "long"}},
    ),
    "it.event.disallowed": Case(event(), event("B"), {"disallowed_events": ["A"]}),
    "it.event.id": Case(each(event(id="1"), event("B", id="1")), each(event(id="1"), event(id="2"), event(), event())),
    "it.user.prefer": Case(
        user(None, userId="u1"),
        each(user(None, userId="u1", preferUserId=True), user(None, userId="u1")),
        {"project": "email"},
    ),
    "it.user.conflict": Case(
        each(TWO, users({"email": "a@b.example", "userId": "u2"})),
        each(TWO, users({"email": "e@f.example", "userId": "u2"}, {"email": "a@b.example", "userId": "u1"})),
    ),
    "it.user.email_change": Case(each(TWO, change("c@d.example")), each(TWO, change("e@f.example"))),
    "it.user.forgotten": Case(
        each(user(), it("users/forget", email="a@b.example"), user()),
        each(user(), it("users/a@b.example", "DELETE"), user()),
    ),
    "it.catalog": Case(items(1001), items(1000), {"catalogs": ["c"]}),
    "it.purchase": Case(each(purchase(5, id="1"), purchase(6, id="1")), each(purchase(5), purchase(5, id="2"))),
}
