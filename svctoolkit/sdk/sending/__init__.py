"""From the queue to the data plane: requests, answers, the source configuration, the worker."""
