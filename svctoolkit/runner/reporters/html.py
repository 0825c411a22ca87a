"""`html`: one page that needs no network: what failed first, each scenario with its input, stages and differences."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from svctoolkit.runner._outcome import Covered, Finished, Notice, Outcome
from svctoolkit.runner.reporters import _data
from svctoolkit.runner.reporters._contract import Output

_LABELS = {
    "passed": "passed",
    "failed": "failed",
    "error": "broken",
    "skipped": "skipped",
    "xfailed": "expected to fail",
}
_ORDER = ("failed", "error", "passed", "xfailed", "skipped")
_LONGEST = 20_000  # characters of one value


class Html:
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
    counts = {status: summary["counts"].get(status, 0) for status in _ORDER}
    ok = not counts["failed"] and not counts["error"] and not summary["interrupted"]
    suites: dict[str, list[dict[str, Any]]] = {}
    for one in outcomes:
        suites.setdefault(one["file"], []).append(one)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{counts['failed'] + counts['error']} failed of {summary['total']}</title>",
        f"<style>{(here / '_page.css').read_text(encoding='utf-8')}</style></head><body>",
        f'<header class="{"good" if ok else "bad"}"><h1>{"All is well" if ok else "Not as expected"}</h1>',
        f"<p>{summary['total']} scenarios in {len(suites)} suites, {summary['seconds']:.2f} s</p>",
        f'<div class="bar">{"".join(_part(s, n, summary["total"]) for s, n in counts.items() if n)}</div>',
        f"<nav>{''.join(_filter(s, n) for s, n in counts.items() if n)}",
        '<input type="search" placeholder="Search" aria-label="Search"></nav></header><main>',
        *(_suite(file, found) for file, found in suites.items()),
        _covered(coverage) if coverage else "",
        f"</main><script>{(here / '_page.js').read_text(encoding='utf-8')}</script></body></html>\n",
    ]
    return "".join(parts)


def _part(status: str, count: int, total: int) -> str:
    return f'<span class="{status}" style="flex:{count / max(total, 1):.4f}"></span>'


def _filter(status: str, count: int) -> str:
    return f'<button class="{status}" data-status="{status}" aria-pressed="true">{count} {_LABELS[status]}</button>'


def _suite(file: str, outcomes: list[dict[str, Any]]) -> str:
    ordered = sorted(outcomes, key=lambda o: o["status"] not in ("failed", "error"))
    title = f"<h2>{escape(outcomes[0]['suite'])} <small>{escape(file)}</small></h2>"
    return f"<section>{title}{''.join(map(_scenario, ordered))}</section>"


def _scenario(one: dict[str, Any]) -> str:
    status = one["status"]
    failed = status in ("failed", "error")
    tags = "".join(f"<i>{escape(tag)}</i>" for tag in one["tags"])
    reason = f"<p>{escape(one['reason'])}</p>" if one["reason"] else ""
    head = (
        f'<summary><b class="{status}">{_LABELS[status]}</b> {escape(one["title"])} {tags}'
        f"<small>{escape(one['name'])} · {one['milliseconds']:.1f} ms</small></summary>"
    )
    body = [reason, _differences(one["differences"])]
    if one["explanation"]:
        body.append(f"<pre>{escape(one['explanation'])}</pre>")
    body += [_step(step, number, len(one["steps"])) for number, step in enumerate(one["steps"], 1)]
    return f'<details data-status="{status}"{" open" if failed else ""}>{head}<div>{"".join(body)}</div></details>'


def _differences(found: list[dict[str, Any]]) -> str:
    if not found:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(d['path'] or '(value)')}</code><small>{escape(d['where'])}</small></td>"
        f"<td><del>{escape(d['expected'])}</del></td><td><ins>{escape(d['got'])}</ins></td></tr>"
        for d in found
    )
    return f"<table><thead><tr><th>where</th><th>expected</th><th>got</th></tr></thead><tbody>{rows}</tbody></table>"


def _step(step: dict[str, Any], number: int, of: int) -> str:
    title = f"<h3>Step {number}</h3>" if of > 1 else ""
    boxes = [_box("given", step["given"]), *(_box(name, value) for name, value in step["seen"].items())]
    return f'{title}<div class="stages">{"".join(boxes)}</div>'


def _box(name: str, value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}\n… {len(text) - _LONGEST} characters more"
    return f"<figure><figcaption>{escape(name)}</figcaption><pre>{escape(text)}</pre></figure>"


def _covered(coverage: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(g['name'])}</td><td>{g['covered']} of {g['total']}</td>"
        f"<td>{escape(', '.join(g['missing']))}</td></tr>"
        for g in coverage["groups"]
    )
    head = "<thead><tr><th>what</th><th>covered</th><th>missing</th></tr></thead>"
    return f"<section><h2>Coverage {coverage['percent']:.1f} %</h2><table>{head}<tbody>{rows}</tbody></table></section>"


reporter = Html
