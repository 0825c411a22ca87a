"""`html`: a self-contained page: failures first, each scenario with its input, stages and differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.runner.attempts.outcome import Covered, Finished, Notice, Outcome
from svctoolkit.runner.report.ending import changed_line
from svctoolkit.runner.report.groups import Group, group_by_cause
from svctoolkit.runner.report.reporters import _data
from svctoolkit.runner.report.reporters._contract import Output

_LABELS = {
    "passed": "passed",
    "failed": "failed",
    "error": "broken",
    "skipped": "skipped",
    "xfailed": "expected to fail",
    "warned": "warned",
}
_ORDER = ("failed", "error", "warned", "passed", "xfailed", "skipped")
_STAGES = ("response", "user_transform", "dest_transform", "send_to_destination", "dropped", "failed", "delivered")
_ANSWER = ("status", "headers", "body")
_ENDS = ("dropped", "failed")  # not stages, but events that ended in one
_FEW = 12  # number of names listed without a click
_MOST = 500  # passed scenarios whose payloads are in the page


class HtmlPage:
    """Writes the page at the end of the run."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._outcomes: list[dict[str, Any]] = []
        self._coverage: dict[str, Any] = {}
        self._plans = Html("")
        self._failed: list[Outcome] = []

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome):
            self._outcomes.append(_data.outcome(notice))
            self._failed += [notice] if notice.deviates else []
        elif isinstance(notice, Covered):
            self._coverage = _data.coverage(notice.coverage)
            self._plans = notice.coverage.plan_map().html()
        elif isinstance(notice, Finished):
            groups = [group for group in group_by_cause(self._failed) if len(group.outcomes) > 1]
            self._output.stream.write(_page(self._outcomes, groups, _data.summary(notice), self._coverage, self._plans))


def _page(
    outcomes: list[dict[str, Any]],
    groups: list[Group],
    summary: dict[str, Any],
    coverage: dict[str, Any],
    plans: Html,
) -> str:
    here = Path(__file__).parent
    style, script = ((here / name).read_text(encoding="utf-8") for name in ("_page.css", "_page.js"))
    suites: dict[str, list[dict[str, Any]]] = {}
    for scenario in outcomes:
        suites.setdefault(scenario["file"], []).append(scenario)
    ordered = sorted(suites.items(), key=lambda suite: not any(map(_is_bad, suite[1])))
    in_full = _names_in_full(outcomes)
    folded = {outcome.scenario.name for group in groups for outcome in group.outcomes}  # the group explains them
    main = "".join(map(_group, groups))
    main += "".join(_suite(file, scenarios, in_full, folded) for file, scenarios in ordered)
    main += _coverage(coverage, plans) if coverage else ""
    if len(in_full) < len(outcomes):
        note = f"Payloads are shown for the first {_MOST:,} passed scenarios."
        main = display.message(note, "info") + main
    if summary["changed"]:
        main = display.message(changed_line(summary["changed"]), "info") + main
    counts = summary["counts"]
    bad = counts.get("failed", 0) + counts.get("error", 0)
    head = _head(summary, len(suites), bad)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{bad} failed of {summary['total']}</title></head><body>"
        f"{display.page(Html(f'<style>{style}</style>'), head, Html(f'<main>{main}</main>'))}"
        f"<script>{display.tree_tools_script()}\n{script}</script></body></html>\n"
    )


def _names_in_full(outcomes: list[dict[str, Any]]) -> set[str]:
    """Return the names of the scenarios shown with payloads: browsers cannot handle the payloads of 10,000."""
    well = [scenario["name"] for scenario in outcomes if not _is_bad(scenario)]
    return {scenario["name"] for scenario in outcomes if _is_bad(scenario)} | set(well[:_MOST])


def _is_bad(scenario: Mapping[str, Any]) -> bool:
    return scenario["status"] in ("failed", "error")


def _head(summary: dict[str, Any], suites: int, bad: int) -> Html:
    counts = {status: summary["counts"][status] for status in _ORDER if summary["counts"].get(status)}
    ok = not bad and not summary["interrupted"]
    if ok:
        title = "All scenarios passed" if set(counts) == {"passed"} else "No failures"
    else:
        title = f"{bad} of {_count_text(summary['total'], 'scenario')} failed" if bad else "Interrupted"
    bar = "".join(f'<span class="{status}" style="flex:{count}"></span>' for status, count in counts.items())
    filters = "".join(
        f'<button class="{status}" data-status="{status}" aria-pressed="true">{count} {_LABELS[status]}</button>'
        for status, count in counts.items()
    )
    return Html(
        f'<header class="top {"good" if ok else "bad"}"><h1>{title}</h1>'
        f"<p>{_count_text(summary['total'], 'scenario')} in {_count_text(suites, 'suite')}, "
        f"{summary['seconds']:.2f} s</p>"
        f'<div class="bar" aria-hidden="true">{bar}</div><nav aria-label="which scenarios are shown">{filters}'
        '<input type="search" placeholder="Search" aria-label="Search"></nav></header>'
    )


def _count_text(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _group(group: Group) -> str:
    """Scenarios that fail for one cause; each of them follows in its suite."""
    lines = display.code("\n".join(group.lines()))
    return display.fragment(Html(display.message(group.title, "error") + display.more("Which scenarios", lines)))


def _suite(file: str, outcomes: list[dict[str, Any]], in_full: set[str], folded: set[str]) -> str:
    ordered = sorted(outcomes, key=lambda scenario: not _is_bad(scenario))
    title = f"<h2>{escape(outcomes[0]['suite'])} <small>{escape(file)}</small></h2>"
    scenarios = "".join(
        _scenario(s, in_full=s["name"] in in_full, is_open=_is_bad(s) and s["name"] not in folded) for s in ordered
    )
    return f'<section class="suite">{title}{scenarios}</section>'


def _scenario(scenario: dict[str, Any], *, in_full: bool, is_open: bool) -> str:
    status = scenario["status"]
    tags = "".join(f"<i>{escape(tag)}</i>" for tag in scenario["tags"])
    head = (
        f'<summary><b class="{status}">{_LABELS[status]}</b><span class="what">{escape(scenario["title"])} {tags}'
        f"<small>{escape(scenario['id'])} · {scenario['milliseconds']:.1f} ms</small></span></summary>"
    )
    body = "".join(map(display.html, _body(scenario))) if in_full else display.html(scenario["reason"])
    state = " open" if is_open else ""
    return f'<details class="scenario" data-status="{status}"{state}>{head}{display.fragment(Html(body))}</details>'


def _body(scenario: dict[str, Any]) -> Iterator[Html]:
    if scenario["reason"]:
        yield display.message(scenario["reason"], "error" if _is_bad(scenario) else "info")
    if scenario["differences"]:
        rows = [[_place(d), Html(f"<ins>{escape(d['expected'])}</ins>"), _got(d)] for d in scenario["differences"]]
        yield display.table(["where", "expected", "got"], rows)
    if scenario["explanation"]:
        yield display.more("Explanation with the lines of the suite", display.code(scenario["explanation"]))
    for number, step in enumerate(scenario["steps"], 1):
        causes = [cause for cause in scenario["causes"] if cause["step"] == number]
        blocks = list(_step(step, [d for d in scenario["differences"] if d["step"] == number], causes))
        yield display.section(f"Step {number}", *blocks) if len(scenario["steps"]) > 1 else Html("".join(blocks))


def _place(difference: Mapping[str, Any]) -> Html:
    path, where = escape(difference["path"] or "(value)"), escape(difference["where"])
    return Html(f'<code>{path}</code><div class="dim">{where}</div>')


def _got(difference: Mapping[str, Any]) -> Html:
    origin = f'<div class="dim">{escape(difference["origin"]["text"])}</div>' if difference["origin"] else ""
    return Html(f"<del>{escape(difference['got'])}</del>{origin}")


def _step(step: dict[str, Any], differences: list[dict[str, Any]], causes: list[dict[str, Any]]) -> Iterator[Html]:
    """Yield the stages as a strip, the input and output of each, and the changes by the user's code."""
    results = {name: step["results"][name] for name in _STAGES if name in step["results"]}
    wrong = [d["path"].partition(".")[0] for d in differences]
    flow = [name for name in results if results[name] not in ([], {})]
    for cause in causes:
        yield display.message(cause["text"], "error" if cause["fate"] not in ("filtered", "dropped") else "info")
    at = {cause["stage"]: cause["fate"] for cause in reversed(causes)}
    yield display.strip([_stage(n, wrong.count(n), at) for n in _STAGES if n in at or (n in flow and n not in _ENDS)])
    depth = 5 if wrong else 2
    boxes = [("given", step["given"]), *((name, results[name]) for name in flow)]
    yield display.columns(*(display.tree(value, name, open_depth=depth) for name, value in boxes))
    event, after = step["given"].get("event"), results.get("user_transform")
    if isinstance(event, dict) and isinstance(after, dict) and "error" not in after and event != after:
        changed = display.diff(event, after, left="event", right="after")
        yield display.more("Changes by the user's code", changed, is_open="user_transform" in wrong)
    rest = {name: value for name, value in step["results"].items() if name not in flow}
    if rest:
        open = any(name in rest for name in wrong)
        title = "The full response" if set(rest) & set(_ANSWER) else "Other results"
        yield display.more(title, display.tree(rest), is_open=open)


def _stage(name: str, wrong: int, causes: Mapping[str, str]) -> display.Step:
    """A stage counts as failed if something differs in it, or an event ended in it."""
    if name in causes:
        return display.Step(name, "failed", note=causes[name])
    return display.Step(name, "failed" if wrong else "ok", note=_count_text(wrong, "difference") if wrong else "")


def _coverage(coverage: dict[str, Any], plans: Html) -> str:
    rows = [[group["name"], _share(group), _missing(group["missing"])] for group in coverage["groups"]]
    table = display.table(["what", "touched", "missing"], rows)
    lines = coverage["checked_lines"]
    if lines:
        rows = [
            [word, display.quantity(len(lines[name]), "line"), _missing(lines[name])]
            for word, name in (("checked", "checked"), ("only run", "unchecked"))
        ]
        table = Html(table + display.section("Lines of code", display.table(["scenarios", "lines", "where"], rows)))
    if coverage["lost"]:
        table = Html(table + display.message(f"fields that reach no destination: {_missing(coverage['lost'])}"))
    return f'<section class="coverage"><h2>Coverage {coverage["percent"]:.1f} %</h2>{plans}{table}</section>'


def _share(group: dict[str, Any]) -> Html:
    text = f"{group['covered']} of {group['total']}"
    return Html(f'<meter min="0" max="{group["total"]}" value="{group["covered"]}">{text}</meter> {text}')


def _missing(names: list[str]) -> Html | str:
    text = ", ".join(names)
    return text if len(names) <= _FEW else display.more(_count_text(len(names), "name"), text)


reporter = HtmlPage
