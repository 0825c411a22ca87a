"""The pictures as matplotlib axes, for those who want to change them. matplotlib is imported only here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from svctoolkit.displayed import printable
from svctoolkit.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from svctoolkit.pictures._canvas import Tone
    from svctoolkit.pictures._data import Bin, Bins, Cell, Span

_TONES = {"ok": "#1a7f37", "bad": "#cf222e", "warn": "#9a6700", "info": "#0969da", "dim": "#6e7781"}


def axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or new ones of a size in inches. Raises `ConfigError` without matplotlib."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ConfigError("plots require matplotlib. Install it with `pip install 'svctoolkit[plot]'`.") from None
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def paint(tone: Tone) -> str:
    """Return the color of a tone; those without a meaning are the colors of the current style."""
    return _TONES.get(tone, f"C{tone.removeprefix('c')}")


def days(
    ax: Axes, periods: Bins, totals: dict[str, list[int]], tones: dict[str, Tone], marks: Sequence[tuple[int, str]]
) -> None:
    """Draw stacked bars, with a line for each release."""
    import matplotlib.dates as dates

    # Any: matplotlib accepts dates, its types do not
    starts: Any = periods.starts
    bottom = [0] * len(periods.starts)
    for name, counts in totals.items():
        ax.bar(starts, counts, bottom=bottom, width=periods.days * 0.8, label=_plain(name), color=paint(tones[name]))
        bottom = [low + count for low, count in zip(bottom, counts, strict=True)]
    for at, name in marks:
        ax.axvline(starts[at], color="black", linestyle="--", linewidth=1)
        ax.annotate(
            _plain(name), (starts[at], 1), xycoords=("data", "axes fraction"), rotation=90, va="top", ha="right"
        )
    locator = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    ax.legend(fontsize="small")


def ribbons(ax: Axes, columns: Sequence[str], shapes: Sequence[tuple[float, ...]], tones: Sequence[Tone]) -> None:
    """Draw ribbons: (x, y, to x, to y, thickness), with y downwards."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    for (x, y, to, end, thick), tone in zip(shapes, tones, strict=True):
        middle = (x + to) / 2
        points = [(x, y), (middle, y), (middle, end), (to, end)]
        back = [(to, end + thick), (middle, end + thick), (middle, y + thick), (x, y + thick)]
        codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
        ax.add_patch(PathPatch(Path([*points, *back], codes), color=paint(tone), alpha=0.45, linewidth=0))
    ax.invert_yaxis()
    ax.set_axis_off()
    ax.autoscale_view()
    ax.set_title("   →   ".join(map(_plain, columns)), fontsize="medium")


def labels(ax: Axes, texts: Sequence[tuple[float, float, str]]) -> None:
    """Write names at places."""
    for x, y, words in texts:
        ax.text(x, y, _plain(words), va="center", fontsize="small")


def histogram(ax: Axes, bins: Sequence[Bin]) -> None:
    """Draw the numbers before and after, next to each other in each range."""
    places = range(len(bins))
    ax.bar([n - 0.2 for n in places], [of.before for of in bins], width=0.4, label="before")
    ax.bar([n + 0.2 for n in places], [of.after for of in bins], width=0.4, label="after")
    every = max(1, len(bins) // 8)
    ax.set_xticks([n for n in places if n % every == 0], [f"{of.low:.3g}" for of in bins[::every]])
    ax.legend()


def values(ax: Axes, names: Sequence[str], before: Sequence[int], after: Sequence[int]) -> None:
    """Draw pairs of bars."""
    places = range(len(names))
    ax.barh([n - 0.2 for n in places], before, height=0.4, label="before")
    ax.barh([n + 0.2 for n in places], after, height=0.4, label="after")
    ax.set_yticks(places, [_plain(name)[:40] for name in names])
    ax.invert_yaxis()
    ax.legend()


def heat(ax: Axes, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Cell | None]]) -> None:
    """Draw a grid of shares, with their numbers."""
    shares = [[of.part / of.total if of and of.total else float("nan") for of in row] for row in cells]
    image = ax.imshow(shares, vmin=0, vmax=1, cmap="RdYlGn", aspect="auto", alpha=0.75)
    for y, row in enumerate(cells):
        for x, of in enumerate(row):
            if of is not None:
                ax.text(x, y, f"{of.part}/{of.total}", ha="center", va="center", fontsize="small")
    ax.set_xticks(range(len(columns)), list(map(_plain, columns)))
    ax.set_yticks(range(len(rows)), list(map(_plain, rows)))
    ax.figure.colorbar(image, ax=ax, label="share covered")


def spans(ax: Axes, rows: Sequence[Span], tones: Sequence[Tone]) -> None:
    """Draw medians as dots, with bars to the 95th percentile and lines to the longest."""
    for y, (of, tone) in enumerate(zip(rows, tones, strict=True)):
        ax.plot([of.median, of.longest], [y, y], color=paint(tone), linewidth=1)
        ax.plot([of.median, of.p95], [y, y], color=paint(tone), linewidth=6, solid_capstyle="butt")
        ax.plot([of.median], [y], "o", color="black", markersize=5)
    ax.set_xscale("log")
    ax.set_xlabel("milliseconds")
    ax.set_yticks(range(len(rows)), [_plain(f"{of.name}: {of.stage}") for of in rows])
    ax.invert_yaxis()


def _plain(words: str) -> str:
    """Return a text that matplotlib does not read as a formula."""
    return printable(words[:200]).replace("$", r"\$")
