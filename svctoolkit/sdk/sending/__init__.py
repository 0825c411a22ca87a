"""From the queue to the data plane: requests, responses, the source configuration, the worker."""
