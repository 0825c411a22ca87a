"""What a replay explorer shows: what became of all events, of a group, and of one event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit import display
from svctoolkit.display import Html, Leaf
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Stages
from svctoolkit.replay import Comparison, Replayed
from svctoolkit.replay.results.summary import head as words_of
from svctoolkit.replay.results.text import count_words, decision_text, describe
from svctoolkit.results.lineage.lights import ComparedLights, stopping_fields
from svctoolkit.widgets.destination_explorer._display import Lit, strips
from svctoolkit.widgets.replay_explorer.state import MOST, ReplayState
from svctoolkit.widgets.replay_explorer.trials import Trial


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


def stand_ins(state: ReplayState) -> Html:
    """What goes on to editors and suites in place of personal data, where that is hidden."""
    if not state.hides_persons:
        return Html("")
    return display.message("mask_personal: names, addresses and the like are made-up values here", "info")


def details(trials: Sequence[Trial], *, saved: bool = False) -> Html:
    """One event: its stages, its payloads with where each field comes from; of two sides what differs, before that.

    Of an event that came to no payload its fate, what decides that, and where its fields went until then.
    """
    heads, payloads = [], []
    for trial in trials:
        title = [Html(f"<h4 class='title'>{display.html(trial.title)}</h4>")] if trial.title else []
        heads.append(display.page(*title, *_fate(trial)))
        if trial.result is None:
            payloads.append(display.page(*title, display.tree(trial.event, "event")) if trial.event else Html(""))
            continue
        lit = Lit(trial.result, trial.lineage, trial.title)
        payloads += [*map(display.page, title), lit.saved() if saved else lit.payloads()]
    difference = [_difference(*trials[:2], saved=saved)] if len(trials) > 1 else []
    return Html("".join([*heads, *difference, *payloads]))


def _fate(trial: Trial) -> Iterator[Html]:
    """The way of the event, and why it ends where it does."""
    if trial.error or trial.fate is None:
        yield display.message(trial.error, "warning")
        return
    fate = trial.fate
    if trial.result is not None:
        yield strips(trial.result)
    else:
        ended: display.Status = "dropped" if fate.status == "dropped" else "filtered"
        steps = [display.Step(stage, "disabled", note="not reached") for stage in Stages.__slots__]
        yield display.strip([display.Step(fate.by, ended, note=fate.reason), *steps])
    if fate.status != "delivered":
        by = [f"; {decision_text(fate.by, trial.decides)}"] if trial.decides else []
        fields = stopping_fields(trial.lineage) if trial.lineage is not None else []
        by += [f"; with another value of {', '.join(fields)}, or without it, it would go on"] if fields else []
        yield display.message(f"{fate.status} at {fate.by}: {fate.reason}{''.join(by)}", _FATES[fate.status])


_FATES: Mapping[str, display.Kind] = {"failed": "error", "dropped": "warning", "filtered": "info", "unmapped": "info"}


def _difference(before: Trial, after: Trial, *, saved: bool) -> Html:
    """The payloads of both sides beside each other; where one side has none, what the users' code made of the event."""
    if before.result is None or after.result is None:
        return Html("")
    old, new = Lit(before.result, before.lineage).values, Lit(after.result, after.lineage).values
    payloads = _of_stage(old, "dest_transform"), _of_stage(new, "dest_transform")
    if not all(payloads):
        sides = _of_stage(old, "user_transform"), _of_stage(new, "user_transform")
        return display.page(display.diff(*sides, left=before.title, right=after.title)) if all(sides) else Html("")
    if before.lineage is None or after.lineage is None:  # a stage was off
        return display.page(display.diff(*payloads, left=before.title, right=after.title))
    lights = ComparedLights({before.title: before.lineage, after.title: after.lineage}, f"compared{saved}")
    leaves = [_leaf_of(lights, trial.title, list(side)) for trial, side in zip((before, after), payloads, strict=True)]
    diff = display.diff(*payloads, left=before.title, right=after.title, leaves=(leaves[0], leaves[1]))
    events = [
        display.tree(value, name, open_depth=6, leaf=lights.event) for name, value in old.items() if name == "event"
    ]
    return display.page(lights.group(diff, *events))


def _of_stage(values: Mapping[str, Json], stage: str) -> dict[str, Json]:
    return {name: value for name, value in values.items() if stage in name}


def _leaf_of(lights: ComparedLights, title: str, names: Sequence[str]) -> Leaf:
    """For the leaves of several payloads by name."""
    leaves = {name: lights.payload(title, number) for number, name in enumerate(names, 1)}

    def leaf(path: tuple[str | int, ...], block: Html) -> Html:
        return leaves[str(path[0])](path[1:], block) if path else block

    return leaf
