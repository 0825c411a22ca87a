"""A Celery application with a broker in the file system: `celery -A tests.sdk.apps.celery_shop worker`."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

from svctoolkit.sdk import ServiceClient
from svctoolkit.sdk.frameworks.celery import track_tasks

folder = Path(os.environ["SHOP_FOLDER"])
for name in ("queue", "processed", "control"):
    (folder / name).mkdir(exist_ok=True)

client = ServiceClient(
    profile="server", data_plane_url=os.environ["SHOP_DATA_PLANE"], data_directory=folder / "data", sleep_timeout=1
)
client.initialize(os.environ["SHOP_KEY"])
track_tasks(client, exit_timeout=10)

app = Celery("shop", broker="filesystem://")
app.conf.broker_transport_options = {
    "data_folder_in": str(folder / "queue"),
    "data_folder_out": str(folder / "queue"),
    "processed_folder": str(folder / "processed"),
    "control_folder": str(folder / "control"),
}
app.conf.worker_enable_remote_control = False
app.conf.task_ignore_result = True


@app.task
def send_receipt(order: str) -> None:
    client.track("Receipt Sent", {"order": order, "process": os.getpid()})
    archive.delay(order)


@app.task
def archive(order: str) -> None:
    client.track("Order Archived", {"order": order, "process": os.getpid()})
