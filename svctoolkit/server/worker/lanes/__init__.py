"""The way of one destination: its events in order per user, and what their attempts came to."""
