"""`junit`: JUnit XML with a `testcase` for each policy, cause and destination, and for each condition that is met."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from svctoolkit.replay.reports._contract import Report
from svctoolkit.replay.results.attention import by_attention, label
from svctoolkit.replay.results.results import Comparison, Replayed
from svctoolkit.replay.results.stories import stories
from svctoolkit.replay.results.summary import head
from svctoolkit.replay.results.text import count_words, describe, example_line, plural_s
from svctoolkit.replay.review.terms import Breach
from svctoolkit.replay.tally.tally import Group

#: Characters that XML 1.0 does not allow.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(result: Replayed | Comparison, breaches: Sequence[Breach], _page: str) -> str:
    """Return the XML. Conditions that are met and policies that do not hold are failures.

    Causes and destinations are test cases with their groups in `system-out`.
    """
    policies = {name: (kind, severity) for name, kind, severity, _ in result.policies.listed}
    told = stories(result.groups) if isinstance(result, Comparison) else []
    cases = [
        *(_case("replay", each.condition, [], each.text) for each in breaches if each.condition not in policies),
        *(_policy(result, name, *of) for name, of in policies.items()),
        *(_case("replay.causes", story.title, _lines(story.groups, names=True)) for story in told),
        *(
            _case("replay.destinations", key, [count_words(counts), *_lines(_of(result.groups, key))])
            for key, counts in result.counts.items()
        ),
    ]
    failures = sum(case.find("failure") is not None for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    numbers = {"tests": str(len(cases)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    root = ET.Element("testsuites")
    suite = ET.SubElement(root, "testsuite", {"name": "replay", **numbers, "time": f"{result.elapsed:.3f}"})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", {"name": "summary", "value": _plain(head(result))})
    suite.extend(cases)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _policy(result: Replayed | Comparison, name: str, kind: str, severity: str) -> ET.Element:
    groups = [group for group in result.groups if group.kind == "breach" and group.before == name]
    counts = result.tally.policies.get(name, {})
    failed = ", ".join(f"{count:,} event{plural_s(count)} at {key}" for key, count in counts.items())
    case = _case("replay.policies", name, _lines(groups, names=True), failed if severity == "error" else "")
    if not failed and (unchecked := [text for text in result.unchecked if text.startswith(f"{kind}: ")]):
        ET.SubElement(case, "skipped", {"message": _plain("; ".join(unchecked))})
    return case


def _case(kind: str, name: str, lines: Sequence[str], failure: str = "") -> ET.Element:
    """Return a test case, with its lines as the text of its failure, or of its output if it passes."""
    case = ET.Element("testcase", {"name": _plain(name), "classname": kind, "time": "0"})
    text = _plain("\n".join(lines))
    if failure:
        attributes = {"message": _plain(failure), "type": "policy" if kind == "replay.policies" else "condition"}
        ET.SubElement(case, "failure", attributes).text = text or _plain(failure)
    elif text:
        ET.SubElement(case, "system-out").text = text
    return case


def _of(groups: Sequence[Group], destination: str) -> list[Group]:
    return [group for group in groups if group.destination == destination]


def _lines(groups: Sequence[Group], *, names: bool = False) -> list[str]:
    """Return the groups with their examples, perhaps with the names of their destinations."""
    lines = []
    for group in by_attention(groups):
        where = f"{group.destination}: " if names else ""
        lines += [f"{label(group)}  {where}{describe(group)}", *(f"  {example_line(e)}" for e in group.examples)]
    return lines


def _plain(value: str) -> str:
    return _FORBIDDEN.sub("\ufffd", value)


report = Report(text)
