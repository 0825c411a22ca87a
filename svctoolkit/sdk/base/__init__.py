"""Foundations of the client: settings, JSON conversion, error reporting, locks, fork and exit handling."""
