"""Device mode: events go directly to code in this process, in addition to the data plane."""
