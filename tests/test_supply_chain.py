"""What CI runs cannot change by itself, dependencies are audited, and a release says what it is made of."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests import interpreters

REPOSITORY = Path(__file__).parent.parent
WORKFLOWS = {file.name: file for file in (REPOSITORY / ".github" / "workflows").glob("*.yml")}
ACTION = REPOSITORY / ".github" / "actions" / "svctoolkit" / "action.yml"
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")


def _load(name: str) -> Any:
    # `on` is a boolean in YAML 1.1.
    return yaml.load(WORKFLOWS[name].read_text(encoding="utf-8"), Loader=yaml.BaseLoader)


def _steps(name: str) -> Iterator[Any]:
    for job in _load(name)["jobs"].values():
        yield from job["steps"]


def test_actions_are_pinned_to_commits() -> None:
    """Each action is named by the hash of a commit, with its version in a comment; one version for each action."""
    used = [
        line.partition("uses: ")[2].strip()
        for file in (*WORKFLOWS.values(), ACTION)
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses: " in line
    ]

    assert used
    assert [action for action in used if not PINNED.fullmatch(action)] == []
    assert len(set(used)) == len({action.partition("@")[0] for action in used})


def test_workflows_have_only_the_permissions_they_need() -> None:
    """Every workflow restricts its token; only the release may write."""
    for name in WORKFLOWS:
        assert _load(name)["permissions"] in ({"contents": "read"}, {}, "{}"), name
        for job in _load(name)["jobs"].values():
            assert "permissions" not in job or name == "release.yml"


def test_dependencies_are_audited_every_week() -> None:
    """A scheduled workflow runs `pip-audit` and `npm audit`, the latter where the lock file is."""
    audit = _load("audit.yml")
    commands = [step["run"] for step in _steps("audit.yml") if "run" in step]

    assert audit["on"]["schedule"]
    assert any("pip-audit" in command for command in commands)
    (npm,) = [step for step in _steps("audit.yml") if "npm audit" in step.get("run", "")]
    assert (REPOSITORY / npm["working-directory"] / "package-lock.json").exists()


def test_a_release_has_a_bill_of_materials_and_attestations() -> None:
    """The bill of materials is made before the attestation, which covers it and the packages."""
    steps = [step.get("run", step.get("uses", "")) for step in _steps("release.yml")]
    order = [next(n for n, step in enumerate(steps) if word in step) for word in ("cyclonedx", "attest", "gh release")]

    assert order == sorted(order)
    (attest,) = [step for step in _steps("release.yml") if "attest" in step.get("uses", "")]
    assert attest["with"]["subject-path"] == "dist/*"


def test_a_release_publishes_the_documentation() -> None:
    """The folder that `svctoolkit docs --build` writes is what Pages gets."""
    steps = _load("release.yml")["jobs"]["documentation"]["steps"]

    assert any(step.get("run", "").endswith("svctoolkit docs --build public") for step in steps)
    (upload,) = [step for step in steps if "upload-pages" in step.get("uses", "")]
    assert upload["with"]["path"] == "public"


def test_the_search_library_is_the_published_one() -> None:
    """MiniSearch 7.2.0 of npm, `dist/umd/index.js`, without the line that names its source map; with its license."""
    folder = REPOSITORY / "svctoolkit" / "cli" / "_site" / "minisearch"
    text = (folder / "minisearch.js").read_bytes() + b"//# sourceMappingURL=index.js.map\n"

    assert hashlib.sha256(text).hexdigest() == "03c27931eb603af1d3358579e9885eafdb6a2f5fa9929557b3e77d7e99d06d03"
    assert "Permission is hereby granted, free of charge" in (folder / "LICENSE.txt").read_text(encoding="utf-8")


def test_a_build_runs_no_scripts_of_packages() -> None:
    """The build hook installs exactly what the lock file lists, with a hash for each, and runs none of its scripts."""
    from svctoolkit.widgets._base.code_editor.bundle import hook

    lock = json.loads((Path(hook.__file__).parent / "package-lock.json").read_text(encoding="utf-8"))
    packages = [package for name, package in lock["packages"].items() if name]

    assert hook._INSTALL[:2] == ("ci", "--ignore-scripts")
    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages)


def test_pypi_trusts_the_workflow_and_no_token() -> None:
    """The job that publishes has an environment, may only prove who it is, and gets checked files from the build."""
    jobs = _load("release.yml")["jobs"]
    checks = [step.get("run", "") for step in jobs["build"]["steps"]]

    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
    assert jobs["pypi"]["environment"]["name"] == "pypi"
    assert jobs["pypi"]["needs"] == "build"
    assert not any("run" in step and "pip" in step["run"] for step in jobs["pypi"]["steps"])
    assert "secrets." not in WORKFLOWS["release.yml"].read_text(encoding="utf-8")
    assert any("twine check --strict dist/*" in check for check in checks)
    assert any("check-wheel-contents dist/*.whl" in check for check in checks)


def test_a_checkout_keeps_no_credentials() -> None:
    """Steps after a checkout run code of dependencies, and cannot push."""
    checkouts = [step for name in WORKFLOWS for step in _steps(name) if "actions/checkout" in step.get("uses", "")]

    assert checkouts
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)


def test_every_supported_python_is_tested() -> None:
    """The versions in the metadata are those of the workflow, the README and `tests.interpreters`."""
    matrix = _load("tests.yml")["jobs"]["default"]["strategy"]["matrix"]["python"]

    assert interpreters.versions() == matrix
    assert f"Python {', '.join(matrix[:-1])} or {matrix[-1]}" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
