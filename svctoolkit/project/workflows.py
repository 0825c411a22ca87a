"""Workflows for CI: they run the suites of a project, without secrets, and replay its sample events on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

System = Literal["github", "gitlab"]

_SOURCE = "https://github.com/svctoolkit/svctoolkit"
_INSTALL = f"pip install 'svctoolkit[replay] @ git+{_SOURCE}'"

# The action has the steps, so that a fix of one reaches every project. GitHub's runners get it from where they get the
# package: an installation without access to github.com would need another source for both.
_GITHUB = f"""\
# Suites on every push and pull request. Nothing is sent anywhere, and no secret is needed.
# In a project that is not at the top of its repository, move this file there and set `working-directory`.
name: svctoolkit
on:
  push: {{branches: [main]}}
  pull_request:
permissions: {{contents: read, pull-requests: write}}
jobs:
  suites:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
        with: {{fetch-depth: 0, persist-credentials: false}}
      # Runs the suites that a change affects, replays events before and after it, comments the differences. Instead of
      # `main`, a commit keeps everything as it is. Record events of yours for more than samples: svctoolkit docs replay
      - uses: {_SOURCE.removeprefix("https://github.com/")}/.github/actions/svctoolkit@main
        with:
          working-directory: .
          events: suites/events
      - uses: actions/upload-artifact@v4
        if: always()
        with: {{name: svctoolkit, path: build/, if-no-files-found: ignore}}
"""

_PROJECT = """\
# A rudder-cli project: validate, run, replay, comment on the pull request. Nothing is sent, and no secret is needed.
# Keep this file out of the project's own folder: rudder-cli stops at YAML that is not a resource.
name: svctoolkit
on:
  push: {branches: [main]}
  pull_request:
permissions: {contents: read, pull-requests: write}
jobs:
  project:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
        with: {fetch-depth: 0, persist-credentials: false}
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: INSTALL
      - name: validate
        run: svctoolkit check PROJECT --trust-code
      - name: run
        run: svctoolkit run . --trust-code --report junit=build/junit.xml --report github
      - name: replay
        if: github.event_name == 'pull_request'
        env: {BASE: "${{ github.event.pull_request.base.sha }}"}
        run: |
          mkdir -p build
          {
            echo '```text'
            svctoolkit changes PROJECT --since "$BASE" --trust-code || true
            for events in suites/events/*; do
              svctoolkit replay "$events" --workspace PROJECT --before "$BASE" --mask-personal --trust-code
            done 2>/dev/null
            echo '```'
          } > build/replay.md
      - name: comment
        if: github.event_name == 'pull_request'
        env: {GH_TOKEN: "${{ github.token }}"}
        run: gh pr comment ${{ github.event.pull_request.number }} --body-file build/replay.md
      - uses: actions/upload-artifact@v4
        if: always()
        with: {name: svctoolkit, path: build/, if-no-files-found: ignore}
"""

_GITLAB = f"""\
# Suites on every push and merge request. Nothing is sent anywhere, and no secret is needed.
# In a project that is not at the top of its repository, move this file there and add `cd FOLDER` to the scripts.
stages: [test]
workflow:
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
variables:
  GIT_DEPTH: "0"

.svctoolkit:
  stage: test
  image: python:3.12
  before_script:
    - {_INSTALL}
  artifacts:
    when: always
    paths: [build/]

suites:
  extends: .svctoolkit
  script:
    # --trust-code: runners lack a layer of the sandbox, and the code is yours
    - BASE="${{CI_MERGE_REQUEST_DIFF_BASE_SHA:-}}"
    - >-
      svctoolkit run ${{BASE:+--changed "$BASE"}} --trust-code
      --report junit=build/junit.xml --report markdown=build/summary.md
  artifacts:
    reports: {{junit: build/junit.xml}}

# Record events of yours to EVENTS for more than samples: svctoolkit docs replay.
# Comments on merge requests need a project access token in the variable GITLAB_TOKEN; without it, see the artifacts.
replay:
  extends: .svctoolkit
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
  script:
    - BASE="$CI_MERGE_REQUEST_DIFF_BASE_SHA"
    - >-
      if [ -e "${{EVENTS:-suites/events}}" ] && git cat-file -e "$BASE:./workspace.yaml"; then
      svctoolkit replay "${{EVENTS:-suites/events}}" --before "$BASE" --mask-personal --trust-code
      --report markdown=build/replay.md;
      fi
    - >-
      if [ -n "${{GITLAB_TOKEN:-}}" ] && [ -f build/replay.md ]; then
      curl --fail --silent --show-error --header "PRIVATE-TOKEN: $GITLAB_TOKEN" --data-urlencode body@build/replay.md
      "$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes";
      fi
"""

WORKFLOWS: Mapping[System, tuple[str, str]] = {
    "github": (".github/workflows/svctoolkit.yml", _GITHUB),
    "gitlab": (".gitlab-ci.yml", _GITLAB),
}

PRE_COMMIT = f"""\
repos:
  - repo: {_SOURCE}
    rev: main
    hooks: [{{id: svctoolkit-check}}, {{id: svctoolkit-run}}, {{id: svctoolkit-secrets}}]
"""

#: For tests in Python: nothing passes by accident there, either.
PYTEST_INI = "[pytest]\nsvctoolkit_strict = true\n"
GITIGNORE = "# values of secrets\n.env\n# results of runs and reports\n.svctoolkit/\nbuild/\n"


def project_workflow(project: str) -> dict[str, str]:
    """Return the workflow of GitHub for the folder of a rudder-cli project, by its name."""
    name, _ = WORKFLOWS["github"]
    return {name: _PROJECT.replace("PROJECT", project).replace("INSTALL", _INSTALL)}


def workflow_files(system: System | None) -> dict[str, str]:
    """Return the workflow for a CI system, by its name in the project; nothing without a system."""
    return dict([WORKFLOWS[system]]) if system else {}


def pytest_files(folder: Path) -> dict[str, str]:
    """Return `pytest.ini` for a new project, unless the folder configures pytest already."""
    names = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
    return {} if any((folder / name).exists() for name in names) else {"pytest.ini": PYTEST_INI}
