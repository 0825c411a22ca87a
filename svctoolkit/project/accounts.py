"""Accounts of destinations that deliver with OAuth: exports name them, but seldom hold their tokens."""

from __future__ import annotations

from svctoolkit.project.states import needs_of
from svctoolkit.workspace import Account, Workspace

_PLACEHOLDER = "placeholder-{}"


def add_accounts(workspace: Workspace) -> None:
    """Give each destination whose mapping asks for tokens an account with placeholders, unless it has one.

    So its events are mapped here; delivery to the real destination needs real tokens.
    """
    for key, destination in workspace.destinations.items():
        tokens = needs_of(destination).tokens if destination.account is None else ()
        if tokens:
            workspace.accounts[key] = Account(key, {name: _PLACEHOLDER.format(name) for name in tokens})
            destination.account = key
