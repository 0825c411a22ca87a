"""Type hints for editors: what a transformation can use, as files to put next to it."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).with_name("types")


def type_files() -> dict[str, str]:
    """Return the content of each file by name: TypeScript declarations for JavaScript, and a stub for Python."""
    return {path.name: path.read_text("utf-8") for path in sorted(_FOLDER.iterdir()) if path.suffix in {".ts", ".pyi"}}
