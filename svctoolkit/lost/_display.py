"""What vendors would lose, as text, Markdown and HTML."""

from __future__ import annotations

import json
from collections.abc import Iterator

from svctoolkit import display
from svctoolkit.display import Html, Kind
from svctoolkit.displayed import shows
from svctoolkit.lost.model import LossReport
from svctoolkit.lost.rules import LostRule, Received
from svctoolkit.lost.search import Searched, SearchedRule
from svctoolkit.lost.text import summary

_KINDS: dict[str, Kind] = {"refused": "error", "dropped": "error", "folded": "warning", "cut": "warning"}
_HEAD = ("", "events", "share", "rule", "example", "fix", "source")
_NAMES = 3


@shows(LossReport, "text")
def text(losses: LossReport) -> str:
    """Return a paragraph for each destination."""
    return "\n".join(_lines(losses))


def _lines(losses: LossReport) -> Iterator[str]:
    width = max((len(each.destination) for each in losses.received), default=0)
    for each in losses.received:
        yield f"{each.destination:<{width}}  {summary(each)}"
        yield from (f"  {reason}" for reason in each.reasons)
        for rule in _rules_of(losses, each):
            yield f"  {rule.what:<7}  {rule.events:,} {_example(rule)}{rule.says} ({rule.rule})"
            if len(rule.names) > 1 or rule.events > 1:
                yield f"           in {_names(rule)}"
            if rule.fix:
                yield f"           fix: {rule.fix}"
    if losses.rejected:
        yield f"{display.quantity(losses.rejected, 'record')} rejected: not events"


def _rules_of(losses: LossReport, each: Received) -> list[LostRule]:
    return [rule for rule in losses if rule.destination == each.destination]


def _example(rule: LostRule) -> str:
    if not rule.value:
        return ""
    value = rule.value if rule.value.isdigit() else repr(rule.value)  # a size, such as the letters of a name
    return f"{rule.path} {value}: " if rule.path else f"{value}: "


def _names(rule: LostRule) -> str:
    names = sorted(rule.names.items(), key=lambda item: -item[1])
    more = f" and {len(names) - _NAMES:,} more names" if len(names) > _NAMES else ""
    return ", ".join(f"{name} ({count:,})" for name, count in names[:_NAMES]) + more + f"; first {rule.place}"


@shows(LossReport, "document")
def page(losses: LossReport) -> str:
    """Return a complete page."""
    lost = sum(each.lost for each in losses.received)
    return display.document("Lost", f"{display.quantity(losses.events, 'event')}, {lost:,} losses", body(losses))


@shows(LossReport)
def body(losses: LossReport) -> Html:
    """Return a table for each destination."""
    return display.page(*(_section(losses, each) for each in losses.received))


def _section(losses: LossReport, each: Received) -> Html:
    rows = [_row(rule) for rule in _rules_of(losses, each)]
    title = f"{each.destination} ({each.title}): {summary(each)}"
    return display.section(title, *each.reasons, display.table(_HEAD, rows) if rows else "")


def _row(rule: LostRule) -> tuple[object, ...]:
    example = f"{rule.path} {rule.value}".strip()
    says = f"{rule.says} ({rule.rule})"
    pill = display.pill(rule.what, _KINDS.get(rule.what, "plain"))
    return (pill, f"{rule.events:,}", f"{rule.share:.1%}", says, example, rule.fix, rule.source)


# --- searches in plans


@shows(Searched, "text")
def search_text(searched: Searched) -> str:
    """Return the smallest event for each rule that one was found for."""
    return "\n".join(_search_lines(searched))


def _search_lines(searched: Searched) -> Iterator[str]:
    for rule in searched.found:
        yield f"{rule.destination}  {rule.what}: {rule.says} ({rule.rule})"
        yield from (f"  {json.dumps(event, ensure_ascii=False)}" for event in rule.events)
        if rule.fix:
            yield f"  fix: {rule.fix}"
    if searched.missed:
        missed = ", ".join(rule.rule for rule in searched.missed)
        yield f"none found in {searched.tries:,} tries: {missed}"


@shows(Searched)
def search_page(searched: Searched) -> Html:
    """Return a section for each rule that an event was found for."""
    none = f"none found in {searched.tries:,} tries"
    missed = display.table(("destination", "rule", none), [(r.destination, r.rule, r.says) for r in searched.missed])
    return display.page(*map(_rule, searched.found), missed if searched.missed else "")


def _rule(rule: SearchedRule) -> Html:
    title = Html(
        f"{display.pill(rule.what, _KINDS.get(rule.what, 'plain'))} {display.html(f'{rule.says} ({rule.rule})')}"
    )
    trees = [display.tree(event, f"event {place}") for place, event in enumerate(rule.events, 1)]
    return display.more(title, *trees, rule.fix)
