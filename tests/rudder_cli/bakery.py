"""A small project of rudder-cli, whose files a test may change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def resource(kind: str, spec: str, version: str = "rudder/v1") -> str:
    """The text of a file; `spec` is indented here."""
    lines = "".join(f"  {line}\n" if line else "\n" for line in spec.strip("\n").split("\n"))
    return f"version: {version}\nkind: {kind}\nmetadata:\n  name: {kind}\nspec:\n{lines}"


SHOP = resource(
    "event-stream-source",
    """
id: till
name: Till
type: javascript
governance:
  validations:
    tracking_plan: '#tracking-plan:bread'
    config:
      track: {propagate_violations: true, drop_unplanned_events: true}
""",
)
HOOK = resource(
    "destination",
    """
id: ovens
display_name: Ovens
type: http
enabled: true
definition_version: 1
transformation: '#transformation:tidy'
config:
  api_url: https://ovens.example/in
  auth: bearerTokenAuth
  bearer_token: "{{ .OVEN_TOKEN }}"
  method: POST
  format: JSON
  is_default_mapping: true
  headers:
  - to: X-Bakery
    from: north
""",
)
BRAZE = resource(
    "destination",
    """
id: letters
display_name: Letters
type: braze
enabled: true
definition_version: 1
config:
  data_center: EU-01
  rest_api_key: "{{ .LETTERS_KEY }}"
  use_native_sdk:
    web: false
  event_filtering:
    blacklist:
    - Loaf Sliced
  consent_management:
    web:
    - provider: oneTrust
      consents: [mail]
""",
)
LINKS = resource(
    "event-stream-connections",
    """
connections:
- id: till-to-ovens
  source: '#event-stream-source:till'
  destination: '#destination:ovens'
- id: till-to-letters
  source: '#event-stream-source:till'
  destination: '#destination:letters'
""",
)
TIDY = resource(
    "transformation",
    """
id: tidy
name: Tidy
language: javascript
code: |
  import { upper } from 'textTools';

  export function transformEvent(event) {
    if (event.properties && event.properties.currency) {
      event.properties.currency = upper(event.properties.currency);
    }
    return event;
  }
""",
)
TOOLS = resource(
    "transformation-library",
    """
id: tools
name: Text Tools
language: javascript
import_name: textTools
code: |
  export function upper(text) {
    return String(text).toUpperCase();
  }
""",
)
EVENTS = resource(
    "events",
    """
events:
- id: sold
  name: Loaf Sold
  event_type: track
  category: '#category:counter'
- id: who
  event_type: identify
""",
)
PROPERTIES = resource(
    "properties",
    """
properties:
- id: price
  name: price
  type: number
  config: {minimum: 0}
- id: currency
  name: currency
  type: '#custom-type:currency'
- id: email
  name: email
  type: string
""",
)
TYPES = resource(
    "custom-types",
    """
types:
- id: currency
  name: Currency
  type: string
  config: {pattern: '^[A-Za-z]{3}$'}
""",
)
CATEGORIES = resource("categories", "categories:\n- id: counter\n  name: Counter")
PLAN = resource(
    "tracking-plan",
    """
id: bread
display_name: Bread
rules:
- type: event_rule
  id: sale
  event: '#event:sold'
  additional_properties: true
  properties:
  - property: '#property:price'
    required: true
  - property: '#property:currency'
- type: event_rule
  id: who
  event: '#event:who'
  identity_section: traits
  additional_properties: true
  properties:
  - property: '#property:email'
""",
)
FILES: Mapping[str, str] = {
    "till.yaml": SHOP,
    "ovens.yaml": HOOK,
    "letters.yaml": BRAZE,
    "links.yaml": LINKS,
    "tidy.yaml": TIDY,
    "tools.yaml": TOOLS,
    "catalog/events.yaml": EVENTS,
    "catalog/properties.yaml": PROPERTIES,
    "catalog/types.yaml": TYPES,
    "catalog/categories.yaml": CATEGORIES,
    "catalog/plan.yaml": PLAN,
}
VALUES = {"OVEN_TOKEN": "hot-oven-token", "LETTERS_KEY": "letters-secret-key"}


def write(folder: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    """Write the project to a folder, with changed and added files, and without those that are None."""
    for name, text in {**FILES, **(changes or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is not None:
            path.write_text(text, encoding="utf-8")
    return folder
