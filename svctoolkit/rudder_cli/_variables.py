"""Replace `{{ .NAME }}` and `{{ .NAME | default }}` in the bytes of a file, before YAML is parsed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from svctoolkit import yamlfile
from svctoolkit.errors import ConfigError

PREFIX = "RUDDER_"  # of environment variables
FILES = "SVC_VAR_FILES"  # in the environment: the files of --var-file, separated as in PATH
SUFFIXES = (".vars.yaml", ".vars.yml")
_TOKEN = re.compile(r"\{\{[ \t]*\.(?P<name>[^\s|{}]*)[ \t]*(?P<pipe>\|(?P<default>[^{}\n]*))?\}\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Use:
    """A token in a text. `reason` says why it cannot be replaced; empty if it can."""

    name: str
    index: int
    reason: str = ""


@dataclass(slots=True)
class Substituted:
    """A text with its tokens replaced, the tokens, and those with a placeholder, by placeholder."""

    text: str
    uses: list[Use] = field(default_factory=list)
    placeholders: dict[str, str] = field(default_factory=dict)


def substitute(text: str, values: Mapping[str, str], *, placeholders: bool = False) -> Substituted:
    """Return the text with its variables replaced. A value is not searched for tokens again.

    A token after an unquoted `#` in its line is left alone. With `placeholders`, a variable without a value and default
    is replaced by a reference, `$(env:RUDDER_NAME)`, so that a file can be read without any value.
    """
    result = Substituted(text)
    if "{{" not in text:
        return result
    parts: list[str] = []
    end = 0
    for match in _TOKEN.finditer(text):
        if _in_comment(text, match.start()):
            continue
        parts.append(text[end : match.start()])
        parts.append(_value(match, values, result, placeholders))
        end = match.end()
    result.text = "".join([*parts, text[end:]])
    return result


def _value(match: re.Match[str], values: Mapping[str, str], result: Substituted, placeholders: bool) -> str:
    name = match["name"]
    if not _NAME.fullmatch(name):
        result.uses.append(Use(name, match.start(), f"invalid name {name!r} of a variable: use letters, digits and _"))
        return match[0]
    if name in values:
        value = values[name]
    elif match["pipe"]:
        value = (match["default"] or "").strip()
    elif placeholders:
        result.uses.append(Use(name, match.start()))
        reference = reference_of(name)
        result.placeholders[reference] = name
        return reference
    else:
        why = f"undefined variable {name!r}: set {PREFIX}{name}, or give a file with --var-file"
        result.uses.append(Use(name, match.start(), why))
        return match[0]
    result.uses.append(Use(name, match.start()))
    return value if value or _quoted(match) else '""'


def reference_of(name: str) -> str:
    """Return our reference to a variable: rudder-cli reads it from the environment with a prefix."""
    return f"$(env:{PREFIX}{name})"


def _quoted(match: re.Match[str]) -> bool:
    """Whether the token is only part of a scalar, or in quotes: then an empty value needs no quotes."""
    text = match.string
    before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    end = text.find("\n", match.end())
    after = text[match.end() : len(text) if end < 0 else end]
    key = before.lstrip(" \t\r-")
    starts = not key or (key[-1].isspace() and key.rstrip().endswith(":") and "'" not in key and '"' not in key)
    return not starts or bool(after.split("#")[0].strip(" \t\r,]}"))


def _in_comment(text: str, index: int) -> bool:
    """Whether an unquoted `#` precedes the index in its line."""
    line = text[text.rfind("\n", 0, index) + 1 : index]
    if "#" not in line:
        return False
    quote = ""
    for i, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (i == 0 or line[i - 1] in " \t"):
            return True
    return False


def read_var_files(paths: Sequence[Path]) -> dict[str, str]:
    """Return the variables in files; a later file wins. Raises `ConfigError` for a file that rudder-cli rejects."""
    values: dict[str, str] = {}
    for path in paths:
        if not path.name.endswith(SUFFIXES):
            raise ConfigError("the name of a variable file must end in .vars.yaml or .vars.yml", where=str(path))
        document = yamlfile.load(path)
        data = document.data if document.data is not None else {}
        if not isinstance(data, dict):
            raise ConfigError(document.problem((), "a variable file must be an object of names and values"))
        for name, value in data.items():
            if isinstance(value, bool):
                values[name] = "true" if value else "false"
            elif isinstance(value, (str, int, float)):
                values[name] = str(value)
            else:
                raise ConfigError(document.problem((name,), f"{name!r} must be text, a number, true or false"))
    return values


def given_variables(environ: Mapping[str, str], first: Sequence[Path] = ()) -> dict[str, str]:
    """Return the variables of files (the last file wins), and of `RUDDER_NAME` in the environment before all.

    The files are `first`, then those of `--var-file`. Raises `ConfigError` for an invalid file.
    """
    given = [Path(text) for text in environ.get(FILES, "").split(os.pathsep) if text]
    return {**read_var_files([*first, *given]), **_from_environment(environ)}


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(PREFIX): value for name, value in environ.items() if name.startswith(PREFIX)}
