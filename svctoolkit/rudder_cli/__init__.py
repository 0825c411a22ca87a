"""Projects of RudderStack's command line: a folder of YAML resources, which is a workspace."""

from __future__ import annotations

from svctoolkit.rudder_cli._definitions import Release
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._read import Destination, RudderProject, is_project, read_project
from svctoolkit.rudder_cli._variables import from_environment, read_var_files

__all__ = [
    "Destination",
    "Finding",
    "Release",
    "RudderProject",
    "from_environment",
    "is_project",
    "read_project",
    "read_var_files",
]
