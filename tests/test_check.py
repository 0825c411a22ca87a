"""`check`, `doctor`, `completion`; and that other commands mention notes on a workspace in one line."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from shutil import which

import pytest

from svctoolkit import Workspace, __version__
from svctoolkit.cli import _extras, main
from svctoolkit.errors import InvalidWorkspace, WorkspaceNotes

FILE = """
sources:
  web: {destinations: [hook, ga]}
  app: {destinations: []}
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/, isDefaultMapping: true}}
  ga: {type: GA4, config: {apiSecret: s, measurementId: G-1, typesOfClient: gtag, sendUserId: true}}
  tags: {type: GTM, config: {containerID: GTM-1}}
  new: {type: NEWTHING}
transformations: {unused: {language: python, code: "def transformEvent(e, m): return e"}}
"""
KNOWN = "known: [WEBHOOK.isDefaultMapping, GA4.sendUserId, NEWTHING]\n"
SUITE = """
workspace: workspace.yaml
scenarios:
  - {name: one, destination: hook, event: {type: track, event: E, userId: u}, expect: {dest_transform: {method: POST}}}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "workspace.yaml").write_text(FILE)
    (tmp_path / "one.suite.yaml").write_text(SUITE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_check_lists_everything_about_a_workspace(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Contents, what happens at each destination, suites, and notes with their places; they fail only with --strict."""
    codes = main(["check"]), main(["check", "--strict"])

    said = capsys.readouterr().out
    assert codes == (0, 1)
    assert "workspace.yaml: 2 sources, 4 destinations, 1 transformation\n" in said
    assert "  hook  WEBHOOK   runs\n" in said
    assert "  tags  GTM       Google Tag Manager has device mode only" in said
    assert "suites: 1 file, 1 scenario\n" in said
    assert "workspace.yaml:6:69: WEBHOOK has no configuration variable 'isDefaultMapping'" in said
    assert "unknown destination type 'NEWTHING'" in said
    assert "transformation 'unused': no destination uses it" in said
    assert "source 'app': not connected to a destination" in said
    assert "known: [WEBHOOK.isDefaultMapping, GA4.sendUserId, NEWTHING]" in said


def test_other_commands_mention_notes_in_one_line(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever number there are, and however often a command loads the workspace."""
    (shop / "suites").mkdir()
    (shop / "suites" / "two.suite.yaml").write_text(SUITE.replace("workspace.yaml", "../workspace.yaml"))

    for arguments in (["run"], ["test", "destination", "hook", "--sample", "track"], ["schema", "workspace"]):
        main(arguments)
        noted = [line for line in capsys.readouterr().err.splitlines() if "note" in line]
        assert noted == ([] if arguments[0] == "schema" else ["svctoolkit: 3 notes: svctoolkit check"])


def test_known_accepts_unknown_types_and_variables(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then nothing mentions them, also with --strict; an entry that accepts nothing is a note itself."""
    (shop / "workspace.yaml").write_text(FILE + KNOWN)
    assert main(["run", "--strict"]) == 0
    assert "note" not in capsys.readouterr().err
    text = Workspace.load("workspace.yaml").dumps()
    again = Workspace.loads(text, environ={"GA_API_SECRET": "s"})
    assert again.known == ["WEBHOOK.isDefaultMapping", "GA4.sendUserId", "NEWTHING"]

    (shop / "workspace.yaml").write_text(FILE + KNOWN.replace("]", ", GA4.gone]"))
    with pytest.warns(WorkspaceNotes) as warned:
        Workspace.load("workspace.yaml")
    main(["check"])
    assert "no destination has an unknown 'GA4.gone': remove it from `known`" in capsys.readouterr().out
    assert (warned[0].message.count, warned[0].message.names) == (1, ())  # type: ignore[union-attr]


def test_check_reads_a_configuration_of_rudderstack(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which cannot accept anything: it has no `known`."""
    hook = {"id": "d1", "name": "Hook", "config": {"old": 1}, "destinationDefinition": {"name": "WEBHOOK"}}
    source = {"id": "s1", "name": "Web", "writeKey": "wk", "sourceDefinition": {"type": "web"}, "destinations": [hook]}
    (shop / "config.json").write_text(json.dumps({"workspaceId": "w1", "sources": [source]}))

    assert main(["check", "config.json"]) == 0
    said = capsys.readouterr().out
    assert "WEBHOOK has no configuration variable 'old'" in said
    assert "known:" not in said


def test_check_mentions_variables_that_are_not_set(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no notes: a machine without secrets passes --strict."""
    monkeypatch.delenv("NOT_SET_HERE", raising=False)
    text = FILE.replace("apiSecret: s,", "apiSecret: $(env:NOT_SET_HERE),").replace("  app: {destinations: []}\n", "")
    (shop / "workspace.yaml").write_text(text.partition("transformations:")[0] + KNOWN)

    assert main(["check", "--strict"]) == 0
    said = capsys.readouterr()
    assert "1 environment variable is not set" in said.out
    assert "no notes" in said.out


def test_check_fails_for_suites_that_cannot_be_run(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the place of each problem, next to everything else."""
    (shop / "one.suite.yaml").write_text(SUITE.replace("destination: hook", "destination: hok"))

    assert main(["check"]) == 1
    said = capsys.readouterr().out
    assert "1 problem in suites:" in said
    assert "one.suite.yaml:4:17: unknown destination 'hok'. Did you mean 'hook'?" in said
    assert main(["check", "nowhere.yaml"]) == 4


def test_check_says_that_a_file_is_a_suite(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Otherwise each of its keys would be an unknown key of a workspace."""
    assert main(["check", "one.suite.yaml"]) == 4
    assert "one.suite.yaml is a suite: give its workspace file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sources: {1: 2}", "1:14: '1' must be an object, not 2"),
        ("destinations: {2: {type: WEBHOOK, config: {}, simulate: 3}}", "1:57: 'simulate' must be one of"),
        (
            "sources: {1: {type: web, destinations: [2]}}",
            "1:41: item 1 of 'destinations' must be a string or an object",
        ),
    ],
)
def test_mistakes_below_keys_that_are_numbers_have_places(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key is a text, also if it is written as a number, and is not an item of a list."""
    (tmp_path / "workspace.yaml").write_text(text)

    assert main(["check", str(tmp_path / "workspace.yaml")]) == 4
    assert said in capsys.readouterr().err


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, wanted: list[str]) -> None:
    """Put metadata of svctoolkit with these requirements before that of the installed one."""
    metadata_folder = folder / "svctoolkit-0.1.0.dist-info"
    metadata_folder.mkdir()
    requires = "".join(f"Requires-Dist: {line}\n" for line in wanted)
    text = f"Metadata-Version: 2.4\nName: svctoolkit\n{requires}\nRequires-Dist: of-the-description\n"
    (metadata_folder / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(folder)


def test_doctor_finds_nothing_missing_where_the_tests_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Versions, optional groups, code in both languages, and the store."""
    code = main(["doctor", "--trust-code"])

    said = capsys.readouterr().out
    assert code == 0, said
    for text in ("Python ", "sandbox ", "JavaScript code  a transformation runs", "SQLite", "everything essential"):
        assert text in said


def test_doctor_names_what_is_missing_and_too_old(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An essential package fails it, an optional one is a note with the command that installs it."""
    wanted = ["msgspec>=99", "nowhere-to-be-found>=1", "httpx>=0.1", "duckdb>=9999; extra == 'warehouse'"]
    install(tmp_path, monkeypatch, wanted)

    code = main(["doctor", "--trust-code"])

    said = " ".join(capsys.readouterr().out.split())
    assert code == 1
    assert f"msgspec {metadata.version('msgspec')} is too old (>=99); nowhere-to-be-found is not installed" in said
    assert "(pip install 'svctoolkit[warehouse]')" in said
    assert said.rstrip().endswith("missing: packages")
    assert _extras.numbers("2026.8.0rc1") == (2026, 8, 0)


def test_the_version_shows_which_extras_are_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As text, with the command that installs a missing one, and as data; those for development are left out."""
    wanted = ["msgspec>=0.19", "pytest>=8; extra == 'pytest'", "nowhere-to-be-found>=1; extra == 'lost'"]
    wanted.append("ruff>=0.8; extra == 'test'")
    install(tmp_path, monkeypatch, wanted)

    assert main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"svctoolkit {__version__}",
        "extras: pytest",
        "no lost: nowhere-to-be-found is not installed (pip install 'svctoolkit[lost]')",
    ]
    assert main(["--version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "svctoolkit": __version__,
        "python": platform.python_version(),
        "extras": {
            "lost": {"installed": False, "packages": {"nowhere-to-be-found": None}},
            "pytest": {"installed": True, "packages": {"pytest": metadata.version("pytest")}},
        },
    }
    assert main(["--version", "--jsno"]) == 4
    assert "unknown option --jsno of svctoolkit --version. Did you mean '--json'?" in capsys.readouterr().err


def words(*begun: str) -> list[str]:
    from svctoolkit.cli._completion import candidates
    from svctoolkit.cli._main import COMMANDS

    return candidates(begun, COMMANDS)


def test_completion_knows_commands_options_and_names(shop: Path) -> None:
    """Of the catalogue, the workspace, its environments and suites; nothing where files are expected."""
    (shop / "workspace.staging.yaml").write_text("{}")

    assert words("re") == ["record", "replay"]
    assert words("plan", "in") == ["infer"]
    assert words("run", "--sh") == ["--shard", "--shuffle"]
    assert words("run", "--report", "j") == ["json", "junit"]
    assert words("definitions", "FACEBOOK_P") == ["FACEBOOK_PIXEL"]
    assert words("test", "") == ["destination", "source"]
    assert words("test", "--stage", "send_to_destination=on", "destination", "") == ["ga", "hook", "new", "tags"]
    assert words("test", "source", "w") == ["web"]
    assert words("test", "source", "web", "--env", "") == ["staging"]
    assert words("run", "one.suite.yaml::") == ["one.suite.yaml::one"]
    assert words("run", "one.su") == words("serve", "--workspace", "") == words("nothing", "") == []


def test_completion_of_a_broken_workspace_is_silent(shop: Path) -> None:
    """A Tab never prints an error into the command line."""
    (shop / "workspace.yaml").write_text("destinations: [")
    (shop / "one.suite.yaml").write_text("scenarios: 5")

    assert words("test", "destination", "") == words("run", "one.suite.yaml::") == []
    (shop / "workspace.yaml").unlink()
    assert words("test", "destination", "") == []


def test_the_script_for_bash_completes(shop: Path) -> None:
    """Also after colons, at which bash splits words."""
    bash = which("bash")
    if bash is None:
        pytest.skip("no bash on this machine")
    lines = [
        'eval "$(svctoolkit completion bash)"',
        'complete_line() { COMP_LINE="$1"; COMP_POINT=${#COMP_LINE}; _svctoolkit; echo "${COMPREPLY[*]}"; }',
        'complete_line "svctoolkit test destination h"',
        'complete_line "svctoolkit run one.suite.yaml::"',
        'complete_line "svctoolkit defin"',
    ]
    folder = Path(sys.executable).parent
    done = subprocess.run(
        [bash, "--norc", "-c", "\n".join(lines)],
        cwd=shop, env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.splitlines() == ["hook", "one", "definitions"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script_that_it_accepts(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Checked by the shell itself where it is installed."""
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "svctoolkit completion words --" in script
    if found := which(shell):
        subprocess.run([found, "-n", "/dev/stdin"], input=script, text=True, check=True)
    assert main(["completion", "csh"]) == 4


def test_settings_without_effect_are_noted(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`definitions` and `check` name event filters, which only SDKs apply; `strict` rejects, `known` accepts them."""
    idle = 'eventFilteringOption: blacklistedEvents, blacklistedEvents: [{eventName: "Order"}], whitelistedEvents: []'
    text = FILE.replace(", sendUserId: true", f", {idle}").replace(", isDefaultMapping: true", "")
    (shop / "workspace.yaml").write_text("\n".join(line for line in text.splitlines() if "NEWTHING" not in line))
    assert main(["check", "--strict"]) == 1
    out = capsys.readouterr().out
    assert "destination 'ga': eventFilteringOption, blacklistedEvents have no effect on events in cloud mode" in out
    with pytest.raises(
        InvalidWorkspace, match=r"yaml:\d+:\d+: blacklistedEvents has no effect on events in cloud mode"
    ):
        Workspace.load("workspace.yaml", strict=True)
    assert main(["definitions", "GA4"]) == 0
    assert "no effect on events in cloud mode: whitelistedEvents, blacklistedEvents" in capsys.readouterr().out
    with (shop / "workspace.yaml").open("a") as file:
        file.write("\nknown: [GA4.eventFilteringOption, GA4.blacklistedEvents]\n")
    assert main(["check"]) == 0
    out = capsys.readouterr().out
    assert "no effect" not in out
    assert "remove it from `known`" not in out
