"""Explorers for notebooks: each has one name, and one module or folder here.

>>> from svctoolkit.widgets import DestinationExplorer  # doctest: +SKIP

`some_name.py`, or `some_name/explorer.py`, defines `SomeName`. To add a widget, add a file. A folder contains the
parts of its explorer; `state.py` does not use ipywidgets. Explorers need `pip install 'svctoolkit[notebooks]'`.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from svctoolkit.errors import ConfigError, did_you_mean

_HOME = {
    "".join(word.capitalize() for word in module.name.split("_")): module.name
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{did_you_mean(name, _HOME)}")
    if find_spec("ipywidgets") is None or find_spec("anywidget") is None:
        raise ConfigError(
            f"{name} needs ipywidgets and anywidget. Install it with `pip install 'svctoolkit[notebooks]'`."
        )
    module = import_module(f"{__name__}.{_HOME[name]}")
    if hasattr(module, "__path__"):
        module = import_module(f"{module.__name__}.explorer")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
