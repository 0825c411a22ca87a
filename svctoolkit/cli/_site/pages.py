"""The pages of the documentation and their order in the navigation."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

DOCS = Path(str(files("svctoolkit") / "docs"))
#: kind, then group, then pages; a group without a name has no heading.
#: `reference/...` pages are generated: see `reference`
NAVIGATION = {
    "Tutorials": {"": ["index", "first-minute", "installation", "import", "rudderstack-export", "notebooks"]},
    "How to": {
        "Start": ["recipes", "ci", "rudder-cli", "agents", "troubleshooting", "faq"],
        "Configure": ["transformations", "environments", "destinations", "own-destinations", "policies"],
        "Run and check": [
            "data-plane",
            "containers",
            "sources",
            "test-api",
            "tracking-plans",
            "simulations",
            "deletion",
            "mutate",
        ],
        "Analyze": ["replay", "history", "cost", "lineage", "pictures", "warehouse"],
        "Client SDK": [
            "sdk/index",
            "sdk/servers",
            "sdk/frameworks",
            "sdk/privacy",
            "sdk/nothing-is-sent",
            "sdk/switching",
        ],
    },
    "Reference": {
        "Files": ["suites", "workspace", "reference/yaml", "reference/matchers"],
        "Commands and Python": ["reference/commands", "reference/python", "sdk/answers", "sdk/values"],
        "Catalogues": ["catalogue", "source_catalogue", "glossary"],
    },
    "Explanation": {"": ["comparison", "guarantees", "architecture", "fidelity", "batches", "security"]},
}


def names() -> list[str]:
    """All pages in the order of the navigation."""
    return [name for groups in NAVIGATION.values() for pages in groups.values() for name in pages]


def place(name: str) -> tuple[str, str]:
    """The kind and the group of a page; the group may be empty."""
    return next(
        (kind, group) for kind, groups in NAVIGATION.items() for group, pages in groups.items() if name in pages
    )


def titles() -> dict[str, str]:
    """The titles of the pages in files, by page name (`suites`, `sdk/values`)."""
    return {
        file.relative_to(DOCS).with_suffix("").as_posix(): title(file.read_text("utf-8"))
        for file in sorted(DOCS.rglob("*.md"))
    }


def title(text: str) -> str:
    """The title of a page: its first line."""
    return text.partition("\n")[0].lstrip("# ").strip()
