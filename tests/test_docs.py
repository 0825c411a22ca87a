"""The documentation is true: its code runs, and it mentions every command and extension."""

from __future__ import annotations

import doctest
import json
import os
import pkgutil
import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import svctoolkit
import svctoolkit.widgets
from svctoolkit import errors
from svctoolkit.causes import RefusalKind
from svctoolkit.cli import main
from svctoolkit.delivery._failures import _KNOWN
from svctoolkit.plans.violation import VIOLATION_TYPES
from svctoolkit.simulations import SIMULATIONS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SUITES = (ROOT / "svctoolkit" / "docs" / "suites.md").read_text(encoding="utf-8")
#: packages whose public modules are extensions, with the test file of their extensions
EXTENSIONS = {
    "svctoolkit.cli.commands": "svctoolkit {name}",
    "svctoolkit.expect.matchers": "`${name}`",
    "svctoolkit.runner.report.reporters": "`{name}`",
}


def names_of(package: str) -> list[str]:
    """The extensions of a package, including those in its subpackages."""
    where = import_module(package)
    rooms = f"{package}." if hasattr(where, "MATCHERS") else ""
    paths = [where.__path__, *(import_module(rooms + m.name).__path__ for m in _modules(where) if rooms and m.ispkg)]
    modules = (m for path in paths for m in pkgutil.iter_modules(path) if not m.name.startswith("_"))
    return [m.name.rstrip("_") for m in modules if not (rooms and m.ispkg)]


def _modules(package: ModuleType) -> list[pkgutil.ModuleInfo]:
    return list(pkgutil.iter_modules(package.__path__))


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("code", blocks("python"), ids=lambda code: code.splitlines()[0][:40])
def test_the_python_of_the_readme_runs(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each block is run separately, in a folder that is not the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(svctoolkit.CATALOGUE, "_added", {})  # registrations end with their block

    exec(compile(code, "README.md", "exec", dont_inherit=True), {"__name__": "readme"})


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Variables that an example sets end with it: a relative folder would follow later tests."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


SECURITY = (ROOT / "svctoolkit" / "docs" / "security.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"^```python\n(.*?)^```$", SECURITY, re.DOTALL | re.MULTILINE))
def test_the_python_of_the_page_about_security_runs(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each block is run separately, in its own folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOOK_TOKEN", "")
    exec(compile(code, "security.md", "exec", dont_inherit=True), {"__name__": "page"})


BATCHES = (ROOT / "svctoolkit" / "docs" / "batches.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"^```python\n(.*?)^```$", BATCHES, re.DOTALL | re.MULTILINE))
def test_the_python_of_the_page_about_batches_runs(code: str) -> None:
    """Each block is run separately."""
    exec(compile(code, "batches.md", "exec", dont_inherit=True), {"__name__": "batches"})


PAGES = sorted((ROOT / "svctoolkit" / "docs").rglob("*.md"))
#: pages whose code is run by other tests
_TESTED = {
    "security.md",
    "batches.md",
    "suites.md",
    "tracking-plans.md",
    "warehouse.md",
    "values.md",
    "servers.md",
    "rudder-cli.md",
}
_CODE = [
    pytest.param(code, id=f"{page.name}-{number}")
    for page in PAGES
    if page.name not in _TESTED and page.parent.name != "sdk"
    for number, code in enumerate(
        re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    )
]


@pytest.mark.parametrize("code", _CODE)
def test_the_python_of_a_page_runs(code: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each block of each page is run separately, in a folder that is not the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(svctoolkit.CATALOGUE, "_added", {})

    monkeypatch.setattr(SIMULATIONS, "_added", {})
    exec(compile(code, "page", "exec", dont_inherit=True), {"__name__": "page"})


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_of_the_documentation_work(page: Path) -> None:
    """Every relative link names an existing file and heading."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    broken = []
    for link in links:
        target, _, heading = link.partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / target).resolve() if target else page
        headings = (
            re.findall(r"^#+ (.*)$", file.read_text("utf-8"), re.MULTILINE)
            if file.suffix == ".md" and file.is_file()
            else []
        )
        anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings}
        if not file.exists() or (heading and heading not in anchors):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("package", EXTENSIONS)
def test_every_extension_is_documented(package: str) -> None:
    """The README names every command and reporter, the page about suites every matcher."""
    names = [name.replace("_", "-") for name in names_of(package)]

    assert names
    assert [n for n in names if EXTENSIONS[package].format(name=n) not in README + SUITES] == []


@pytest.mark.parametrize(
    ("package", "file", "mention"),
    [
        ("svctoolkit.expect.matchers", "test_runner_matchers.py", r"[\"\s{]\${name}\b"),
        ("svctoolkit.runner.report.reporters", "test_runner_reports.py", r"[\"']{name}[\"']"),
    ],
)
def test_every_matcher_and_reporter_has_its_own_test(package: str, file: str, mention: str) -> None:
    """It is named in the tests, not only covered by a loop over all."""
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")

    assert [n for n in names_of(package) if not re.search(mention.replace("{name}", n), text)] == []


def test_every_explorer_is_documented() -> None:
    """The README names every widget."""
    names = dir(svctoolkit.widgets)

    assert "DestinationExplorer" in names
    assert [name for name in names if f"`{name}(" not in README] == []


def modules() -> Iterator[str]:
    for module in pkgutil.walk_packages(svctoolkit.__path__, "svctoolkit."):
        if not module.name.endswith("__main__"):
            yield module.name


def has_examples(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ">>> " in file.read_text(encoding="utf-8")


# Searching a module for examples takes longer than running the existing ones.
@pytest.mark.parametrize("name", [name for name in ("svctoolkit", *modules()) if has_examples(name)])
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    """Every `>>>` gives the result below it."""
    failed, _ = doctest.testmod(import_module(name), optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)

    assert failed == 0


def test_troubleshooting_has_an_entry_for_every_reason() -> None:
    """Each kind of refusal, of failed user code, of a missing answer, and of a violation."""
    text = (ROOT / "svctoolkit" / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    entries = set(re.findall(r"^### (.+)$", text, re.MULTILINE))
    code = {"error", "syntax", "time", "memory", "output", "crash", "sandbox"}

    own = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }

    assert {*get_args(RefusalKind), *code, *_KNOWN, "EFORBIDDEN", "lost", *VIOLATION_TYPES} - entries == set()
    assert {name for name in own if issubclass(getattr(errors, name), (Exception, Warning))} - entries == set()


#: what reports, frames and messages name, and the entry that explains it
RULES = {
    "MP.missing.userId": "### missing",
    "GA4.not-configured.eventsToEvents": "### not-configured",
    "HS.lookup-failed.x": "### lookup-failed",
    "MP.http-429": "### Status 429, 500, 502, 503, 504",
    "MP.http-401.invalid-token": "### Status 400, 401, 403, 404",
    "code.clean.js.transformEvent.TypeError": "### error",
    "code.lost.NaN": "### lost",
    "memory": "### memory",
    "ECONNREFUSED": "### ECONNREFUSED",
    "Required-Missing": "### Required-Missing",
    "InvalidSuite": "### InvalidSuite",
    "mp.import.count": "### mp.import.count",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_explained_in_the_terminal(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`svctoolkit docs RULE` prints its entry."""
    assert main(["docs", rule]) == 0
    assert capsys.readouterr().out.startswith(f"{RULES[rule]}\n")


@pytest.mark.parametrize("rule", ["MP.wrong.userId", "mp.import.nothing", "MP.http-299", "EWRONG", "x."])
def test_an_unknown_rule_is_an_error(rule: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As an unknown page."""
    assert main(["docs", rule]) == 4
    assert f"unknown page {rule!r}" in capsys.readouterr().err


def test_failures_name_the_command_that_explains_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In Python and JSON as `help`; in the other reports of `run` on a line after the failure."""
    workspace = svctoolkit.Workspace("shop")
    workspace.destination("slack", "SLACK", config={"webhookUrl": "https://hooks.slack.example/x"})
    result = svctoolkit.Pipeline(workspace).test_destination("slack", {"type": "track", "userId": "u"})
    failure = result.failures()[0]
    (tmp_path / "x.suite.yaml").write_text(
        "destinations:\n  slack: {type: SLACK, config: {webhookUrl: https://hooks.slack.example/x}}\n"
        "scenarios:\n- {name: x, destination: slack, event: {type: track, userId: u}, "
        "expect: {dest_transform: {method: POST}}}\n"
    )

    assert failure.help == f"svctoolkit docs {failure.rule}"
    shown = {}
    for report in ("console", "json", "junit", "github", "markdown", "tap"):
        assert main(["run", str(tmp_path), "--report", report]) == 1
        shown[report] = capsys.readouterr().out
    (cause,) = json.loads(shown.pop("json"))["scenarios"][0]["causes"]
    assert cause["help"] == failure.help
    assert f"  {failure.help}\n" in shown["console"]
    assert f"\n{failure.help}</failure>" in shown["junit"]
    assert shown["github"].endswith(f"%0A{failure.help}\n")
    assert [name for name, text in shown.items() if text.count(failure.help) != 1] == []
    assert main(failure.help.split()[1:]) == 0


def test_a_failure_of_several_scenarios_names_its_command_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Next to other differences, too: `dest_transform` differs in one of the scenarios, `delivered` in the other.

    In every report: GitHub gets one annotation, which names both scenarios.
    """
    (tmp_path / "x.suite.yaml").write_text(
        "sources: {web: {destinations: [slack]}}\ndefaults: {source: web}\n"
        "destinations:\n  slack: {type: SLACK, config: {webhookUrl: https://hooks.slack.example/x}}\n"
        "scenarios:\n"
        "- {name: x, send: {type: track, userId: u}, expect: {dest_transform: {slack: [{method: POST}]}}}\n"
        "- {name: y, send: {type: track, userId: u}, expect: {delivered: {slack: [{method: POST}]}}}\n"
    )

    for report, before in (("console", ""), ("markdown", ""), ("github", "x.suite.yaml:7:3: y%0A")):
        assert main(["run", str(tmp_path), "--report", report]) == 1
        assert capsys.readouterr().out.count(f"{before}svctoolkit docs SLACK.missing.event\n") == 1


def test_check_names_the_command_that_explains_its_problems(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """After the problems of suites; the command works."""
    (tmp_path / "workspace.yaml").write_text("workspace: shop\n")
    (tmp_path / "x.suite.yaml").write_text("scenario: []\n")

    assert main(["check", str(tmp_path / "workspace.yaml")]) == 1
    assert "\nsvctoolkit docs InvalidSuite explains them\n" in capsys.readouterr().out
    assert main(["docs", "InvalidSuite"]) == 0


def test_the_faq_lists_every_extra() -> None:
    """And names none that does not exist."""
    text = (ROOT / "svctoolkit" / "docs" / "faq.md").read_text("utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]

    assert set(re.findall(r"`\[(\w+)\]`", text)) == set(extras) - {"test", "bench"}


def test_every_module_has_a_docstring() -> None:
    """Otherwise readers would have to guess its purpose."""
    assert [name for name in ("svctoolkit", *modules()) if not (import_module(name).__doc__ or "").strip()] == []
