"""What vendors would lose, as lines and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit import display
from svctoolkit.lost.rules import LostRule, Received


def summary(each: Received) -> str:
    """Return the share of the events that a destination would lose."""
    others = "; " + ", ".join(f"{count:,} {what}" for what, count in each.others.items()) if each.others else ""
    if not each.sent:
        return f"receives nothing{others}"
    share = f"{each.share:.1%} of {display.quantity(each.sent, 'event')} lost" if each.lost else ""
    return (share or f"nothing of {display.quantity(each.sent, 'event')} lost") + others


def markdown(received: Sequence[Received], rules: Sequence[LostRule]) -> str:
    """Return a table for a pull request."""
    lines = ["### What vendors would lose", ""]
    for each in received:
        lines += [f"**{_plain(each.destination)}** ({_plain(each.title)}): {_plain(summary(each))}", ""]
        own = [rule for rule in rules if rule.destination == each.destination]
        if own:
            lines += ["| what | events | share | rule | example | fix |", "| --- | ---: | ---: | --- | --- | --- |"]
            for rule in own:
                cells = (rule.what, f"{rule.events:,}", f"{rule.share:.1%}", f"{rule.says} ({rule.rule})")
                lines.append("| " + " | ".join(map(_plain, (*cells, f"{rule.path} {rule.value}", rule.fix))) + " |")
            lines.append("")
    return "\n".join(lines)


def _plain(value: str) -> str:
    text = " ".join(value.split())
    return "".join(f"\\{letter}" if letter in r"\`*_{}[]<>|#~&" else letter for letter in text)
