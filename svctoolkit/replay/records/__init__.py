"""What an input is cut into, and how a record becomes an event."""
