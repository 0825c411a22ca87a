"""`junit`: JUnit XML: a `testsuite` for each file, a `testcase` for each change; what is not noticed is a failure."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from xml.etree import ElementTree as ET

from svctoolkit.mutation.result import Result

#: Characters that XML 1.0 does not allow.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def text(result: Result, mask: Callable[[str], str]) -> str:
    """Return the XML document."""

    def plain(value: str) -> str:
        return _FORBIDDEN.sub("\ufffd", mask(value))

    root = ET.Element("testsuites")
    for file, group in groupby(result.ordered, key=lambda verdict: verdict.change.file):
        verdicts = list(group)
        failures = sum(verdict.status == "unnoticed" for verdict in verdicts)
        skipped = sum(verdict.status in ("ineffective", "accepted") for verdict in verdicts)
        counts = {"tests": len(verdicts), "failures": failures, "errors": 0, "skipped": skipped}
        suite = ET.SubElement(root, "testsuite", {"name": file, **{k: str(v) for k, v in counts.items()}, "time": "0"})
        for verdict in verdicts:
            change = verdict.change
            names = {"name": plain(f"{change.line} {change.kind}: {change.text}"), "classname": file, "time": "0"}
            case = ET.SubElement(suite, "testcase", names)
            if verdict.status == "unnoticed":
                what = plain(verdict.reason)
                ET.SubElement(case, "failure", {"message": what, "type": "unnoticed"}).text = plain(str(change))
            elif verdict.status != "noticed":
                ET.SubElement(case, "skipped", {"message": plain(verdict.reason)})
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
