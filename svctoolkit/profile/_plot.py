"""Plot a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from svctoolkit.pictures import axes
from svctoolkit.profile.shapes import Shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 60  # maximum number of fields


def plot(shapes: Sequence[Shape], ax: Axes | None) -> Axes:
    """Plot a grid of the share of missing values; fields that are missing most often come first."""
    lacking: dict[str, float] = {}
    for shape in shapes:
        for path, field in shape.fields.items():
            lacking[path] = max(lacking.get(path, 0.0), 1 - field.present / shape.count)
    paths = [path for path, share in sorted(lacking.items(), key=lambda item: -item[1]) if share][:_MOST]
    shares = [
        [1 - shape.fields[path].present / shape.count if path in shape.fields else float("nan") for shape in shapes]
        for path in paths
    ]
    ax = axes(ax, 4 + 0.6 * len(shapes), 2.5 + 0.24 * len(paths))
    image = ax.imshow(shares or [[0.0] * len(shapes)], vmin=0, vmax=1, cmap="viridis", aspect="auto")
    ax.set_xticks(range(len(shapes)), [shape.title for shape in shapes], rotation=45, ha="right")
    ax.set_yticks(range(len(paths)), paths)
    ax.figure.colorbar(image, ax=ax, label="share of events without the field")
    return ax
