"""Display a profile as text, and as HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.history.shown import change_lines, change_table
from svctoolkit.personal import kind_of
from svctoolkit.pictures import share_bar
from svctoolkit.profile.model import Profile
from svctoolkit.profile.needs import Need
from svctoolkit.profile.shapes import Field, Shape
from svctoolkit.replay.tally.exposure import KIND_WORDS
from svctoolkit.results.lineage.lights import settings_text

_MOST_FIELDS = 20  # per event name, in text
_MOST_NEEDS = 20
_URGENT = ("refuses", "drops")  # events that do not arrive although their destination is on
_KINDS: dict[str, display.Kind] = {"refuses": "error", "drops": "warning", "filters": "info", "loses": "plain"}


@shows(Profile, "text")
def text(profile: Profile) -> str:
    """Return the counts, what destinations refuse, and the fields of each event name with their anomalies."""
    return "\n".join(_lines(profile))


def _lines(profile: Profile) -> Iterator[str]:
    yield head(profile)
    if profile.changes is not None:
        what = "compared with the baseline" if profile.changes else "nothing changed since the baseline"
        yield f"  {what} ({profile.basis}){':' * bool(profile.changes)}"
        yield from (f"    {line}" for line in change_lines(profile.changes))
    yield from (f"  {line}" for line in _attention(profile)[:_MOST_NEEDS])
    if len(_attention(profile)) > _MOST_NEEDS:
        yield f"  and {len(_attention(profile)) - _MOST_NEEDS:,} more"
    yield from (f"  {line}" for line in _filtered(profile))
    for shape in profile.shapes:
        yield f"  {shape.title}  {shape.count:,}"
        fields = sorted(shape.fields.items(), key=lambda item: (-_oddness(profile, shape, item[1]), item[0]))
        fields = fields[:_MOST_FIELDS]
        width = max((len(path) for path, _ in fields), default=0)
        for path, field in fields:
            yield f"    {path:<{width}}  {', '.join(_remarks(profile, shape, field))}"
        if len(shape.fields) > _MOST_FIELDS:
            yield f"    and {len(shape.fields) - _MOST_FIELDS:,} more fields"
        yield from (f"    {line}" for line in _losses(profile, shape))
    for reject in profile.rejects[:5]:
        yield f"  {reject.place}: {reject.reason}"


def _attention(profile: Profile) -> list[str]:
    """Return what needs attention: refused and dropped events, new personal data, fields whose type varies."""
    lines = [str(need) for what in _URGENT for need in profile.needs if need.what == what]
    lines += [f"{shape.title}: {line}" for shape in profile.shapes for line in _new_personal(profile, shape)]
    fields = [(shape, path, field) for shape in profile.shapes for path, field in sorted(shape.fields.items())]
    return lines + [f"{shape.title}: {path} is {_types(field)}" for shape, path, field in fields if field.mixed]


def _new_personal(profile: Profile, shape: Shape) -> Iterator[str]:
    """Yield one line for each kind of personal data among the new fields, if the name itself is not new."""
    since = profile.since
    if since is None or min(shape.days, default=since.date()) >= since.date():
        return
    paths: dict[str, list[str]] = {}
    for path, field in sorted(shape.fields.items()):
        steps = ["", *(step for step in path.split(".") if step != "*")]
        words = KIND_WORDS.get(kind_of(steps[-1], steps[-2]), "")
        if words and field.first and min(field.first.values()) >= since:
            paths.setdefault(words, []).append(path)
    for words, of_kind in paths.items():
        yield f"PERSONAL DATA: {words} are new at {', '.join(of_kind)}"


def _filtered(profile: Profile) -> list[str]:
    """Return one line for each destination and reason: these events are excluded by the workspace, as configured."""
    events: dict[tuple[str, str], int] = {}
    for need in profile.needs:
        if need.what == "filters":
            key = f"{need.destination} ({need.type})", need.reason
            events[key] = events.get(key, 0) + need.events
    return [f"{destination} filters {count:,} events: {reason}" for (destination, reason), count in events.items()]


def head(profile: Profile) -> str:
    """Return `9,027 events, 14 names, 3 rejected`."""
    rejected = f", {profile.rejected:,} rejected" if profile.rejected else ""
    return f"{display.quantity(profile.events, 'event')}, {display.quantity(len(profile.shapes), 'name')}{rejected}"


def _oddness(profile: Profile, shape: Shape, field: Field) -> int:
    """Return the sort key that puts anomalies first: mixed types, new types, fields that are sometimes missing."""
    new = bool(profile.since and field.new_types(profile.since))
    return 4 * field.mixed + 2 * new + (field.present < shape.count)


def _remarks(profile: Profile, shape: Shape, field: Field) -> Iterator[str]:
    yield _types(field)
    if field.present < shape.count:
        yield f"missing in {_share(1 - field.present / shape.count)}"
    if field.mixed:
        yield "mixed types"
    new = field.new_types(profile.since) if profile.since else []
    if new:
        yield f"new: {', '.join(new)}"


def _types(field: Field) -> str:
    kinds = field.types.most_common()
    return " or ".join(kind if len(kinds) == 1 else f"{kind} ({count:,})" for kind, count in kinds)


def _share(share: float) -> str:
    return f"{share:.1%}" if 0.001 <= share <= 0.999 else "under 0.1%" if share < 0.5 else "over 99.9%"


def _losses(profile: Profile, shape: Shape) -> Iterator[str]:
    """Yield one line for each destination that loses fields."""
    lost: dict[str, list[str]] = {}
    for need in profile.needs:
        if need.what == "loses" and need.event == shape.title:
            by = f" (by {settings_text(need.decides.split(', '))})" if need.decides else ""
            lost.setdefault(f"{need.destination} ({need.type})", []).append(f"{need.field}{by}")
    for destination, fields in lost.items():
        more = f" and {len(fields) - 8} more" if len(fields) > 8 else ""
        yield f"{destination} loses {', '.join(fields[:8])}{more}"


@shows(Profile)
def page(profile: Profile) -> Html:
    """Return the notebook display, which is kept when the notebook is saved."""
    return display.page(display.section(head(profile)), *_blocks(profile))


@shows(Profile, "document")
def whole_page(profile: Profile) -> str:
    """Return a complete page."""
    return display.document("Profile", head(profile), display.page(*_blocks(profile)))


def _blocks(profile: Profile) -> Iterator[Html]:
    if profile.changes:
        yield change_table(profile.changes, f"what changed since the baseline ({profile.basis})")
    reasons = [need for what in _URGENT for need in profile.needs if need.what == what]
    if reasons:
        head = ["destination", "", "event", "events", "field", "why", "decided by"]
        yield display.table(head, map(_need, reasons), caption="what destinations do not accept")
    others = [line for line in _attention(profile) if line not in {str(need) for need in reasons}]
    yield from (display.message(line, "error" if "PERSONAL DATA" in line else "warning") for line in others)
    if filtered := _filtered(profile):
        yield display.more("Filtered as configured", *(Html(f"<p>{escape(line)}</p>") for line in filtered))
    names = [[s.type, s.name, s.count, _bars(s), _odd(s)] for s in profile.shapes]
    yield display.table(["type", "name", "events", "by day", "fields of mixed types"], names, caption="volumes")
    for number, shape in enumerate(profile.shapes):
        columns = ["field", "types", "missing", "", *(["new"] if profile.since else [])]
        ordered = sorted(shape.fields.items(), key=lambda item: (-_oddness(profile, shape, item[1]), item[0]))
        rows = [_field(profile, shape, path, field) for path, field in ordered]
        losses = [display.message(line, "plain") for line in _losses(profile, shape)]
        title = f"{shape.title}: {display.quantity(len(shape.fields), 'field')}"
        yield display.more(title, display.table(columns, rows), *losses, is_open=not number)
    for reject in profile.rejects[:5]:
        yield display.message(f"{reject.place}: {reject.reason}", "warning")


def _need(need: Need) -> list[object]:
    destination = f"{need.destination} ({need.type})"
    return [
        destination,
        display.pill(need.what, _KINDS[need.what]),
        need.event,
        need.events,
        need.field,
        need.reason,
        need.decides,
    ]


def _odd(shape: Shape) -> str:
    return ", ".join(path for path, field in sorted(shape.fields.items()) if field.mixed)


def _field(profile: Profile, shape: Shape, path: str, field: Field) -> list[object]:
    missing = 1 - field.present / shape.count
    mark = display.pill("mixed", "warning") if field.mixed else ""
    lacks = Html(f"{share_bar(missing)} {escape(_share(missing))}") if missing else ""
    row: list[object] = [path, _types(field), lacks, mark]
    if profile.since:
        new = field.new_types(profile.since)
        row.append(display.pill(", ".join(new), "info") if new else "")
    return row


def _bars(shape: Shape) -> Html:
    """Return a bar for each day, from the first to the last."""
    if not shape.days:
        return Html("")
    first, last = min(shape.days), max(shape.days)
    span = (last - first).days + 1
    most, width = max(shape.days.values()), max(2.0, min(8.0, 160 / span))
    bars = "".join(
        f'<rect x="{(day - first).days * width:.1f}" y="{20 - 20 * count / most:.1f}" width="{width * 0.8:.1f}" '
        f'height="{20 * count / most:.1f}" fill="currentColor"/>'
        for day, count in sorted(shape.days.items())
    )
    label = f"{first} to {last}, at most {most:,} a day"
    size = f'width="{span * width:.0f}" height="20"'
    return Html(f'<svg role="img" aria-label="{label}" {size}><title>{label}</title>{bars}</svg>')
