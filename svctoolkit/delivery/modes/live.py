"""Mode `live`: the real destinations respond, within the limits of the network policy."""

from __future__ import annotations

from svctoolkit.delivery._http import Transport
from svctoolkit.delivery.modes._contract import Mode, Setting


def _network(setting: Setting) -> Transport:
    from svctoolkit.delivery import live  # loads httpx

    return live.transport_for(setting.allow, loopback=setting.loopback)


def _nothing(setting: Setting) -> None:  # noqa: ARG001 - responses need a network
    return None


def _describe(setting: Setting) -> str:  # noqa: ARG001 - the same for every workspace
    return "events are sent to the real destinations"


mode = Mode(transport=_network, offline=_nothing, sends=lambda _: True, describe=_describe)
