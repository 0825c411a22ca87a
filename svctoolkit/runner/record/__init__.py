"""From events that were received to a suite."""
