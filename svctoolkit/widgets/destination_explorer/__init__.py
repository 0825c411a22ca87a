"""Choose a destination, edit its settings and an event, and see every stage."""
