"""The delivery lane of one destination: its queue in order per user, and the results of its attempts."""
