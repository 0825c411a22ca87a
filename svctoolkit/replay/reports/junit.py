"""`junit`: JUnit XML with a `testcase` for each destination and its groups, and one for each condition that is met."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from svctoolkit.replay.reports._contract import Report
from svctoolkit.replay.results.attention import by_attention, label
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.results.summary import head
from svctoolkit.replay.results.text import count_words, describe, example_line
from svctoolkit.replay.review.terms import Breach

#: Characters that XML 1.0 does not allow.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(result: Replayed | Comparison, breaches: Sequence[Breach], _page: str) -> str:
    """Return the XML. A condition that is met is a failure; the groups of a destination are in its `system-out`."""
    cases = len(result.counts) + len(breaches)
    root = ET.Element("testsuites")
    numbers = {"tests": str(cases), "failures": str(len(breaches)), "errors": "0", "skipped": "0"}
    suite = ET.SubElement(root, "testsuite", {"name": "replay", **numbers, "time": f"{result.elapsed:.3f}"})
    for breach in breaches:
        case = ET.SubElement(suite, "testcase", {"name": _plain(breach.condition), "classname": "replay", "time": "0"})
        failure = ET.SubElement(case, "failure", {"message": _plain(breach.text), "type": "condition"})
        failure.text = _plain(head(result))
    for destination, counts in result.counts.items():
        names = {"name": _plain(destination), "classname": "replay.destinations", "time": "0"}
        case = ET.SubElement(suite, "testcase", names)
        lines = [count_words(counts)]
        for group in by_attention(result.groups):
            if group.destination == destination:
                lines += [f"{label(group)}  {describe(group)}", *(f"  {example_line(e)}" for e in group.examples)]
        ET.SubElement(case, "system-out").text = _plain("\n".join(lines))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _plain(value: str) -> str:
    return _FORBIDDEN.sub("\ufffd", value)


report = Report(text)
