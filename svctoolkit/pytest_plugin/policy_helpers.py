"""An assertion about policies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.pytest_plugin import items
from svctoolkit.pytest_plugin.waiting import require_events, settled

if TYPE_CHECKING:
    from svctoolkit.policies import Policies
    from svctoolkit.server import DataPlane


def assert_policies(
    data_plane: DataPlane,
    policies: Policies | Path | str | None = None,
    *,
    run: str | None = None,
    timeout: float = 30.0,
) -> None:
    """Assert that policies hold for everything that was delivered; those of severity `warn` do not fail.

    `policies` are by default those of the workspace, or of `policies.yaml` if it has none.
    It first waits up to `timeout` seconds until no event is in progress. The failure names policy, destination, path
    and event of each breach, and where its value comes from. Raises `ConfigError` for a file with mistakes.
    """
    __tracebackhide__ = True
    from svctoolkit.policies import Policies

    given = Policies.of_workspace(data_plane.workspace) if policies is None else policies
    if policies is None and not data_plane.workspace.policies:
        given = "policies.yaml"
    given = given if isinstance(given, Policies) else Policies.load(given)
    view = settled(data_plane, run, timeout)
    require_events(view, "policies", "send events first")
    breaches = [breach for breach in view.breaches(given) if breach.severity == "error"]
    if breaches:
        from svctoolkit.runner.attempts.policies import described  # only failures need it

        texts = described(breaches, view.fates, data_plane.workspace)
        raise items.AssertionError(data_plane.workspace.masker.mask("\n".join(texts)))
