"""Compare the mappings with recordings of RudderStack, and write `svctoolkit/destinations/fidelity.json` and the table.
The table of the Test API comes from our own server, which runs for it.

    python -m tests.fidelity FOLDER [TYPE ...]   measure all types, or only these, and write data and table
    python -m tests.fidelity                     write the table in `svctoolkit/docs/fidelity.md` again

The ids of cases, calls and answers that differ go to `tests/unequal.json`. Write next to each new one the beginning of
the known difference that explains it.

FOLDER holds the recordings and the scripts that compare them; it is not part of this repository. Recordings that lack
what the result depends on, the current time or the answer to a lookup, are not counted.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from svctoolkit.destinations import CATALOGUE
from svctoolkit.destinations import fidelity as figures
from svctoolkit.errors import ToolkitError
from tests import conformance

PACKAGE = Path(figures.__file__).parent.parent
DATA = PACKAGE / "destinations" / "fidelity.json"
PAGE = PACKAGE / "docs" / "fidelity.md"
UNEQUAL = Path(__file__).with_name("unequal.json")
BEGIN = "<!-- generated: python -m tests.fidelity -->\n"
END = "<!-- end of generated -->\n"
SERVICE = "rudder-transformer 1.145.0 (commit c98d160c, 2026-08-06)"
#: types whose shared requests were recorded without the time that decides which events are too old
_WITHOUT_TIME = ("MP", "SMARTLY", "USERLIST")


def page_text(page: str) -> str:
    """The page with its table replaced by the one of the data."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n".join([*conformance.table(), "", *figures.page()]) + "\n" + END + after


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fidelity", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("types", nargs="*", metavar="TYPE")
    args = parser.parse_args(arguments)
    if args.folder:
        old = json.loads(DATA.read_text(encoding="utf-8"))["types"] if args.types else {}
        rows, ids = measure(args.folder, {name.upper() for name in args.types})
        write(old | rows)
        write_unequal({name: ids.get(name, []) for name in rows})
        figures._read.cache_clear()
    PAGE.write_text(page_text(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def write(types: dict[str, Any]) -> None:
    """One type per line, so that a change of one type changes one line."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(types.items()))
    head = f'"service": {json.dumps(SERVICE)},\n"measured": "{datetime.now(UTC).date()}"'
    DATA.write_text(f'{{{head},\n"types": {{\n{lines}\n}}}}\n', encoding="utf-8")


def explanations() -> dict[str, dict[str, str]]:
    """Type -> id of a recording that is not equal -> the beginning of the known difference that explains it."""
    return json.loads(UNEQUAL.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def write_unequal(measured: dict[str, list[str]]) -> None:
    """Write the ids that were measured now; explanations of the same ids stay."""
    known = explanations()
    for name, ids in measured.items():
        known[name] = {id: known.get(name, {}).get(id, "") for id in ids}
    every = {name: known[name] for name in sorted(known) if known[name]}
    UNEQUAL.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")


def measure(folder: Path, only: set[str]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The figures of each type, from the recordings in a folder, and the ids of those that are not equal."""
    sys.path.insert(0, str(folder))
    rows: dict[str, dict[str, Any]] = {}
    ids: dict[str, list[str]] = {}
    for place, column, run in (
        ("processor", "cases", _case),
        ("router", "calls", _call),
        ("delivery", "answers", _answer),
    ):
        for cases in read(folder / place):
            name = cases[0]["type"]
            if name in CATALOGUE and (not only or name in only):
                counts, unequal = agreement(name, column, cases, run)
                rows.setdefault(name, {})[column] = counts
                ids.setdefault(name, []).extend(unequal)
    observed = import_module("observed")
    for file in observed.known():
        found = observed.load(file)
        if found["type"] in CATALOGUE and (not only or found["type"] in only):
            rows.setdefault(found["type"], {}).update(observations(observed, found))
            print(found["type"], rows[found["type"]]["observations"], flush=True)
    return rows, ids


def read(folder: Path) -> Iterator[list[dict[str, Any]]]:
    yield from filter(None, (json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))))


def agreement(
    name: str, column: str, cases: Iterable[dict[str, Any]], run: Callable[[Any], str]
) -> tuple[list[int], list[str]]:
    """The number of equal recordings and of all, and the ids of the others."""
    timeless = column == "calls" and name in _WITHOUT_TIME
    results = [(case["id"], run(case)) for case in cases if not timeless or "now" in case]
    complete = [(id, result.startswith("ok")) for id, result in results if result != "incomplete"]
    unequal = [id for id, is_equal in complete if not is_equal]
    return [len(complete) - len(unequal), len(complete)], unequal


def _case(case: Any) -> str:
    """The result of a case; `incomplete` if it is wrong and lacks the answer to a lookup or the current time."""
    scripts = import_module("score")
    answering, unanswered = scripts.answering, []

    def watching(case: Any) -> Callable[[Any], tuple[int, Any]]:
        lookup = answering(case)

        def ask(request: Any) -> tuple[int, Any]:
            answer = lookup(request)
            if answer == (404, {}):
                unanswered.append(request)
            return answer  # type: ignore[no-any-return]

        return ask

    scripts.answering = watching
    try:
        status, _ = scripts.run(case, CATALOGUE, ToolkitError)
    finally:
        scripts.answering = answering
    lacks = unanswered or case.get("clock") == "unstable"
    return "incomplete" if lacks and not status.startswith("ok") else str(status)


def _call(case: Any) -> str:
    scripts = import_module("score_router")
    status, _ = scripts.run(case, CATALOGUE, ToolkitError, scripts.router)
    return str(status)


def _answer(case: Any) -> str:
    scripts = import_module("score_router")
    status, _ = scripts.run(case, CATALOGUE, ToolkitError, scripts.delivery)
    return str(status)


def observations(observed: Any, found: dict[str, Any]) -> dict[str, Any]:
    """Observations that agree, and the most frequent fields of those that do not."""
    equal = total = 0
    fields: Counter[str] = Counter()
    for seen in observed.cases(found):
        base = found["bases"][seen["base"]]
        account = seen.get("metadata") or base.get("metadata") or found.get("metadata")
        answers = found.get("lookups", ())  # of questions that the service had asked before: it keeps the answers
        status, details = observed.ours(found["type"], base, seen, CATALOGUE, ToolkitError, account, answers)
        if status == "unclear":
            continue
        total += 1
        if status in ("same", "both refuse"):
            equal += 1
        elif status == "differs":
            fields.update({field_name(path) for path, *_ in details[:3]})
        else:
            fields[
                {"refused": "refused only here", "not refused": "refused only by RudderStack"}.get(status, status)
            ] += 1
    most = sorted(fields.items(), key=lambda field: (-field[1], field[0]))[:3]  # the same in every run
    return {"observations": [equal, total], "differing": dict(most)}


def field_name(path: str) -> str:
    """A path of a payload without its number and the names of the body's format; `*` for places in lists."""
    path = re.sub(r"^\d+(\.|$)", "", path).replace("<json>.", "")
    path = re.sub(r"^body\.(JSON\.|FORM\.|XML\.|JSON_ARRAY\.batch\.)?", "", path)
    return re.sub(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.|$)", "*", path) or "number of requests"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
