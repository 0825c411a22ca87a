"""The arrival of a response after its delay, if it arrives at all."""

from __future__ import annotations

from collections.abc import Callable

from svctoolkit.delivery._failures import failure
from svctoolkit.delivery._http import HttpRequest, HttpResponse, Transport
from svctoolkit.delivery._url import Url
from svctoolkit.delivery.faults.injector import Fault, FaultInjector


def arrive(
    response: HttpResponse | None,
    seconds: float,
    *,
    timeout: float,
    place: str,
    sleep: Callable[[float], object],
    is_truncated: bool = False,
) -> HttpResponse:
    """Return the response after a delay. None is a closed connection.

    Raises `DeliveryError` for a closed connection, and if the delay is not less than `timeout`.
    """
    if seconds > 0:
        sleep(min(seconds, timeout))
    if seconds >= timeout:
        raise failure("ECONNABORTED", f"{place} did not respond within {timeout:g} s")
    if response is None:
        when = "before its response was complete" if is_truncated else "without a response"
        raise failure("ECONNRESET", f"{place} closed the connection {when}")
    return response


def reach(
    transport: Transport,
    request: HttpRequest,
    *,
    timeout: float,
    faults: FaultInjector,
    destination: str,
    run: str = "",
    sleep: Callable[[float], object],
) -> HttpResponse:
    """Return the response of a transport to a request for a destination, which meets the destination's faults."""
    fault = faults.next("destination", destination, run)
    if fault is None:
        return transport(request, timeout=timeout)
    return exchange(transport, request, fault, timeout=timeout, sleep=sleep)


def exchange(
    transport: Transport, request: HttpRequest, fault: Fault, *, timeout: float, sleep: Callable[[float], object]
) -> HttpResponse:
    """Return the response of a transport to a request that meets a fault. It is not sent if it is refused before."""
    answer, response = fault.answer, None
    if answer is None or answer.close == "after":
        response = transport(request, timeout=timeout)
    elif not answer.close:
        response = answer.response()
    seconds = fault.seconds(len(request.body) + (len(response.body) if response else 0))
    if answer is not None and answer.close:
        response = None
    return arrive(response, seconds, timeout=timeout, place=Url.parse(request.url).place, sleep=sleep)
