"""The rich display of a data plane."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.server.inspect._display import counts
from svctoolkit.server.plane import DataPlane
from svctoolkit.server.store.memory import IdentityMemory


@shows(IdentityMemory)
def memory(found: IdentityMemory) -> Html:
    """Return the entries, and when they expire."""
    mask = found.masker().text
    rows = []
    for key, fields in found.items():
        until = found.expires(key)
        rows += [
            [mask(key), name, mask(value), until.isoformat() if until else "never"] for name, value in fields.items()
        ]
    title = f"memory of {found.source}" + (f", run {found.run}" if found.run else "")
    return display.page(display.table(["key", "field", "value", "expires"], rows, caption=mask(title)))


@shows(DataPlane)
def plane(found: DataPlane) -> Html:
    """Return its address, and what it has received and done."""
    facts = {"address": found.url or "no socket", "workspace": found.workspace.name}
    facts["delivery mode"] = found.workspace.delivery.mode
    problem = display.message(found.reload_problem, "error") if found.reload_problem else ""
    return display.page(display.section("Data plane", display.facts(facts)), problem, *counts(found))
