"""A notebook for each explorer, with content to look at, for the browser tests and the screenshots."""

from __future__ import annotations

from pathlib import Path

_WORKSPACE = """
from svctoolkit import DataPlane, Workspace
from svctoolkit.delivery import Answer
from svctoolkit.server import Backoff

workspace = Workspace("shop")
headers = [{"from": "X-Key", "to": "s3cr3t-k3y"}]
for key in ("crm", "mail", "ads"):
    config = {"webhookUrl": f"https://{key}.example/events", "headers": headers}
    workspace.destination(key, "WEBHOOK", config=config)
workspace.source("web", write_key="web-key", destinations=["crm", "mail"])
workspace.source("app", write_key="app-key", destinations=["ads"])
"""
#: The notebook's name of each explorer, with its code. The last line displays the explorer.
NOTEBOOKS = {
    "live_events": f"""{_WORKSPACE}
from svctoolkit.widgets import LiveEvents

plane = DataPlane(workspace, backoff=Backoff(attempts=2, scale=0))
plane.script("mail", Answer(200), Answer(400, body={{"error": "no such list"}}), Answer(200))
LiveEvents(plane)
""",
    "destination_explorer": f"""{_WORKSPACE}
from svctoolkit.widgets import DestinationExplorer

order = {{"order_id": "A-1", "revenue": 12.5, "currency": "EUR"}}
event = {{"type": "track", "event": "Order Completed", "userId": "u-1", "properties": order}}
DestinationExplorer(workspace, "crm", event=event)
""",
    "transformation_editor": f'''{_WORKSPACE}
from svctoolkit.widgets import TransformationEditor

code = """
def transformEvent(event, metadata):
    log("saw", event["type"])
    event["event"] = event.get("event", "").lower()
    return event
"""
workspace.transformation("lower", code=code.lstrip())
TransformationEditor(workspace, "lower")
''',
    "suite_explorer": """
from svctoolkit.widgets import SuiteExplorer

SuiteExplorer("orders.suite.yaml")
""",
    "replay_explorer": f"""{_WORKSPACE}
from svctoolkit.widgets import ReplayExplorer

workspace.destination("braze", "BRAZE", config={{"restApiKey": "k-1", "dataCenter": "US-01"}})
code = "def transformEvent(event, metadata):\\n    price = event['properties']['products'][0]['price']\\n"
code += "    event['properties']['cents'] = round(price * 100)\\n    event.pop('context', None)\\n    return event\\n"
workspace.transformation("cents", code=code)
clevertap = {{"accountId": "a", "passcode": "s3cr3t-k3y"}}
workspace.destination("clevertap", "CLEVERTAP", config=clevertap, transformation="cents")
order = {{"type": "track", "event": "Order Completed", "timestamp": "2026-01-01T00:00:00Z"}}
product = {{"product_id": "p-1", "quantity": 1}}
events = [
    {{
        **order,
        **({{"userId": f"u-{{n}}"}} if n % 3 else {{"anonymousId": f"a-{{n}}"}}),
        "messageId": f"m-{{n}}",
        "context": {{"ip": "203.0.113.4"}},
        "properties": {{"products": [{{**product, "price": 12.5 + n if n % 7 else "12 EUR"}}]}},
    }}
    for n in range(40)
]
ReplayExplorer(events, workspace, destinations=["braze", "clevertap", "crm"])
""",
    "compare_explorer": f"""{_WORKSPACE}
from svctoolkit.widgets import CompareExplorer

code = "def transformEvent(event, metadata):\\n    event['properties']['total'] = 'TOTAL'\\n    return event\\n"
later = Workspace("shop")
later.transformation("total", code=code)
for key in ("crm", "mail"):
    config = {{"webhookUrl": f"https://{{key}}.example/events", "headers": headers}}
    later.destination(key, "WEBHOOK", config=config, transformation="total" if key == "crm" else None)
order = {{"type": "track", "event": "Order Completed", "timestamp": "2026-01-01T00:00:00Z"}}
events = [{{**order, "userId": f"u-{{n}}", "messageId": f"m-{{n}}", "properties": {{"total": n}}}} for n in range(40)]
CompareExplorer(events, workspace, later, destinations=["crm", "mail"])
""",
    "data_grid": """
import numpy as np
import pandas as pd

from svctoolkit.widgets import DataGrid

numbers = np.arange(1_000_000)
users = pd.Series([f"u-{n % 997}" for n in numbers], dtype="string")
DataGrid(pd.DataFrame({"number": numbers, "user": users, "share": numbers / 7}))
""",
    "plan_explorer": """
from svctoolkit.plans import of_service
from svctoolkit.widgets import PlanExplorer

total = {"type": "number", "minimum": 0}
properties = {"type": "object", "properties": {"total": total, "coupon": {"type": "string"}}, "required": ["total"]}
schema = {"properties": {"properties": properties}}
plan = of_service({"id": "tp", "events": [{"name": "Order Completed", "eventType": "track", "rules": schema}]})
event = {"type": "track", "event": "Order Completed", "userId": "u-1", "messageId": "m-1"}
good, bad = {**event, "properties": {"total": 12.5}}, {**event, "messageId": "m-2", "properties": {"total": "12.5"}}
PlanExplorer(plan, [good, bad, {**event, "event": "Order Lost"}])
""",
    "sdk_playground": """
from svctoolkit.widgets import SdkPlayground

SdkPlayground(configuration={"sleep_timeout": 1})
""",
}

#: A marimo notebook: a display of an object, an explorer, and a grid.
MARIMO = """
import marimo

app = marimo.App()


@app.cell
def _():
    import svctoolkit
    from svctoolkit.widgets import DataGrid, DestinationExplorer

    workspace = svctoolkit.Workspace("shop")
    workspace.destination("hook", "WEBHOOK", config={"webhookUrl": "https://hook.example/in"})
    workspace
    return DataGrid, DestinationExplorer, svctoolkit, workspace


@app.cell
def _(svctoolkit, workspace):
    event = {"type": "track", "event": "Order Completed", "properties": {"order_id": "o-1"}}
    svctoolkit.Pipeline(workspace).test_destination("hook", event)
    return (event,)


@app.cell
def _(DestinationExplorer, event, workspace):
    DestinationExplorer(workspace, "hook", event=event)
    return


@app.cell
def _(DataGrid):
    DataGrid([{"number": n, "user": f"u-{n % 7}"} for n in range(500)])
    return
"""


_SUITE = """\
suite: Orders
destinations:
  hook: {type: WEBHOOK, config: {webhookUrl: https://hook.example/events}}
defaults: {destination: hook}
scenarios:
  - name: an order goes out
    event: {type: track, event: Order Completed, properties: {revenue: 12.5}}
    expect: {dest_transform: {body: {JSON: {event: Order Completed}}}}
  - name: its revenue is a number
    event: {type: track, event: Order Completed, properties: {revenue: "12.5"}}
    expect: {dest_transform: {body: {JSON: {properties: {revenue: 12.5}}}}}
  - name: a page in $(language)
    cases: [{id: en, language: English}, {id: de, language: German}]
    event: {type: page, name: $(language)}
    expect: {dest_transform: {body: {JSON: {name: $(language)}}}}
"""


def written(folder: Path) -> Path:
    """Write a notebook for each explorer, and its input files; return the folder."""
    (folder / "orders.suite.yaml").write_text(_SUITE)
    for name, code in NOTEBOOKS.items():
        write(folder / f"{name}.ipynb", code)
    return folder


def write(file: Path, code: str) -> None:
    """Write a notebook with one cell."""
    import nbformat  # takes seconds

    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [nbformat.v4.new_code_cell(code.strip())]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), file)
