"""How requests and the recorder show themselves. What could be a secret is masked."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.delivery._http import HttpRequest, HttpResponse, public_url
from svctoolkit.delivery._masking import mask_request, mask_response
from svctoolkit.delivery._recorder import Recorded, Recorder
from svctoolkit.display import Html, pill
from svctoolkit.displayed import shows
from svctoolkit.secrets import Masker

_SHOWN = 50  # requests of a recorder


@shows(HttpRequest)
def request(item: HttpRequest) -> Html:
    """Where it goes, and how much it is. Nobody knows here which of its values are secret, so none is shown."""
    facts = {"URL": public_url(item.url), "headers": ", ".join(item.headers), "body": f"{len(item.body):,} bytes"}
    return display.page(display.section(pill(item.method, "info"), display.facts(facts)))


@shows(HttpResponse)
def response(item: HttpResponse) -> Html:
    """Its status, and how much it is."""
    facts = {"headers": ", ".join(item.headers), "body": f"{len(item.body):,} bytes"}
    return display.page(display.section(_status(item), display.facts(facts)))


@shows(Recorded)
def request_with_answer(exchange: Recorded) -> Html:
    """One request with its answer."""
    masker = exchange.masker()
    return display.page(_about(exchange, masker), _exchange(exchange, masker))


@shows(Recorder)
def recorder(item: Recorder) -> Html:
    """The last requests, each to open."""
    masker = item.masker()
    exchanges = item.requests
    head = f"{len(exchanges) + item.forgotten:,} requests recorded, nothing left the machine"
    blocks = [display.message(head, "info")]
    if len(exchanges) > _SHOWN:
        blocks.append(display.message(f"the last {_SHOWN} of them:", "plain"))
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
        return pill("no answer", "error")
    return pill(answer.status, "ok" if 200 <= answer.status < 300 else "error")


def _about(exchange: Recorded, masker: Masker) -> Html:
    facts = {"destination": exchange.destination, "run": exchange.run, "events": ", ".join(exchange.events)}
    stated = {name: masker.text(value) for name, value in facts.items() if value}
    return display.facts({"time": exchange.time.isoformat(timespec="milliseconds"), **stated})
