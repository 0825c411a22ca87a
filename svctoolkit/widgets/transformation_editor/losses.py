"""Values that JavaScript code puts into an event and JSON cannot hold: without a word they become null or `{}`."""

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
#: Runs after the user's function, on what it returned, and gives what it sees in place of an event. A property that is
#: undefined is none: code takes a field away like that. Functions are errors already.
_LOOK = (
    """
export async function transformEvent(event, metadata) {
  const losses = [], path = [], above = [];
  const tell = (what, becomes) => { if (losses.length < 20) losses.push([path.join("."), what, becomes]); };
  const look = (value, inList) => {
    if (typeof value === "number" && !Number.isFinite(value)) tell(String(value), "null");
    else if (value === undefined && inList) tell("undefined", "null");
    else if (value instanceof Map || value instanceof Set) tell("a " + value.constructor.name, "{}");
    else if (value instanceof RegExp || value instanceof Error) tell(String(value), "{}");
    else if (value instanceof Date && Number.isNaN(value.getTime())) tell("a Date that is none", "null");
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
    """A warning for each value of what comes out that JSON loses; nothing where there is none.

    The code runs once more for that, so not where its requests are really sent. Only JavaScript loses values in
    silence, and only code with an exported function `transformEvent` is looked at.
    """
    code, count = _ENTRY.subn(rf"\1{_NAME}", transformation.code or "")
    if transformation.language != "javascript" or count != 1 or bench.workspace.sends:
        return Html()
    trials = bench.run(replace(transformation, code=code + _LOOK), {"event": event})
    rows = [row for trial in trials for output in trial.output.events for row in output.get("losses", ())]
    if not rows:
        return Html()
    warning = "JSON cannot hold every value that comes out: the destinations get something else."
    return Html(display.message(warning, "warning") + display.table(("where", "value", "becomes"), rows))
