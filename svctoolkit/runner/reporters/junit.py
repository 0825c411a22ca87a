"""`junit`: JUnit XML, as Jenkins, GitLab and others read it: a `testsuite` per file, a `testcase` per scenario."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree as ET

from svctoolkit.runner._model import Suite
from svctoolkit.runner._outcome import Finished, Notice, Outcome
from svctoolkit.runner._text import explanation
from svctoolkit.runner.reporters._contract import Output

#: What XML 1.0 has no place for.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class JUnit:
    """Writes when the run is over."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._suites: dict[Suite, list[Outcome]] = {}

    def __call__(self, notice: Notice) -> None:
        if isinstance(notice, Outcome):
            self._suites.setdefault(notice.scenario.suite, []).append(notice)
        elif isinstance(notice, Finished):
            self._write(notice)

    def _write(self, notice: Finished) -> None:
        root = ET.Element("testsuites", _numbers(notice.counts, notice.seconds))
        del root.attrib["skipped"]  # the schema has it for a testsuite only
        for suite, outcomes in self._suites.items():
            counts: Counter[str] = Counter(outcome.status for outcome in outcomes)
            numbers = _numbers(counts, sum(o.milliseconds for o in outcomes) / 1000)
            element = ET.SubElement(root, "testsuite", {"name": _text(suite, suite.title), **numbers})
            properties = ET.SubElement(element, "properties")
            ET.SubElement(properties, "property", {"name": "file", "value": suite.name})
            for outcome in outcomes:
                _case(element, suite, outcome)
        ET.indent(root)
        text = ET.tostring(root, encoding="unicode")
        self._output.stream.write(f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n')


def _numbers(counts: Counter[str], seconds: float) -> dict[str, str]:
    numbers = {
        "tests": sum(counts.values()),
        "failures": counts["failed"],
        "errors": counts["error"],
        "skipped": counts["skipped"] + counts["xfailed"],
    }
    return {**{name: str(value) for name, value in numbers.items()}, "time": f"{seconds:.3f}"}


def _case(parent: ET.Element, suite: Suite, outcome: Outcome) -> None:
    scenario = outcome.scenario
    names = {"name": scenario.id, "classname": suite.name, "time": f"{outcome.milliseconds / 1000:.3f}"}
    case = ET.SubElement(parent, "testcase", names)
    if outcome.status in ("skipped", "xfailed"):
        ET.SubElement(case, "skipped", {"message": _text(suite, outcome.reason)})
    elif not outcome.ok:
        why = _text(suite, explanation(outcome))
        kind = "failure" if outcome.status == "failed" else "error"
        found = ET.SubElement(case, kind, {"message": why.partition("\n")[0], "type": outcome.status})
        found.text = f"{_text(suite, scenario.title)}\n{why}"


def _text(suite: Suite, text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", str(suite.masker.masked(text)))


reporter = JUnit
