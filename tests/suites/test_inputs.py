"""`--changed` and `--watch` know every input of a scenario: each kind of file and setting is changed once."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from svctoolkit import inputs, runner, yamlfile
from svctoolkit.cli import main
from svctoolkit.cli._watching import Round
from svctoolkit.runner.suite.dependencies import dependents, inputs_of

CODE = "export function transformEvent(e) { e.properties.code = 1; return e }"
LIBRARY = "export function cents(x) { return 100 }"
IMPORTING = "import { cents } from 'money';\nexport function transformEvent(e) { e.properties.c = cents(1); return e }"
PROJECT = "version: rudder/v1\nkind: {kind}\nspec:\n  id: {id}\n  name: {id}\n  language: javascript\n  file: {id}.js\n"
PLAN = {"id": "tp", "events": [{"name": "A", "eventType": "track", "rules": {"type": "object"}}]}
OWN_TYPE = """
from svctoolkit.destinations import DestinationType, HttpRequest
from destinations_helper import URL
harbor = DestinationType("Harbor", lambda event, config: HttpRequest(URL, json={}))
"""

FILES = {
    "workspace.yaml": """
        transformations: {clean: {file: clean.js}, priced: {file: priced.js}}
        libraries: {money: {file: money.js}}
        trackingPlans: {shop: {file: plan.json}, folder: {project: plans, format: folder}}
        destinations:
          hook: {type: WEBHOOK, transformation: clean, config: {webhookUrl: https://hook.example/in}}
          lake: {type: WEBHOOK, config: {webhookUrl: https://lake.example/in, headers: [{from: X, to: $(env:LAKE)}]}}
          pond: {type: WEBHOOK, transformation: priced, config: {webhookUrl: https://pond.example/in}}
        sources:
          web: {destinations: [hook], trackingPlan: {plan: shop, settings: {global: {drop_unplanned_events: true}}}}
          app: {destinations: [lake]}
          box: {destinations: [pond]}
        """,
    "workspace.staging.yaml": "destinations: {lake: {config: {webhookUrl: https://staging.example/in}}}",
    ".env": "LAKE='deep'",
    ".gitignore": ".env\n",
    "clean.js": CODE,
    "priced.js": IMPORTING,
    "money.js": LIBRARY,
    "plan.json": json.dumps(PLAN),
    "plans/track/B.json": json.dumps({"type": "object", "properties": {"n": {"type": "number"}}}),
    "order.json": '{"type": "track", "event": "A", "userId": "u"}',
    "events.ndjson": '{"type": "track", "event": "A", "userId": "u"}\n',
    "rows.csv": "id,want\none,A\n",
    "rows.yaml": "[{id: one, want: A}]",
    "body.schema.json": '{"properties": {"event": {"$ref": "name.schema.json"}}}',
    "name.schema.json": '{"const": "A"}',
    "values.yaml": "want: A\n",
    "s.suite.yaml": """
        workspace: workspace.yaml
        vars: {first: {$use: order}}
        fixtures: {order: order.json, lines: events.ndjson}
        defaults: {source: app}
        scenarios:
          - {name: planned, source: web, send: {type: track, event: A, userId: u, properties: {}},
             expect: {delivered: [{}]}}
          - {name: code, destination: hook, event: {type: track, event: A, userId: u, properties: {}},
             expect: {user_transform: {properties: {code: 1}}}}
          - {name: alone, transformation: clean, event: {type: track, event: A, userId: u, properties: {}},
             expect: {user_transform: {properties: {code: 1}}}}
          - {name: library, source: box, send: {type: track, event: A, userId: u, properties: {}},
             expect: {delivered: [{body: {properties: {c: 100}}}]}}
          - {name: url, send: {type: track, event: A, userId: u}, expect: {delivered: [{url: https://staging.example/in}]}}
          - {name: header, send: {type: track, event: A, userId: u}, expect: {delivered: [{headers: {X: deep}}]}}
          - {name: lines, send: {$use: lines}, expect: {delivered: [{body: {event: A}}]}}
          - {name: fixture, send: $(first), expect: {delivered: [{body: {event: A}}]}}
          - {name: csv, cases: rows.csv, send: {type: track, event: A, userId: u},
             expect: {delivered: [{body: {event: $(want)}}]}}
          - {name: rows, cases: rows.yaml, send: {type: track, event: A, userId: u},
             expect: {delivered: [{body: {event: $(want)}}]}}
          - {name: schema, send: {type: track, event: A, userId: u},
             expect: {delivered: [{body: {$schema: body.schema.json}}]}}
          - {name: conforms, send: {type: track, event: B, userId: u, properties: {n: 1}},
             expect: {delivered: [{body: {properties: {$conforms: B}}}]}}
          - {name: golden, send: {type: track, event: A, userId: u, messageId: m, anonymousId: a},
             expect: {delivered: [{body: {event: {$snapshot: true}}}]}}
          - {name: blocked, send: {type: track, event: C, userId: u}, expect: {delivered: [{body: {event: C}}]}}
          - name: raw
            request: {path: /v1/track, auth: {source: app}, json: {event: A, userId: u}}
            expect: {status: 200, delivered: [{url: https://staging.example/in}]}
        """,
    "vars.suite.yaml": """
        vars: {want: A}
        destinations: {hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/in}}}
        sources: {web: {destinations: [hook]}}
        scenarios:
          - {name: of the command line, send: {type: track, event: A, userId: u},
             expect: {delivered: [{body: {event: $(want)}}]}}
        """,
    "cli/doubled.yaml": PROJECT.format(kind="transformation", id="doubled")
    + "  tests: [{name: all, input: ./input, output: ./output}]\n",
    "cli/doubled.js": "import { n } from 'two';\nexport function transformEvent(e) { e.n = n(); return e }",
    "cli/two.yaml": PROJECT.format(kind="transformation-library", id="two"),
    "cli/two.js": "export function n() { return 2 }",
    "cli/input/a.json": '{"type": "track", "messageId": "m"}',
    "cli/output/a.json": '{"type": "track", "messageId": "m", "n": 2}',
}

#: What is changed: a file with the text before and after (a new file if there is none before).
CHANGES = {
    "a scenario": ("s.suite.yaml", "event: {$snapshot", "event: [], messageId: {$snapshot"),
    "a setting of a suite": ("s.suite.yaml", "scenarios:", "never: [{key: userId}]\nscenarios:"),
    "settings that suites share": ("_common.yaml", "", "never: [{key: userId}]"),
    "a fixture": ("order.json", '"event": "A"', '"event": 1'),
    "a fixture of lines": ("events.ndjson", '"A"', '"B"'),
    "rows in CSV": ("rows.csv", "one,A", "one,B"),
    "rows in YAML": ("rows.yaml", "want: A", "want: B"),
    "a snapshot": ("__snapshots__/s/golden.delivered.0.body.event.json", "A", "B"),
    "a schema that a schema refers to": ("name.schema.json", "A", "B"),
    "a schema": ("body.schema.json", '{"$ref": "name.schema.json"}', '{"const": "B"}'),
    "a plan": ("plan.json", '"name": "A"', '"name": "B"'),
    "a plan in a folder": ("plans/track/B.json", '"number"', '"string"'),
    "the code of a transformation": ("clean.js", "code = 1", "code = 2"),
    "the code of a library": ("money.js", "100", "10"),
    "an environment": ("workspace.staging.yaml", "staging.example", "other.example"),
    "a file that git ignores": (".env", "deep", "flat"),
    "a connection": ("workspace.yaml", "app: {destinations: [lake]}", "app: {destinations: [lake, pond]}"),
    "a setting of a destination": ("workspace.yaml", "to: $(env:LAKE)", "to: constant"),
    "a transformation of a destination": ("workspace.yaml", "transformation: priced, ", ""),
    "settings of a plan": ("workspace.yaml", "plan: shop,", "plan: folder,"),
    "a setting of the data plane": ("workspace.yaml", "sources:", "dataPlane: {eventBlocking: {track: [C]}}\nsources:"),
    "variables of the command line": ("values.yaml", "want: A", "want: B"),
    "the code of a project": ("cli/doubled.js", "e.n = n()", "e.n = 3"),
    "a library of a project": ("cli/two.js", "2", "3"),
    "an input of a project": ("cli/input/a.json", '"m"', '"k"'),
    "an output of a project": ("cli/output/a.json", "2", "3"),
    "a new input of a project": ("cli/input/b.json", "", '{"type": "track", "messageId": "b", "n": 1}'),
}  # fmt: skip


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        lines = text.strip("\n").splitlines()
        indent = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        (folder / name).write_text("\n".join(line[indent:] for line in lines) + "\n", encoding="utf-8")


Run = Callable[..., dict[str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SVC_ENV", "staging")
    monkeypatch.delenv("CI", raising=False)
    write(tmp_path, FILES)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run all suites in a folder, and return the status of each scenario that ran."""
    assert folder.is_dir()

    def command(*arguments: str) -> dict[str, str]:
        capsys.readouterr()
        code = main(["run", ".", "--vars", "values.yaml", "--report", "json", *arguments])
        out, err = capsys.readouterr()
        assert code in (0, 1), err
        return {s["name"]: s["status"] for s in json.loads(out)["scenarios"]} if out else {}

    return command


class Watched:
    """What `--watch` keeps between two runs: it loads suites again only if they have changed."""

    def __init__(self) -> None:
        self.round = Round(argparse.Namespace(coverage=False, fail_under=None, fail_fast=False, report=[]))
        scenarios = self.load()
        with runner.open_planes() as planes:
            for notice in runner.run(scenarios, planes):
                if isinstance(notice, runner.Outcome):
                    self.read.add(notice.inputs)
        self.round.complete()

    def load(self) -> list[runner.Scenario]:
        with inputs.recording() as self.read:
            with inputs.recording() as self.shared:
                values = yamlfile.load(Path("values.yaml")).data
            return runner.collect(["."], variables=values, loaded=self.round.loaded)[1]

    def affected(self) -> set[str]:
        """Return the names of the scenarios that run again now."""
        self.used = self.read
        self.round.changed = set(self.used.changed())
        return {scenario.name for scenario in self.round.choose(self.load(), self.shared)}

    def complete(self) -> None:
        """Go on with what the files contain now."""
        self.load()
        self.read.add(self.used)
        self.read.refresh()
        self.round.complete()


#: How many scenarios run again after these changes.
SELECTED = {
    "a scenario": 1,
    "a schema": 1,
    "a plan": 3,
    "a setting of a destination": 11,
    "variables of the command line": 17,
}


def test_the_counted_changes_are_among_the_changes() -> None:
    """Else their numbers would not be checked."""
    assert SELECTED.keys() <= CHANGES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_changed_selects_what_a_full_run_finds(folder: Path, run: Run, half: int) -> None:
    """For every kind of file and setting: what fails or is new after its change is selected, and not everything is."""

    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments], cwd=folder, check=True)

    everything = run("--update")
    assert {name for name, status in everything.items() if status != "passed"} == set()
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "start")
    assert run("--changed", "HEAD") == {}
    missed, ran = [], {}
    watched = Watched()

    def found(statuses: dict[str, str]) -> set[str]:
        return {name for name, status in statuses.items() if status != "passed" or name not in everything}

    for kind, (name, old, new) in [*CHANGES.items()][half::2]:
        text = (folder / name).read_text(encoding="utf-8") if old else ""
        assert old in text, kind
        (folder / name).write_text(text.replace(old, new, 1), encoding="utf-8")
        (folder / ".svctoolkit" / "failed.json").unlink(missing_ok=True)  # they would run again in any case
        again = watched.affected()
        full, selected = run(), run("--changed", "HEAD")
        ran[kind] = len(selected)
        if not found(full) or found(full) != found(selected):
            missed.append(kind)
        # Of a file that git ignores, `--changed` knows with which content a scenario has passed.
        if not found(full) <= again or (len(again) > len(selected) and name != ".env"):
            missed.append(f"--watch: {kind}")
        if old:
            (folder / name).write_text(text, encoding="utf-8")
        else:
            (folder / name).unlink()
        watched.complete()
    assert missed == []
    assert {kind: number for kind, number in ran.items() if kind in SELECTED} == {
        kind: number for kind, number in SELECTED.items() if kind in ran
    }


def test_a_run_reads_only_what_was_recorded_while_loading(folder: Path, run: Run) -> None:
    """Otherwise a change of such a file would be missed in a fresh clone. Snapshots are known by their names."""
    assert run("--update")
    _, scenarios = runner.collect(["."])
    with runner.open_planes() as planes:
        outcomes = [notice for notice in runner.run(scenarios, planes) if isinstance(notice, runner.Outcome)]
    unknown = {
        path
        for outcome in outcomes
        for path in outcome.inputs.files
        if not any(path in read.files for read in inputs_of(outcome.scenario))
        and outcome.scenario not in dependents([outcome.scenario], files=[path])
    }

    assert len(outcomes) == len(scenarios)
    assert unknown == set()


def test_dependents_of_an_item_or_a_file(folder: Path) -> None:
    """Of code: scenarios that run it; of a destination: those that reach it; raw requests may reach anything."""
    _, scenarios = runner.collect(["s.suite.yaml"])

    def named(**inputs: list[str] | list[Path]) -> list[str]:
        return [scenario.id for scenario in dependents(scenarios, **inputs)]  # type: ignore[arg-type]

    assert named(items=["transformations.clean"]) == ["planned", "code", "alone", "raw"]
    assert named(items=["libraries.money"]) == ["planned", "code", "alone", "library", "raw"]
    assert named(items=["destinations.pond"]) == ["library", "raw"]
    assert named(files=[folder / "events.ndjson"]) == ["lines"]
    assert named(files=[folder / "__snapshots__" / "s" / "golden.new.json"]) == ["golden"]
    assert named(files=[folder / "unrelated.json"]) == []


#: Where files are read that are no inputs of scenarios: programs, results, the network.
_OTHER_READERS = {"last_run.py", "_save.py"}
_READS = re.compile(r"\.(?:read_text|read_bytes|glob|rglob)\(|\.open\(\"r|\bopen\([^)]*\"r")


def test_files_have_one_reader() -> None:
    """Whatever loads workspaces, plans and suites, or runs them, reads files with `svctoolkit.inputs`."""
    package = Path(runner.__file__).parent.parent
    files = [file for room in ("workspace", "plans", "yamlfile", "runner") for file in (package / room).rglob("*.py")]
    wrong = [
        f"{file.name}:{number}"
        for file in files
        if file.name not in _OTHER_READERS and file.parent.name not in ("reporters", "record")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if _READS.search(line)
    ]

    assert wrong == []
