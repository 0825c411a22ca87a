"""Suites, run from a notebook."""
