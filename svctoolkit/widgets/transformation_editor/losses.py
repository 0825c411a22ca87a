"""Warn about values that JavaScript code puts into an event but JSON cannot represent: they become null or `{}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.json_types import Json
from svctoolkit.widgets.transformation_editor.trial import Bench
from svctoolkit.workspace import Transformation

_ENTRY = re.compile(r"\bexport\s+((?:async\s+)?function\s+)transformEvent\b")
_NAME = "transformEventBeforeJson"
#: Wraps the user's function, inspects what it returned, and returns the findings in place of an event. An undefined
#: property is not reported: code removes fields like that. Functions already raise an error.
_LOOK = (
    """
export async function transformEvent(event, metadata) {
  const losses = [], path = [], above = [];
  const report = (what, becomes) => { if (losses.length < 20) losses.push([path.join("."), what, becomes]); };
  const look = (value, inList) => {
    if (typeof value === "number" && !Number.isFinite(value)) report(String(value), "null");
    else if (value === undefined && inList) report("undefined", "null");
    else if (value instanceof Map || value instanceof Set) report("a " + value.constructor.name, "{}");
    else if (value instanceof RegExp || value instanceof Error) report(String(value), "{}");
    else if (value instanceof Date && Number.isNaN(value.getTime())) report("an invalid Date", "null");
    else if (value !== null && typeof value === "object" && !("toJSON" in value) && !above.includes(value)) {
      above.push(value);
      for (const key of Object.keys(value)) { path.push(key); look(value[key], Array.isArray(value)); path.pop(); }
      above.pop();
    }
  };
  const returned = await """
    + _NAME
    + """(event, metadata);
  for (const one of Array.isArray(returned) ? returned : [returned]) look(one, false);
  return { losses };
}
"""
)


def losses(bench: Bench, transformation: Transformation, event: Mapping[str, Json]) -> Html:
    """A warning for each value in the output that JSON cannot represent; empty without any.

    The code runs once more for this, so it is skipped where its requests are really sent. Only JavaScript loses values
    silently, and only code with an exported function `transformEvent` is checked.
    """
    code, count = _ENTRY.subn(rf"\1{_NAME}", transformation.code or "")
    if transformation.language != "javascript" or count != 1 or bench.workspace.sends:
        return Html()
    trials = bench.run(replace(transformation, code=code + _LOOK), {"event": event})
    rows = [row for trial in trials for output in trial.output.events for row in output.get("losses", ())]
    if not rows:
        return Html()
    warning = "JSON cannot represent every value in the output: destinations receive different values."
    return Html(display.message(warning, "warning") + display.table(("where", "value", "becomes"), rows))
