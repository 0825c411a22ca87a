"""Accounts of destinations that deliver with OAuth: exports name them, but seldom hold their tokens."""

from __future__ import annotations

import re

from svctoolkit.project.states import needs_of
from svctoolkit.secrets import Secret
from svctoolkit.workspace import Account, Workspace


def add_accounts(workspace: Workspace) -> None:
    """Give each destination whose mapping asks for tokens an account without them, unless it has one.

    Its tokens are environment variables that are not set: events are mapped with placeholders, and delivery to the real
    destination needs the real ones.
    """
    for key, destination in workspace.destinations.items():
        tokens = needs_of(destination).tokens if destination.account is None else ()
        if tokens:
            names = {name: re.sub(r"\W+", "_", f"{key}_{name}").upper() for name in tokens}
            secret = {name: Secret(f"<{variable}>", origin=f"$(env:{variable})") for name, variable in names.items()}
            workspace.accounts[key] = Account(key, secret)
            destination.account = key
