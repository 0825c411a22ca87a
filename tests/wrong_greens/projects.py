"""The example projects in which mistakes are made: what `init` writes, the notebooks' shop, and an imported export."""

from __future__ import annotations

import shutil
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from svctoolkit.cli import main
from svctoolkit.project import import_workspace
from tests.imports import acme

ROOT = Path(__file__).parents[2]
NAMES = ("starter", "shop", "acme")
#: What a team would write for each project, and gives to `replay --policies`.
POLICIES = {
    "starter": (
        "policies:\n- hosts: [hook.example, api.mixpanel.com]\n"
        "- required: {event: Order Completed, at: {hook: [properties.revenue]}}\n"
    ),
    "shop": (
        "policies:\n- no_personal: {destinations: [analytics], kinds: [email, phone]}\n"
        "- required: {event: Order Completed, at: {warehouse: [properties.order_id]}}\n"
        '- hosts: ["*.example", www.google-analytics.com, rest.fra-01.braze.eu]\n'
    ),
    "acme": 'policies:\n- hosts: ["*.io", "*.com"]\n- no_personal: {kinds: [email, phone]}\n',
}


def make(name: str, folder: Path) -> Path:
    """Write a project to a new folder, and return that."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "starter":
            folder.mkdir(parents=True)
            with chdir(folder):
                assert main(["init"]) == 0
        elif name == "shop":
            unused = shutil.ignore_patterns("*.ndjson", "tracking", "*.mplstyle", "make_events.py")
            shutil.copytree(ROOT / "notebooks" / "shop", folder, ignore=unused)
        else:
            folder.mkdir(parents=True)
            import_workspace(acme.write(folder), folder / "project", environ={})
            return folder / "project"
    return folder
