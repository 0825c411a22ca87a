"""Edit a transformation in place, with its events and results beside it."""
