"""Broken projects that every check once passed, as data, and a generator of further mistakes (`python -m`)."""
