"""The recorded sessions: a project in a temporary folder, and the commands that run there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.recordings.terminal import Step, svg

FOLDER = Path(__file__).parents[2] / "svctoolkit" / "docs" / "pictures"
_EVENTS = 6_004
_WORKSPACE = """\
workspace: shop
sources:
  web: {destinations: [mixpanel, hook]}
destinations:
  mixpanel: {type: MP, config: {token: example}, transformation: clean}
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/orders}}
transformations:
  clean: {language: javascript, file: clean.js}
"""
_CODE = """\
export function transformEvent(event) {
  const order = event.properties;
  order.revenue = order.total - (order.discount ?? 0);
  delete order.email;
  return event;
}
"""
_SUITE = """\
suite: Orders
workspace: workspace.yaml
scenarios:
  - name: an order arrives
    destination: mixpanel
    event: {type: track, event: Order Completed, userId: u1}
    expect:
      dest_transform: {method: POST}
"""


def one_line(folder: Path) -> list[Step]:
    """One letter of a transformation changes; a replay says what that means for each destination. Needs git and sed."""
    _write(folder, {"workspace.yaml": _WORKSPACE, "clean.js": _CODE, "events.ndjson": _events()})
    for command in (
        "git init -q",
        "git add -A",
        "git -c user.name=shop -c user.email=shop@shop.example commit -qm shop",
    ):
        _run(command, folder)
    commands = [
        "sed -i s/order.email/order.mail/ clean.js",
        "git diff -U0 clean.js | tail -2",
        "svctoolkit replay events.ndjson --before HEAD --fail-on 'personal>0'",
    ]
    return [Step(command, _run(command, folder)) for command in commands]


def failure(folder: Path) -> list[Step]:
    """A scenario whose event makes the transformation fail."""
    _write(folder, {"workspace.yaml": _WORKSPACE, "clean.js": _CODE, "orders.suite.yaml": _SUITE})
    return [Step("svctoolkit run", re.sub(r" in [\d.]+ s\b", "", _run("svctoolkit run", folder)))]


#: title, session, whether there is a moving picture, too
SESSIONS: dict[str, tuple[str, Callable[[Path], list[Step]], bool]] = {
    "one-line": ("A terminal: one line of a transformation changes, and a replay names the effect", one_line, True),
    "failure": ("A terminal: a failed scenario with the line of the suite and of the code", failure, False),
}


def pictures(name: str, folder: Path) -> dict[str, str]:
    """The SVG files of a session that runs in an empty folder, by file name.

    Browsers do not tell a picture that readers prefer reduced motion, so pages choose the still one.
    """
    title, session, moving = SESSIONS[name]
    steps = session(folder)
    still = {f"{name}-still.svg": svg(steps, title, moving=False)}
    return {**still, f"{name}-moving.svg": svg(steps, title, moving=True)} if moving else still


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _events() -> str:
    return "".join(json.dumps(_event(number)) + "\n" for number in range(_EVENTS))


def _event(number: int) -> dict[str, object]:
    """An order. Nine of twenty have the customer's e-mail address."""
    order: dict[str, object] = {"order_id": f"o-{number}", "total": 40 + number % 60, "currency": "EUR"}
    if number % 20 < 9:
        order["email"] = f"user{number % 400}@shop.example"
    if number % 5 == 0:
        order["discount"] = 5
    return {
        "type": "track",
        "event": "Order Completed",
        "userId": f"u{number % 400}",
        "messageId": f"m{number}",
        "timestamp": f"2026-11-{number // 220 + 1:02}T10:00:00.000Z",
        "properties": order,
    }


def _run(command: str, folder: Path) -> str:
    """What a command of the shell prints, in color."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "FORCE_COLOR": "1", "NO_COLOR": "", "COLUMNS": "92", "PAGER": "cat"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    return done.stdout + done.stderr
