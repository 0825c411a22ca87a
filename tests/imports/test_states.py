"""What an import says of each destination, and what it keeps of the export."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import DataPlane, Workspace, events
from svctoolkit.errors import WorkspaceWarning
from svctoolkit.project import Report, import_workspace
from svctoolkit.replay import replay
from tests.imports import acme

pytestmark = pytest.mark.filterwarnings("ignore::svctoolkit.errors.UnsetVariables")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The import without suites."""
    folder = tmp_path_factory.mktemp("acme")
    return import_workspace(acme.write(folder), folder / "shop", environ={}, with_suites=False)


@pytest.mark.parametrize(
    ("key", "kind", "note"),
    [
        ("ga4-web", "runs", ""),
        ("braze", "runs", "looks things up at rest.fra-01.braze.eu"),
        ("mixpanel-eu", "runs", "device mode for 'iOS app'"),
        ("bigquery-dwh", "warehouse", ""),
        ("hotjar", "device mode", ""),
        ("google-ads-enhanced-conversions", "mapped only", "live requests need its real access_token"),
        ("amplitude-legacy-off", "disabled", ""),
        ("orders-hook", "runs", "the connection from 'iOS app' is disabled"),
        ("hubspot", "runs", "looks things up at api.hubapi.com"),
    ],
)
def test_each_destination_has_a_state_and_says_what_it_needs(report: Report, key: str, kind: str, note: str) -> None:
    """What runs, what needs an account or look-ups, what is a warehouse, what has device mode only."""
    state = report.states[key]

    assert state.kind == kind
    assert any(note in line for line in state.notes) or not note
    assert state.text in report.text()


def test_what_is_left_out_is_listed(report: Report) -> None:
    """Geo enrichment and a tracking plan that the export does not contain, each with its place in the export."""
    left = [str(problem) for problem in report.unknown]

    assert any("'Web shop' has geo enrichment: events get no `context.geo` here" in line for line in left)
    assert any("checked against a tracking plan, which this file does not contain" in line for line in left)


def test_keys_are_made_of_names(report: Report) -> None:
    """Transformations have keys like destinations, so that a failure in `Mask PII` names `mask-pii`."""
    workspace = report.workspace

    assert list(workspace.transformations) == ["enrich-orders", "mask-pii", "rename-signup-legacy"]
    assert workspace.destinations["klaviyo"].transformation == "mask-pii"
    assert workspace.transformation("2TfPii3").key == "mask-pii"
    assert set(workspace.libraries) == {"moneyTools", "hashing"}  # the names that code imports


def test_tokens_of_accounts_in_an_export_are_used_and_secret(tmp_path: Path) -> None:
    """The destination delivers with the account of the export; its token is in no file but `.env`."""
    data = acme.export()
    data["accounts"]["2AccGoogle1"]["secret"] = {"access_token": "ya29.Zx81kQacme"}
    file = acme.write(tmp_path, data)

    report = import_workspace(file, tmp_path / "shop", environ={}, with_suites=False)

    destination = report.workspace.destination("google-ads-enhanced-conversions")
    account = report.workspace.account_of(destination)
    assert account is not None
    assert {name: secret.reveal() for name, secret in account.secret.items()} == {"access_token": "ya29.Zx81kQacme"}
    holding = {p.name for p in (tmp_path / "shop").rglob("*") if p.is_file() and "ya29.Zx81kQacme" in p.read_text()}
    assert holding == {".env"}


def blocking(event_type: str = "track", *, category: str = "") -> Workspace:
    shop = Workspace("shop")
    shop.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    shop.source("web", destinations=["hook"], category=category)
    shop.data_plane.event_blocking = {event_type: ["Heartbeat"]}
    return shop


@pytest.mark.parametrize(
    ("workspace", "name", "fate"),
    [
        (blocking(), "Heartbeat", "filtered"),
        (blocking(), "heartbeat", "delivered"),  # names are compared exactly
        (blocking(), "Heartbeat 2", "delivered"),
        (blocking("identify"), "Heartbeat", "delivered"),
        (blocking(category="cloud"), "Heartbeat", "delivered"),  # not a source of the event stream
    ],
)
def test_blocked_events_go_nowhere(workspace: Workspace, name: str, fate: str) -> None:
    """As RudderStack's `eventBlocking`, in the data plane and in replays, with the reason."""
    event = events.track(name, user_id="u1")

    with DataPlane(workspace) as plane:
        plane.send(event, source="web")
        plane.drain()
        fates = [(f.status, f.by, f.reason) for f in plane.fates]
    replayed = replay([event], workspace, source="web")

    assert [status for status, _, _ in fates] == [fate]
    assert list(replayed.counts["hook"]) == [fate]
    if fate == "filtered":
        assert fates[0][1:] == ("gateway", "the workspace blocks track events named 'Heartbeat' (eventBlocking)")


def test_event_blocking_is_imported_and_written_back(tmp_path: Path) -> None:
    """`settings.eventBlocking` of the export becomes `dataPlane.eventBlocking` of the project."""
    report = import_workspace(acme.write(tmp_path), tmp_path / "shop", environ={}, with_suites=False)

    with pytest.warns(WorkspaceWarning):
        project = Workspace.load(tmp_path / "shop" / "workspace.yaml", environ={})
    assert project.data_plane.event_blocking == {"track": ["Heartbeat", "Debug Ping"]}
    assert "blocked for all destinations: track events named 'Heartbeat', 'Debug Ping'" in report.text()
