"""The `.env` next to a workspace file: values of its secrets, one `NAME='value'` per line, in shell syntax."""

from __future__ import annotations

import os
import shlex
from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path

from svctoolkit import inputs
from svctoolkit.errors import InvalidWorkspace

NAME = ".env"


def load_env(folder: Path, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return `environ`, with the folder's `.env` as fallback for variables that are not set, or empty.

    An empty value in `.env` counts as not set. Raises `InvalidWorkspace` if the file cannot be read.
    """
    try:
        values = _values(folder / NAME)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidWorkspace(f"cannot be read: {reason}", where=str(folder / NAME)) from error
    values = {name: value for name, value in values.items() if value}
    if not values:
        return environ
    return ChainMap({name: value for name, value in environ.items() if value or name not in values}, values)


def _values(file: Path) -> dict[str, str]:
    if not inputs.is_file(file):
        return {}
    words = shlex.split(inputs.read(file).decode(), comments=True)
    return {name: value for name, equals, value in (word.partition("=") for word in words) if equals}


def save_env(folder: Path, values: Mapping[str, str]) -> None:
    """Write the values to the folder's `.env`, readable only by its owner. Other values in it are kept.

    Raises `OSError`.
    """
    file, new = folder / NAME, folder / f"{NAME}.new"
    earlier = _values(file)
    if earlier.keys() & values.keys():  # replaced values may span several lines: rewrite the file, without comments
        text, values = "", {**earlier, **values}
    else:
        text = inputs.read(file).decode().rstrip("\n") + "\n" if file.is_file() else ""
    text += "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
        opened.write(text)
    new.replace(file)
