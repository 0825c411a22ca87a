"""`import svctoolkit` has a small, correct list of names and is fast."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import svctoolkit


def source(module: str) -> str:
    spec = find_spec(module)
    return Path(str(spec.origin)).read_text(encoding="utf-8") if spec and spec.origin else ""


#: every package and every module that users import from
MODULES = [m.name for m in pkgutil.walk_packages(svctoolkit.__path__, "svctoolkit.") if "__all__" in source(m.name)]


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_every_exported_name_exists() -> None:
    """`__all__` is sorted, and every name in it can be imported."""
    names = [n for n in svctoolkit.__all__ if n != "__version__"]

    assert names == sorted(names)
    assert [n for n in names if getattr(svctoolkit, n) is None] == []


@pytest.mark.parametrize("module", MODULES)
def test_every_name_in_all_of_a_package_exists(module: str) -> None:
    """Each is listed once and can be imported, and `from package import *` works."""
    names = getattr(import_module(module), "__all__", [])

    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(import_module(module), name)] == []


@pytest.mark.parametrize("module", [m for m in MODULES if "_HOME" in source(m)])
def test_no_lazy_name_equals_a_module(module: str) -> None:
    """`server.banner` would be a function before the module is imported, and the module afterwards."""
    package = import_module(module)
    lazy = getattr(package, "_HOME", {})
    modules = {m.name for m in pkgutil.iter_modules(getattr(package, "__path__", []))}

    assert [n for n in lazy if n in modules and not isinstance(getattr(package, n), ModuleType)] == []


def test_a_misspelt_name_is_an_attribute_error() -> None:
    """Lazy names do not change Python's message about missing names."""
    with pytest.raises(AttributeError, match="has no attribute 'Workspaec'"):
        svctoolkit.Workspaec  # noqa: B018


def test_import_loads_no_third_party_module() -> None:
    """`import svctoolkit` loads only the standard library and itself."""
    out = run(
        "import sys; before = set(sys.modules); import svctoolkit; "
        "print(*{m.split('.')[0] for m in set(sys.modules) - before} - {'svctoolkit'} - sys.stdlib_module_names)"
    )

    assert out.split() == []


@pytest.mark.parametrize("module", ["svctoolkit.destinations", "svctoolkit.pipeline", "svctoolkit.workspace"])
def test_the_core_loads_neither_pandas_nor_a_server(module: str) -> None:
    """The stages run without loading pandas, httpx, starlette and uvicorn."""
    out = run(f"import sys, {module}; print(*{{'pandas', 'httpx', 'starlette', 'uvicorn'}} & set(sys.modules))")

    assert out.split() == []


def test_the_version_is_fast() -> None:
    """`svctoolkit --version` takes under 0.15 s of CPU; the median of five runs, twice that on a machine under load."""
    code = (
        "import resource, subprocess, sys\n"
        "spent = []\n"
        "for _ in range(5):\n"
        "    before = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "    subprocess.run([sys.executable, '-m', 'svctoolkit', '--version'], check=True, stdout=subprocess.DEVNULL)\n"
        "    after = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "    spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)\n"
        "print(sorted(spent)[2])"
    )

    assert float(run(code)) < 0.30


def test_every_module_can_be_imported() -> None:
    """Every module can be imported and only defines things. (The sandbox's worker is a program, not a module.)"""
    modules = [m.name for m in pkgutil.walk_packages(svctoolkit.__path__, "svctoolkit.")]
    for module in modules:
        if not module.endswith("__main__"):
            import_module(module)

    assert "svctoolkit.transformations.callables" in modules
