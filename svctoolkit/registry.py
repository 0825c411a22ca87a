"""Find extensions by name: one folder scan, one entry-point group, no list to edit."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Generic, TypeVar

from svctoolkit.errors import ConfigError, UnknownName
from svctoolkit.json_types import Json

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Generic[T]):
    """Named objects: each is the `attribute` of one module or folder in `package`, or is installed by another package.

    With `rooms`, modules may also be in subfolders of `package`, which are not part of the name. Listing names imports
    nothing; getting one imports only its module. Other packages add objects with an entry point in the `group`
    (default: `package`); a running program adds them with `add`.

    Raises `UnknownName` (a `KeyError`) for an unknown name, `ConfigError` for a module without the attribute.
    """

    def __init__(
        self,
        kind: type[T] | Json,
        *,
        package: str,
        attribute: str,
        what: str = "",
        group: str = "",
        rooms: bool = False,
    ) -> None:
        self._kind, self._package, self._attribute = kind, package, attribute
        self._what, self._group, self._rooms = what or attribute, group or package, rooms
        self._added: dict[str, T] = {}
        self._loaded: dict[str, T] = {}

    @cached_property
    def _local(self) -> dict[str, str]:
        path = import_module(self._package).__path__
        items = [m for m in pkgutil.iter_modules(path) if not m.name.startswith("_")]
        modules = {self._name(m.name): m.name for m in items if not (self._rooms and m.ispkg)}
        for room in (m.name for m in items if self._rooms and m.ispkg):
            inner = pkgutil.iter_modules([f"{folder}/{room}" for folder in path])
            modules |= {self._name(m.name): f"{room}.{m.name}" for m in inner if not m.name.startswith("_")}
        return modules

    @cached_property
    def _installed(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # 30 ms to import, and most lookups are local

        return {e.name: e for e in entry_points(group=self._group)}

    def _name(self, module: str) -> str:
        """The name that users write for a module of the package. `not_` is `not`, since Python reserves some words."""
        return module.rstrip("_").replace("_", "-")

    def names(self) -> list[str]:
        return sorted(self._local.keys() | self._installed.keys() | self._added.keys())

    def add(self, name: str, item: T) -> None:
        """Register `item` in this process. It takes precedence over others with this name."""
        self._added[name] = item

    def __getitem__(self, name: str) -> T:
        if name in self._added:
            return self._added[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def _load(self, name: str) -> T:
        if name in self._local:
            where = f"{self._package}.{self._local[name]}"
            item = getattr(import_module(where), self._attribute, None)
        elif name in self._installed:
            where = self._installed[name].value
            item = self._installed[name].load()
        else:
            raise UnknownName(self._what, name, self.names())
        if not isinstance(item, self._kind):
            raise ConfigError(f"`{self._attribute}` must be a {self._kind.__name__}, not {item!r}", where=where)
        return item

    def __contains__(self, name: object) -> bool:
        return name in self._added or name in self._local or name in self._installed

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())
