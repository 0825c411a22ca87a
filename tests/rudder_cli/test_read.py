"""Projects of rudder-cli are read as rudder-cli reads them: files, variables, settings, findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import rudder_cli
from svctoolkit.errors import ConfigError
from svctoolkit.rudder_cli import RudderProject, read_var_files
from svctoolkit.workspace import read_project
from tests.rudder_cli.bakery import (
    BRAZE,
    EVENTS,
    HOOK,
    LINKS,
    PLAN,
    PROPERTIES,
    SHOP,
    TIDY,
    TOOLS,
    TYPES,
    VALUES,
    resource,
    write,
)


def found(project: RudderProject) -> list[tuple[str, str, str]]:
    return [(finding.rule, finding.file, finding.path) for finding in project.findings]


def test_a_good_project_has_no_findings(tmp_path: Path) -> None:
    project = read_project(write(tmp_path), VALUES)

    assert project.findings == []
    assert project.valid
    assert project.release == "0.24"
    assert list(project.sources) == ["till"]
    assert [(c.source, c.destination, c.enabled) for c in project.connections] == [
        ("till", "ovens", True),
        ("till", "letters", True),
    ]


def test_settings_are_those_of_the_service(tmp_path: Path) -> None:
    destinations = read_project(write(tmp_path), VALUES).destinations

    assert destinations["ovens"].type == "HTTP"
    assert destinations["ovens"].config == {
        "apiUrl": "https://ovens.example/in",
        "auth": "bearerTokenAuth",
        "bearerToken": "hot-oven-token",
        "method": "POST",
        "format": "JSON",
        "isDefaultMapping": True,
        "headers": [{"to": "X-Bakery", "from": "north"}],
    }
    assert destinations["letters"].config == {
        "dataCenter": "EU-01",
        "restApiKey": "letters-secret-key",
        "useNativeSDK": {"web": False},
        "blacklistedEvents": [{"eventName": "Loaf Sliced"}],
        "eventFilteringOption": "blacklistedEvents",
        "consentManagement": {"web": [{"provider": "oneTrust", "consents": [{"consent": "mail"}]}]},
    }


def test_the_current_release_fills_in_defaults_and_modes(tmp_path: Path) -> None:
    later = BRAZE.replace("use_native_sdk:\n      web: false", "connection_mode:\n      web: cloud")
    project = read_project(write(tmp_path, {"letters.yaml": later}), VALUES)

    assert project.release == "1.0"
    config = project.destinations["letters"].config
    assert config["connectionMode"] == {"web": "cloud"}
    assert config["useEcommerceRecommendedEvents"] is True
    # the other destination has no mode, which 1.0 requires for each connected source
    assert found(project) == [
        ("event-stream/connection/semantic-valid", "links.yaml", "/spec/connections/0/destination")
    ]


def test_a_release_can_be_chosen(tmp_path: Path) -> None:
    project = read_project(write(tmp_path), VALUES, release="1.0")

    assert found(project)[0][:2] == ("destination/spec-syntax-valid", "letters.yaml")
    assert "use_native_sdk" in project.findings[0].message


SYNTAX = [
    ("letters.yaml", BRAZE.replace("EU-01", "EU-99"), "destination/spec-syntax-valid", "/spec/config/data_center"),
    (
        "letters.yaml",
        BRAZE.replace("data_center", "dataCenter"),
        "destination/spec-syntax-valid",
        "/spec/config/dataCenter",
    ),
    (
        "letters.yaml",
        BRAZE.replace("[mail]", "mail"),
        "destination/spec-syntax-valid",
        "/spec/config/consent_management/web/0/consents",
    ),
    (
        "letters.yaml",
        BRAZE.replace("web:\n      - p", "roku:\n      - p"),
        "destination/spec-syntax-valid",
        "/spec/config/consent_management/roku",
    ),
    ("letters.yaml", BRAZE.replace("type: braze", "type: BRAZE"), "destination/spec-syntax-valid", "/spec/type"),
    ("letters.yaml", BRAZE.replace("Letters", "Post & Letters"), "destination/spec-syntax-valid", "/spec/display_name"),
    (
        "ovens.yaml",
        HOOK.replace("bearer_token: ", "# bearer_token: "),
        "destination/spec-syntax-valid",
        "/spec/config/bearer_token",
    ),
    (
        "ovens.yaml",
        HOOK.replace("https://ovens.example/in", "http://localhost/in"),
        "destination/spec-syntax-valid",
        "/spec/config/api_url",
    ),
    ("till.yaml", SHOP.replace("javascript", "webhook"), "event-stream/source/spec-syntax-valid", "/spec/type"),
    ("till.yaml", SHOP.replace("name: Till", "name: 12"), "event-stream/source/spec-syntax-valid", "/spec"),
    (
        "links.yaml",
        LINKS.replace("'#destination:ovens'", "ovens"),
        "event-stream/connection/spec-syntax-valid",
        "/spec/connections/0/destination",
    ),
    (
        "tidy.yaml",
        TIDY.replace("name: Tidy", "name:"),
        "transformations/transformation/spec-syntax-valid",
        "/spec/name",
    ),
    (
        "tools.yaml",
        TOOLS.replace("textTools", "texttools"),
        "transformations/transformation-library/spec-syntax-valid",
        "/spec/import_name",
    ),
    (
        "catalog/events.yaml",
        EVENTS.replace("Loaf Sold", "x" * 65),
        "datacatalog/events/spec-syntax-valid",
        "/spec/events/0/name",
    ),
    (
        "catalog/properties.yaml",
        PROPERTIES.replace("minimum: 0", "minimum: low"),
        "datacatalog/properties/config-valid",
        "/spec/properties/0/propConfig/minimum",
    ),
    (
        "catalog/types.yaml",
        TYPES.replace("Currency", "currency"),
        "datacatalog/custom-types/spec-syntax-valid",
        "/spec/types/0/name",
    ),
    (
        "catalog/plan.yaml",
        PLAN.replace("event_rule\n    id: sale", "rule\n    id: sale"),
        "datacatalog/tracking-plans/spec-syntax-valid",
        "/spec/rules/0/type",
    ),
    (
        "till.yaml",
        SHOP.replace("kind: event-stream-source", "kind: event-stream"),
        "project/spec-syntax-valid",
        "/kind",
    ),
    (
        "till.yaml",
        SHOP.replace("metadata:\n  name: event-stream-source", "metadata: {}"),
        "project/metadata-syntax-valid",
        "/metadata/name",
    ),
    ("ovens.yaml", HOOK.replace("rudder/v1", "rudder/0.1"), "project/resource-kind-version-valid", "/kind"),
    ("compose.yaml", "services: {}\n", "project/spec-syntax-parse-valid", ""),
    (".github/ci.yaml", "on: push\n", "project/spec-syntax-parse-valid", ""),
    ("empty.yaml", "# nothing\n", "project/spec-syntax-parse-valid", ""),
]


@pytest.mark.parametrize(("name", "text", "rule", "path"), SYNTAX, ids=[f"{n}{p}" for n, _, _, p in SYNTAX])
def test_a_mistake_in_a_file(tmp_path: Path, name: str, text: str, rule: str, path: str) -> None:
    project = read_project(write(tmp_path, {name: text}), VALUES)

    assert found(project) == [(rule, name, path)]
    assert not project.valid


SEMANTIC = [
    (
        "links.yaml",
        LINKS.replace("source:till", "source:tills", 1),
        "event-stream/connection/semantic-valid",
        "/spec/connections/0/source",
    ),
    (
        "ovens.yaml",
        HOOK.replace("#transformation:tidy", "#transformation:clean"),
        "destination/semantic-valid",
        "/spec/transformation",
    ),
    (
        "till.yaml",
        SHOP.replace(":bread", ":cake"),
        "event-stream/source/semantic-valid",
        "/spec/governance/validations/tracking_plan",
    ),
    ("tidy.yaml", TIDY.replace("textTools", "other"), "transformations/transformation/semantic-valid", "/spec/code"),
    (
        "tidy.yaml",
        TIDY.replace("import { upper } from 'textTools';", "const upper = require('x');"),
        "transformations/transformation/semantic-valid",
        "/spec/code",
    ),
    (
        "catalog/events.yaml",
        EVENTS.replace("category:counter", "category:shelf"),
        "datacatalog/events/semantic-valid",
        "/spec/events/0/category",
    ),
    (
        "catalog/plan.yaml",
        PLAN.replace("property:currency", "property:price"),
        "datacatalog/tracking-plans/semantic-valid",
        "/spec/rules/0/properties/0/property",
    ),
    ("tidy.yaml", TIDY.replace("(event) {", "(event: any) {"), "", "/spec/code"),
    ("till.yaml", SHOP.replace("name: Till", "name: Till\n  write_key: x"), "", "/spec/write_key"),
    ("catalog/plan.yaml", PLAN.replace("event:sold", "event:baked"), "", "/spec/rules/0/event"),
]


@pytest.mark.parametrize(("name", "text", "rule", "path"), SEMANTIC, ids=[f"{n}{p}" for n, _, _, p in SEMANTIC])
def test_a_mistake_in_the_project(tmp_path: Path, name: str, text: str, rule: str, path: str) -> None:
    project = read_project(write(tmp_path, {name: text}), VALUES)

    assert found(project)[0] == (rule, name, path)
    assert {finding.rule for finding in project.findings} == {rule}


def test_a_stage_hides_the_next(tmp_path: Path) -> None:
    changes = {
        "links.yaml": LINKS.replace("source:till", "source:tills"),
        "till.yaml": SHOP.replace("type: javascript", "# no type"),
    }
    project = read_project(write(tmp_path, changes), VALUES)

    assert found(project) == [("event-stream/source/spec-syntax-valid", "till.yaml", "/spec/type")]


def test_a_disabled_end_is_a_warning(tmp_path: Path) -> None:
    off = HOOK.replace("enabled: true", "enabled: false")
    project = read_project(write(tmp_path, {"ovens.yaml": off}), VALUES)

    assert [str(finding) for finding in project.findings] == [
        "links.yaml:9:5: warning: the connection 'till-to-ovens' is enabled, but its destination is disabled: it "
        "delivers nothing [event-stream/connection/enabled-endpoints-valid]"
    ]
    assert project.valid


def test_the_same_id_twice(tmp_path: Path) -> None:
    project = read_project(write(tmp_path, {"z.yaml": HOOK.replace("Ovens", "More Ovens")}), VALUES)

    assert found(project) == [
        ("project/duplicate-urn", "ovens.yaml", "/spec/id"),
        ("project/duplicate-urn", "z.yaml", "/spec/id"),
    ]


# Variables


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("{{ .NAME }}", "Till"),
        ("'{{.NAME}}'", "Till"),
        ("Big {{ .NAME }}", "Big Till"),
        ("{{ .OTHER | Counter }}", "Counter"),
        ("{{ .EMPTY | }}x", "x"),
        ('"{{ path || Till }}"', "{{ path || Till }}"),
        ("Till # {{ .NOTHING }}", "Till"),
        ("{{ .TOKEN }}", "{{ .NAME }}"),
    ],
)
def test_variables_are_replaced_before_parsing(tmp_path: Path, written: str, name: str) -> None:
    text = SHOP.replace("name: Till", f"name: {written}")
    project = read_project(write(tmp_path, {"till.yaml": text}), {**VALUES, "NAME": "Till", "TOKEN": "'{{ .NAME }}'"})

    assert project.sources["till"].spec["name"] == name


def test_a_variable_decides_the_type(tmp_path: Path) -> None:
    text = SHOP.replace("type: javascript", "type: javascript\n  enabled: {{ .ON | true }}\n  {{ .KEY }}: Till", 1)
    text = text.replace("  name: Till\n", "")
    spec = read_project(write(tmp_path, {"till.yaml": text}), {**VALUES, "KEY": "name"}).sources["till"].spec

    assert (spec["enabled"], spec["name"]) == (True, "Till")


@pytest.mark.parametrize("written", ["{{ .NOTHING }}", "{{ .my-name }}", "{{ .9 }}", "{{ .a.b }}"])
def test_a_variable_without_a_value(tmp_path: Path, written: str) -> None:
    broken = {"till.yaml": SHOP.replace("name: Till", f"name: {written}"), "compose.yaml": "services: {}\n"}
    project = read_project(write(tmp_path, broken), VALUES)

    assert found(project) == [("project/var-substitution", "till.yaml", "")]
    assert (project.findings[0].line, project.findings[0].column) == (7, 9)


def test_nothing_needs_a_value_with_placeholders(tmp_path: Path) -> None:
    project = rudder_cli.read_project(write(tmp_path), placeholders=True)

    assert project.findings == []
    assert project.destinations["ovens"].config["bearerToken"] == "$(env:RUDDER_OVEN_TOKEN)"


def test_variable_files(tmp_path: Path) -> None:
    (tmp_path / "a.vars.yaml").write_text("A: one\nB: 2\nC: true\n")
    (tmp_path / "b.vars.yml").write_text("A: two\n")

    assert read_var_files([tmp_path / "a.vars.yaml", tmp_path / "b.vars.yml"]) == {"A": "two", "B": "2", "C": "true"}


@pytest.mark.parametrize(("name", "text"), [("a.vars.yaml", "A: [1]"), ("a.vars.yaml", "A:"), ("vars.yaml", "A: b")])
def test_a_variable_file_that_rudder_cli_rejects(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)

    with pytest.raises(ConfigError, match=r"vars\.yaml"):
        read_var_files([tmp_path / name])


# What is kept


def test_a_second_document_is_noted(tmp_path: Path) -> None:
    project = read_project(write(tmp_path, {"till.yaml": f"---\n{SHOP}---\n{BRAZE}"}), VALUES)

    assert project.findings == []
    assert [(note.file, note.severity) for note in project.notes] == [("till.yaml", "note")]
    assert "only the first document" in project.notes[0].message


def test_newer_kinds_and_types_are_kept(tmp_path: Path) -> None:
    table = resource("retl-source-table", "id: t\nanything: goes")
    firebase = resource(
        "destination",
        "id: f\ndisplay_name: Fire\ntype: firebase\nenabled: true\ndefinition_version: 1\n"
        "config:\n  some_new_key: 1\n  use_native_sdk:\n    ios_swift: true",
    )
    project = read_project(write(tmp_path, {"t.yaml": table, "f.yaml": firebase}), VALUES)

    assert {(note.file, note.path) for note in project.notes} == {("t.yaml", "/kind"), ("f.yaml", "/spec/type")}
    assert project.destinations["f"].config == {"someNewKey": 1, "useNativeSDK": {"iosSwift": True}}
    assert project.destinations["f"].definition is None


def test_the_old_version(tmp_path: Path) -> None:
    events = EVENTS.replace("rudder/v1", "rudder/0.1").replace("'#category:counter'", "'#/categories/c/counter'")
    project = read_project(write(tmp_path, {"catalog/events.yaml": events}), VALUES)

    assert project.findings == []
    assert "deprecated" in project.notes[0].message


def test_a_mode_for_a_source_type_that_the_type_does_not_support_is_one_finding(tmp_path: Path) -> None:
    """A source type that does not exist at all has a second one, as in rudder-cli."""
    ads = resource(
        "destination",
        "id: ads\ndisplay_name: Ads\ntype: googleads\nenabled: true\ndefinition_version: 1\n"
        "config:\n  conversion_id: AW-1\n  connection_mode:\n    cloud: cloud\n    web: device\n    roku: cloud",
    )
    project = read_project(write(tmp_path, {"ads.yaml": ads}), VALUES)

    places = [finding.path for finding in project.findings if finding.file == "ads.yaml"]
    where = "/spec/config/connection_mode"
    assert places == [f"{where}/cloud", f"{where}/roku", f"{where}/roku"]
