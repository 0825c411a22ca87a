"""`svctoolkit check PROJECT`: what `rudder-cli validate` reports, and then what it cannot see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from svctoolkit.cli import main
from tests.rudder_cli.bakery import BRAZE, LINKS, SHOP, TIDY, TOOLS, resource, write


def checked(capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> tuple[int, str]:
    code = main(["check", str(folder), *options])
    return code, capsys.readouterr().out.replace(f"{folder}/", "")


def test_a_good_project(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, shown = checked(capsys, write(tmp_path))

    assert code == 0
    assert "1 source, 2 destinations, 1 transformation, 1 tracking plan" in shown
    assert "rudder-cli validate (rules of 0.24): 0 errors, 0 warnings" in shown
    assert "letters.yaml:17:7: no effect: event_filtering.blacklist acts in the client's SDK in device mode" in shown


def test_errors_with_rules_and_places(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = {
        "letters.yaml": BRAZE.replace("EU-01", "EU-99"),
        "links.yaml": LINKS.replace("source:till", "source:x", 1),
    }
    code, shown = checked(capsys, write(tmp_path, broken))

    assert code == 1
    assert "1 error, 0 warnings" in shown
    assert "  letters.yaml:12:5: error: 'data_center' must be one of US-01" in shown
    assert "[destination/spec-syntax-valid]" in shown


def test_what_a_stage_hides_is_shown_after_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    broken = {
        "letters.yaml": BRAZE.replace("EU-01", "EU-99"),
        "tidy.yaml": TIDY.replace("return event;", "return event }"),
    }
    _, shown = checked(capsys, write(tmp_path, broken))

    _, later = shown.split("then, once these are fixed:")
    assert "JavaScript syntax error" in later


def test_warnings_do_not_fail(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, shown = checked(capsys, write(tmp_path, {"letters.yaml": BRAZE.replace("enabled: true", "enabled: false")}))

    assert code == 0
    assert "[event-stream/connection/enabled-endpoints-valid]" in shown


def test_files_at_which_rudder_cli_stops(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The project works here all the same."""
    (write(tmp_path) / "compose.yaml").write_text("services: {}\n")
    code, shown = checked(capsys, tmp_path)

    assert code == 1
    assert "compose.yaml:1:1: error: not a resource, so rudder-cli stops here: unknown key 'services'" in shown
    assert "2 destinations" in shown


def test_a_second_document(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, shown = checked(capsys, write(tmp_path, {"till.yaml": f"{SHOP}---\n{SHOP}"}))

    assert code == 0
    assert "note: rudder-cli reads only the first document of a file: it ignores this one" in shown
    assert checked(capsys, tmp_path, "--strict")[0] == 1


def test_code_that_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code = TIDY.replace("return event;", "return event.nothing.here;")
    _, shown = checked(capsys, write(tmp_path, {"tidy.yaml": code}))

    assert "transformation tidy fails for 3 of 3 sample events" in shown


def test_unused_things(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    changes = {
        "tools.yaml": TOOLS,
        "tidy.yaml": TIDY.replace("import { upper } from 'textTools';", "const upper = x => x;"),
    }
    _, shown = checked(capsys, write(tmp_path, changes))

    assert "library 'textTools': no transformation imports it" in shown


def test_a_consent_that_no_event_has(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    consent = {"provider": "oneTrust", "allowedConsentIds": ["letters"], "deniedConsentIds": ["other"]}
    event = {"type": "track", "event": "Loaf Sold", "userId": "u", "context": {"consentManagement": consent}}
    (tmp_path / "events.ndjson").write_text(json.dumps(event))
    _, shown = checked(capsys, write(tmp_path / "rudder"), "--events", str(tmp_path / "events.ndjson"))

    assert "destination 'letters' requires the consent 'mail' (oneTrust) of events of till" in shown


def test_the_current_folder(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path))

    assert main(["check"]) == 0
    assert "rudder-cli validate" in capsys.readouterr().out


def test_variable_files_are_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = write(tmp_path, {"till.yaml": SHOP.replace("name: Till", "name: {{ .NAME }}")})
    (folder / "dev.vars.yaml").write_text("NAME: 12\n")

    assert checked(capsys, folder)[0] == 0  # nothing needs a value
    code, shown = checked(capsys, folder, "--var-file", str(folder / "dev.vars.yaml"))
    assert code == 1
    assert "'name' must be text, not number" in shown


def test_what_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    changes = {
        "a.yaml": resource("account", "id: a\nname: A\naccount_definition_name: SOURCE_POSTGRES"),
        "g.yaml": resource("data-graph", "id: g\naccount_id: '1'"),
    }
    code, shown = checked(capsys, write(tmp_path, changes))

    assert code == 0
    assert "kept, and not run here: 1 account, 1 data graph" in shown
