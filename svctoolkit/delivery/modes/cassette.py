"""Mode `cassette`: the real destinations respond once, then a file replays their responses."""

from __future__ import annotations

from svctoolkit.delivery._http import Transport
from svctoolkit.delivery.cassette import Cassette
from svctoolkit.delivery.modes import live
from svctoolkit.delivery.modes._contract import Mode, Setting


def _transport(setting: Setting) -> Transport:
    path = setting.cassette
    if path not in setting.transports:  # a second one would treat this run's responses as recorded
        setting.transports[path] = Cassette.once(path, live.mode.transport(setting), secrets=setting.secrets)
    return setting.transports[path]


def _offline(setting: Setting) -> Transport | None:
    return None if _sends(setting) else Cassette(setting.cassette, secrets=setting.secrets)


def _sends(setting: Setting) -> bool:
    return not setting.cassette.exists()


def _describe(setting: Setting) -> str:
    if not _sends(setting):
        return f"nothing leaves this machine, responses come from {setting.cassette}"
    return f"events are sent to the real destinations, and their responses are recorded in {setting.cassette}"


mode = Mode(
    transport=_transport,
    offline=_offline,
    sends=_sends,
    describe=_describe,
    needs=("cassette", "a file for the responses"),
)
