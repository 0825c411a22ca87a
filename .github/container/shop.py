"""An application that sends one event over HTTP; yours uses an SDK, with the same address and write key."""

import base64
import json
import os
import urllib.request

order = {"order_id": "o-1", "revenue": 10}
event = {"type": "track", "event": "Order Completed", "userId": "u-1001", "properties": order}
key = base64.b64encode(f"{os.environ['WRITE_KEY']}:".encode()).decode()
request = urllib.request.Request(
    f"{os.environ['DATA_PLANE_URL']}/v1/batch",
    json.dumps({"batch": [event]}).encode(),
    {"Authorization": f"Basic {key}", "Content-Type": "application/json"},
)
print("sent:", urllib.request.urlopen(request, timeout=30).status)
