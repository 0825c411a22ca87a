"""`svctoolkit delete`: the requests that delete users at destinations."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import UsageError
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from svctoolkit.delivery import HttpRequest
    from svctoolkit.server.regulations.preview import DeletionPreview

_AT_ONCE = 20  # requests of a destination that are printed


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    users = parser.add_argument_group("users")
    users.add_argument("--user", action="append", default=[], metavar="ID", help="user ID; may be repeated")
    users.add_argument(
        "--attribute",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="attribute of a single user, such as email=ada@mail.example; may be repeated",
    )
    users.add_argument("--users", metavar="FILE", help="JSON file with a list of IDs, or of objects with userId")
    parser.add_argument(
        "--to", metavar="KEYS", help="keys or IDs of destinations, separated by commas (default: all that can delete)"
    )
    parser.add_argument(
        "--workspace", metavar="FILE", default="workspace.yaml", help="workspace file (default: %(default)s)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the requests without sending them, as always")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument("--markdown", action="store_true", help="print Markdown")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.server.regulations.parse import destinations_of, users_of
    from svctoolkit.server.regulations.preview import preview_deletion
    from svctoolkit.workspace import Workspace

    if not args.dry_run:
        raise UsageError(
            "this command only shows requests: add --dry-run. To delete users at simulated or real destinations, start "
            "`svctoolkit serve` and POST to /v2/regulations"
        )
    users = users_of(_users(args))
    workspace = Workspace.load(args.workspace)
    names = None if args.to is None else [name.strip() for name in args.to.split(",") if name.strip()]
    previews = preview_deletion(workspace, users, destinations_of(workspace, names))
    if args.json:
        _terminal.out(json.dumps([_object(one) for one in previews], indent=2, ensure_ascii=False))
    else:
        lines = _markdown(previews) if args.markdown else _lines(previews)
        _terminal.out("\n".join(map(_terminal.plain, lines)))
    return Exit.FAILED if any(one.error for one in previews) else Exit.OK


def _users(args: argparse.Namespace) -> Json:
    if args.users:
        if args.user or args.attribute:
            raise UsageError("--users excludes --user and --attribute")
        return _inputs.parse_json(_inputs.file_text(args.users), args.users)
    attributes = dict(_inputs.assignment("--attribute", text, "NAME=VALUE") for text in args.attribute)
    if attributes and len(args.user) > 1:
        raise UsageError("--attribute belongs to a single --user; write several users into a file for --users")
    if attributes:
        return {**({"userId": args.user[0]} if args.user else {}), **attributes}
    if not args.user:
        raise UsageError("name a user with --user, --attribute or --users")
    return list(args.user)


def _body(request: HttpRequest) -> str:
    return request.body.decode("utf-8", "replace")


def _object(preview: DeletionPreview) -> dict[str, Json]:
    requests = [
        {"method": one.method, "url": one.url, "headers": dict(one.headers), "body": _body(one)}
        for one in preview.requests
    ]
    return {"destination": preview.destination, "type": preview.type, "error": preview.error, "requests": requests}


def _summary(preview: DeletionPreview) -> str:
    count = len(preview.requests)
    return f"{preview.destination} ({preview.type}): {count:,} request{'' if count == 1 else 's'}"


def _lines(previews: Sequence[DeletionPreview]) -> Iterator[str]:
    for preview in previews:
        yield _summary(preview)
        if preview.error:
            yield f"  refused: {preview.error}"
        for request in preview.requests[:_AT_ONCE]:
            yield f"  {request.method} {request.url}"
            yield from (f"    {name}: {value}" for name, value in _headers(request))
            if request.body:
                yield f"    {_body(request)}"
        if len(preview.requests) > _AT_ONCE:
            yield f"  and {len(preview.requests) - _AT_ONCE:,} more; --json has all"


def _headers(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the headers that the type sets, without those of every HTTP request."""
    usual = ("content-length", "connection", "accept-encoding", "user-agent")
    return [(name, value) for name, value in request.headers.items() if name.lower() not in usual]


def _markdown(previews: Sequence[DeletionPreview]) -> Iterator[str]:
    yield "# Deletion of users"
    for preview in previews:
        yield ""
        yield f"## {_summary(preview)}"
        yield ""
        if preview.error:
            yield f"Refused: {preview.error}"
            yield ""
        if not preview.requests:
            continue
        yield "| method | URL | body |"
        yield "|---|---|---|"
        for one in preview.requests[:_AT_ONCE]:
            cells = (cell.replace("|", "\\|").replace("`", "'") for cell in (one.url, _body(one)))
            url, body = cells
            yield f"| {one.method} | `{url}` | {f'`{body}`' if body else ''} |"
        if len(preview.requests) > _AT_ONCE:
            yield ""
            yield f"And {len(preview.requests) - _AT_ONCE:,} more."


command = Command(
    help="show the requests that delete users at destinations",
    description="""
        Show what RudderStack would send to delete users at the destinations of a workspace, with secrets masked.
        Nothing is sent. Destinations whose type cannot delete users are errors if --to names them.
    """,
    examples=(
        "svctoolkit delete --dry-run --user ada",
        "svctoolkit delete --dry-run --user ada --to mixpanel,braze --markdown",
        "svctoolkit delete --dry-run --attribute appsflyer_id=af-1 --to appsflyer --json",
    ),
    add_arguments=_add_arguments,
    run=_run,
    loads_workspace=True,
)
