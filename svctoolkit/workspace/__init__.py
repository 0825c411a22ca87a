"""The workspace: Python objects and a YAML file, the same thing."""

from __future__ import annotations

from typing import Any

from svctoolkit.workspace._code import UserCode
from svctoolkit.workspace._items import (
    Connection,
    DataPlaneSettings,
    Delivery,
    Destination,
    Language,
    Library,
    Person,
    Source,
    Transformation,
    config_secrets,
    file_secrets,
)
from svctoolkit.workspace._model import Workspace
from svctoolkit.workspace._output import mask_output

__all__ = [
    "Connection",
    "DataPlaneSettings",
    "Delivery",
    "Destination",
    "Language",
    "Library",
    "Person",
    "Source",
    "Transformation",
    "UserCode",
    "Workspace",
    "config_secrets",
    "file_secrets",
    "mask_output",
    "schema",
]


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a workspace file."""
    from svctoolkit.workspace import _shapes

    return _shapes.schema_for_editors()
