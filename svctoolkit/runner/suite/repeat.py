"""`repeat: 25`: the events of a step, 25 times, each time with another `$(index)`."""

from __future__ import annotations

from collections.abc import Mapping

from svctoolkit.json_types import Json
from svctoolkit.runner.suite.model import as_list
from svctoolkit.runner.suite.variables import INDEX, Variables, with_names

MOST = 10_000


def repeat_inputs(step: Mapping[str, Json], variables: Variables) -> tuple[dict[str, Json], str]:
    """Return the step without `repeat` and with all of its events or calls; or what is wrong with `repeat`.

    >>> from svctoolkit.runner.suite.variables import Environment
    >>> repeat_inputs({"repeat": 2, "send": {"userId": "u$(index)"}}, Variables({}, Environment()))
    ({'send': [{'userId': 'u0'}, {'userId': 'u1'}]}, '')
    """
    repeated = {key: value for key, value in step.items() if key != "repeat"}
    if "repeat" not in step:
        return repeated, ""
    count = variables.apply(step["repeat"])
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST:
        return repeated, f"`repeat` must be a number from 1 to {MOST:,}"
    keys = ("send", "calls", "event") if "transformation" in step else ("send", "calls")
    key = next((key for key in keys if key in step), "")
    if not key:
        return repeated, "`repeat` needs `send`, `calls`, or a `transformation` with an `event`"
    items = as_list(step[key])
    repeated[key] = [with_names(item, {INDEX: index}) for index in range(count) for item in items]
    return repeated, ""
