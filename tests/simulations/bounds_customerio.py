"""Both sides of the bounds of Customer.io's rules."""

from __future__ import annotations

from typing import Any

from svctoolkit.simulations import SimulatedServer
from tests.simulations.bounds import Case, Requests, each

CONFIG = {"datacenter": "US", "siteID": "s1", "apiKey": "k1"}


def cio(path: str, method: str = "POST", headers: dict[str, str] | None = None, **body: Any) -> Requests:
    return lambda server: server.answer(method, f"https://track.customer.io/api/{path}", headers, body)


def person(path: str = "u1", **attributes: Any) -> Requests:
    return cio(f"v1/customers/{path}", "PUT", **attributes)


def event(name: str | None = "A", **members: Any) -> Requests:
    return cio("v1/customers/u1/events", name=name, **members)


def entry(**attributes: Any) -> Requests:
    item = {"type": "person", "action": "identify", "identifiers": {"id": "u1"}, "attributes": attributes}
    return cio("v2/batch", batch=[item])


def merge(primary: str, secondary: str) -> Requests:
    return cio("v1/merge_customers", primary={"id": primary}, secondary={"id": secondary})


def known_as_cio() -> Requests:
    """Change a person through the cio_id that the workspace gave."""

    def send(server: SimulatedServer) -> None:
        person()(server)
        cio_id = server.rows("profiles")[0].ids["cio_id"]
        person(f"cio_{cio_id}", id="u2")(server)

    return send


ULID = "01J4F3Y7Q2W5E8R1T6Y9N0P3AS"
SUPPRESS = cio("v1/customers/u1/suppress")
CASES = {
    "cio.auth": Case(cio("v1/customers/u1", "PUT", {"Authorization": "Basic eDp5"}), person()),
    "cio.event.required": Case(event(None), event()),
    "cio.event.trim": Case(event(" A"), cio("v1/events", name=" A", anonymous_id="a1")),
    "cio.event.dedupe": Case(each(*[event(id=ULID)] * 2), each(*[event(id="order-1")] * 2)),
    "cio.person.email": Case(
        each(person(email="a@b.example"), person("u2", email="A@b.example")),
        each(person(email="a@b.example"), person("u2", email="c@d.example")),
    ),
    "cio.person.conflict": Case(
        each(person(email="a@b.example"), person("u2", email="c@d.example"), person(email="c@d.example")),
        each(person(email="a@b.example"), person(email="c@d.example")),
    ),
    "cio.person.change": Case(each(person(), person(id="u2")), known_as_cio()),
    "cio.person.cio_id": Case(person("cio_0000", a=1), known_as_cio()),
    "cio.person.update_only": Case(person(_update=True), each(person(), person(_update=True))),
    "cio.anonymous": Case(
        each(cio("v1/events", name="A", anonymous_id="a1"), person(anonymous_id="a1")),
        each(cio("v1/events", name="A", anonymous_id="a2"), person(anonymous_id="a1")),
        {"event_merging": True},
    ),
    "cio.merge": Case(each(person(), person("u2"), merge("u1", "u2")), each(person(), merge("u1", "u2"))),
    "cio.attr.value": Case(entry(plan="x" * 1001), entry(plan="x" * 1000)),
    "cio.v2.batch": Case(cio("v2/batch", batch="x"), cio("v2/batch", batch=[])),
    "cio.v2.size": Case(
        entry(**{f"a{n}": "x" * 1000 for n in range(32)}),
        entry(**{f"a{n}": "x" * 1000 for n in range(31)}),
        level="strict",
    ),
    "cio.suppress": Case(
        each(SUPPRESS, person()), each(SUPPRESS, cio("v1/customers/u1/unsuppress"), person(), event())
    ),
}
