"""`markdown`: a summary for a pull request: the numbers, the largest groups with a sample, a link to the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from svctoolkit.replay.reports._contract import Report
from svctoolkit.replay.results.attention import by_attention, label, news, personal_lines, quiet_lines
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.results.summary import head, notes
from svctoolkit.replay.results.text import anchor, count_words, describe, example_line
from svctoolkit.replay.review.terms import Breach
from svctoolkit.replay.tally.tally import Group

_MOST = 10  # groups; a GitHub comment holds 65,536 characters
_LONGEST = 300
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~&])")


def text(result: Replayed | Comparison, breaches: Sequence[Breach], page: str) -> str:
    """Return Markdown for GitHub and GitLab, with links to `page`, if given."""
    conditions = "condition" if len(breaches) == 1 else "conditions"
    title = f"❌ {len(breaches)} failure {conditions} met" if breaches else "✅ No failure condition met"
    if not result.events or not result.complete:
        title = "❌ " + ("interrupted" if not result.complete else "there were no events")
    parts = [f"### Replay: {title}", _escape(head(result))]
    parts += [f"- **{_escape(breach.condition)}**: {_escape(breach.text)}" for breach in breaches]
    parts += [f"⚠️ **{_escape(line)}**" for line in personal_lines(result)]
    parts += [_escape(line) for line in result.lost.lines()]
    urgent = news(result)
    rows = [
        f"| {_link(_escape(key), page, anchor(key))} | {_escape(count_words(result.counts[key]))} |" for key in urgent
    ]
    parts += ["\n".join(["| destination | events |", "| --- | --- |", *rows])] if rows else []
    parts += [_escape(line) for line in quiet_lines(result, urgent)]
    parts += [_group(group, page) for group in by_attention(result.groups)[:_MOST]]
    if len(result.groups) > _MOST:
        parts.append(f"and {_link(f'{len(result.groups) - _MOST:,} more groups', page, '')}")
    parts += [f"> {_escape(note)}" for note in notes(result)]
    return "\n\n".join(parts) + "\n"


def _group(group: Group, page: str) -> str:
    where = _link(_escape(group.destination), page, anchor(group.destination))
    line = f"**{label(group)}** at {where}: {_escape(describe(group))}"
    if not group.examples:
        return line
    sample = example_line(group.examples[0])[:_LONGEST]
    fence = "`" * (max((len(run) for run in re.findall("`+", sample)), default=0) + 3)
    return f"{line}\n{fence}text\n{sample}\n{fence}"


def _link(words: str, page: str, place: str) -> str:
    if not page:
        return words
    url = quote(page, safe=":/?&=%+~@")
    return f"[{words}]({url}{f'#{place}' if place else ''})"


def _escape(value: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(value.split()))


report = Report(text)
