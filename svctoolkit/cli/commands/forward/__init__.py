"""`svctoolkit forward`: send the events of a data plane's store to another data plane."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli.commands.forward import _options
from svctoolkit.errors import ConfigError, StoreError, UnknownName, UsageError

if TYPE_CHECKING:
    from svctoolkit.server.forwarding.reader import Reader
    from svctoolkit.server.store.archive import Chosen


def _run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from svctoolkit.server.forwarding.position import Position, default_path
    from svctoolkit.server.forwarding.reader import Reader
    from svctoolkit.server.store.archive import archive

    to, path, given = _options.address(args.to), Path(args.store), _options.sources(args.source)
    size, chosen = _options.size(args.batch), _chosen(args)
    _options.throttle(args.rate, size)
    if not path.is_file():
        raise ConfigError("no such file: expected the store of a data plane (`serve --store`)", where=args.store)
    try:
        with archive(path) as store:
            reader = Reader(store, chosen, args.event)
            names = _names(reader, list(given))
            if not names:
                return _nothing(args)
            position = Position(
                Path(args.position) if args.position else default_path(path, to), to, chosen, args.event
            )
            for name in names:
                position.check(store, name)
            if args.dry_run:
                from svctoolkit.cli.commands.forward import _dry_run

                return _dry_run.show(args, to, reader, position, names)
            from svctoolkit.cli.commands.forward import _sending

            keys = {name: _options.write_key(given.get(name) or args.write_key, name) for name in names}
            return _sending.send(args, to, reader, position, keys)
    except StoreError as error:
        raise ConfigError(f"not the store of a data plane, or damaged: {error}", where=args.store) from error


def _chosen(args: argparse.Namespace) -> Chosen:
    from datetime import UTC, datetime

    from svctoolkit.server.store.archive import Chosen

    now = datetime.now(UTC)
    since = _options.moment("--since", args.since, now, float("-inf"))
    until = _options.moment("--until", args.until, now, float("inf"))
    if since >= until:
        raise UsageError("--since must be before --until")
    return Chosen(since, until, args.run)


def _names(reader: Reader, given: list[str]) -> list[str]:
    """Return the chosen sources that have events. Raises `UsageError` if the choice is not clear."""
    found = {of.source: of for of in reader.sources()}
    for name in given:
        if found and name not in found:
            raise UnknownName("source", name, found)
    if not given and len(found) > 1:
        counts = ", ".join(f"{of.source} ({of.events:,})" for of in found.values())
        example = " ".join(f"--source {name}=WRITE_KEY" for name in list(found)[:2])
        raise UsageError(f"the store has events of several sources: {counts}. Choose them with their keys: {example}")
    return [name for name in found if name in given or not given]


def _nothing(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    is_choice = args.source or args.since or args.until or args.run
    _terminal.err("no events in the store match" if is_choice else "no events in the store")
    return Exit.NOTHING


command = Command(
    help="send the events of a data plane's store to another data plane",
    description="""
        Send events that a data plane has stored (`serve --store`) to a real one, in order per user, with the same
        messageIds and timestamps. A position file records what was sent. Start the command again to continue after
        Ctrl-C or a failure, or when new events have arrived. 408, 429 and 5xx are retried, with Retry-After.

        Repeated events are skipped. Redirects are not followed. If the command is killed, the batch in progress is sent
        again, with the same messageIds.
    """,
    examples=(
        "svctoolkit forward events.db --to https://plane.example --write-key '$(env:REAL_KEY)' --dry-run",
        "svctoolkit forward events.db --to https://plane.example --since 2h --rate 100/s",
        "svctoolkit forward events.db --to https://plane.example --source web='$(env:WEB)' --source app='$(env:APP)'",
    ),
    add_arguments=_options.add_arguments,
    run=_run,
)
