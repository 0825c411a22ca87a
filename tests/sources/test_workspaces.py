"""Webhook sources in workspace files and in RudderStack's exports."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from svctoolkit import Workspace
from svctoolkit.errors import WorkspaceWarning
from svctoolkit.workspace import schema

FILE = """
workspace: shop
sources:
  mail: {type: Braze, config: {customMapping: [{from: a, to: b}]}, destinations: []}
  any: {type: webhook, config: {putRequestDetailsInContext: true}}
  web: {type: javascript}
  own: {type: our-sdk}
"""


def test_types_of_sdk_sources_are_free(tmp_path: Path) -> None:
    """`mobile` is somewhat like `mailjet`, and means something else."""
    (tmp_path / "workspace.yaml").write_text("workspace: s\nsources: {app: {type: mobile}, web: {type: my-site}}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Workspace.load(tmp_path / "workspace.yaml")


def test_a_source_with_settings_is_loaded_and_saved() -> None:
    """The category follows from the type, and is not written."""
    workspace = Workspace.loads(FILE)

    assert [source.category for source in workspace.sources.values()] == ["webhook", "webhook", "", ""]
    assert workspace.source("mail").webhook_type is not None
    assert workspace.source("web").webhook_type is None
    assert workspace.source("any").platform == "cloud"
    assert Workspace.loads(workspace.dumps()) == workspace
    assert "category" not in workspace.dumps()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("type: segment", "no source type 'segment' accepts webhooks. Did you mean 'Segment'?"),
        ("type: Segmnt", "no source type 'Segmnt' accepts webhooks. Did you mean 'Segment'?"),
        ("type: x, config: {a: 1}", "no source type 'x' accepts webhooks. The type webhook takes any JSON."),
        (
            "type: Braze, config: {customMaping: []}",
            "Braze has no setting 'customMaping'. Did you mean 'customMapping'?",
        ),
        ("type: Braze, config: {customMapping: {a: b}}", "customMapping must be a list of objects"),
        ("type: webhook, config: {putRequestDetailsInContext: 1}", "putRequestDetailsInContext must be true or false"),
    ],
)
def test_a_mistake_is_a_note_with_its_place(source: str, said: str) -> None:
    """The rest of the workspace works, as with unknown destination types."""
    with pytest.warns(WorkspaceWarning) as warned:
        workspace = Workspace.loads(f"sources:\n  a: {{{source}}}\n", name="workspace.yaml")

    assert said in str(warned[0].message)
    assert str(warned[0].message).startswith("workspace.yaml:2:")
    assert workspace.source("a")


def test_the_schema_for_editors_names_the_types() -> None:
    """Editors complete them; any other text stays valid."""
    kind = schema()["$defs"]["SourceShape"]["properties"]["type"]

    assert "Segment" in kind["anyOf"][0]["enum"]
    assert kind["anyOf"][1] == {"type": "string"}


def test_an_export_keeps_its_webhook_sources(tmp_path: Path) -> None:
    """Their type is the name of the definition, not `cloud`, and they keep their settings."""
    definition = {"name": "Braze", "type": "cloud", "category": "webhook"}
    mapping = {"customMapping": [{"from": "a", "to": "b"}]}
    source = {"id": "s1", "name": "Mail", "writeKey": "wk", "config": mapping, "sourceDefinition": definition}
    file = tmp_path / "workspaceConfig.json"
    file.write_text(json.dumps({"workspaceId": "w1", "sources": [source]}))

    mail = Workspace.load(file).source("s1")

    assert (mail.type, mail.category, mail.config) == ("Braze", "webhook", mapping)
    assert Workspace.loads(Workspace.load(file).dumps()).source("mail").config == mapping
