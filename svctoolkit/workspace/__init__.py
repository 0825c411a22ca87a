"""The workspace, as Python objects and as a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from svctoolkit.json_types import Json
from svctoolkit.workspace._code import CodeLog, LostValue, UserCode
from svctoolkit.workspace._consent import consent_problems
from svctoolkit.workspace._env_file import load_env, save_env
from svctoolkit.workspace._idle import idle_settings_of
from svctoolkit.workspace._items import (
    Account,
    Connection,
    Destination,
    Forward,
    Language,
    Library,
    Person,
    Source,
    TrackingPlan,
    Transformation,
    config_secrets,
    file_secrets,
)
from svctoolkit.workspace._loaded import announce, on_load
from svctoolkit.workspace._lookup import by_id, forward_key, forward_of, forwarded_source, is_forward_key
from svctoolkit.workspace._model import Workspace
from svctoolkit.workspace._output import mask_output
from svctoolkit.workspace._patience import Late, Patience
from svctoolkit.workspace._references import resolve as resolve_reference
from svctoolkit.workspace._secrets import config_names
from svctoolkit.workspace._service import configuration_of
from svctoolkit.workspace._settings import Calls, DataPlaneSettings, Delivery, PlaneLimits, Throttle, WarehouseSettings
from svctoolkit.workspace._trust import (
    CODE_SUFFIXES,
    CodePiece,
    code_file,
    every_piece,
    record,
    record_written,
    require_trust,
)

if TYPE_CHECKING:
    from svctoolkit.rudder_cli import Release, RudderProject

__all__ = [
    "CODE_SUFFIXES",
    "Account",
    "Calls",
    "CodeLog",
    "CodePiece",
    "Connection",
    "DataPlaneSettings",
    "Delivery",
    "Destination",
    "Forward",
    "Language",
    "Late",
    "Library",
    "LostValue",
    "Patience",
    "Person",
    "PlaneLimits",
    "Source",
    "Throttle",
    "TrackingPlan",
    "Transformation",
    "UserCode",
    "WarehouseSettings",
    "Workspace",
    "announce",
    "by_id",
    "check_project",
    "code_file",
    "config_names",
    "config_secrets",
    "configuration_of",
    "consent_problems",
    "every_piece",
    "file_secrets",
    "forward_key",
    "forward_of",
    "forwarded_source",
    "idle_settings_of",
    "is_forward_key",
    "load_env",
    "mask_output",
    "on_load",
    "project_at",
    "read_project",
    "record",
    "record_written",
    "require_trust",
    "resolve_reference",
    "save_env",
    "schema",
]


def check_project(folder: Path) -> RudderProject:
    """Return a rudder-cli project with what `rudder-cli validate` reports, whether or not its variables have values."""
    import os

    from svctoolkit import rudder_cli

    return rudder_cli.read_project(folder, rudder_cli.given_variables(os.environ), placeholders=True)


def project_at(path: Path) -> Path | None:
    """Return the rudder-cli project that a workspace's path means; None if it means none.

    A folder with a workspace.yaml is that workspace. A missing workspace.yaml means the project in its folder.
    """
    from svctoolkit.workspace import _rudder_project

    return _rudder_project.project_at(path)


def read_project(
    folder: Path | str, variables: Mapping[str, str] | None = None, *, release: Release | None = None
) -> RudderProject:
    """Read a project of RudderStack's command line, and check it as `rudder-cli validate` does, offline.

    `variables` are the values of `{{ .NAME }}`. `release` is "0.24", or "1.0" for 0.25 and later; the default is the
    release that the files are written for. Raises `InvalidWorkspace` if the folder does not exist.
    """
    from svctoolkit import rudder_cli

    return rudder_cli.read_project(folder, variables, release=release)


def schema() -> dict[str, Json]:
    """Return the JSON Schema (2020-12) of a workspace file."""
    from svctoolkit.workspace import _shapes

    return _shapes.schema_for_editors()
