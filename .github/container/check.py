"""Fail, with every difference, unless the order has reached the destination `hook`."""

import json
import os
import sys
import urllib.error
import urllib.request

expected = {"received": 1, "expect": {"delivered": {"hook": [{"body": {"event": "Order Completed"}}]}}}
request = urllib.request.Request(
    f"{os.environ['DATA_PLANE_URL']}/inspect/expect",
    json.dumps(expected).encode(),
    {"Authorization": f"Bearer {os.environ['SVCTOOLKIT_TOKEN']}", "Content-Type": "application/json"},
)
try:
    print(json.loads(urllib.request.urlopen(request, timeout=30).read())["verdict"])
except urllib.error.HTTPError as error:
    sys.exit(error.read().decode())
