"""A terminal session as an animated SVG file: no scripts, both themes, still for readers who prefer reduced motion."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

_COLUMNS = 92
_CHARACTER = 8.4  # pixels, at a font size of 14
_LINE = 21
_TOP, _LEFT = 52, 20
_TYPING = 0.045  # seconds per character
_READING = 1.1  # before the next command is typed
_SGR = re.compile(r"\x1b\[([\d;]*)m")
_CLASSES = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
_STYLE = """
svg{--bg:#fbfbfd;--fg:#24292f;--line:#d5d9df;--dim:#59636e;--r:#b3202c;--g:#116329;--y:#7d4e00;--c:#0b5c77}
@media(prefers-color-scheme:dark){svg{--bg:#10141a;--fg:#e4e7eb;--line:#333a43;--dim:#a3abb5;--r:#ff9a93;--g:#7ee29a;--y:#eec060;--c:#7fd3ee}}
text{font:14px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--fg);white-space:pre}
.b{font-weight:700}.d,.p{fill:var(--dim)}.r{fill:var(--r)}.g{fill:var(--g)}.y{fill:var(--y)}.c{fill:var(--c)}
.w{fill:var(--bg);stroke:var(--line)}.o{fill:var(--line)}
"""
_MOTION = """
@keyframes show{from{opacity:0}to{opacity:1}}
@keyframes type{from{clip-path:inset(0 100% 0 0)}to{clip-path:inset(0 0 0 0)}}
@media(prefers-reduced-motion:no-preference){.s{animation:show .01s both}.t{animation:type both}}
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A command, and what it printed, with its colors."""

    command: str
    output: str


def plain(text: str) -> str:
    """Output without colors."""
    return _SGR.sub("", text)


def svg(steps: list[Step], title: str, *, moving: bool = True) -> str:
    """The session as an SVG file. With `moving`, commands are typed and output appears once, from top to bottom."""
    lines: list[str] = []
    time = 0.6
    for step in steps:
        typing = len(step.command) * _TYPING
        lines += _command(step.command, len(lines), f"{time:.2f}s", typing if moving else None)
        time += typing + 0.5
        rows = [row for line in step.output.splitlines() for row in _wrapped(line)]
        for row in rows:
            motion = f' class="s" style="animation-delay:{time:.2f}s"' if moving else ""
            lines.append(f"<g{motion}>{_text(row, len(lines))}</g>")
        time += _READING
    width, height = round(_COLUMNS * _CHARACTER) + 2 * _LEFT, _TOP + len(lines) * _LINE + 14
    dots = "".join(f'<circle class="o" cx="{20 + 18 * n}" cy="20" r="5"/>' for n in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>'
        f"<style>{_STYLE}{_MOTION if moving else ''}</style>"
        f'<rect class="w" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10"/>{dots}\n'
        + "\n".join(lines)
        + "\n</svg>\n"
    )


def _command(command: str, row: int, delay: str, typing: float | None) -> Iterator[str]:
    """The prompt, and the command as it is typed; only commands that fit on one line."""
    assert len(command) < _COLUMNS - 2, command
    y, x = _TOP + row * _LINE, _LEFT + 2 * _CHARACTER
    prompt = motion = ""
    if typing is not None:
        prompt = f' style="animation-delay:{delay}"'
        steps = f"animation-timing-function:steps({len(command)})"
        motion = f' style="animation-duration:{typing:.2f}s;animation-delay:{delay};{steps}"'
    length = f'textLength="{len(command) * _CHARACTER:g}"'
    yield (
        f'<text x="{_LEFT}" y="{y}" class="p s"{prompt}>$</text>'
        f'<g class="t"{motion}><text x="{x:g}" y="{y}" class="b" {length}>{escape(command)}</text></g>'
    )


def _wrapped(line: str) -> Iterator[str]:
    """A line as a terminal wraps it, at blanks where there are some."""
    indent = len(line) - len(line.lstrip())
    while len(plain(line)) > _COLUMNS:
        cut = line.rfind(" ", indent + 1, _COLUMNS + len(line) - len(plain(line)))
        cut = cut if cut > 0 else _COLUMNS
        yield line[:cut]
        line = " " * (indent + 2) + line[cut:].lstrip()
    yield line


def _text(line: str, row: int) -> str:
    bare = plain(line)
    if not bare.strip():
        return ""
    indent = len(bare) - len(bare.lstrip())
    spans, style = "", ""
    for number, part in enumerate(_SGR.split(line)):
        if number % 2:
            style = " ".join(filter(None, (_CLASSES.get(code, "") for code in part.split(";"))))
        elif part:
            part = part if spans else part.lstrip()
            spans += f'<tspan class="{style}">{escape(part)}</tspan>' if style else escape(part)
    x, length = _LEFT + indent * _CHARACTER, (len(bare.rstrip()) - indent) * _CHARACTER
    return f'<text x="{x:g}" y="{_TOP + row * _LINE}" textLength="{length:g}">{spans.rstrip()}</text>'
