"""`markdown`: a summary for a pull request: the verdict, a story for each cause with a sample, a link to the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

from svctoolkit.replay.reports._contract import Report
from svctoolkit.replay.results.attention import news, personal_lines, quiet_lines, story_lines
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.results.stories import Story, day_bars, number_lines, stories
from svctoolkit.replay.results.summary import head, notes
from svctoolkit.replay.results.text import anchor, count_words, example_line
from svctoolkit.replay.review.terms import Breach
from svctoolkit.replay.tally.tally import Group

_MOST = 12  # stories; a GitHub comment holds 65,536 characters
_MOST_LINES = 8  # of a story
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
    told = stories(result.groups)
    parts += [_story(story, page) for story in told[:_MOST]]
    if len(told) > _MOST:
        parts.append(f"and {_link(f'{len(told) - _MOST:,} more causes', page, '')}")
    parts += [f"> {_escape(note)}" for note in notes(result)]
    return "\n\n".join(parts) + "\n"


def _story(story: Story, page: str) -> str:
    """Return a title, a line for each difference, and a sample. A picture of the story belongs after its title."""
    title = f"**{story.severity}**" + (f" {_code(story.because)}" if story.because else "")
    lines = [f"- {_line(text, groups, page)}" for text, groups in list(story_lines(story).items())[:_MOST_LINES]]
    if len(story.groups) > _MOST_LINES:
        lines.append(f"- and {len(story.groups) - _MOST_LINES:,} more groups")
    if story.severity == "accepted":  # reviewed before: without a sample
        return "\n".join([title, "", *lines])
    sample = [example_line(example)[:_LONGEST] for example in story.groups[0].examples[:1]]
    sample += [*number_lines(story.groups[0]), *filter(None, [day_bars(story.days)])]
    if not sample:
        return "\n".join([title, "", *lines])
    fence = "`" * (max((len(run) for line in sample for run in re.findall("`+", line)), default=0) + 3)
    return "\n".join([title, "", *lines, "", f"{fence}text", *sample, fence])


def _line(text: str, groups: Sequence[Group], page: str) -> str:
    kind, _, rest = text.partition("  ")
    where, _, what = rest.partition(": ")
    names = [_link(_escape(group.destination), page, anchor(group.destination)) for group in groups]
    # Many destinations are counted, as in the text.
    return f"**{kind}** at {', '.join(names) if len(names) <= _MOST_LINES else _escape(where)}: {_escape(what)}"


def _code(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def _link(words: str, page: str, place: str) -> str:
    if not page:
        return words
    url = quote(page, safe=":/?&=%+~@")
    return f"[{words}]({url}{f'#{place}' if place else ''})"


def _escape(value: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(value.split()))


report = Report(text)
