"""`--write` drafts the scenario that notices a change: the smallest event, and the difference that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from svctoolkit import yamlfile
from svctoolkit.cli import main
from tests.examples import some_by_default
from tests.mutation import test_ratchet, test_workspace_changes


def draft(place: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    main(["mutate", "--write", place, "--jobs", "1"])
    drafts = yamlfile.load(capsys.readouterr().out, name="drafts").data
    assert isinstance(drafts, list)
    return drafts


def test_the_boundary_of_a_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The event is exactly at the boundary. Added to the suite, the scenario passes, and the change is noticed."""
    monkeypatch.chdir(tmp_path)
    suite = tmp_path / "orders.suite.yaml"
    suite.write_text(test_ratchet.SUITE)

    (boundary,) = [d for d in draft("orders.suite.yaml:6", capsys) if "boundary" in str(d["name"])]
    suite.write_text(test_ratchet.SUITE + "".join(f"  {line}\n" for line in yamlfile.dump([boundary]).splitlines()))
    passed = main(["run"])
    capsys.readouterr()
    main(["mutate", "--jobs", "1"])

    assert boundary["transformation"] == "clean"
    assert boundary["event"] == {"type": "track", "total": 100, "kind": "A"}
    assert boundary["expect"] == {"user_transform": {"large": False}}
    assert passed == 0
    assert "boundary" not in capsys.readouterr().out


def test_settings_and_rules_of_routing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A consent that no scenario denies: an event of the source that denies it, and does not arrive."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "workspace.yaml").write_text(test_workspace_changes.WORKSPACE)
    (tmp_path / "orders.suite.yaml").write_text(test_workspace_changes.SUITE)

    first, *_ = draft("workspace.yaml:11", capsys)
    (blocked,) = draft("workspace.yaml:18", capsys)

    assert (first["source"], blocked["source"]) == ("web", "web")
    assert "deniedConsentIds" in str(first["send"])
    assert blocked["send"] == {"type": "track", "event": "Ping", "userId": "u-1001"}
    assert blocked["expect"] == {"delivered": {"hook": []}, "failed": "any"}


def test_a_rule_of_a_tracking_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unplanned members are allowed: an event with one. With the scenario the suite passes, and notices the change."""
    monkeypatch.chdir(tmp_path)
    test_workspace_changes.write_planned_shop(tmp_path)
    (place,) = [line.split()[0] for line in unnoticed(capsys) if "unplanned members allowed" in line]

    (scenario,) = draft(place, capsys)
    suite = tmp_path / "orders.suite.yaml"
    suite.write_text(suite.read_text() + "".join(f"  {line}\n" for line in yamlfile.dump([scenario]).splitlines()))

    assert scenario["source"] == "web"
    assert main(["run"]) == 0
    capsys.readouterr()
    assert not any("unplanned members" in line for line in unnoticed(capsys))


def unnoticed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    main(["mutate", "--jobs", "1"])
    return capsys.readouterr().out.splitlines()


def test_a_line_without_changes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the command that lists all of them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "orders.suite.yaml").write_text(test_ratchet.SUITE)

    assert main(["mutate", "--write", "orders.suite.yaml:1"]) == 4
    assert "no change is made here; `svctoolkit mutate --all` lists all" in capsys.readouterr().err


MASKING = """
workspace: workspace.yaml
scenarios:
  - {name: plan, transformation: mask, event: {type: identify, userId: u1, context: {traits: {plan: x}}},
     expect: {user_transform: {userId: u1}}}
"""
MASK = """export function transformEvent(event) {
  const traits = (event.context && event.context.traits) || event.traits || {};
  for (const key of ["iban", "birthday"]) delete traits[key];
  if (traits.lifetime * 2 > 5000) traits.tier = "gold";
  return event;
}
"""


@pytest.mark.parametrize(
    ("line", "change", "shows"),
    some_by_default(
        [(3, '["iban", ""]', "birthday"), (3, '["", "birthday"]', "iban"), (4, '"gold" ->', "lifetime")], 1
    ),
)
def test_texts_of_lists_are_tried_as_names_and_numbers_doubled(
    line: int,
    change: str,
    shows: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("masking.suite.yaml").write_text(MASKING)
    Path("mask.js").write_text(MASK)
    Path("workspace.yaml").write_text("transformations: {mask: {file: mask.js}}\n")
    drafts = [one for one in draft(f"mask.js:{line}", capsys) if change in str(one["name"])]

    assert [shows in str(one["event"]) for one in drafts] == [True] * len(drafts) != []
