"""The events that wait: a SQLite file that several processes share."""
