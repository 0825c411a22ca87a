"""What `rudder-cli apply` would do, and what a reviewer of a pull request reads first."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from svctoolkit.cli import main
from tests.rudder_cli.bakery import BRAZE, EVENTS, FILES, HOOK, LINKS, PLAN, SHOP, TIDY, TOOLS, resource, write

EVENT = {"type": "track", "event": "Loaf Sold", "userId": "u", "properties": {"price": 3, "currency": "eur"}}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("base") / "rudder")


def changes(capsys: pytest.CaptureFixture[str], base: Path, folder: Path, *options: str) -> list[str]:
    assert main(["changes", str(folder), "--since", str(base), *options]) in (0, 1)
    return capsys.readouterr().out.splitlines()


CONSENTS = "  consent_management:\n    web:\n    - provider: oneTrust\n      consents: [mail]\n"
CASES = [
    (
        "letters.yaml",
        BRAZE.replace("- Loaf Sliced", "- Loaf Sliced\n      - Loaf Sold"),
        [
            "update destination:letters",
            "- config.event_filtering.blacklist: + Loaf Sold",
            "no effect: event_filtering.blacklist acts in the client's SDK in device mode only; till reaches it in "
            "cloud mode; to stop an event, drop it in a transformation",
        ],
    ),
    (
        "letters.yaml",
        BRAZE.replace("web: false", "web: true"),
        [
            "- config.use_native_sdk.web: false -> true",
            "events of till now go to it from the client's SDK (device mode), no longer through the data plane",
        ],
    ),
    (
        "letters.yaml",
        BRAZE.replace("enabled: true", "enabled: false"),
        ["- enabled: true -> false", "it is switched off: nothing is delivered any more"],
    ),
    (
        "letters.yaml",
        BRAZE.replace("type: braze", "type: slack"),
        ["apply fails at this step, with earlier steps done: a type cannot be changed"],
    ),
    (
        "letters.yaml",
        BRAZE.replace("consents: [mail]", "consents: [mail, ads]"),
        ["events of web now need the consents mail (oneTrust), ads (oneTrust), before the consent mail (oneTrust)"],
    ),
    (
        "letters.yaml",
        BRAZE.replace("  " + "  ".join(CONSENTS.splitlines(keepends=True)), ""),
        ["events of web now need no consent, before the consent mail (oneTrust)"],
    ),
    (
        "letters.yaml",
        BRAZE.replace("{{ .LETTERS_KEY }}", "{{ .LETTERS_EU_KEY }}"),
        [
            "- config.rest_api_key: (secret) -> (secret)",
            "rest_api_key comes from {{ .LETTERS_EU_KEY }} now, before from {{ .LETTERS_KEY }}",
        ],
    ),
    (
        "catalog/events.yaml",
        EVENTS.replace("Loaf Sold", "Bread Sold"),
        [
            "- name: Loaf Sold -> Bread Sold",
            "events that are still named 'Loaf Sold' are not planned in bread any more",
            "such events of till are dropped",
        ],
    ),
    (
        "ovens.yaml",
        HOOK.replace('"{{ .OVEN_TOKEN }}"', "other-secret-token"),
        [
            "- config.bearer_token: (secret) -> (secret)",
            "bearer_token comes from a text in the file now, before from {{ .OVEN_TOKEN }}",
        ],
    ),
    (
        "ovens.yaml",
        HOOK.replace("from: north", "from: south"),
        ["- config.headers.0.from: north -> south", "it gets the events of till"],
    ),
    (
        "links.yaml",
        LINKS.split("- id: till-to-letters")[0],
        [
            "delete event-stream-connection:till-to-letters",
            "letters no longer gets the events of till; it has no other source: it receives nothing any more",
        ],
    ),
    (
        "tools.yaml",
        TOOLS.replace(".toUpperCase()", ""),
        [
            "- code: line 2: return String(text).toUpperCase(); -> return String(text);",
            "tidy imports it, for ovens; tracking plans are checked before it, so that its output is not",
        ],
    ),
    (
        "tidy.yaml",
        TIDY.replace("return event;", "return null;"),
        ["- code: line 7: return event; -> return null;", "it runs for ovens"],
    ),
    (
        "catalog/plan.yaml",
        PLAN.replace("'#property:currency'", "'#property:currency'\n      required: true"),
        [
            "track 'Loaf Sold': currency is required now: events without it become violations",
            "events with such violations of till still pass: only unplanned events are dropped there",
        ],
    ),
    (
        "till.yaml",
        SHOP.replace("drop_unplanned_events: true", "drop_unplanned_events: false"),
        ["unplanned events in track events are no longer dropped"],
    ),
    (
        "till.yaml",
        SHOP.replace("type: javascript", "type: javascript\n  enabled: false"),
        ["it is switched off: its events no longer reach ovens and letters"],
    ),
]


@pytest.mark.parametrize(("name", "text", "expected"), CASES, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(CASES)])
def test_a_change(
    capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    assert text != FILES[name]
    shown = "\n".join(changes(capsys, base, write(tmp_path, {name: text})))

    for line in expected:
        assert line in shown
    assert "other-secret-token" not in shown


def test_nothing(capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path) -> None:
    assert changes(capsys, base, write(tmp_path)) == [
        "rudder-cli apply: nothing changes",
        "written again at every apply, as secrets cannot be read back: destination:letters, destination:ovens",
    ]


def test_a_rejected_project(capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path) -> None:
    broken = {"links.yaml": LINKS.replace("source:till", "source:tills", 1)}
    code = main(["changes", str(write(tmp_path, broken)), "--since", str(base)])

    assert code == 1
    assert "source 'tills' not found in the project" in capsys.readouterr().out


def test_the_effect_on_events(capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path) -> None:
    (tmp_path / "events.ndjson").write_text(json.dumps(EVENT))
    folder = write(tmp_path / "rudder", {"tools.yaml": TOOLS.replace(".toUpperCase()", "")})
    shown = changes(capsys, base, folder, "--events", str(tmp_path / "events.ndjson"), "--source", "till")

    assert any(line.startswith("  events: ovens: body.JSON.properties.currency: text changed") for line in shown)


def test_the_order_of_apply(capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path) -> None:
    nothing = dict.fromkeys(FILES)
    (tmp_path / "none.yaml").write_text("")
    write(tmp_path, {**nothing, "none.yaml": SHOP.replace("governance", "# governance").split("# ")[0]})
    created = [line for line in changes(capsys, tmp_path, base) if line.startswith(("create", "delete"))]
    removed = [line for line in changes(capsys, base, tmp_path) if line.startswith("delete")]

    kinds = [line.split()[1].split(":")[0] for line in created]
    assert kinds.index("transformation-library") < kinds.index("transformation") < kinds.index("destination")
    assert removed[0].startswith("delete event-stream-connection")


def test_the_schema_of_a_warehouse(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = resource(
        "destination",
        "id: store\ndisplay_name: Store\ntype: postgres\nenabled: true\ndefinition_version: 1\n"
        "config:\n  host: db.example\n  namespace: bread",
    )
    links = LINKS.replace("destination:letters", "destination:store")
    before = write(tmp_path / "before", {"store.yaml": text, "links.yaml": links})
    other = text.replace("namespace: bread", "namespace: loaves")
    after = write(tmp_path / "after", {"store.yaml": other, "links.yaml": links})

    shown = changes(capsys, before, after)
    assert "  its tables are loaded into the schema loaves; those in the schema bread get no new rows" in shown


@pytest.mark.slow  # needs git
def test_replay_says_it_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a clone without any file of svctoolkit."""
    folder = write(tmp_path / "rudder")
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.example", "GIT_COMMITTER_NAME": "a"}
    environment = {**os.environ, **who, "GIT_COMMITTER_EMAIL": "a@b.example"}
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=folder, check=True, env=environment)
    (tmp_path / "events.ndjson").write_text(json.dumps(EVENT))
    write(folder, {"letters.yaml": BRAZE.replace("- Loaf Sliced", "- Loaf Sold")})
    monkeypatch.chdir(folder)

    assert main(["replay", "../events.ndjson", "--before", "HEAD", "--source", "till"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "rudder-cli apply: 1 to update"
    assert shown[1].startswith("NO EFFECT  destination letters: event_filtering.blacklist acts in the client's SDK")
    assert shown[2] == ""
    assert "2 same" in shown[3]


def test_an_export_is_a_state(capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path) -> None:
    export = {
        "sources": [
            {
                "id": "s1",
                "name": "Till",
                "writeKey": "w",
                "enabled": True,
                "sourceDefinition": {"name": "Javascript", "type": "web"},
                "destinations": [
                    {
                        "id": "d1",
                        "name": "Ovens",
                        "enabled": False,
                        "destinationDefinition": {"name": "HTTP"},
                        "config": {"apiUrl": "https://ovens.example/old", "auth": "bearerTokenAuth", "method": "POST"},
                    }
                ],
            }
        ]
    }
    (tmp_path / "export.json").write_text(json.dumps(export))
    shown = changes(capsys, tmp_path / "export.json", base)

    assert "  - config.api_url: https://ovens.example/old -> https://ovens.example/in" in shown
    assert "  - enabled: false -> true" in shown
    assert any(line.startswith("create destination:letters") for line in shown)
    assert not any(line.startswith("delete") for line in shown)


@pytest.mark.parametrize(("before", "after", "kind"), [("a", "b", "newly failing"), ("b", "a", "no longer failing")])
def test_a_destination_that_one_side_cannot_run_fails_there(
    capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path, before: str, after: str, kind: str
) -> None:
    """The others are compared, and conditions count its events."""
    (tmp_path / "events.ndjson").write_text(json.dumps(EVENT))
    broken = write(tmp_path / "rudder", {"ovens.yaml": HOOK.replace("  api_url: https", "  # api_url: https")})
    folders = {"a": str(base), "b": str(broken)}
    options = ["--workspace", folders[after], "--before", folders[before], "--source", "till"]

    assert main(["replay", str(tmp_path / "events.ndjson"), *options]) == 0
    shown = capsys.readouterr().out
    if after == "b":
        assert "rudder-cli rejects this project:" in shown
        assert "ovens.yaml:12:3: error: 'api_url' is required [destination/spec-syntax-valid]" in shown
    assert f"1 event, 2 destinations: 1 {kind}, 1 same" in shown
    assert "cannot run: HTTP Webhook config: apiUrl: is required" in shown
    assert main(["replay", str(tmp_path / "events.ndjson"), *options, "--fail-on", f"{kind.replace(' ', '-')}>0"]) == 1


VAN = resource("event-stream-source", "id: van\nname: Van\ntype: go")
SAYS = [
    ({"context": {"library": {"name": "RudderLabs JavaScript SDK"}}}, "till (1)"),
    ({"context": {"library": {"name": "analytics-go"}}}, "van (1)"),
    ({"channel": "web"}, "till (1)"),
    ({"channel": "server"}, "van (1)"),
    ({"context": {"sourceId": "van"}, "channel": "web"}, "van (1)"),
    ({"channel": "mobile", "context": {"os": {"name": "iOS"}}}, ""),
    ({}, ""),
]


@pytest.mark.parametrize(("says", "source"), SAYS)
def test_events_say_their_source(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, says: dict[str, object], source: str
) -> None:
    """Otherwise a connection that is off, or of another source, would count as one that delivers."""
    (tmp_path / "events.ndjson").write_text(json.dumps({**EVENT, **says}))
    folder = write(tmp_path / "rudder", {"van.yaml": VAN})

    assert main(["replay", str(tmp_path / "events.ndjson"), "--workspace", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert (f"what the events say (id, write key, SDK or channel): {source}. " in shown) == bool(source)
    assert ("1 event has no source" in shown) == (not source)
    assert ("delivered" in shown) == (source != "van (1)")
