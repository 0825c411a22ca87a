"""The rich display of a data plane."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.server.inspect._display import counts
from svctoolkit.server.plane import DataPlane


@shows(DataPlane)
def plane(found: DataPlane) -> Html:
    """Return its address, and what it has received and done."""
    facts = {"address": found.url or "no socket", "workspace": found.workspace.name}
    facts["delivery mode"] = found.workspace.delivery.mode
    problem = display.message(found.reload_problem, "error") if found.reload_problem else ""
    return display.page(display.section("Data plane", display.facts(facts)), problem, *counts(found))
