"""The queue of stored events: a SQLite file that several processes can share."""
