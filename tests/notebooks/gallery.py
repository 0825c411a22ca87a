"""A notebook for each explorer, with something to see in it: for the browser tests and the screenshots."""

from __future__ import annotations

from pathlib import Path

import nbformat

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
#: The name of each explorer's notebook with its code. The last line shows the explorer.
NOTEBOOKS = {
    "live_events": f"""{_WORKSPACE}
from svctoolkit.widgets import LiveEvents

plane = DataPlane(workspace, backoff=Backoff(attempts=2, scale=0))
plane.script("mail", Answer(200), Answer(400, body={{"error": "no such list"}}), Answer(200))
LiveEvents(plane)
""",
    "sdk_playground": """
from svctoolkit.widgets import SdkPlayground

SdkPlayground(configuration={"sleep_timeout": 1})
""",
}


def written(folder: Path) -> Path:
    """The folder, with a notebook for each explorer in it."""
    for name, code in NOTEBOOKS.items():
        cells = [nbformat.v4.new_code_cell(code.strip())]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        made = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(made, folder / f"{name}.ipynb")
    return folder
