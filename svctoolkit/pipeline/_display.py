"""Rich display of a pipeline."""

from __future__ import annotations

from svctoolkit.displayed import render, shows
from svctoolkit.pipeline.api import Pipeline


@shows(Pipeline)
def pipeline(item: Pipeline) -> str:
    """Show the workspace that the pipeline runs."""
    return render(item.workspace)
