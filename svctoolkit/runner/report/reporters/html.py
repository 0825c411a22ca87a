"""`html`: one page that needs no network: what failed first, each scenario with its input, stages and differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.runner.attempts.outcome import Covered, Finished, Notice, Outcome
from svctoolkit.runner.report.reporters import _data
from svctoolkit.runner.report.reporters._contract import Output

_LABELS = {
    "passed": "passed",
    "failed": "failed",
    "error": "broken",
    "skipped": "skipped",
    "xfailed": "expected to fail",
}
_ORDER = ("failed", "error", "passed", "xfailed", "skipped")
_STAGES = ("response", "user_transform", "dest_transform", "send_to_destination", "dropped", "failed", "delivered")
_ANSWER = ("status", "headers", "body")
_FEW = 12  # that many are listed without a click
_MOST = 500  # scenarios that are well and have their payloads in the page


class HtmlPage:
    """Writes when the run is over."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._outcomes: list[dict[str, Any]] = []
        self._coverage: dict[str, Any] = {}

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome):
            self._outcomes.append(_data.outcome(notice))
        elif isinstance(notice, Covered):
            self._coverage = _data.coverage(notice.coverage)
        elif isinstance(notice, Finished):
            self._output.stream.write(_page(self._outcomes, _data.finished(notice), self._coverage))


def _page(outcomes: list[dict[str, Any]], summary: dict[str, Any], coverage: dict[str, Any]) -> str:
    here = Path(__file__).parent
    style, script = ((here / name).read_text(encoding="utf-8") for name in ("_page.css", "_page.js"))
    suites: dict[str, list[dict[str, Any]]] = {}
    for one in outcomes:
        suites.setdefault(one["file"], []).append(one)
    ordered = sorted(suites.items(), key=lambda suite: not any(map(_is_bad, suite[1])))
    shown = _shown_in_full(outcomes)
    main = "".join(_suite(file, found, shown) for file, found in ordered)
    main += _covered(coverage) if coverage else ""
    if len(shown) < len(outcomes):
        note = f"Of those that are well, payloads are shown for the first {_MOST:,}."
        main = display.message(note, "info") + main
    counts = summary["counts"]
    bad = counts.get("failed", 0) + counts.get("error", 0)
    head = _head(summary, len(suites), bad)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{bad} failed of {summary['total']}</title></head><body>"
        f"{display.page(Html(f'<style>{style}</style>'), head, Html(f'<main>{main}</main>'))}"
        f"<script>{script}</script></body></html>\n"
    )


def _shown_in_full(outcomes: list[dict[str, Any]]) -> set[str]:
    """The names of the scenarios that are more than a line: with all of 10,000 no browser would show the page."""
    well = [one["name"] for one in outcomes if not _is_bad(one)]
    return {one["name"] for one in outcomes if _is_bad(one)} | set(well[:_MOST])


def _is_bad(one: Mapping[str, Any]) -> bool:
    return one["status"] in ("failed", "error")


def _head(summary: dict[str, Any], suites: int, bad: int) -> Html:
    counts = {status: summary["counts"][status] for status in _ORDER if summary["counts"].get(status)}
    ok = not bad and not summary["interrupted"]
    title = "All is well" if ok else "Interrupted" if summary["interrupted"] and not bad else "Not as expected"
    bar = "".join(f'<span class="{status}" style="flex:{count}"></span>' for status, count in counts.items())
    filters = "".join(
        f'<button class="{status}" data-status="{status}" aria-pressed="true">{count} {_LABELS[status]}</button>'
        for status, count in counts.items()
    )
    return Html(
        f'<header class="top {"good" if ok else "bad"}"><h1>{title}</h1>'
        f"<p>{_counted(summary['total'], 'scenario')} in {_counted(suites, 'suite')}, {summary['seconds']:.2f} s</p>"
        f'<div class="bar" aria-hidden="true">{bar}</div><nav aria-label="which scenarios are shown">{filters}'
        '<input type="search" placeholder="Search" aria-label="Search"></nav></header>'
    )


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _suite(file: str, outcomes: list[dict[str, Any]], in_full: set[str]) -> str:
    ordered = sorted(outcomes, key=lambda one: not _is_bad(one))
    title = f"<h2>{escape(outcomes[0]['suite'])} <small>{escape(file)}</small></h2>"
    scenarios = "".join(_scenario(one, in_full=one["name"] in in_full) for one in ordered)
    return f'<section class="suite">{title}{scenarios}</section>'


def _scenario(one: dict[str, Any], *, in_full: bool) -> str:
    status = one["status"]
    tags = "".join(f"<i>{escape(tag)}</i>" for tag in one["tags"])
    head = (
        f'<summary><b class="{status}">{_LABELS[status]}</b><span class="what">{escape(one["title"])} {tags}'
        f"<small>{escape(one['id'])} · {one['milliseconds']:.1f} ms</small></span></summary>"
    )
    body = "".join(map(display.html, _body(one))) if in_full else display.html(one["reason"])
    shown = " open" if _is_bad(one) else ""
    return f'<details class="scenario" data-status="{status}"{shown}>{head}<div>{body}</div></details>'


def _body(one: dict[str, Any]) -> Iterator[Html]:
    if one["reason"]:
        yield display.message(one["reason"], "error" if _is_bad(one) else "info")
    if one["differences"]:
        rows = [[_place(d), Html(f"<ins>{escape(d['expected'])}</ins>"), _got(d)] for d in one["differences"]]
        yield display.table(["where", "expected", "got"], rows)
    if one["explanation"]:
        yield display.more("with the lines of the suite", display.code(one["explanation"]))
    for number, step in enumerate(one["steps"], 1):
        parts = list(_step(step, [d for d in one["differences"] if d["step"] == number]))
        yield display.section(f"Step {number}", *parts) if len(one["steps"]) > 1 else Html("".join(parts))


def _place(difference: Mapping[str, Any]) -> Html:
    path, where = escape(difference["path"] or "(value)"), escape(difference["where"])
    return Html(f'<code>{path}</code><div class="dim">{where}</div>')


def _got(difference: Mapping[str, Any]) -> Html:
    return Html(f"<del>{escape(difference['got'])}</del>")


def _step(step: dict[str, Any], differences: list[dict[str, Any]]) -> Iterator[Html]:
    """The stages as a strip, what went in and what came out of each, and what the user's code has changed."""
    seen = {name: step["seen"][name] for name in _STAGES if name in step["seen"]}
    wrong = [d["path"].partition(".")[0] for d in differences]
    flow = [name for name in seen if seen[name] not in ([], {})]
    yield display.strip([_stage(name, wrong.count(name)) for name in flow])
    depth = 5 if wrong else 2
    boxes = [("given", step["given"]), *((name, seen[name]) for name in flow)]
    yield display.columns(*(display.tree(value, name, open_depth=depth) for name, value in boxes))
    event, after = step["given"].get("event"), seen.get("user_transform")
    if isinstance(event, dict) and isinstance(after, dict) and "error" not in after and event != after:
        changed = display.diff(event, after, left="event", right="after")
        yield display.more("what the user's code has changed", changed, is_open="user_transform" in wrong)
    rest = {name: value for name, value in step["seen"].items() if name not in flow}
    if rest:
        open = any(name in rest for name in wrong)
        title = "the answer as it came" if set(rest) & set(_ANSWER) else "what else there is to see"
        yield display.more(title, display.tree(rest), is_open=open)


def _stage(name: str, wrong: int) -> display.Step:
    return display.Step(name, "failed" if wrong else "ok", note=_counted(wrong, "difference") if wrong else "")


def _covered(coverage: dict[str, Any]) -> str:
    rows = [[group["name"], _share(group), _missing(group["missing"])] for group in coverage["groups"]]
    table = display.table(["what", "touched", "missing"], rows)
    return f'<section class="coverage"><h2>Coverage {coverage["percent"]:.1f} %</h2>{table}</section>'


def _share(group: dict[str, Any]) -> Html:
    text = f"{group['covered']} of {group['total']}"
    return Html(f'<meter min="0" max="{group["total"]}" value="{group["covered"]}">{text}</meter> {text}')


def _missing(names: list[str]) -> Html | str:
    text = ", ".join(names)
    return text if len(names) <= _FEW else display.more(_counted(len(names), "name"), text)


reporter = HtmlPage
