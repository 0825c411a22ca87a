"""A workspace for trying things out."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from svctoolkit.workspace import Person, Workspace

_EMAIL = "demo@svctoolkit.example"


def demo(new_token: Callable[[], str] = lambda: secrets.token_urlsafe(24)) -> tuple[Workspace, str]:
    """Return a small workspace, and the token of its only user.

    The source `web` is connected to `hook`, a webhook with a transformation, and to `paused`, which is disabled.
    Nothing leaves the machine: its delivery mode is `record`.
    """
    workspace, token = Workspace("demo"), new_token()
    workspace.users.append(Person.with_token(_EMAIL, token))
    workspace.transformation("mask-email", _mask_email)
    url = "https://hook.example/events"
    workspace.destination("hook", "WEBHOOK", name="Orders hook", config=_config(url), transformation="mask-email")
    workspace.destination("paused", "WEBHOOK", name="Paused hook", config=_config(url), enabled=False)
    workspace.source("web", name="Web shop", destinations=["hook", "paused"])
    return workspace, token


def _config(url: str) -> dict[str, Any]:
    return {"webhookUrl": url, "webhookMethod": "POST", "headers": [{"from": "X-Team", "to": "data"}]}


def _mask_email(event: dict[str, Any]) -> dict[str, Any]:
    """Keep the first letter and the domain of the user's e-mail address."""
    traits = event.get("context", {}).get("traits", {})
    if isinstance(traits.get("email"), str):
        name, _, domain = traits["email"].partition("@")
        traits["email"] = f"{name[:1]}***@{domain}"
    return event
