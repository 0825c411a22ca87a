"""The options of `svctoolkit replay`."""

from __future__ import annotations

import argparse

from svctoolkit.cli import _inputs

STAGES = ("user_transform", "dest_transform", "send_to_destination")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="event files, folders, globs, URLs (s3://) or data plane stores (.db); - reads NDJSON from standard input",
    )
    _add_workspaces(parser.add_argument_group("workspaces"))
    _add_events(parser.add_argument_group("events"))
    _add_execution(parser.add_argument_group("execution"))
    _add_output(parser.add_argument_group("output"))
    _add_comparison(parser.add_argument_group("comparison and failure"))


def _add_workspaces(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--workspace", metavar="FILE", help="workspace file (default: workspace.yaml)")
    group.add_argument(
        "--before", metavar="REF", help="compare with this baseline: a path, or a git revision of the workspace"
    )
    group.add_argument("--after", metavar="REF", help="with --before: what to compare with it (default: the workspace)")
    group.add_argument("--outputs", action="store_true", help="compare two folders written by --out: FILE FILE")
    group.add_argument(
        "--destination", action="append", metavar="ID", help="run only this destination; may be repeated"
    )
    group.add_argument("--source", metavar="ID", help="source of the events: run only its connected destinations")
    group.add_argument(
        "--webhooks",
        action="store_true",
        help="FILE has recorded webhooks of --source, one per line: report refusals, and replay their events",
    )
    group.add_argument(
        "--stage",
        action="append",
        default=[],
        metavar="STAGE=on",
        help=f"switch a stage on or off ({', '.join(STAGES)})",
    )


def _add_events(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="PATH=COLUMN",
        help="map a CSV or Parquet column to an event path; *=warehouse:pages reads a warehouse table; may be repeated",
    )
    group.add_argument(
        "--sample",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="replay only this share of the events, always with rare shapes: 0.01 is 1 %%",
    )
    group.add_argument(
        "--batch", type=int, default=200, metavar="N", help="events per call of user code (default: %(default)s)"
    )


def _add_execution(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--workers", type=int, default=1, metavar="N", help="number of worker processes (default: %(default)s)"
    )
    group.add_argument("--scheduler", metavar="ADDRESS", help="run on this Dask scheduler: tcp://...")
    group.add_argument("--resume", action="store_true", help="continue the interrupted replay in --out")
    group.add_argument("--forecast", action="store_true", help="estimate time and size without running")


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--out", metavar="FOLDER", help="write rows as Parquet, and a list of rejected records")
    group.add_argument("--duckdb", metavar="FILE", help="write rows, counts, groups and rejects to a DuckDB database")
    group.add_argument(
        "--history", metavar="FILE", help="add counts of the events to this history (history.duckdb), see `trend`"
    )
    group.add_argument("--html", metavar="FILE", help="write an HTML page with every group and its examples")
    group.add_argument("--json", action="store_true", help="print the numbers and groups as JSON")
    group.add_argument(
        "--explain",
        action="store_true",
        help="show what distinguishes the events of each group from those that arrive; reads the input again",
    )
    group.add_argument(
        "--requests",
        metavar="JOBS",
        help="count requests for these numbers of jobs per call (such as 20,100), and compare batch sizes with limits",
    )
    group.add_argument(
        "--prices",
        metavar="FILE",
        help="report what the events cost by the prices and limits in this file (prices.yaml); with --before, on "
        "both sides",
    )
    group.add_argument(
        "--release",
        action="append",
        default=[],
        metavar="DAY=NAME",
        help="mark a release in pictures, such as 2026-05-17=2.4.0; may be repeated "
        "(default: `releases` of the workspace, or app versions in the events)",
    )
    group.add_argument(
        "--mask-personal", action="store_true", help="mask names, e-mail addresses and other personal data"
    )
    group.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="NAME[=FILE]",
        help="write a report: junit, github (annotations) or markdown (for a pull request); may be repeated",
    )
    group.add_argument("--link", metavar="URL", help="published address of the --html page, for links in reports")


def _add_comparison(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--fail-on",
        action=_inputs.ConditionText,
        default="",
        metavar="CONDITIONS",
        help="exit with code 1 if a condition holds, such as 'changed>1%% or new_failures>0 or lost>0'. "
        "With --before: kinds of difference, lost, personal, any. "
        "Without: failed, dropped, filtered, unmapped. Both: rejected. With --prices: cost, cost_change, over_limit",
    )
    group.add_argument(
        "--fail-on-total",
        action=_inputs.ConditionText,
        default="",
        metavar="CONDITIONS",
        help="like --fail-on, but with --resume about all events in --out, not only about those that are new",
    )
    group.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="PATH",
        help="ignore differences at this path: body.JSON.context.library, '**.timestamp'; may be repeated",
    )
    group.add_argument(
        "--tolerance",
        action="append",
        default=[],
        metavar="PATH=NUMBER",
        help="treat numbers within this relative tolerance as equal, such as 1e-9; may be repeated",
    )
    group.add_argument(
        "--policies",
        metavar="FILE",
        help="check the policies in this file on what arrives, in addition to the workspace's: policies.yaml",
    )
    group.add_argument("--accept", metavar="FILE", help="ignore the accepted differences in this file: accepted.yaml")
    group.add_argument("--write-accepted", metavar="FILE", help="add all differences to this file; needs --reason")
    group.add_argument(
        "--reason", default="", metavar="TEXT", help="with --write-accepted: why the differences are correct"
    )
    group.add_argument(
        "--expires",
        metavar="DAY",
        help="with --write-accepted: last day they are accepted, such as 2027-01-31 (default: in 90 days)",
    )
