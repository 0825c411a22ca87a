"""A realistic export works wherever it is cloned, and its starter suites notice mistakes that users make."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from svctoolkit.cli import main
from svctoolkit.project.tracked import copy_tracked
from tests.imports import brook
from tests.imports.mistakes import Mistake, apply

_LOYALTY = "transformations/loyalty.js"
_NUMBERS = "transformations/libraries/numbers.js"
_RETURNS = "transformations/returns.py"
_SPACE = "workspace.yaml"
MISTAKES = [
    Mistake("a threshold times ten", _LOYALTY, "loyalty_points > 1000", "loyalty_points > 10000"),
    Mistake("another threshold", _LOYALTY, "loyalty_points > 200", "loyalty_points > 250"),
    Mistake("a boundary", _LOYALTY, "loyalty_points > 1000", "loyalty_points >= 1000"),
    Mistake("rounding to thousandths", _NUMBERS, "Math.round(value * 100) / 100", "Math.round(value * 1000) / 1000"),
    Mistake("down instead of rounded", _NUMBERS, "Math.round", "Math.floor"),
    Mistake("a typo in a list of masked members", _LOYALTY, '"passport"', '"pasport"'),
    Mistake("the same in the middle of the list", _LOYALTY, '"tax_number"', '"taxnumber"'),
    Mistake("a constant of another size", _RETURNS, "LARGE = 500", "LARGE = 5000"),
    Mistake("another sign", _RETURNS, "-abs(amount)", "abs(amount)"),
    Mistake("another look-up field", _SPACE, "lookupField: email", "lookupField: phone"),
    Mistake("another member at HubSpot", _SPACE, "to: amount", "to: value"),
    Mistake("another event at HubSpot", _SPACE, "hubspotEventName: pe7712_order", "hubspotEventName: pe7712_orders"),
    Mistake("a misspelt member in a template", _SPACE, "properties.total", "properties.totl"),
    Mistake("a disabled connection", _SPACE, "- hubspot-sales\n", "- {destination: hubspot-sales, enabled: false}\n"),
    Mistake("a disabled destination", _SPACE, "    name: PostHog\n", "    name: PostHog\n    enabled: false\n"),
    Mistake("a detached transformation", _SPACE, "    transformation: returns\n", ""),
    Mistake("another method", _SPACE, "webhookMethod: POST", "webhookMethod: PUT"),
    Mistake("another data residency", _SPACE, "dataResidency: eu", "dataResidency: us"),
    Mistake("another secret", _SPACE, "$(env:BRAZE_CRM_REST_API_KEY)", "$(env:KLAVIYO_PRIVATE_API_KEY)"),
    Mistake("another event at Meta", _SPACE, "to: Purchase", "to: Lead"),
]


def command(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = main(arguments)
    return code, out.getvalue()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The imported project, which all tests of this module share."""
    folder = tmp_path_factory.mktemp("brook")
    code, printed = command("import", str(brook.write(folder)), "-o", str(folder / "shop"))
    assert code == 0, printed
    assert "works in CI: " in printed
    return folder / "shop"


@pytest.mark.slow
@pytest.mark.parametrize("half", range(2))
def test_at_least_nineteen_of_twenty_mistakes_are_noticed(shop: Path, half: int) -> None:
    missed = [mistake.name for mistake in MISTAKES[half::2] if not _is_noticed(shop, mistake)]

    assert len(MISTAKES) == 20
    assert missed == []


def _is_noticed(shop: Path, mistake: Mistake) -> bool:
    file = shop / mistake.file
    right = file.read_text()
    try:
        file.write_text(apply(mistake, right))
        with chdir(shop):
            return command("run", "--fail-fast")[0] == 1
    finally:
        file.write_text(right)


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["America/Caracas", "Pacific/Auckland"])
def test_a_clone_is_green_in_another_zone_without_any_variable(shop: Path, tmp_path: Path, zone: str) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    copy_tracked(shop, clone)

    for arguments in (["run"], ["replay", "suites/events", "--policies", "policies.yaml"]):
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "svctoolkit", *arguments],
            cwd=clone,
            env={"TZ": zone} | {name: os.environ[name] for name in ("SYSTEMROOT", "PYTHONPATH") if name in os.environ},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_no_host_that_is_a_credential_is_written(shop: Path) -> None:
    having = [file for file in shop.rglob("*") if file.is_file() and b"eo4k9x2m7q8w1zb" in file.read_bytes()]

    assert having == [shop / ".env"]
    assert "'*.m.pipedream.net'" in (shop / "policies.yaml").read_text()


@pytest.mark.slow
def test_a_newer_export_and_another_environment(shop: Path, tmp_path: Path) -> None:
    """A key that changed is the only difference; a production workspace next to it becomes an environment."""
    project = shutil.copytree(shop, tmp_path / "shop")
    newer = brook.write(tmp_path / "newer")
    newer.write_text(json.dumps(brook.export(posthog="phc_newer9Xw")))

    with chdir(project):
        synced = command("sync", str(newer), "--apply")
        again = command("sync", str(newer))
    imported = command("import", str(shop.parent / "workspaceConfig.json"), "-o", str(tmp_path / "both"), "--env",
                       f"production={newer}")  # fmt: skip

    assert "posthog.config.teamApiKey: phc_brook7Kq2 here, phc_newer9Xw in the export" in synced[1]
    assert again[0] == 0, again[1]
    assert imported[0] == 0, imported[1]
