"""The store of a data plane: events, deliveries and fates in one SQLite file."""
