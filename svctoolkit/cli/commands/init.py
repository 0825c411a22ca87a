"""`svctoolkit init`: create a small working project."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.cli._command import Command, Exit
from svctoolkit.errors import ConfigError, Problem, ToolkitError, UsageError

if TYPE_CHECKING:
    from svctoolkit.project.workflows import System

_WORKSPACE = """\
# Sources, destinations and transformations, each under a key of your choice.
# `svctoolkit definitions WEBHOOK` lists the config variables of a destination.
# Keep secrets out of this file: `token: $(env:MY_TOKEN)` is read from the environment.
workspace: shop
sources:
  web: {name: Web shop, type: web, destinations: [hook, mixpanel]}
destinations:
  hook:
    name: Orders hook
    type: WEBHOOK
    config:
      webhookUrl: https://hook.example/orders
      webhookMethod: POST
      headers: [{from: X-Api-Version, to: "2"}]
    transformation: clean
  mixpanel:
    name: Product analytics
    type: MP
    config: {token: $(env:MIXPANEL_TOKEN:-example), strictMode: true, identityMergeApi: simplified}
    simulate: simulated   # refuses, drops and holds events as Mixpanel documents it; `svctoolkit docs simulations`
transformations:
  clean: {language: python, file: clean.py}
policies:                    # checked by run, replay and serve; `svctoolkit docs policies`
- hosts: [hook.example, api.mixpanel.com]
- agree: {on: order_id, values: [hook.properties.revenue, mixpanel.properties.revenue], tolerance: 1%}
delivery: {mode: record}   # nothing leaves this machine; live sends to the real addresses
"""

_SUITE = """\
# Objects match as subsets, lists exactly. `svctoolkit run` runs every *.suite.yaml; so does pytest.
suite: Orders
workspace: ../workspace.yaml
scenarios:
  - name: an order reaches the hook
    destination: hook
    stages: {user_transform: true, dest_transform: true, send_to_destination: true}
    event:
      type: track
      event: Order Completed
      userId: u-1001
      properties: {order_id: o-90017, revenue: 22.5, currency: EUR}
    expect:
      dest_transform:
        method: POST
        endpoint: https://hook.example/orders
        headers: {x-api-version: "2"}
        body: {JSON: {event: Order Completed, properties: {revenue: 22.5}}}
      send_to_destination: {status: 200}

  - name: the transformation cleans the e-mail address
    destination: hook
    event: {type: identify, userId: u-1001, context: {traits: {email: " Mira@Mail.example "}}}
    expect:
      user_transform: {context: {traits: {email: mira@mail.example}}}
      dest_transform: {body: {JSON: {context: {traits: {email: mira@mail.example}}}}}

  - name: the address of a visitor goes nowhere
    destination: hook
    event: {type: track, event: Order Completed, userId: u-1001, context: {ip: 203.0.113.24, locale: en}}
    expect:
      user_transform: {context: {$exact: {locale: en}}}

  - name: internal traffic is dropped
    destination: hook
    event: {type: track, event: Order Completed, userId: bot, context: {ip: 10.0.0.1}}
    expect:
      user_transform: {error: event dropped by user_transformation}

  - name: a $(type) event reaches the hook unchanged
    cases:                     # each row is a separate test; its keys are variables
      - {id: page, type: page, name: Wool throws}
      - {id: screen, type: screen, name: Basket}
    source: web
    event: {type: $(type), userId: u-1001, name: $(name)}
    expect:
      dest_transform: {hook: {body: {JSON: {type: $(type), name: $(name)}}}}

  - name: an event without a type is refused
    destination: hook
    event: {userId: u-1001}
    expect: {status: 400, error: message type missing or invalid}
"""

_COMMON = """\
# Shared by all suites of this folder and of those below: also vars, fixtures, recorder, never, always.
losses: forbid                 # user code must not return NaN, Infinity or a Set, which JSON turns into null or {}
"""

_HELD = """\
# What Mixpanel holds after the events. Its server is simulated; each rule has an id, a source and a date.
suite: Analytics
workspace: ../workspace.yaml
lost: forbid                   # nothing may be refused, dropped, cut or folded, unless a scenario expects it
scenarios:
  - name: an order is held with its customer
    source: web
    send:
      - {type: identify, userId: u-1001, traits: {email: mira@mail.example, plan: gold}}
      - {type: track, event: Order Completed, userId: u-1001, properties: {order_id: o-90017, revenue: 22.5}}
    expect:
      holds:
        mixpanel:
          profiles: [{attributes: {$email: mira@mail.example, plan: gold}}]
          events: [{name: Order Completed, properties: {order_id: o-90017, revenue: 22.5}}]
          counts: {profiles: 1}

  - name: Mixpanel refuses a user called anonymous
    source: web
    send: {type: track, event: Order Completed, userId: anonymous}
    expect:
      failed: {mixpanel: [{status: 400}]}
      lost: [{what: refused, rule: mp.import.distinct_id}]
      holds: {mixpanel: {counts: {events: 0}}}
"""

_CLEAN = '''\
"""A user transformation: called for every event, before the destination's own mapping."""


def transformEvent(event, metadata):
    context = event.get("context") or {}
    if context.get("ip", "").startswith("10."):
        return None  # internal traffic: the event is dropped
    context.pop("ip", None)  # no destination needs it
    traits = context.get("traits") or {}
    if "email" in traits:
        traits["email"] = traits["email"].strip().lower()
    return event
'''

_README = """\
# Shop pipeline

| file | contents |
|---|---|
| `workspace.yaml` | sources, destinations, transformations |
| `suites/orders.suite.yaml` | tests of the requests that destinations get |
| `suites/_common.yaml` | rules for all suites |
| `suites/analytics.suite.yaml` | tests of what Mixpanel holds afterwards; its server is simulated |
| `clean.py` | a user transformation: runs in a sandbox, before the destination's mapping |
| `types/` | for editors: types of what a transformation can use, in Python and JavaScript |

```
svctoolkit run                                             # run the suites
svctoolkit transform clean.py --watch                      # rerun the transformation on every edit
svctoolkit test destination hook --sample track            # show the request for one event
svctoolkit test destination hook --sample track --send     # and the destination's answer
svctoolkit serve --workspace workspace.yaml                # a data plane and the Test API of this workspace
svctoolkit held mixpanel                                   # what Mixpanel holds of the events that it received
```
"""

_FILES = {
    "workspace.yaml": _WORKSPACE,
    "suites/orders.suite.yaml": _SUITE,
    "suites/analytics.suite.yaml": _HELD,
    "suites/_common.yaml": _COMMON,
    "clean.py": _CLEAN,
    "README.md": _README,
}


def _files(folder: Path, ci: System | None, *, agents: bool) -> dict[str, str]:
    from svctoolkit.agents.guide import AGENTS_FILE
    from svctoolkit.project.workflows import GITIGNORE, pytest_files, workflow_files
    from svctoolkit.transformations import type_files

    types = {f"types/{name}": text for name, text in type_files().items()}
    guide = {"AGENTS.md": AGENTS_FILE} if agents else {}
    return _FILES | {".gitignore": GITIGNORE} | types | pytest_files(folder) | workflow_files(ci) | guide


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", nargs="?", default=".", metavar="DIR", help="folder to write to (default: the current one)"
    )
    parser.add_argument(
        "--ci", choices=("github", "gitlab"), help="also write a workflow that runs the suites, without secrets"
    )
    parser.add_argument(
        "--from",
        dest="origin",
        choices=("rudder-cli",),
        help="write suites for a rudder-cli project, with snapshots of what it sends today, next to its folder",
    )
    parser.add_argument(
        "--project", metavar="PROJECT", help="folder of that project (default: the only one in the folder)"
    )
    parser.add_argument("--agents", action="store_true", help="also write AGENTS.md, a guide for coding agents")


def _run(args: argparse.Namespace) -> int:
    from svctoolkit.cli import _terminal
    from svctoolkit.project.workflows import PRE_COMMIT
    from svctoolkit.workspace import record_written

    folder = Path(args.folder)
    contents = _beside_project(args, folder) or _files(folder, args.ci, agents=args.agents)
    _write(folder, contents)
    record_written({folder / name: text for name, text in contents.items()})
    files = "\n".join(f"  {folder / name}" for name in contents)
    hooks = "".join(f"  {line}\n" for line in PRE_COMMIT.splitlines())
    _terminal.out(
        f"wrote\n{files}\n\nwith pre-commit, add to .pre-commit-config.yaml:\n{hooks}\n"
        f"next: {_terminal.enter(args.folder)}{_terminal.program()} run"
    )
    return Exit.OK


def _beside_project(args: argparse.Namespace, folder: Path) -> dict[str, str]:
    """The files for a rudder-cli project; nothing without `--from`."""
    if args.origin is None:
        if args.project:
            raise UsageError("--project needs --from rudder-cli")
        return {}
    from svctoolkit.project import beside

    if args.ci == "gitlab":
        raise UsageError("--from rudder-cli writes a workflow for GitHub only: --ci github")
    project = Path(args.project) if args.project else beside.find_project(folder)
    return beside.starter_files(project, folder, github=args.ci == "github")


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write all files, or none. Raises `ConfigError` if one exists, `ToolkitError` if one cannot be written."""
    there = [folder / name for name in files if (folder / name).exists()]
    if there:
        hint = Problem("nothing was written; choose another folder: svctoolkit init NAME")
        raise ConfigError([*(Problem("already exists", str(path)) for path in there), hint])
    written = []
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("x", encoding="utf-8", newline="\n") as file:
                written.append(folder / name)
                file.write(text)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        for path in written:
            with contextlib.suppress(OSError):
                path.unlink()
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ToolkitError(f"cannot write a project to {folder}: {why}") from error


command = Command(
    help="create a small working project",
    description="""
        Write a workspace, a suite, a user transformation and a README to a folder. Existing files are never
        overwritten: if one exists, nothing is written. For a rudder-cli project, write suites next to its folder.
    """,
    examples=(
        "svctoolkit init",
        "svctoolkit init shop --ci github && cd shop && svctoolkit run",
        "svctoolkit init shop --agents",
        "svctoolkit init --from rudder-cli --project rudder --ci github",
    ),
    add_arguments=_add_arguments,
    run=_run,
)
