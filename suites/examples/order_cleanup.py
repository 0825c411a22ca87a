def transformEvent(event, metadata):
    if event.get("context", {}).get("ip", "").startswith("10."):
        return None
    event.get("properties", {}).pop("email", None)
    if "event" in event:
        event["event"] = event["event"].lower().replace(" ", "_")
    return event
