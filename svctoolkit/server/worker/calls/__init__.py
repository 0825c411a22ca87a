"""Turn a few events into requests, and the responses into an outcome for each event."""
