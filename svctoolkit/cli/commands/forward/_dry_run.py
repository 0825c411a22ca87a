"""`svctoolkit forward --dry-run`: what would be sent."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from svctoolkit.cli import _terminal
from svctoolkit.cli._command import Exit
from svctoolkit.cli.commands.forward import _options
from svctoolkit.server.batches import body_of
from svctoolkit.server.forwarding.forward import planned
from svctoolkit.server.forwarding.position import Position
from svctoolkit.server.forwarding.reader import Reader

_MOST = 20  # rows of the table


def show(args: argparse.Namespace, to: str, reader: Reader, position: Position, names: Sequence[str]) -> int:
    """Print how many events of which kind would be sent, in how many requests."""
    kinds: Counter[tuple[str, str, str]] = Counter()
    requests = size = 0
    now = datetime.now(UTC)
    for batch in planned(reader, position, names, args.batch):
        requests += 1
        size += len(body_of(batch, now))
        kinds.update((event.source, event.type, event.name) for event in batch)
    events = kinds.total()
    if args.json:
        rows = [{"source": s, "type": t, "event": e, "events": count} for (s, t, e), count in kinds.most_common()]
        data = {"to": to, "events": events, "requests": requests, "bytes": size, "repeats": reader.repeats}
        _terminal.out(json.dumps({**data, "kinds": rows}, ensure_ascii=False, indent=2))
        return Exit.OK if events else Exit.NOTHING
    if not events:
        _terminal.err("nothing to send: everything was sent before, or no event matches")
        return Exit.NOTHING
    limit = _options.throttle(args.rate, args.batch)
    duration = f", at least {events / limit.limit * limit.seconds:,.0f} s at {args.rate}" if limit else ""
    _terminal.out(f"would send {events:,} events in {requests:,} requests ({size:,} bytes) to {to}{duration}")
    rows_ = [(*kind, f"{count:,}") for kind, count in kinds.most_common(_MOST)]
    _terminal.out("\n".join(_terminal.table(("source", "type", "event", "events"), rows_)))
    if len(kinds) > _MOST:
        _terminal.out(f"and {len(kinds) - _MOST:,} more kinds")
    if reader.repeats:
        _terminal.out(f"{_terminal.quantity(reader.repeats, 'repeated event')} left out")
    return Exit.OK
