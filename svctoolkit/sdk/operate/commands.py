"""The command line `svctoolkit-client`."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import IO

from svctoolkit import __version__
from svctoolkit.durations import UNITS, parse_duration
from svctoolkit.errors import ConfigError, StorageError, ToolkitError
from svctoolkit.prometheus import family
from svctoolkit.sdk.base.values import stored_object
from svctoolkit.sdk.operate.directory import TABLES, Directory, QueuedEvent, SourceNumbers, State
from svctoolkit.sdk.operate.drain import drain
from svctoolkit.sdk.queue.database import SQLITE_ERRORS
from svctoolkit.sdk.queue.location import fingerprint

_KEY_VARIABLE = "SVCTOOLKIT_WRITE_KEY"
_EXAMPLES = """examples:
  svctoolkit-client queue /var/lib/shop/events stats
  svctoolkit-client queue /var/lib/shop/events ls --state parked
  svctoolkit-client queue /var/lib/shop/events retry --limit 1
  svctoolkit-client queue /var/lib/shop/events export --state parked > parked.ndjson
  svctoolkit-client queue /var/lib/shop/events purge --state parked --older-than 30d
  SVCTOOLKIT_WRITE_KEY=... svctoolkit-client queue /var/lib/shop/events drain --data-plane-url https://plane.example

Every command is safe while applications use the directory. diagnose() shows an application's directory."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0, 1 if events remain after `drain`, 2 for errors."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except (ToolkitError, OSError, *SQLITE_ERRORS) as error:
        print(f"svctoolkit-client: {error}", file=sys.stderr)
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("svctoolkit-client", description=__doc__, epilog=_EXAMPLES, formatter_class=plain)
    parser.add_argument("--version", action="version", version=__version__)
    areas = parser.add_subparsers(required=True, metavar="queue")
    queue = areas.add_parser(
        "queue", help="inspect and maintain a client's queue", epilog=_EXAMPLES, formatter_class=plain
    )
    queue.add_argument("directory", metavar="DIR", help="the client's data_directory")
    commands = queue.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        made.set_defaults(run=run)
        made.add_argument("--source", default="", metavar="ID", help="only this source, as `stats` names it")
        return made

    listing = command("ls", _ls, "list events, oldest first")
    _add_states(listing)
    listing.add_argument("--limit", type=int, default=50, metavar="N", help="at most N events (default: 50; 0: all)")
    listing.add_argument("--json", action="store_true", help="one JSON object per line")
    stats = command("stats", _stats, "count events by source and state")
    stats.add_argument("--format", choices=("text", "json", "prometheus"), default="text")
    retry = command("retry", _retry, "put parked events back into the queue")
    retry.add_argument("--limit", type=int, default=-1, metavar="N", help="only the oldest N: try one event first")
    purge = command("purge", _purge, "delete events, except those being sent")
    _add_states(purge, required=True)
    purge.add_argument("--older-than", default="", metavar="TIME", help="only older events: 90s, 15m, 12h, 30d, 2w")
    purge.add_argument("--yes", action="store_true", help="do not ask")
    drains = command("drain", _drain, "send what waits; the write key is read from SVCTOOLKIT_WRITE_KEY, or asked for")
    drains.add_argument("--data-plane-url", default="", metavar="URL", help="default: SVCTOOLKIT_DATA_PLANE_URL")
    drains.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="default: 600")
    export = command("export", _export, "write events as lines of JSON, as they would be sent")
    _add_states(export)
    export.add_argument("--output", default="", metavar="FILE", help="default: standard output")
    return parser


def _add_states(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    text = "waiting, device (waiting for device mode) or parked; may be repeated" + (
        "" if required else "; default: all"
    )
    parser.add_argument("--state", action="append", choices=tuple(TABLES), required=required, help=text)


def _events(directory: Directory, options: argparse.Namespace) -> Generator[QueuedEvent, None, None]:
    return directory.events(_states(options), options.source)


def _states(options: argparse.Namespace) -> tuple[State, ...]:
    return tuple(dict.fromkeys(options.state or TABLES))


# Commands


def _ls(options: argparse.Namespace) -> int:
    with Directory(options.directory) as directory, closing(_events(directory, options)) as events:
        for place, event in enumerate(events):
            if options.limit and place == options.limit:
                if not options.json:
                    print(f"... more than {options.limit}: --limit 0 lists all")
                break
            print(json.dumps(_members(event), ensure_ascii=False) if options.json else _line(event))
    return 0


def _stats(options: argparse.Namespace) -> int:
    with Directory(options.directory) as directory:
        sources, size = directory.numbers(options.source), directory.bytes
    if options.format == "json":
        print(json.dumps({"bytes": size, "sources": [numbers._asdict() for numbers in sources]}))
    elif options.format == "prometheus":
        print("\n".join(_metrics(sources, size)))
    else:
        _print_numbers(sources, size)
    return 0


def _retry(options: argparse.Namespace) -> int:
    with Directory(options.directory) as directory:
        number = directory.retry(options.source, options.limit)
    print(f"{number} event(s) wait again; running clients send them within seconds, others at their next start")
    return 0


def _purge(options: argparse.Namespace) -> int:
    before = time.time() - _seconds(options.older_than) if options.older_than else float("inf")
    states = _states(options)
    with Directory(options.directory) as directory:
        what = " and ".join(states) + " events" + (f" older than {options.older_than}" if options.older_than else "")
        if not options.yes:
            counts = directory.numbers(options.source)
            total = sum(getattr(numbers, state) for numbers in counts for state in states)
            if not sys.stdin.isatty():
                raise ConfigError("purge deletes events: confirm with --yes")
            if input(f"Delete {what} (of {total})? They cannot be restored. [y/N] ").strip().lower() not in (
                "y",
                "yes",
            ):
                print("nothing was deleted")
                return 0
        purged = directory.purge(states, options.source, before)
        left = sum(numbers.in_journals for numbers in directory.numbers(options.source))
    print("deleted: " + ", ".join(f"{number} {state}" for state, number in purged.deleted.items()))
    if "waiting" in states and purged.in_flight:
        print(f"kept: {purged.in_flight} event(s) that a process is sending")
    if "waiting" in states and left:
        print(f"kept: {left} event(s) that running processes have not queued yet; try again in a few seconds")
    return 0


def _drain(options: argparse.Namespace) -> int:
    with Directory(options.directory) as directory:
        path, sources = directory.path, {numbers.source: numbers for numbers in directory.numbers()}
    key = os.environ.get(_KEY_VARIABLE) or (getpass.getpass("Write key: ") if sys.stdin.isatty() else "")
    if not key:
        raise ConfigError(f"drain needs the source's write key: set {_KEY_VARIABLE}")
    source = fingerprint(key)
    if source not in sources:
        others = ", ".join(f"{name} ({numbers.waiting} waiting)" for name, numbers in sources.items())
        print(f"no event waits for this write key (source {source})" + (f"; others: {others}" if others else ""))
        return 2 if others else 0

    def show(delivered: int, waiting: int) -> None:
        print(f"{delivered} delivered, {waiting} waiting", file=sys.stderr)

    why = drain(path, key, options.data_plane_url, options.timeout, show)
    with Directory(path) as directory:
        remaining = sum(numbers.waiting for numbers in directory.numbers(source))
    if remaining:
        print(f"{remaining} event(s) still wait{f': {why}' if why else ''}")
    return 1 if remaining else 0


def _export(options: argparse.Namespace) -> int:
    with Directory(options.directory) as directory, closing(_events(directory, options)) as events:
        bodies = (event.body for event in events)
        if not options.output:
            _write_lines(sys.stdout.buffer, bodies)
            return 0
        unfinished = f"{options.output}.{os.getpid()}.tmp"
        try:
            with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                number = _write_lines(file, bodies)
            os.replace(unfinished, options.output)
        except OSError as error:
            raise StorageError(f"{options.output} cannot be written: {error}") from error
    print(f"{number} event(s) in {options.output}", file=sys.stderr)
    return 0


# Text


def _write_lines(file: IO[bytes], bodies: Iterable[bytes]) -> int:
    number = 0
    for body in bodies:
        file.write(body + b"\n")
        number += 1
    return number


def _members(event: QueuedEvent) -> dict[str, object]:
    content = stored_object(event.body)
    members = {"id": event.id, "source": event.source, "stored_at": event.at, "state": event.state}
    verdict = {"status": event.status, "reason": event.reason} if event.state == "parked" else {}
    names = {"message_id": "messageId", "type": "type", "event": "event", "user_id": "userId"}
    return {**members, **verdict, **{name: content.get(key) for name, key in names.items()}, "bytes": len(event.body)}


def _line(event: QueuedEvent) -> str:
    content = stored_object(event.body)
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.at))
    name = content.get("event") or content.get("name") or ""
    user = content.get("userId") or content.get("anonymousId") or ""
    line = f"{at}  {event.state:7}  {content.get('type', ''):8}  {name:24}  {user}"
    # No line breaks or escape sequences from events in the terminal.
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", f"{line}  {event.reason}".rstrip())


def _print_numbers(sources: Sequence[SourceNumbers], size: int) -> None:
    heads = ("source", "waiting", "in flight", "device", "parked", "oldest")
    rows = [
        (n.source, f"{n.waiting:,}", f"{n.in_flight:,}", f"{n.device:,}", f"{n.parked:,}", _age(n.oldest))
        for n in sources
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells))
    if not sources:
        print("(no events)")
    print(f"{size / 2**20:.1f} MB on disk")


def _metrics(sources: Sequence[SourceNumbers], size: int) -> Iterable[str]:
    texts = {
        "waiting": "Events that wait to be sent.",
        "in_flight": "Waiting events that a process is sending.",
        "device": "Events that wait for device mode.",
        "parked": "Events that the data plane refused.",
    }
    for name, text in texts.items():
        values = {(numbers.source,): getattr(numbers, name) for numbers in sources}
        yield from family(f"queue_{name}", text, "gauge", ("source",), values)
    ages = {(numbers.source,): max(0.0, time.time() - numbers.oldest) for numbers in sources if numbers.oldest}
    yield from family("queue_oldest_seconds", "Age of the oldest waiting event.", "gauge", ("source",), ages)
    yield from family("queue_bytes", "Size of the queue's files.", "gauge", (), {(): size})


def _age(at: float) -> str:
    if not at:
        return "-"
    seconds = max(0.0, time.time() - at)
    unit = next((unit for unit in "wdhm" if seconds >= 2 * UNITS[unit]), "s")
    return f"{seconds / UNITS[unit]:.0f} {unit}"


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError:
        raise ConfigError(f"--older-than: {text!r} is not a time; write 90s, 15m, 12h, 30d or 2w") from None
