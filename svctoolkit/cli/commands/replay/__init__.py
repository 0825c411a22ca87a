"""`svctoolkit replay`: run many events through one workspace, or compare two."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svctoolkit.cli import _inputs
from svctoolkit.cli._command import Command, Exit
from svctoolkit.cli.commands.replay._arguments import STAGES, add_arguments
from svctoolkit.errors import ConfigError, UsageError
from svctoolkit.releases import release_problems

if TYPE_CHECKING:
    from svctoolkit.pipeline import Stages
    from svctoolkit.replay import Breach, Comparison, Costs, Forecast, Replayed, RequestCount
    from svctoolkit.replay.results.group_contrasts import Contrasts
    from svctoolkit.workspace import Workspace

_MOST_REVIEWED = 12  # lines before the effect on events


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.replay import Comparison

    if args.after is not None and args.before is None:
        raise UsageError("--after needs --before: it is the second side of a comparison")
    _check(args)
    refused = _replay_webhooks(args) if args.webhooks else 0
    if not args.files:  # no webhook became an event
        return Exit.FAILED if refused else Exit.OK
    if args.forecast:
        _terminal.out(_plain_lines(_forecast(args)))
        return Exit.OK
    costs = _costs(args) if args.prices else None
    for line in [] if args.json else _review(args):  # before the replay, which may stop at what it names
        _terminal.out(_terminal.plain(line))
    result, breaches = _decided(args, costs)
    if args.fail_on or args.fail_on_total or result.policies.items:
        result.verdict = breaches
    if args.html:
        result.to_html(args.html)
    if args.duckdb:
        result.to_duckdb(args.duckdb)
    _print_result(args, result, costs)
    _write_reports(args, result, breaches)
    if args.write_accepted and isinstance(result, Comparison):
        last = date.fromisoformat(args.expires) if args.expires else None
        count = result.write_accepted(args.write_accepted, reason=args.reason, expires=last)
        _terminal.err(
            f"added {count} accepted differences to {args.write_accepted}; review them before you commit the file"
        )
    if not result.complete:
        _terminal.err("interrupted" + (f"; continue with --resume --out {args.out}" if args.out else ""))
        return Exit.INTERRUPTED
    if not result.records:
        _terminal.err("no events in the input")
        return Exit.NOTHING
    if result.rejected == result.records:
        _terminal.err("no record in the input is a valid event")
        return Exit.FAILED
    for breach in breaches:
        _terminal.err(f"{breach.condition}: {breach.text}")
    if breaches:
        return Exit.FAILED
    if _inputs.report_unread(result.unread):
        return Exit.USAGE
    if args.fail_on or args.fail_on_total:
        result.mark_judged()
    return Exit.FAILED if refused else Exit.OK


def _review(args: argparse.Namespace) -> list[str]:
    """What a reviewer reads before the effect on events, if both sides are states of a rudder-cli project."""
    if args.before is None or args.outputs:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same as for the comparison
        before, after = _side(args.before, args), _side(args.after, args)
    if before.project is None or after.project is None:
        return []
    from svctoolkit.apply import changes_between

    changes = changes_between(before, after)
    lines = list(changes.review())
    if len(lines) > _MOST_REVIEWED:
        lines[_MOST_REVIEWED:] = [f"and {len(lines) - _MOST_REVIEWED} more lines: svctoolkit changes"]
    return [f"rudder-cli apply: {changes.counted}", *lines, ""] if changes or changes.findings else []


def _print_result(args: argparse.Namespace, result: Replayed | Comparison, costs: Costs | None) -> None:
    """Print the result, and what else was asked for: what its groups have in common, requests, costs."""
    from svctoolkit.cli import _terminal
    from svctoolkit.replay import Comparison

    counts = result.requests(_sizes(args.requests)) if args.requests and not isinstance(result, Comparison) else ()
    explained = result.contrasts() if args.explain else None
    if args.json:
        _terminal.out(_json_report(result, counts, explained, costs))
        return
    _terminal.out(_report(result))
    if explained:
        _terminal.out("what these events have in common:\n" + _plain_lines(explained))
    if counts:
        _terminal.out(_plain_lines(counts))
    if costs is not None:
        _terminal.out(_plain_lines(costs))


def _replay_webhooks(args: argparse.Namespace) -> int:
    """Report the webhooks in the files, and put their events in place of the files. Return how many are refused.

    With --before, only webhooks that the baseline accepts count.
    """
    from svctoolkit.cli import _terminal
    from svctoolkit.replay.webhooks import compare_refusals, replay_webhooks

    if args.source is None:
        raise UsageError("--webhooks needs --source: the webhook source that turns them into events")
    say = _terminal.err if args.json else _terminal.out
    after = replay_webhooks(args.files, _side(args.after, args), args.source)
    for line in after.lines():
        say(_terminal.plain(line))
    lost = {refusal.place for refusal in after.refused}
    if args.before is not None:
        before = replay_webhooks(args.files, _side(args.before, args), args.source)
        lost -= {refusal.place for refusal in before.refused}
        for line in compare_refusals(before, after):
            say(_terminal.plain(line))
    args.files = after.events
    return len(lost)


def _decided(args: argparse.Namespace, costs: Costs | None) -> tuple[Replayed | Comparison, list[Breach]]:
    """Return the result and its breaches, of a sample that is large enough to decide the conditions.

    Standard input can be read only once, and an output folder belongs to one run: their first sample has to do.
    """
    from svctoolkit.cli import _terminal

    result = _result(args)
    breaches = _breaches(result, args, costs)
    while result.complete and breaches and all(breach.needs for breach in breaches):
        if args.out or "-" in args.files:
            break
        open_conditions = ", ".join(breach.condition for breach in breaches)
        size = max(breach.needs for breach in breaches)
        _terminal.err(f"a sample of {args.sample:.3g} does not decide {open_conditions}; next: {size:.3g}")
        args.sample = size
        result = _result(args)
        breaches = _breaches(result, args, costs)
    return result, breaches


def _breaches(result: Replayed | Comparison, args: argparse.Namespace, costs: Costs | None) -> list[Breach]:
    from svctoolkit.replay.results.gates import undecided_policies

    amounts = None if costs is None else costs.amounts
    undecided = undecided_policies(result.tally, result.policies, result.sample) if args.policies else ()
    breaches = [
        *result.policy_breaches,
        *undecided,
        *result.breaches(args.fail_on, amounts=amounts),
        *result.breaches(args.fail_on_total, total=True, amounts=amounts),
    ]
    return list(dict.fromkeys(breaches))


def _costs(args: argparse.Namespace) -> Costs:
    """What the events cost, also at the earlier side of a comparison."""
    from svctoolkit.replay import cost

    jobs = _sizes(args.requests)[0] if args.requests else 20
    before = None if args.before is None else _side(args.before, args)
    chosen = {"jobs": jobs, "destinations": args.destination, "source": args.source}
    return cost(args.files, _side(args.after, args), args.prices, before=before, **chosen)


def _plain_lines(value: object) -> str:
    """How a value shows itself, line by line."""
    from svctoolkit.cli import _terminal

    return "\n".join(map(_terminal.plain, repr(value).split("\n")))


def _options(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "destinations": args.destination,
        "source": args.source,
        "stages": _stages(args),
        "columns": dict(_inputs.assignment("--column", text, "PATH=COLUMN") for text in args.column),
        "batch": args.batch,
        "sample": args.sample,
        "mask_personal": args.mask_personal,
        "rows": bool(args.duckdb) or args.explain,
        "out": args.out,
        "resume": args.resume,
        "ignore": args.ignore,
        "tolerance": dict(_tolerance(text) for text in args.tolerance),
        "accept": args.accept,
        "policies": args.policies,
        "releases": dict(_release(text) for text in args.release) or None,
        "history": args.history,
        "workers": args.workers,
        "scheduler": args.scheduler,
    }


def _forecast(args: argparse.Namespace) -> Forecast:
    from svctoolkit.replay import forecast
    from svctoolkit.workspace import Workspace

    if args.before is None:
        return forecast(args.files, Workspace.load(_workspace_file(args.workspace)), **_options(args))
    return forecast(args.files, _side(args.before, args), _side(args.after, args), **_options(args))


def _result(args: argparse.Namespace) -> Replayed | Comparison:
    from svctoolkit import replay
    from svctoolkit.replay.api import check_conditions
    from svctoolkit.workspace import Workspace

    options = _options(args)
    if args.outputs:
        review = {name: options[name] for name in ("ignore", "tolerance", "accept", "releases")}
        return replay.compare(*args.files, **review)
    if args.before is None:
        workspace = Workspace.load(_workspace_file(args.workspace))
        for conditions in (args.fail_on, args.fail_on_total):
            check_conditions(conditions, workspace, **options)  # before anything runs
        return replay.replay(args.files, workspace, **options)
    result = replay.compare(args.files, _side(args.before, args), _side(args.after, args), **options)
    _add_edits(result, args)
    return result


def _add_edits(result: Comparison, args: argparse.Namespace) -> None:
    """Add what git says about other files than the workspace's: policies, and the names of the rest."""
    from svctoolkit import yamlfile
    from svctoolkit.cli import _revision
    from svctoolkit.policies import Policies
    from svctoolkit.replay.edits import policy_edits

    if _revision.file_of(args.before) is not None or args.after is not None:
        return  # two folders
    result.changed_files = _revision.changed_files(args.before, _workspace_file(args.workspace).parent)
    earlier = _revision.text_at(args.before, Path(args.policies)) if args.policies else None
    if earlier is not None:
        data = yamlfile.load(earlier, name=args.policies).data
        was = data.get("policies", ()) if isinstance(data, dict) else ()
        result.edited = [*(result.edited or ()), *policy_edits(was, Policies.load(args.policies).items)]


def _side(ref: str | None, args: argparse.Namespace) -> Workspace:
    """One side of a comparison: a path, a git revision of the workspace, or the current workspace."""
    from svctoolkit.cli import _revision
    from svctoolkit.workspace import Workspace

    if ref is None:
        return Workspace.load(_workspace_file(args.workspace))
    if (file := _revision.file_of(ref)) is not None:
        return Workspace.load(file)
    return _revision.workspace_at(ref, _workspace_file(args.workspace))


def _workspace_file(name: str | None) -> Path:
    from svctoolkit.cli import _revision

    file = _revision.file_of(name or "workspace.yaml")
    if file is not None:
        return file
    if name is None:
        raise UsageError("no workspace.yaml in the current folder; give --workspace FILE")
    raise ConfigError("file not found", where=name)


def _stages(args: argparse.Namespace) -> Stages | None:
    """The chosen stages; None for the default: destinations that the workspace simulates answer."""
    from svctoolkit.pipeline import Stages

    if not args.stage and args.simulate is None:
        return None
    # the stage that a simulated server answers
    chosen = {"send_to_destination": True} if args.simulate not in (None, "answers") else {}
    for text in args.stage:
        name, value = _inputs.assignment("--stage", text, "STAGE=on", STAGES)
        if value not in ("on", "off", "true", "false"):
            raise UsageError(f"--stage {text}: expected {name}=on or {name}=off")
        chosen[name] = value in ("on", "true")
    return Stages(**chosen)


def _check(args: argparse.Namespace) -> None:
    """Raise `UsageError` for invalid options, `ConfigError` for an unusable database, before anything runs."""
    from svctoolkit.replay import REPORTS, Conditions
    from svctoolkit.warehouse.loading.database import refuse_data_file

    if args.duckdb:
        refuse_data_file(Path(args.duckdb))
    for conditions in (args.fail_on, args.fail_on_total):
        compares = args.before is not None or args.outputs
        Conditions(conditions, compares=compares, priced=bool(args.prices), accepts=bool(args.accept))
    compared = [name for name in ("ignore", "tolerance", "accept", "write_accepted") if getattr(args, name)]
    if args.outputs and (len(args.files) != 2 or args.before or args.out):
        raise UsageError("--outputs compares two folders written by --out; --before and --out do not apply")
    if compared and args.before is None and not args.outputs:
        raise UsageError(f"--{compared[0].replace('_', '-')} needs --before or --outputs: it applies to differences")
    if args.requests is not None:
        _sizes(args.requests)
        if args.before is not None and not args.prices:
            raise UsageError("--requests applies to one workspace: remove --before")
    if args.prices and (args.outputs or "-" in args.files):
        raise UsageError("--prices reads the events again: give files, not --outputs or standard input")
    if args.write_accepted and not args.reason.strip():
        raise UsageError("--write-accepted needs --reason: say why the differences are correct")
    if args.expires:
        try:
            last = date.fromisoformat(args.expires)
        except ValueError:
            raise UsageError(f"--expires {args.expires}: expected a date such as 2027-01-31") from None
        if last < datetime.now(UTC).date():
            raise UsageError(f"--expires {args.expires}: the date is in the past")
    for text in args.release:
        _release(text)
    for text in args.report:
        name = text.partition("=")[0]
        if name not in REPORTS.names():
            raise UsageError(f"--report: unknown report {name!r}. Available: {', '.join(REPORTS.names())}.")


def _tolerance(text: str) -> tuple[str, float]:
    path, value = _inputs.assignment("--tolerance", text, "PATH=NUMBER")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UsageError(f"--tolerance {text}: expected a number such as 1e-9")
    return path, number


def _release(text: str) -> tuple[str, str]:
    day, name = _inputs.assignment("--release", text, "DAY=NAME, such as 2026-05-17=2.4.0")
    for _, problem in release_problems({name: day}):
        raise UsageError(f"--release: {problem}")
    return name, day


def _write_reports(args: argparse.Namespace, result: Replayed | Comparison, breaches: Sequence[Breach]) -> None:
    from svctoolkit.cli import _reports, _terminal
    from svctoolkit.replay import REPORTS

    for text in args.report:
        name, _, file = text.partition("=")
        report = REPORTS[name].text(result, breaches, args.link or args.html or "")
        if not file:
            _terminal.out(report.rstrip("\n"))
            continue
        with _reports.open_file(file) as output:
            output.stream.write(report)


def _json_report(
    result: Replayed | Comparison,
    counts: Sequence[RequestCount],
    explained: Contrasts | None,
    costs: Costs | None,
) -> str:
    more: dict[str, object] = {}
    if counts:
        more["requests"] = [{**asdict(count), "share_of_limit": count.share_of_limit} for count in counts]
    if costs is not None:
        more["cost"] = {"currency": costs.currency, "total": costs.total, "lines": costs.to_list()}
    if explained:
        more["explained"] = explained.to_list()
    return json.dumps({**result.to_dict(), **more}, ensure_ascii=False, indent=2)


def _sizes(text: str) -> list[int]:
    """The numbers of jobs per call in text such as `20,100`."""
    sizes = [int(size) if size.strip().isdecimal() else 0 for size in text.split(",")]
    if min(sizes) < 1:
        raise UsageError(f"--requests {text}: expected numbers of jobs per call, such as 20,100")
    return sizes


def _report(result: Replayed | Comparison) -> str:
    from svctoolkit.cli._terminal import plain, style

    first, *others = repr(result).split("\n")
    return "\n".join([style(plain(first), "bold"), *map(plain, others)])


command = Command(
    help="run many events through a workspace, or compare two",
    description="""
        Run events from files through a workspace and report their outcomes. With --before, run them through two
        workspaces and report the differences: which payloads changed and where, and which events are newly dropped,
        delivered or failing. Nothing is ever sent.

        With --simulate, the stage send_to_destination runs too, and simulated servers answer it.

        --before accepts a path or a git revision: HEAD is the workspace as last committed.
    """,
    examples=(
        "svctoolkit replay events/ --workers 4 --out replayed",
        "svctoolkit replay orders.ndjson.gz --before HEAD --fail-on 'changed>1% or new_failures>0 or lost>0'",
        "svctoolkit replay events/ --before main --accept accepted.yaml --report junit=replay.xml --report github",
        "svctoolkit replay events.ndjson --before main --html changes.html --mask-personal",
        "svctoolkit replay events.db --source web --html delivered.html",
        "svctoolkit replay --outputs replayed-1.4 replayed-1.5 --fail-on any",
        "svctoolkit replay wh/order_completed.parquet --column '*=warehouse' --column properties.orderId=order_id",
        "svctoolkit replay orders.csv --column type==track --column event==Order --column userId=user_id",
    ),
    add_arguments=add_arguments,
    run=_run,
    runs_code=True,
    loads_workspace=True,
    simulates=True,
)
