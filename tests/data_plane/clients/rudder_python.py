"""Sends one event of each type and 50 tracks with rudder-sdk-python: `rudder_python.py URL KEY`."""

import json
import sys

import rudderstack.analytics as client

errors = []
client.write_key, client.dataPlaneUrl = sys.argv[2], sys.argv[1]
client.on_error = lambda error, batch: errors.append(str(error))
client.identify("u1", {"email": "ada@example.com", "name": "Ädä"})
client.page("u1", "Docs", "Start", {"url": "https://shop.example/"})
client.screen("u1", "App", "Home", {"dark": True})
client.group("u1", "g1", {"plan": "pro"})
client.alias("a1", "u1")
for n in range(50):
    client.track("u1", "Order Completed", {"n": n, "total": 1.5, "tags": ["a", None]})
client.flush()
client.join()
print(json.dumps({"errors": errors}))
