"""A data plane's events as they arrive."""
