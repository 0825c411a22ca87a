"""How requests and the recorder show themselves. What could be a secret is masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.display import Html, pill
from svctoolkit.secrets import MASK, Masker

if TYPE_CHECKING:
    from svctoolkit.delivery._http import HttpRequest, HttpResponse
    from svctoolkit.delivery._recorder import Recorded, Recorder

_SHOWN = 50  # requests of a recorder
#: Headers that are secret, whoever sends them.
CREDENTIALS = ("authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key", "api-key", "x-auth-token")


def request(made: HttpRequest) -> Html:
    """Where it goes, and how much it is. Nobody knows here which of its values are secret, so none is shown."""
    facts = {"URL": place(made), "headers": ", ".join(made.headers), "body": f"{len(made.body):,} bytes"}
    return display.page(display.section(pill(made.method, "info"), display.facts(facts)))


def response(made: HttpResponse) -> Html:
    """Its status, and how much it is."""
    facts = {"headers": ", ".join(made.headers), "body": f"{len(made.body):,} bytes"}
    return display.page(display.section(_status(made), display.facts(facts)))


def recorded(one: Recorded, masker: Masker) -> Html:
    """One request with its answer."""
    return display.page(_about(one), _exchange(one, masker))


def recorder(found: Recorder, masker: Masker) -> Html:
    """The last requests, each to open."""
    kept = found.requests
    head = f"{len(kept) + found.forgotten:,} requests recorded, nothing left the machine"
    parts = [display.message(head, "info")]
    if len(kept) > _SHOWN:
        parts.append(display.message(f"the last {_SHOWN} of them:", "plain"))
    for one in kept[-_SHOWN:]:
        title = Html(f"{pill(one.request.method, 'info')} {display.html(place(one.request))} {_status(one.response)}")
        parts.append(display.more(title, _exchange(one, masker)))
    return display.page(*parts)


def _exchange(one: Recorded, masker: Masker) -> Html:
    asked, answer = one.request, one.response
    shown = replace(
        asked,
        url=masker.masked(asked.url),
        headers=_headers(asked.headers, masker),
        body=_body(asked.body, masker),
    )
    if answer is None:
        return display.exchange(shown)
    answered = replace(answer, headers=_headers(answer.headers, masker), body=_body(answer.body, masker))
    return display.exchange(shown, answered)


def _headers(headers: Mapping[str, str], masker: Masker) -> dict[str, str]:
    return {name: MASK if name.lower() in CREDENTIALS else masker.masked(text) for name, text in headers.items()}


def _body(body: bytes, masker: Masker) -> bytes:
    try:
        masked: str = masker.masked(body.decode())
    except UnicodeDecodeError:
        return body
    return masked.encode()


def place(made: HttpRequest) -> str:
    """The URL without its query, where keys stand."""
    url, query, _ = made.url.partition("?")
    return f"{url}?…" if query else url


def _status(answer: HttpResponse | None) -> Html:
    if answer is None:
        return pill("no answer", "error")
    return pill(answer.status, "ok" if 200 <= answer.status < 300 else "error")


def _about(one: Recorded) -> Html:
    facts = {"destination": one.destination, "run": one.run, "events": ", ".join(one.events)}
    known = {name: value for name, value in facts.items() if value}
    return display.facts({"time": one.time.isoformat(timespec="milliseconds"), **known})
