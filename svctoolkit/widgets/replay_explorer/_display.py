"""Views of a replay explorer: outcomes of all events, of a group, and of one event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from svctoolkit import display
from svctoolkit.display import Html, Leaf
from svctoolkit.json_types import Json
from svctoolkit.pipeline import Stages
from svctoolkit.replay import Comparison, Replayed
from svctoolkit.replay.results._display import overview
from svctoolkit.replay.results.pictures import change_of_values
from svctoolkit.replay.results.summary import head as words_of
from svctoolkit.replay.results.text import count_words, decision_text, describe
from svctoolkit.results import blocks
from svctoolkit.results.contrast import Traits
from svctoolkit.results.lineage.lights import ComparedLights, stopping_fields
from svctoolkit.widgets.destination_explorer._display import Lit, strips
from svctoolkit.widgets.replay_explorer.state import MOST, ReplayState
from svctoolkit.widgets.replay_explorer.trials import Trial


def words(result: Replayed | Comparison) -> str:
    """The result on one line."""
    return words_of(result)


def head(result: Replayed | Comparison) -> Html:
    """The result on one line, then a row for each destination."""
    rows = [(key, sum(counts.values()), count_words(counts)) for key, counts in result.counts.items()]
    note = [] if result.complete else [display.message("interrupted: these are partial results", "warning")]
    if result.rejected:
        note.append(display.message(f"not events: {display.quantity(result.rejected, 'record')}", "warning"))
    table = display.table(("destination", "events", "outcomes"), rows, caption=words_of(result))
    return Html("".join([table, *note]))


def pictures(result: Replayed | Comparison) -> Html:
    """Where events end, or what changes, and failures or differences by day; empty without any."""
    drawn = list(overview(result))
    return display.more("Pictures", *drawn, is_open=True) if drawn else Html("")


def distribution(state: ReplayState) -> Html:
    """The values of the selected group's field before and after; empty of ids, objects, and groups of a replay."""
    picture = None if state.group is None or state.is_arriving else change_of_values(state.group)
    return picture.html() if picture is not None else Html("")


def group_note(state: ReplayState) -> Html:
    """A description of the selected group."""
    if state.group is None:
        return Html("")
    more = ""
    if state.more:
        more = f" (the first {min(len(state.members), MOST):,} are listed below)"
    if state.is_arriving:
        events = f"{display.quantity(state.group.count, 'event')} {state.group.kind}"
        return display.message(f"{state.group.destination}: {events}{more}", "ok")
    return display.message(f"{state.group.destination}: {describe(state.group)}{more}", "info")


def common(traits: Traits, state: ReplayState) -> Html:
    """What the events of the group, or those found by a search, have in common."""
    if state.is_arriving and not traits:
        return Html("")
    return blocks.common(traits) or display.message(f"In common: {traits.lines()[0]}.", "info")


def stand_ins(state: ReplayState) -> Html:
    """A note that editors and suites receive fake values, if personal data is masked."""
    if not state.hides_persons:
        return Html("")
    return display.message(
        "mask_personal: names, addresses and other personal data are replaced by fake values here", "info"
    )


def details(trials: Sequence[Trial], *, saved: bool = False) -> Html:
    """One event: its stages and its payloads with the origin of each field; with two sides, first their differences.

    For an event without payload: its outcome, what decided it, and the lineage of its fields up to there.
    """
    heads, payloads = [], []
    for trial in trials:
        title = [display.heading(trial.title)] if trial.title else []
        heads.append(display.page(*title, *_fate(trial)))
        if trial.result is None:
            payloads.append(display.page(*title, display.tree(trial.event, "event")) if trial.event else Html(""))
            continue
        lit = Lit(trial.result, trial.lineage, trial.title)
        payloads += [*map(display.page, title), lit.saved() if saved else lit.payloads()]
        if picture := lit.flow(is_open=False):
            payloads.append(display.page(picture))
    difference = [_difference(*trials[:2], saved=saved)] if len(trials) > 1 else []
    return Html("".join([*heads, *difference, *payloads]))


def _fate(trial: Trial) -> Iterator[Html]:
    """The event's path through the stages, and why it ended."""
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
        # Of a failed event, these include its name and type. What failing events have in common says more.
        fields = stopping_fields(trial.lineage) if trial.lineage is not None and fate.status != "failed" else []
        by += [f"; it would continue with a different value of {', '.join(fields)}, or without it"] if fields else []
        yield display.message(f"{fate.status} at {fate.by}: {fate.reason}{''.join(by)}", _FATES[fate.status])


_FATES: Mapping[str, display.Kind] = {"failed": "error", "dropped": "warning", "filtered": "info", "unmapped": "info"}


def _difference(before: Trial, after: Trial, *, saved: bool) -> Html:
    """The payloads of both sides side by side; if one side has none, the outputs of the user transformations."""
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
    """Highlighting for the leaves of several payloads by name."""
    leaves = {name: lights.payload(title, number) for number, name in enumerate(names, 1)}

    def leaf(path: tuple[str | int, ...], block: Html) -> Html:
        return leaves[str(path[0])](path[1:], block) if path else block

    return leaf
