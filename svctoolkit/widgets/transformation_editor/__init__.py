"""Edit a transformation next to its events and results."""
