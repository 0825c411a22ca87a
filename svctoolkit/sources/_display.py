"""Rich displays of webhook source types and their catalogue."""

from __future__ import annotations

from svctoolkit import display
from svctoolkit.display import Html
from svctoolkit.displayed import shows
from svctoolkit.registry import Registry
from svctoolkit.sources import _Catalogue, examples
from svctoolkit.sources._define import SourceType


@shows(SourceType)
def source_type(kind: SourceType) -> Html:
    """Show a type: where its topic is, its settings, quirks and examples."""
    facts: dict[str, object] = {"type": kind.name, "topic": kind.topic, "docs": kind.docs}
    facts["settings"] = ", ".join(setting.name for setting in kind.settings)
    facts["quirks"] = " ".join(kind.quirks)
    return display.page(
        display.section(kind.title, display.facts({name: text for name, text in facts.items() if text}))
    )


@shows(_Catalogue)
def catalogue(types: Registry[SourceType]) -> Html:
    """Show all types, with the number of their examples."""
    rows: list[list[object]] = [[types[name].title, name, types[name].topic, len(examples(name))] for name in types]
    return display.page(
        display.table(["title", "type", "topic", "examples"], rows, caption=f"{len(rows)} webhook source types")
    )
