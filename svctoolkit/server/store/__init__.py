"""What a data plane keeps: events, deliveries and fates in one SQLite file."""
