"""Sends an identify and COUNT tracks with a Python client, in batches of four: `burst.py MODULE URL KEY COUNT`."""

import importlib
import json
import sys

module, url, key, count = sys.argv[1:]
errors = []
client = importlib.import_module(f"{module}.client").Client(
    key, host=url, on_error=lambda error, batch: errors.append(str(error)), upload_size=4, upload_interval=0.1
)
client.identify("u1", {"n": -1})
for n in range(int(count)):
    client.track("u1", "Order Completed", {"n": n})
client.flush()
client.join()
print(json.dumps({"errors": errors}))
