"""How requests and the recorder show themselves. What could be a secret is masked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svctoolkit import display
from svctoolkit.delivery._masking import mask_request, mask_response
from svctoolkit.display import Html, pill
from svctoolkit.secrets import MASK, Masker
from svctoolkit.url_secrets import mask_url

if TYPE_CHECKING:
    from svctoolkit.delivery._http import HttpRequest, HttpResponse
    from svctoolkit.delivery._recorder import Recorded, Recorder

_SHOWN = 50  # requests of a recorder
#: A step of a path with digits and letters that nobody would make up: who knows it may come in.
_KEY_IN_PATH = re.compile(r"(?<=[^/])/(?=[^/]*[A-Za-z])(?=[^/]*\d)[\w~-]{16,}(?=/|$)")


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
    return display.page(_about(exchange, masker), _exchange(exchange, masker))


def recorder(item: Recorder, masker: Masker) -> Html:
    """The last requests, each to open."""
    exchanges = item.requests
    head = f"{len(exchanges) + item.forgotten:,} requests recorded, nothing left the machine"
    blocks = [display.message(head, "info")]
    if len(exchanges) > _SHOWN:
        blocks.append(display.message(f"the last {_SHOWN} of them:", "plain"))
    for exchange in exchanges[-_SHOWN:]:
        request = exchange.request
        target = display.html(masker.text(place(request, path=True)))
        title = Html(f"{pill(request.method, 'info')} {target} {_status(exchange.response)}")
        blocks.append(display.more(title, _exchange(exchange, masker)))
    return display.page(*blocks)


def _exchange(item: Recorded, masker: Masker) -> Html:
    request = mask_request(item.request, masker)
    if item.response is None:
        return display.exchange(request)
    return display.exchange(request, mask_response(item.response, masker))


def place(item: HttpRequest, *, path: bool = False) -> str:
    """The URL as far as it has no secret: its scheme and host. With `path`, that too, for who masks what is known.

    What looks like a key is left out of a path in any case, and so is the query.
    """
    url, query, _ = mask_url(item.url).partition("?")
    if not path:
        scheme, slashes, rest = url.partition("//")
        host, slash, _ = rest.partition("/")
        return f"{scheme}{slashes}{host}{'/…' if slash else ''}"
    url = _KEY_IN_PATH.sub(f"/{MASK}", url)
    return f"{url}?…" if query else url


def _status(answer: HttpResponse | None) -> Html:
    if answer is None:
        return pill("no answer", "error")
    return pill(answer.status, "ok" if 200 <= answer.status < 300 else "error")


def _about(exchange: Recorded, masker: Masker) -> Html:
    facts = {"destination": exchange.destination, "run": exchange.run, "events": ", ".join(exchange.events)}
    stated = {name: masker.text(value) for name, value in facts.items() if value}
    return display.facts({"time": exchange.time.isoformat(timespec="milliseconds"), **stated})
