"""How a pipeline shows itself."""

from __future__ import annotations

from svctoolkit.displayed import render, shows
from svctoolkit.pipeline.api import Pipeline


@shows(Pipeline)
def pipeline(item: Pipeline) -> str:
    """The workspace that it runs."""
    return render(item.workspace)
