"""Projects of RudderStack's command line: a folder of YAML resources, which is a workspace."""

from __future__ import annotations

from svctoolkit.rudder_cli._connections import Entry
from svctoolkit.rudder_cli._definitions import Release
from svctoolkit.rudder_cli._files import PLAN_KINDS, SpecFile, is_spec
from svctoolkit.rudder_cli._findings import Finding
from svctoolkit.rudder_cli._metadata import LISTS
from svctoolkit.rudder_cli._read import Destination, RudderProject, is_project, read_project
from svctoolkit.rudder_cli._sources import plan_of, platform
from svctoolkit.rudder_cli._transformations import code_of, imports_of
from svctoolkit.rudder_cli._variables import FILES, SUFFIXES, Use, given_variables, read_var_files, substitute

__all__ = [
    "FILES",
    "LISTS",
    "PLAN_KINDS",
    "SUFFIXES",
    "Destination",
    "Entry",
    "Finding",
    "Release",
    "RudderProject",
    "SpecFile",
    "Use",
    "code_of",
    "given_variables",
    "imports_of",
    "is_project",
    "is_spec",
    "plan_of",
    "platform",
    "read_project",
    "read_var_files",
    "substitute",
]
