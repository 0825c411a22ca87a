"""Trust by content: the user's own code runs where the sandbox is not complete, other code is refused once.

Machines without seccomp are simulated by processes whose system calls are denied (`tests.denied`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from svctoolkit import Pipeline, Workspace
from svctoolkit.cli import main
from svctoolkit.errors import ToolkitError, UntrustedCode
from svctoolkit.transformations import (
    Layers,
    TrustStore,
    essential_layers,
    layers,
    possible_layers,
)
from svctoolkit.workspace import require_trust

linux = pytest.mark.skipif(sys.platform != "linux", reason="the locks are Linux's")
CLEAN = "def transformEvent(event, metadata):\n    return event\n"
USES = "from text import low\n\n\ndef transformEvent(event, metadata):\n    return event\n"
LIBRARY = "def low(text):\n    return text.lower()\n"
WORKSPACE = """
sources: {web: {destinations: [hook]}}
destinations: {hook: {type: WEBHOOK, config: {webhookUrl: "https://b.example"}, transformation: clean}}
transformations: {clean: {language: python, file: clean.py}}
libraries: {text: {language: python, file: text.py}, other: {language: python, file: other.py}}
"""
EVENT = {"type": "track", "event": "A", "userId": "u"}


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TrustStore:
    """A new store, which commands in this process and in others use."""
    monkeypatch.setenv("SVCTOOLKIT_TRUST_STORE", str(tmp_path / "store"))
    return TrustStore()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of another person: nothing in it is trusted. It is the current folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    texts = {"workspace.yaml": WORKSPACE, "clean.py": USES, "text.py": LIBRARY, "other.py": "other = 1\n"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    return folder


def weak(language: str) -> Layers:
    """The layers of a machine that has none of the operating system."""
    return Layers({}, possible_layers(language), "test", essential_layers(language))


def refused(workspace: Workspace) -> tuple[str, ...]:
    """The files that such a machine refuses."""
    try:
        require_trust(workspace, layers=weak)
    except UntrustedCode as error:
        return error.files
    return ()


def denied(*command: str, cwd: Path, call: str = "seccomp") -> subprocess.CompletedProcess[str]:
    """Run a command on a machine that denies a system call."""
    whole = [sys.executable, "-m", "tests.denied", call, sys.executable, "-m", *command]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    return subprocess.run(whole, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("platform", "python", "javascript"),
    [
        ("linux", ("seccomp", "no_new_privileges", "limits"), ("engine",)),
        ("darwin", ("seatbelt", "limits"), ("engine",)),
        ("win32", ("isolation",), ("engine",)),
        ("freebsd14", ("isolation",), ("engine",)),
    ],
)
def test_what_is_essential_depends_on_platform_and_language(
    platform: str, python: tuple[str, ...], javascript: tuple[str, ...]
) -> None:
    """JavaScript needs V8 only; Python needs layers of the system, which Windows does not have."""
    assert essential_layers("python", platform) == python
    assert essential_layers("javascript", platform) == javascript
    assert set(python) <= possible_layers("python", platform).keys()
    assert set(javascript) <= possible_layers("javascript", platform).keys()
    assert "process" in possible_layers("python", platform)


@linux
def test_a_project_of_init_passes_without_seccomp_and_its_clone_is_refused_once(tmp_path: Path) -> None:
    """`init` records what it wrote; for a user who did not write it, there is one message and nothing runs."""
    assert main(["init", str(tmp_path / "shop")]) == 0
    own = denied("svctoolkit", "run", cwd=tmp_path / "shop")
    shutil.rmtree(tmp_path / "store")  # another user

    foreign = denied("svctoolkit", "run", cwd=tmp_path / "shop")
    trusted = denied("svctoolkit", "trust", "clean.py", cwd=tmp_path / "shop")
    again = denied("svctoolkit", "run", cwd=tmp_path / "shop")

    assert own.returncode == 0, own.stdout + own.stderr
    assert (foreign.returncode, foreign.stdout) == (4, "")
    assert foreign.stderr.count("svctoolkit trust clean.py\n") == 1
    assert foreign.stderr.count("lacks seccomp") == 1
    assert trusted.stdout == "trusted: clean.py\n"
    assert again.returncode == 0, again.stdout + again.stderr


@linux
@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["svctoolkit", "transform", "clean.py"],
        ["svctoolkit", "test", "destination", "hook", "--sample", "track"],
        ["svctoolkit", "serve", "--workspace", "workspace.yaml", "--port", "0"],
        ["svctoolkit", "replay", "events.ndjson", "--workspace", "workspace.yaml"],
        ["pytest", "-q", "-p", "no:cacheprovider"],
    ],
    ids=lambda command: command[min(1, len(command) - 1)],
)
def test_every_command_refuses_foreign_code_once(command: list[str], project: Path) -> None:
    """Exit code 4, one message with the command to copy, and no result."""
    (project / "events.ndjson").write_text(json.dumps(EVENT) + "\n")
    (project / "a.suite.yaml").write_text(
        "workspace: workspace.yaml\nscenarios:\n"
        "  - {name: one, destination: hook, event: {type: track, userId: u}, expect: {user_transform: {userId: u}}}\n"
        "  - {name: two, destination: hook, event: {type: track, userId: v}, expect: {user_transform: {userId: v}}}\n"
    )
    result = denied(*command, cwd=project)
    said = result.stdout + result.stderr

    assert result.returncode == 4, said
    assert said.count("the sandbox on this machine lacks seccomp") == 1
    (advice,) = re.findall(r"svctoolkit trust (.*)", said)
    assert advice.split() == ["clean.py", "text.py"]
    assert "failed" not in said


@linux
def test_javascript_runs_without_layers_of_the_system(tmp_path: Path) -> None:
    """V8 has no access to anything, so JavaScript of anybody runs, with a note about the missing layer."""
    (tmp_path / "clean.js").write_text("export const transformEvent = (e) => ({ ...e, clean: true })")

    result = denied("svctoolkit", "transform", "clean.js", cwd=tmp_path)

    assert result.returncode == 0, result.stderr
    assert '"clean": true' in result.stdout
    assert result.stderr.count("sandbox without seccomp") == 1
    assert "trust" not in result.stderr


@linux
def test_a_notebook_gets_one_error_with_the_call(project: Path) -> None:
    """`Pipeline(workspace)` and `transformation.run` raise; after `workspace.trust()` events run."""
    script = (
        "from svctoolkit import Pipeline, Workspace\nfrom svctoolkit.errors import UntrustedCode\n"
        "w = Workspace('shop')\nt = w.transformation('t', code='def transformEvent(e, m): return e')\n"
        "for attempt in (lambda: Pipeline(w), lambda: t.run({'type': 'track'})):\n"
        "    try: attempt()\n    except UntrustedCode as error: print(error.files, 'workspace.trust()' in str(error))\n"
        "w.trust()\nprint(len(t.run({'type': 'track'}).events), Pipeline(w))\n"
    )
    (project / "cells.py").write_text(script)

    result = denied("cells", cwd=project)

    assert result.stdout.splitlines()[:2] == ["('t',) True"] * 2, result.stderr
    assert result.stdout.splitlines()[2].startswith("1 <Pipeline")


def test_a_library_counts_as_code_of_what_imports_it(project: Path, store: TrustStore) -> None:
    """A changed library is refused with the transformation that imports it; one that nothing imports is not needed."""
    assert main(["trust", "clean.py"]) == 0
    only_library = refused(Workspace.load("workspace.yaml"))
    assert main(["trust", "text.py"]) == 0
    known = refused(Workspace.load("workspace.yaml"))
    (project / "text.py").write_text(LIBRARY + "# changed\n")
    changed = refused(Workspace.load("workspace.yaml"))

    assert (only_library, known, changed) == (("text.py",), (), ("text.py",))
    assert not store.has("other = 1\n")


def test_code_that_imports_indirectly_needs_all_libraries(project: Path) -> None:
    """A name that is built at run time could be that of any library."""
    (project / "clean.py").write_text("import importlib\n" + CLEAN)

    assert refused(Workspace.load("workspace.yaml")) == ("clean.py", "text.py", "other.py")


def test_changed_code_is_named_as_changed(project: Path) -> None:
    """The message distinguishes code that the user has edited from code that was never trusted."""
    main(["trust"])
    (project / "clean.py").write_text(USES + "# edited\n")

    with pytest.raises(UntrustedCode, match=r"clean\.py: changed since you trusted it"):
        require_trust(Workspace.load("workspace.yaml"), layers=weak)


def test_code_of_another_revision_is_not_named_in_the_command(project: Path) -> None:
    """`svctoolkit trust clean.py` would record what the file has now, so the message does not propose it."""
    old = Workspace.load("workspace.yaml")
    (project / "clean.py").write_text(CLEAN)

    with pytest.raises(UntrustedCode) as caught:
        require_trust(old, layers=weak)

    assert "svctoolkit trust text.py" in str(caught.value)
    assert "--trust-code" in str(caught.value)


@pytest.mark.parametrize("file", ["inline.yaml", "inline.suite.yaml"])
def test_code_inside_a_workspace_or_suite_is_trusted_with_that_file(
    file: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the file, and `svctoolkit trust` accepts it."""
    parts = (
        "destinations: {hook: {type: WEBHOOK, config: {webhookUrl: 'https://b.example'}, transformation: t}}\n"
        "transformations: {t: {language: python, code: 'def transformEvent(e, m): return e'}}\n"
    )
    scenarios = "scenarios: [{name: a, destination: hook, event: {type: track, userId: u}, expect: {status: 200}}]\n"
    (project / file).write_text(parts + (scenarios if "suite" in file else ""))

    def load() -> Workspace:
        from svctoolkit import runner

        return runner.load(project / file).workspace if "suite" in file else Workspace.load(project / file)

    before = refused(load())
    assert main(["trust", file]) == 0

    assert (before, refused(load())) == ((file,), ())
    assert capsys.readouterr().out == f"trusted: {file} (t)\n"


def test_an_import_records_its_code(tmp_path: Path, store: TrustStore) -> None:
    """The files that `import` writes run without a complete sandbox."""
    (tmp_path / "export.yaml").write_text(
        WORKSPACE.replace("file: clean.py", f"code: {json.dumps(USES)}")
        .replace("file: text.py", f"code: {json.dumps(LIBRARY)}")
        .replace("file: other.py", "code: 'other = 1'")
    )

    assert main(["import", str(tmp_path / "export.yaml"), "-o", str(tmp_path / "acme")]) == 0

    assert refused(Workspace.load(tmp_path / "acme" / "workspace.yaml")) == ()
    assert {Path(entry.file).parent.parent.name for entry in store.entries()} <= {"acme", "transformations"}


def test_the_store_is_listed_and_entries_are_removed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` shows date, hash and file, and what has changed since; `--remove` forgets."""
    main(["trust", "clean.py", "text.py"])
    main(["trust", "clean.py"])
    (project / "text.py").unlink()
    capsys.readouterr()

    assert main(["trust", "--list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert main(["trust", "--remove", "clean.py"]) == 0
    assert main(["trust", "--remove", "clean.py"]) == 4
    capsys.readouterr()
    main(["trust", "--list"])

    assert [re.sub(r"^\d{4}-\d\d-\d\d  [0-9a-f]{12}  ", "", line) for line in listed] == [
        "clean.py",
        "text.py  (no such file now)",
    ]
    assert capsys.readouterr().out.splitlines() == [listed[1]]


def test_mistakes_are_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file, another kind of file, and a workspace without code."""
    (project / "empty.yaml").write_text("workspace: empty\n")

    codes = [main(["trust", name]) for name in ("nowhere.py", "README.md", "empty.yaml")] + [
        main(["trust", "--remove"])
    ]

    assert codes == [4, 4, 5, 4]
    assert "nowhere.py" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_the_store_is_private(tmp_path: Path, store: TrustStore) -> None:
    """Its files have mode 600; a store that others can write to trusts nothing."""
    store.add(CLEAN, tmp_path / "clean.py")
    (entry,) = store.folder.iterdir()
    modes = stat.S_IMODE(store.folder.stat().st_mode), stat.S_IMODE(entry.stat().st_mode)
    known = store.has(CLEAN), store.has(CLEAN.replace("\n", "\r\n")), store.has(CLEAN + " ")
    store.folder.chmod(0o777)

    assert modes == (0o700, 0o600)
    assert known == (True, True, False)
    assert not store.has(CLEAN)
    with pytest.raises(ToolkitError, match="other users can write"):
        store.add(CLEAN, tmp_path / "clean.py")


def test_a_store_that_cannot_be_written_stops_only_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`init` works without a record; `trust` says where it cannot write."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("SVCTOOLKIT_TRUST_STORE", str(tmp_path / "file" / "store"))

    assert main(["init", str(tmp_path / "shop")]) == 0
    capsys.readouterr()
    assert main(["trust", str(tmp_path / "shop" / "clean.py")]) == 1
    assert "cannot record code as trusted" in capsys.readouterr().err


def test_trusted_code_still_runs_in_the_sandbox(project: Path) -> None:
    """A record opens nothing where the layers hold."""
    workspace = Workspace.load("workspace.yaml")
    workspace.trust()
    probe = workspace.transformation(
        "p", code="def transformEvent(e, m):\n    return {'f': open('/etc/hostname').read()}"
    )
    workspace.trust()

    output = probe.run(EVENT)

    assert layers().essential
    assert output.error is not None
    assert Pipeline(workspace).test_destination("hook", EVENT).data
