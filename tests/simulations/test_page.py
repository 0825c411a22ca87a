"""The page about simulations is true: its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import svctoolkit
from svctoolkit.simulations import SIMULATIONS

PAGE = (Path(svctoolkit.__file__).parent / "docs" / "simulations.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
def test_the_python_of_the_page_runs(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block runs by itself."""
    monkeypatch.setattr(SIMULATIONS, "_added", {})
    exec(compile(code, "simulations.md", "exec", dont_inherit=True), {"__name__": "page"})
