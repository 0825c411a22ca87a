"""What a data plane tells: events, deliveries, fates, counts, streams, metrics."""
