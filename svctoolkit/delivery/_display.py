"""Rich display of requests and the recorder. Everything that could be secret is masked."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.delivery._http import HttpRequest, HttpResponse, public_url
from svctoolkit.delivery._masking import mask_request, mask_response
from svctoolkit.delivery.recorder import Recorded, Recorder
from svctoolkit.display import Html, pill
from svctoolkit.displayed import shows
from svctoolkit.secrets import Masker

_SHOWN = 50  # requests of a recorder


@shows(HttpRequest)
def request(item: HttpRequest) -> Html:
    """Show the host and size only: it is not known here which other values are secret."""
    facts = {"URL": public_url(item.url), "headers": ", ".join(item.headers), "body": f"{len(item.body):,} bytes"}
    return display.page(display.section(pill(item.method, "info"), display.facts(facts)))


@shows(HttpResponse)
def response(item: HttpResponse) -> Html:
    """Show the status and the size."""
    facts = {"headers": ", ".join(item.headers), "body": f"{len(item.body):,} bytes"}
    return display.page(display.section(_status(item), display.facts(facts)))


@shows(Recorded)
def request_with_answer(exchange: Recorded) -> Html:
    """Show one request with its response."""
    masker = exchange.masker()
    return display.page(_about(exchange, masker), _exchange(exchange, masker))


@shows(Recorder)
def recorder(item: Recorder) -> Html:
    """Show the last requests, each collapsed."""
    masker = item.masker()
    exchanges = item.requests
    head = f"{len(exchanges) + item.forgotten:,} requests recorded, nothing left the machine"
    blocks = [display.message(head, "info")]
    if len(exchanges) > _SHOWN:
        blocks.append(display.message(f"the last {_SHOWN} requests:", "plain"))
    for exchange in exchanges[-_SHOWN:]:
        request = exchange.request
        target = display.html(masker.text(public_url(request.url, path=True)))
        title = Html(f"{pill(request.method, 'info')} {target} {_status(exchange.response)}")
        blocks.append(display.more(title, _exchange(exchange, masker)))
    return display.page(*blocks)


def _exchange(item: Recorded, masker: Masker) -> Html:
    request = mask_request(item.request, masker)
    if item.response is None:
        return display.exchange(request)
    return display.exchange(request, mask_response(item.response, masker))


def _status(answer: HttpResponse | None) -> Html:
    if answer is None:
        return pill("no response", "error")
    return pill(answer.status, "ok" if 200 <= answer.status < 300 else "error")


def _about(exchange: Recorded, masker: Masker) -> Html:
    facts = {"destination": exchange.destination, "run": exchange.run, "events": ", ".join(exchange.events)}
    stated = {name: masker.text(value) for name, value in facts.items() if value}
    return display.facts({"time": exchange.time.isoformat(timespec="milliseconds"), **stated})
