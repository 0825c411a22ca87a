"""From a few events to requests, and from their answers to an outcome for each event."""
