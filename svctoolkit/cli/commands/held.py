"""`svctoolkit held`: what the simulated destinations of a running data plane hold and have lost."""

from __future__ import annotations

import argparse
import json
from typing import Any
from urllib.parse import quote, urlencode

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ToolkitError, UsageError
from svctoolkit.json_types import Json

_WIDTH = 100  # characters of a row
_SECONDS = 30.0


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("destination", nargs="?", help="key or id of a destination (default: list all)")
    parser.add_argument("table", nargs="?", help="show the rows of this table, such as profiles")
    parser.add_argument(
        "--url", default="http://127.0.0.1:8091", help="address of the data plane (default: %(default)s)"
    )
    parser.add_argument("--token", help="token of the data plane, if it requires credentials")
    parser.add_argument("--run", default="", help="show the state of this run")
    parser.add_argument("--id", help="show only rows with this id; requires a table")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _ask(args: argparse.Namespace, path: str, **query: str) -> Any:
    import httpx

    chosen = {name: value for name, value in query.items() if value}
    url = f"{args.url.rstrip('/')}/inspect/{path}" + (f"?{urlencode(chosen)}" if chosen else "")
    headers = {"Authorization": f"Bearer {args.token}"} if args.token else {}
    try:
        answer = httpx.get(url, headers=headers, timeout=_SECONDS)
        body = answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ToolkitError(
            f"{args.url} is not a data plane: {error}. Start one with `svctoolkit serve --simulate`"
        ) from error
    if answer.status_code != 200:
        raise ToolkitError(str(body.get("message", body)) if isinstance(body, dict) else f"{url}: {answer.status_code}")
    return body


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal

    if args.id and not args.table:
        raise UsageError("--id needs a destination and a table, such as `svctoolkit held braze profiles --id u1`")
    key = quote(args.destination or "", safe="")
    if args.table:
        found = _ask(args, f"held/{key}/{quote(args.table, safe='')}", run=args.run, id=args.id or "")
        lines = [_line(row) for row in found["items"]] or ["no rows"]
    elif args.destination:
        found = _ask(args, f"held/{key}", run=args.run)
        lines = _state_lines(found)
    else:
        found = _ask(args, "held", run=args.run)
        lines = [_overview_line(name, state) for name, state in found.items()] or ["no destination is simulated"]
    _terminal.out(json.dumps(found, indent=2, ensure_ascii=False) if args.json else "\n".join(lines))
    return Exit.OK


def _overview_line(name: str, state: dict[str, Json]) -> str:
    rows = ", ".join(f"{table} {count:,}" for table, count in state["rows"].items())
    return f"{name}  {state['type']}  {state['level']}: {rows}; {state['lost']:,} lost"


def _state_lines(state: dict[str, Json]) -> list[str]:
    lines = []
    for table, rows in state["tables"].items():
        lines += [f"{table}: {len(rows):,}", *(f"  {_line(row)}" for row in rows[:20])]
        lines += [f"  and {len(rows) - 20:,} more"] if len(rows) > 20 else []
    lines.append(f"lost: {len(state['losses']):,}")
    for loss in state["losses"]:
        events = f" [{', '.join(loss['events'])}]" if loss["events"] else ""
        lines.append(f"  {loss['text']}{events}")
    return lines


def _line(row: dict[str, Json]) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


command = Command(
    help="show what simulated destinations hold and have lost",
    description="""
        Show what the simulated destinations of a running data plane hold: without arguments how many rows each has,
        with a destination its tables and losses, with a table its rows. Start the data plane with
        `svctoolkit serve --simulate`.
    """,
    examples=(
        "svctoolkit held",
        "svctoolkit held braze",
        "svctoolkit held braze profiles --id u1 --json",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
