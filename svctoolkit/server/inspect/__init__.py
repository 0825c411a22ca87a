"""Read what a data plane has done: events, deliveries, fates, counts, streams, metrics."""
