"""The pages of the documentation and their order in the navigation."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

DOCS = Path(str(files("svctoolkit") / "docs"))
#: `reference/...` pages are generated: see `reference`
NAVIGATION = {
    "Tutorials": ["index", "first-minute", "import", "rudderstack-export", "notebooks"],
    "How to": [
        "recipes",
        "ci",
        "agents",
        "troubleshooting",
        "faq",
        "transformations",
        "environments",
        "destinations",
        "own-destinations",
        "data-plane",
        "sources",
        "deletion",
        "test-api",
        "tracking-plans",
        "replay",
        "policies",
        "history",
        "cost",
        "lineage",
        "pictures",
        "mutate",
        "warehouse",
        "simulations",
        "sdk/index",
        "sdk/servers",
        "sdk/frameworks",
        "sdk/privacy",
        "sdk/nothing-is-sent",
        "sdk/switching",
    ],
    "Reference": [
        "suites",
        "workspace",
        "glossary",
        "catalogue",
        "source_catalogue",
        "reference/commands",
        "reference/yaml",
        "reference/matchers",
        "reference/python",
        "sdk/answers",
        "sdk/values",
    ],
    "Explanation": ["comparison", "guarantees", "architecture", "fidelity", "batches", "security"],
}


def titles() -> dict[str, str]:
    """The titles of the pages in files, by page name (`suites`, `sdk/values`)."""
    return {
        file.relative_to(DOCS).with_suffix("").as_posix(): title(file.read_text("utf-8"))
        for file in sorted(DOCS.rglob("*.md"))
    }


def title(text: str) -> str:
    """The title of a page: its first line."""
    return text.partition("\n")[0].lstrip("# ").strip()
