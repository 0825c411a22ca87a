"""The environments of a workspace file, and the differences between two of them.

Unlike `results.changes`, this compares settings with secrets in them. An item that only one environment has is listed
setting by setting.

>>> from svctoolkit.workspace import environments
>>> environments.differences("workspace.yaml", "dev", "production")  # doctest: +SKIP
[('destinations.hook.config.webhookUrl', "'https://dev.example'", "'https://hook.example'")]
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from svctoolkit import yamlfile
from svctoolkit.errors import InvalidWorkspace
from svctoolkit.secrets import Secret
from svctoolkit.workspace import _environments, _rudder_project
from svctoolkit.workspace._model import Workspace

__all__ = ["BASE", "differences", "names"]

BASE = "base"  # the workspace itself, without an environment
_ABSENT = object()


def names(file: Path | str) -> list[str]:
    """Return the names of the environments in the file and in files next to it. Raises `InvalidWorkspace`.

    Those of a rudder-cli project are its files of variables: `prod` is `prod.vars.yaml`.
    """
    project = _rudder_project.project_at(Path(file))
    if project is not None:
        found = (path.name.partition(".vars.")[0] for path in _rudder_project.variable_files(project))
        return list(dict.fromkeys(found))
    return _environments.names_of(yamlfile.load(Path(file), error=InvalidWorkspace), Path(file))


def differences(
    file: Path | str, first: str, second: str, *, environ: Mapping[str, str] = os.environ
) -> list[tuple[str, str, str]]:
    """Return dotted path, value in the first and value in the second, as text: secrets are compared but never shown.

    `base` is the workspace without an environment. Raises the errors of `Workspace.load`.
    """
    one, other = (
        dict(_leaves(_settings(Workspace.load(file, environ=environ, environment="" if name == BASE else name)), ()))
        for name in (first, second)
    )
    paths = dict.fromkeys([*one, *other])
    return [
        (path, _show(one.get(path, _ABSENT)), _show(other.get(path, _ABSENT)))
        for path in paths
        if _plain(one.get(path, _ABSENT)) != _plain(other.get(path, _ABSENT))
    ]


def _settings(workspace: Workspace) -> dict[str, Any]:
    """Return everything that an environment can override."""
    return {
        "sources": {
            key: {
                "enabled": s.enabled,
                "writeKey": s.write_key,
                "destinations": {c.destination: c.enabled for c in s.connections},
            }
            for key, s in workspace.sources.items()
        },
        "destinations": {
            key: {"enabled": d.enabled, "config": d.config, "transformation": d.transformation}
            for key, d in workspace.destinations.items()
        },
        "credentials": {key: Secret(str(_plain(value))) for key, value in workspace.credentials.items()},
        "delivery": asdict(workspace.delivery),
        "dataPlane": asdict(workspace.data_plane),
        "warehouses": asdict(workspace.warehouses),
        "limits": asdict(workspace.limits),
    }


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, str(number)))
    else:
        yield ".".join(path), value


def _plain(value: Any) -> Any:
    return value.reveal() if isinstance(value, Secret) else value


def _show(value: Any) -> str:
    if value is _ABSENT:
        return "nothing"
    return "a secret" if isinstance(value, Secret) else repr(value)
