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


def request(item: HttpRequest) -> Html:
    """Where it goes, and how much it is. Nobody knows here which of its values are secret, so none is shown."""
    facts = {"URL": place(item), "headers": ", ".join(item.headers), "body": f"{len(item.body):,} bytes"}
    return display.page(display.section(pill(item.method, "info"), display.facts(facts)))


def response(item: HttpResponse) -> Html:
    """Its status, and how much it is."""
    facts = {"headers": ", ".join(item.headers), "body": f"{len(item.body):,} bytes"}
    return display.page(display.section(_status(item), display.facts(facts)))


def request_with_answer(exchange: Recorded, masker: Masker) -> Html:
    """One request with its answer."""
    return display.page(_about(exchange), _exchange(exchange, masker))


def recorder(item: Recorder, masker: Masker) -> Html:
    """The last requests, each to open."""
    exchanges = item.requests
    head = f"{len(exchanges) + item.forgotten:,} requests recorded, nothing left the machine"
    blocks = [display.message(head, "info")]
    if len(exchanges) > _SHOWN:
        blocks.append(display.message(f"the last {_SHOWN} of them:", "plain"))
    for exchange in exchanges[-_SHOWN:]:
        request = exchange.request
        title = Html(f"{pill(request.method, 'info')} {display.html(place(request))} {_status(exchange.response)}")
        blocks.append(display.more(title, _exchange(exchange, masker)))
    return display.page(*blocks)


def _exchange(item: Recorded, masker: Masker) -> Html:
    question, answer = item.request, item.response
    safe = replace(
        question,
        url=masker.mask(question.url),
        headers=_headers(question.headers, masker),
        body=_body(question.body, masker),
    )
    if answer is None:
        return display.exchange(safe)
    answered = replace(answer, headers=_headers(answer.headers, masker), body=_body(answer.body, masker))
    return display.exchange(safe, answered)


def _headers(headers: Mapping[str, str], masker: Masker) -> dict[str, str]:
    return {name: MASK if name.lower() in CREDENTIALS else masker.mask(text) for name, text in headers.items()}


def _body(body: bytes, masker: Masker) -> bytes:
    try:
        masked: str = masker.mask(body.decode())
    except UnicodeDecodeError:
        return body
    return masked.encode()


def place(item: HttpRequest) -> str:
    """The URL without its query, where keys stand."""
    url, query, _ = item.url.partition("?")
    return f"{url}?…" if query else url


def _status(answer: HttpResponse | None) -> Html:
    if answer is None:
        return pill("no answer", "error")
    return pill(answer.status, "ok" if 200 <= answer.status < 300 else "error")


def _about(exchange: Recorded) -> Html:
    facts = {"destination": exchange.destination, "run": exchange.run, "events": ", ".join(exchange.events)}
    stated = {name: value for name, value in facts.items() if value}
    return display.facts({"time": exchange.time.isoformat(timespec="milliseconds"), **stated})
