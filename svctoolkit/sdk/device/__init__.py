"""Device mode: events go straight to code in this process, beside the data plane."""
