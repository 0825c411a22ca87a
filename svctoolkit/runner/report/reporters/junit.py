"""`junit`: JUnit XML, as Jenkins, GitLab and others read it: a `testsuite` per file, a `testcase` per scenario.

It is valid under the schema of Jenkins and the stricter one of Ant, which requires a host and a time, and has no totals
over all files. `file` and `line` of a case are in neither schema, but GitLab and editors use them.
"""

from __future__ import annotations

import platform
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from svctoolkit.runner.attempts.outcome import Finished, Notice, Outcome, Started
from svctoolkit.runner.report.reporters._contract import Output
from svctoolkit.runner.report.text import explanation
from svctoolkit.runner.suite.model import Suite

if TYPE_CHECKING:
    from svctoolkit.runner.report.groups import Group

#: Characters that XML 1.0 does not allow.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnit:
    """Writes the file at the end of the run."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._began = ""
        self._suites: dict[Suite, list[Outcome]] = {}

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            self._began = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
        elif isinstance(notice, Outcome):
            self._suites.setdefault(notice.scenario.suite, []).append(notice)
        elif isinstance(notice, Finished):
            self._write()

    def _write(self) -> None:
        root = ET.Element("testsuites")
        where = {"timestamp": self._began, "hostname": platform.node() or "localhost"}
        for number, (suite, outcomes) in enumerate(self._suites.items()):
            named = {"name": _text(suite, suite.title), "package": suite.name, "id": str(number)}
            element = ET.SubElement(root, "testsuite", {**named, **where, **_numbers(outcomes)})
            properties = ET.SubElement(element, "properties")
            ET.SubElement(properties, "property", {"name": "file", "value": suite.name})
            for number, group in enumerate(_causes(outcomes), 1):
                cause = {"name": f"cause {number}", "value": _text(suite, group.title)}
                ET.SubElement(properties, "property", cause)
            for outcome in outcomes:
                _case(element, suite, outcome)
            # Empty, but required by Ant's schema.
            warnings = [_text(suite, explanation(outcome)) for outcome in outcomes if outcome.status == "warned"]
            ET.SubElement(element, "system-out").text = "\n".join(warnings) or None
            ET.SubElement(element, "system-err")
        ET.indent(root)
        text = ET.tostring(root, encoding="unicode")
        self._output.stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n')


def _causes(outcomes: Sequence[Outcome]) -> list[Group]:
    """Return the causes of several failures of a suite, the most frequent first."""
    if all(outcome.ok for outcome in outcomes):
        return []
    from svctoolkit.runner.report.groups import group_by_cause  # most suites pass

    return [group for group in group_by_cause(outcomes) if group.cause]


def invalid_suites(problems: Sequence[str]) -> str:
    """Return the document of a run that did not start, because a suite or its workspace has these problems."""
    root = ET.Element("testsuites")
    where = {"timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}", "hostname": platform.node() or "localhost"}
    numbers = {"tests": "1", "failures": "0", "errors": "1", "skipped": "0", "time": "0.000"}
    suite = ET.SubElement(root, "testsuite", {"name": "suites", "package": "suites", "id": "0", **where, **numbers})
    ET.SubElement(suite, "properties")
    case = ET.SubElement(suite, "testcase", {"name": "the suites are valid", "classname": "suites", "time": "0.000"})
    text = _FORBIDDEN.sub("\ufffd", "\n".join(problems))
    ET.SubElement(case, "error", {"message": text.partition("\n")[0], "type": "invalid"}).text = text
    ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _numbers(outcomes: Sequence[Outcome]) -> dict[str, str]:
    counts = Counter(outcome.status for outcome in outcomes)
    seconds = sum(outcome.milliseconds for outcome in outcomes) / 1000
    numbers = {
        "tests": len(outcomes),
        "failures": counts["failed"],
        "errors": counts["error"],
        # JUnit has no expected failures; as failures they would turn a CI job red.
        "skipped": counts["skipped"] + counts["xfailed"],
    }
    return {**{name: str(value) for name, value in numbers.items()}, "time": f"{seconds:.3f}"}


def _case(parent: ET.Element, suite: Suite, outcome: Outcome) -> None:
    scenario = outcome.scenario
    names = {"name": scenario.id, "classname": suite.name, "time": f"{outcome.milliseconds / 1000:.3f}"}
    names |= {"file": suite.name, "line": str(scenario.line)}
    case = ET.SubElement(parent, "testcase", names)
    if outcome.status in ("skipped", "xfailed"):
        ET.SubElement(case, "skipped", {"message": _text(suite, outcome.reason)})
    elif not outcome.ok:
        why = _text(suite, explanation(outcome))
        kind = "failure" if outcome.status == "failed" else "error"
        # CI shows the message in lists, and the text on the page of the test.
        element = ET.SubElement(case, kind, {"message": why.partition("\n")[0], "type": outcome.status})
        element.text = f"{_text(suite, scenario.title)}\n{why}"


def _text(suite: Suite, text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", str(suite.masker.mask(text)))


reporter = JUnit
