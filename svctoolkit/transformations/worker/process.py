"""The process that runs transformations: it imports what it needs, locks itself down, then serves one host.

It is started for one worker, or as a template: then it imports everything, never sees user code, and forks the workers
(see `template`), which lock themselves down.
"""

from __future__ import annotations

import gc
import json
import os
import sys

import channel  # type: ignore[import-not-found]  # in this folder; the worker runs as a script

TYPE_CHECKING = False  # `typing` takes longer to import than this package's modules
if TYPE_CHECKING:
    from typing import Any

OUT_OF_MEMORY = 3  # exit status


class _Probe:
    """A dummy engine: applies the locks only, to report which ones hold."""

    kind = "child"
    spare = 0

    def prepare(self, config: dict[str, Any]) -> None:
        """Do nothing: there is no engine to configure."""

    def start(self) -> None:
        """Do nothing: there is no engine to start."""

    def serve(self, receive: Any, _send: Any) -> None:
        """Wait until the host has disconnected."""
        receive()


def _engine(config: dict[str, Any]) -> Any:
    if config["language"] == "probe":
        return _Probe()
    if config["language"] == "python":
        import python  # type: ignore[import-not-found]

        return python.Engine(config)
    import javascript  # type: ignore[import-not-found]

    return javascript.Engine(config)


def _lock(config: dict[str, Any], engine: Any) -> tuple[dict[str, str], Any]:
    """Start the engine inside the locks. Returns descriptions of the locks that hold, and the lock for children."""
    if sys.platform == "darwin" and (config["forks"] or config["language"] == "probe"):
        import seatbelt  # type: ignore[import-not-found]

        engine.start()
        system = seatbelt.library()
        children = seatbelt.ChildLock(system, seatbelt.profile_of(system), config["without"])
        return children.layers, children
    if not sys.platform.startswith("linux"):
        engine.start()
        return {}, None
    import lock  # type: ignore[import-not-found]

    without = config["without"]
    status = os.open("/proc/self/status", os.O_RDONLY)
    active = lock.before_threads(config["parent"], without)
    engine.start()
    gc.collect()
    used = lock.memory_use(status)
    memory = config["memory"] + engine.spare
    active |= lock.after_start(memory, used, kind=engine.kind, without=without)
    return active, lock.ChildLock(active) if engine.kind == "parent" else None


def _work(config: dict[str, Any], engine: Any) -> None:
    """Serve until the host has disconnected."""
    share = sys.stdin.readline().strip() if config["shared"] else ""
    receive, send = channel.of_share(share) if share else channel.of_descriptor(config["channel"])
    control = None
    if config["forks"]:
        import _socket

        control = _socket.socket(fileno=config["channel"])
    engine.prepare(config)
    os.environ.clear()
    gc.enable()
    encode = json.dumps
    layers, lock = _lock(config, engine)
    send(0, encode({"ready": layers}).encode())
    if control is not None:
        engine.serve_with_children(control, lock)
    else:
        engine.serve(receive, send)


def main(config: dict[str, Any]) -> None:
    """Serve one host, as `config` says, until it disconnects."""
    try:
        engine = _engine(config)
        if config["template"]:
            import template  # type: ignore[import-not-found]

            worker = template.next_worker(config["channel"], config["parent"])
        else:
            worker = {**config["worker"], "channel": config["channel"], "parent": config["parent"]}
        _work({**worker, "language": config["language"]}, engine)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except BaseException as error:  # noqa: BLE001 - the host reads the exit status and stderr
        os.write(2, f"{type(error).__name__}: {error}"[:500].encode("utf-8", "replace"))
        os._exit(1)
