"""`import` proves that a clone of the project passes: without `.env`, in another shell, in another time zone."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from svctoolkit.cli import main
from svctoolkit.project.tracked import tracked_files

TODAY = """\
export function transformEvent(event) {
  event.processed_on = new Date().toISOString().slice(0, 10);
  if (event.event === "Checkout Completed") event.event = "Order Completed";
  return event;
}
"""
PLAN = {
    "id": "tp_shop",
    "name": "Shop plan",
    "version": 4,
    "events": [
        {
            "id": "e1",
            "name": "Order Completed",
            "eventType": "track",
            "rules": {
                "type": "object",
                "properties": {
                    "properties": {
                        "type": "object",
                        "properties": {"order_id": {"type": "string"}},
                        "required": ["order_id"],
                    }
                },
            },
        }
    ],
}
STRICT = {"track": {"allowUnplannedEvents": "false", "anyOtherViolation": "forward"}}


def destination(id: str, type_: str, config: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": id, "name": id, "config": config, "destinationDefinition": {"name": type_}, **more}


CONSENT = [{"provider": "oneTrust", "consents": [{"consent": "C0002"}]}]
GA4 = destination(
    "ga4",
    "GA4",
    {
        "apiSecret": "Vq3mZk81ga4Sx",
        "typesOfClient": "gtag",
        "measurementId": "G-7K2ACME",
        "consentManagement": {"web": CONSENT},
    },
)
HOOK = destination(
    "zap",
    "WEBHOOK",
    {"webhookUrl": "https://hooks.zapier.com/hooks/catch/1234567/b9k2xq/", "webhookMethod": "POST"},
    transformations=[{"id": "tf", "versionId": "tfV1", "name": "Today", "language": "javascript", "code": TODAY}],
)
SLACK = destination("slack", "SLACK", {"webhookUrl": "https://hooks.slack.com/services/T02AC/B0455/x9Kq2LmZpQr7St1Uv"})
HOTJAR = destination("hotjar", "HOTJAR", {"siteID": "9911"}, isProcessorEnabled=False)


def export(*, measurement: str = "G-7K2ACME") -> dict[str, Any]:
    """Three sources, of definitions without a type, as public samples have them; one with a strict plan."""
    ga4 = {**GA4, "config": {**GA4["config"], "measurementId": measurement}}
    link = {"config": STRICT, "trackingPlan": {"id": "tp_shop", "version": 4}}
    sources: list[tuple[str, str, list[dict[str, Any]]]] = [
        ("Web shop", "Javascript", [ga4, SLACK, HOOK, HOTJAR]),
        ("Backend", "Python", [HOOK]),
    ]
    return {
        "workspaceId": "w",
        "sources": [
            {
                "id": f"s{number}",
                "name": name,
                "writeKey": f"wk{number}",
                "sourceDefinition": {"name": definition},
                "destinations": destinations,
                "dgSourceTrackingPlanConfig": link if number == 0 else None,
            }
            for number, (name, definition, destinations) in enumerate(sources)
        ],
    }


class Imported(NamedTuple):
    """A project, the export that it was made of, what the command printed, and its exit code."""

    project: Path
    export: Path
    printed: str
    code: int

    @property
    def passed(self) -> int:
        """How many scenarios passed in the copy."""
        found = re.search(r"^works in CI: (\d+) passed$", self.printed, re.MULTILINE)
        assert found is not None, self.printed
        return int(found[1])

    def suite(self, name: str) -> str:
        return (self.project / f"suites/{name}.suite.yaml").read_text()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = tmp_path_factory.mktemp("ci")
    file, project = folder / "workspaceConfig.json", folder / "shop"
    file.write_text(json.dumps(export()))
    (folder / "plans.json").write_text(json.dumps({"trackingPlans": [PLAN]}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "America/Caracas")
        code, printed = command("import", str(file), "-o", str(project))
    return Imported(project, file, printed, code)


def command(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = main(arguments)
    return code, out.getvalue()


def test_the_suites_run_in_a_copy_without_env(shop: Imported) -> None:
    written = re.search(r"(\d+) scenarios in suites", shop.printed)

    assert shop.code == 0
    assert written is not None
    assert shop.passed == int(written[1])


def test_policies_are_true_of_the_samples_and_name_each_destination(shop: Imported) -> None:
    """GA4 refuses events that are older than three days: samples and policies have the same clock."""
    policies = (shop.project / "policies.yaml").read_text()
    with chdir(shop.project):
        code, _ = command("replay", "suites/events", "--policies", "policies.yaml")

    assert code == 0
    assert "- www.google-analytics.com" in policies
    assert "none about hotjar: Hotjar has device mode only" in shop.printed


def test_planned_events_that_a_destination_refuses_are_scenarios(shop: Imported) -> None:
    suite = shop.suite("web-shop-as-planned")

    assert "your plan permits events that destinations refuse" in shop.printed
    assert "track 'Order Completed' from web-shop: ga4 refuses it: needs a list of objects at" in shop.printed
    assert "    failed:\n    - destination: ga4\n      by: dest_transform\n" in suite
    assert "skip" not in suite
    assert "violations: []" in suite


def test_only_a_member_that_shows_the_day_is_ignored(shop: Imported) -> None:
    """Two runs on the same day agree; the suite would fail tomorrow."""
    assert "suites/zap.suite.yaml: user_transform.*.processed_on, JSON.processed_on" in shop.printed
    assert "skip" not in shop.suite("zap")


def test_probes_go_out_where_the_plan_lets_them_pass(shop: Imported) -> None:
    """The first source's plan drops unplanned events."""
    assert "track named Checkout Completed" not in shop.suite("from-web-shop")
    after = shop.suite("from-backend").partition("name: track named Checkout Completed\n")[2]
    assert "$snapshot: true" in after.partition("- name")[0]


def test_a_source_type_is_derived_from_the_name_of_its_definition(shop: Imported) -> None:
    """Settings by kind of source are found, so consent is tested."""
    denied = shop.suite("from-web-shop").partition("consent to C0002 denied")[2].partition("- name")[0]

    assert "delivered:" in denied
    assert "ga4:" not in denied
    assert "ga4:" in shop.suite("from-web-shop").partition("consent to C0002 given")[2].partition("- name")[0]


def test_device_mode_is_not_called_disabled(shop: Imported) -> None:
    (line,) = [line for line in shop.printed.splitlines() if line.startswith("  hotjar")]

    assert "Hotjar has device mode only" in line
    assert "disabled" not in shop.printed


def test_a_scenario_in_which_nothing_arrives_says_why(shop: Imported) -> None:
    excluded = shop.suite("from-web-shop").partition("for no destination (integrations)")[2].partition("- name")[0]

    assert "delivered: []" in excluded
    assert "dropped:\n    - destination: ga4\n      by: routing\n" in excluded


def test_sync_shows_what_the_changes_do_to_the_suites(shop: Imported, tmp_path: Path) -> None:
    """The exit code is 1, as that of CI would be. `--no-verify` leaves it out."""
    project = shutil.copytree(shop.project, tmp_path / "shop")
    shop.export.with_name("next.json").write_text(json.dumps(export(measurement="G-NEWER")))
    arguments = ("sync", str(shop.export.with_name("next.json")), "--project", str(project), "--apply")
    code, printed = command(*arguments)

    assert code == 1
    assert "does not work in CI, in a copy without .env:" in printed
    assert re.search(r"\d+ of \d+ scenarios fail", printed)
    assert "G-NEWER" in printed.partition("scenarios fail")[2]
    shop.export.with_name("next.json").write_text(json.dumps(export(measurement="G-OLDER")))
    assert "CI" not in command(*arguments, "--no-verify")[1]


def test_what_git_would_track_is_copied(tmp_path: Path) -> None:
    files = {
        ".gitignore": "*.log\n/build/\n!keep.log\nlocal/**/*.json\n# a comment\n\n",
        ".env": "A=1",
        ".svctoolkit/passed.json": "{}",
        "workspace.yaml": "",
        "a.log": "",
        "keep.log": "",
        "build/report.html": "",
        "suites/build/x.yaml": "",
        "suites/.gitignore": "private.*\n",
        "suites/private.json": "",
        "local/a/b.json": "",
        "local/a/b.yaml": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert [file.relative_to(tmp_path).as_posix() for file in tracked_files(tmp_path)] == [
        ".gitignore",
        "keep.log",
        "local/a/b.yaml",
        "suites/.gitignore",
        "suites/build/x.yaml",
        "workspace.yaml",
    ]


def test_sync_keeps_whole_urls_of_projects_that_were_imported_before(shop: Imported, tmp_path: Path) -> None:
    project = shutil.copytree(shop.project, tmp_path / "shop")
    for name, new, old in (
        ("workspace.yaml", "https://hooks.slack.com/services/$(env:SLACK_WEBHOOK_URL)", "$(env:SLACK_WEBHOOK_URL)"),
        ("import.lock.json", "https://hooks.slack.com/services/$(env:SLACK_WEBHOOK_URL)", "$(env:SLACK_WEBHOOK_URL)"),
        (".env", "SLACK_WEBHOOK_URL=", "SLACK_WEBHOOK_URL=https://hooks.slack.com/services/"),
    ):
        text = (project / name).read_text()
        assert new in text
        (project / name).write_text(text.replace(new, old))

    arguments = ("sync", str(shop.export), "--project", str(project), "--apply")
    code, printed = command(*arguments)

    assert (code, printed) == (0, "nothing changed in the export since the last import\n")
    assert command(*arguments, "--secrets")[1].endswith(f"works in CI: {shop.passed} passed\n")
    assert (project / "workspace.yaml").read_text() == (shop.project / "workspace.yaml").read_text()
    assert (project / ".env").read_text().split() == (shop.project / ".env").read_text().split()
