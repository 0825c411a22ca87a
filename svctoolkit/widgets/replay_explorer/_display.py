"""What a replay explorer shows: what became of all events, of a group, and of one event."""

from __future__ import annotations

from collections.abc import Sequence

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.replay import Comparison, Replayed
from svctoolkit.replay.results.text import count_words, describe
from svctoolkit.replay.results.text import head as words_of
from svctoolkit.widgets.destination_explorer._display import Lit, strips
from svctoolkit.widgets.replay_explorer.state import MOST, ReplayState, Trial


def words(result: Replayed | Comparison) -> str:
    """The result in one line."""
    return words_of(result)


def head(result: Replayed | Comparison) -> Html:
    """All in one line, then a row for each destination."""
    rows = [(key, sum(counts.values()), count_words(counts)) for key, counts in result.counts.items()]
    note = [] if result.complete else [display.message("interrupted: this is what was done until then", "warning")]
    if result.rejected:
        note.append(display.message(f"{display.quantity(result.rejected, 'record')} are no events", "warning"))
    table = display.table(("destination", "events", "what became of them"), rows, caption=words_of(result))
    return Html("".join([table, *note]))


def group_note(state: ReplayState) -> Html:
    """What the chosen group is."""
    if state.group is None:
        return Html("")
    more = ""
    if state.more:
        more = f" (the first {min(len(state.members), MOST):,} are below)"
    return display.message(f"{state.group.destination}: {describe(state.group)}{more}", "info")


def details(trials: Sequence[Trial], *, saved: bool = False) -> Html:
    """One event: its stages, its payloads with where each field comes from; of two sides also what differs."""
    blocks = []
    for trial in trials:
        title = [Html(f"<h4 class='title'>{display.html(trial.title)}</h4>")] if trial.title else []
        if trial.result is None:
            blocks.append(display.page(*title, display.message(trial.error, "warning")))
            continue
        lit = Lit(trial.result, trial.lineage, trial.title)
        blocks += [display.page(*title, strips(trial.result)), lit.saved() if saved else lit.payloads()]
    if len(trials) > 1:
        blocks.append(_difference(*trials[:2]))
    return Html("".join(blocks))


def _difference(before: Trial, after: Trial) -> Html:
    """The payloads of both sides beside each other; where one side has none, what the users' code made of the event."""
    if before.result is None or after.result is None:
        return Html("")
    old, new = Lit(before.result, before.lineage).values, Lit(after.result, after.lineage).values
    for stage in ("dest_transform", "user_transform"):
        sides = [{name: value for name, value in side.items() if stage in name} for side in (old, new)]
        if all(sides):
            return display.page(display.diff(*sides, left=before.title, right=after.title))
    return Html("")
