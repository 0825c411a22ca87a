"""The diagram of the documentation's first page: the path of an event, wide for screens and tall for phones."""

from __future__ import annotations

from html import escape

_STEPS = {
    "Your app": ("RudderStack or", "Segment SDK"),
    "Data plane": ("accepts events", "on this machine"),
    "Tracking plan": ("reports", "violations"),
    "Transformation": ("your JavaScript", "or Python"),
    "Mapping": ("the request of", "each destination"),
    "Delivery": ("batches, retries;", "a recorder answers"),
}
_TITLE = f"The path of an event: {', '.join(_STEPS).lower()}. All but the app run in one Python process."
_STYLE = """svg{--fg:#1c2128;--dim:#57606a;--box:#fff;--zone:#f1f3fc;--line:#c9cfe8;--accent:#2f4bc7}
@media(prefers-color-scheme:dark){svg{--fg:#e4e7eb;--dim:#a3abb5;--box:#1c2127;--zone:#191e2b;--line:#3a4462;--accent:#9cb4ff}}
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--dim);text-anchor:middle}
.h{font-size:15px;font-weight:650;fill:var(--fg)}.n{fill:var(--accent);font-weight:600}
.b{fill:var(--box);stroke:var(--line)}.z{fill:var(--zone);stroke:var(--line);stroke-dasharray:5 4}
path{stroke:var(--accent);stroke-width:2;fill:none}"""
_NOTE = "one Python process, offline"
_WIDTH, _HEIGHT, _GAP = 148, 86, 24


def wide() -> str:
    """One row of boxes."""
    step = _WIDTH + _GAP
    boxes = [_box(title, lines, 12 + number * step, 44) for number, (title, lines) in enumerate(_STEPS.items())]
    arrows = [_arrow(12 + number * step - _GAP + 4, 44 + _HEIGHT / 2, across=True) for number in range(1, len(_STEPS))]
    width, height = 12 + len(_STEPS) * step, 44 + _HEIGHT + 20
    left = 12 + step - 8
    return _svg(
        width, height, (left, 10, width - left - 12, height - 16), (left + (width - left - 12) / 2, 31), boxes + arrows
    )


def tall() -> str:
    """One column of boxes."""
    left, width, step = 16, 328, 62 + _GAP
    tops = [12 + number * step + (30 if number else 0) for number in range(len(_STEPS))]
    boxes = [
        _row(title, " ".join(lines), left, top, width) for top, (title, lines) in zip(tops, _STEPS.items(), strict=True)
    ]
    arrows = [_arrow(left + width / 2, top - _GAP + 4, across=False) for top in tops[2:]]
    first = _arrow(left + width / 2, 12 + 62 + 4, across=False)
    height = tops[-1] + 62 + 24
    return _svg(360, height, (4, 104 - 8, 352, height - 104), (108, 117), [*boxes, first, *arrows])


def _box(title: str, lines: tuple[str, str], x: float, y: float) -> str:
    middle = x + _WIDTH / 2
    return (
        f'<rect class="b" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="10"/>'
        f'<text class="h" x="{middle:g}" y="{y + 30}">{escape(title)}</text>'
        f'<text x="{middle:g}" y="{y + 52}">{escape(lines[0])}</text>'
        f'<text x="{middle:g}" y="{y + 69}">{escape(lines[1])}</text>'
    )


def _row(title: str, text: str, x: float, y: float, width: float) -> str:
    middle = x + width / 2
    return (
        f'<rect class="b" x="{x}" y="{y}" width="{width}" height="62" rx="10"/>'
        f'<text class="h" x="{middle:g}" y="{y + 26}">{escape(title)}</text>'
        f'<text x="{middle:g}" y="{y + 46}">{escape(text)}</text>'
    )


def _arrow(x: float, y: float, *, across: bool) -> str:
    turn = "" if across else f' transform="rotate(90 {x:g} {y:g})"'
    return f'<path{turn} d="M{x:g} {y:g}h14m-5 -5l5 5l-5 5"/>'


def _svg(
    width: float, height: float, zone: tuple[float, float, float, float], note: tuple[float, float], parts: list[str]
) -> str:
    x, y, across, down = zone
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" '
        f'role="img" aria-label="{escape(_TITLE)}"><title>{escape(_TITLE)}</title><style>{_STYLE}</style>'
        f'<rect class="z" x="{x:g}" y="{y:g}" width="{across:g}" height="{down:g}" rx="14"/>'
        f'<text class="n" x="{note[0]:g}" y="{note[1]:g}">{_NOTE}</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


DIAGRAMS = {"path-wide.svg": wide, "path-tall.svg": tall}
